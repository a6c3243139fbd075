/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gio/gio.h>

/**
 * TdLatest: work off the main thread where only the newest request matters: previews, frames,
 * plans.
 *
 * One request runs, and at most one waits. A newer request replaces the one that waits. It cancels
 * the one that runs once that has shown something or has had some time. So a quick request
 * finishes, and dragging a slider shows every step. A slow request does not hold up the picture.
 *
 * All calls on the main thread, except td_latest_post(). After td_latest_free() or
 * td_latest_cancel() nothing of older requests is shown any more; threads end on their own.
 */
typedef struct TdLatest TdLatest;
typedef struct TdLatestRun TdLatestRun; /* one request being worked on */

/* Worker thread. The last result (transfer full), or NULL with @error set. */
typedef gpointer (*TdLatestWork) (gpointer request, TdLatestRun *run, GCancellable *cancellable,
                                  GError **error);
/* Main thread. @result is freed after the call; NULL with @error. @last: nothing more follows of
   this request. Cancelled requests that showed nothing are not reported. */
typedef void (*TdLatestShow) (gpointer result, const GError *error, gboolean last, gpointer user);

TdLatest *td_latest_new (TdLatestWork work, GDestroyNotify free_request, TdLatestShow show,
                         GDestroyNotify free_result, gpointer user);
void td_latest_request (TdLatest *latest, gpointer request); /* takes @request */
/* Worker thread: shows an early result (transfer full) of the request. @enough: a newer request may
   end this one now; FALSE: what a person waits for is still to come. */
void td_latest_post (TdLatestRun *run, gpointer result, gboolean enough);
/* How far a request is; shown by @progress on the main thread. */
typedef void (*TdLatestProgress) (double fraction, const char *what, gpointer user);
void td_latest_set_progress (TdLatest *latest, TdLatestProgress progress);
/* Worker thread: @run is a TdLatestRun. Sends often enough for a bar that moves, too rarely to keep
   the main thread busy. */
void td_latest_tell (double fraction, const char *what, gpointer run);
void td_latest_cancel (TdLatest *latest);
gboolean td_latest_busy (TdLatest *latest); /* running or waiting */
/* A newer request waits: what is shown now is not of the newest one. */
gboolean td_latest_outdated (TdLatest *latest);
void td_latest_free (TdLatest *latest);
