/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "app/application.h"
#include "ui/job-queue.h"
#include "ui/scan-view.h"

/**
 * One program with one window, for tests that use it as a person does. The window is NULL once it
 * was freed.
 */
extern TdWindow *td_test_window;

TdApplication *td_test_start (void);
/* First in the main() of tests of parts that ask for the application, which has no window here.
   (transfer full) */
AdwApplication *td_test_start_parts (int *argc, char ***argv);
void td_test_activate (const char *action, GVariant *parameter);
/* "empty", "opening", "failed" or "scan". */
const char *td_test_state (void);
/* "slices", "lab", "volume" or "geometry". */
void td_test_show_page (const char *page);
TdSession *td_test_session (void);
TdJobQueue *td_test_jobs (void);
/* A job of the scan that is open, as the dialog's button submits it. (transfer full) */
TdJobItem *td_test_submit (const TdRecipe *recipe, const char *output);
/* How many have not ended. */
guint td_test_active_jobs (void);
/* Opens a scan and waits for its slice. */
void td_test_open (const char *path);

/* Whether this run is meant to draw by OpenGL. */
gboolean td_test_with_gl (void);

TdScanView *td_test_scan_view (void);
TdImagePane *td_test_slice_pane (void);
/* A picture is on its way to the pane. */
gboolean td_test_is_updating (gpointer pane);
/* The scan view shows what was asked for: no picture is on its way. */
gboolean td_test_scan_view_is_settled (gpointer unused);
TdImage *td_test_shown_slice (void);
/* A slice of the scan's size is shown that is not @other, and none is on its way. */
gboolean td_test_slice_is_there (gpointer other);
gboolean td_test_in_state (gpointer state);
/* A visible window of that type; NULL: none. */
GtkWindow *td_test_other_window (GType type);
/* One is on the screen; there is none. @type: a GType's place. */
gboolean td_test_window_is_mapped (gpointer type);
gboolean td_test_window_is_gone (gpointer type);
/* The first widget of a type below @parent for which @matches (NULL: always) holds. */
typedef gboolean (*TdTestMatch) (GtkWidget *widget, gpointer user);
GtkWidget *td_test_find (GtkWidget *parent, GType type, TdTestMatch matches, gpointer user);
/* What a widget's template calls by that name; further names, behind dots, are of the templates
   within. */
gpointer td_test_part (gpointer widget, const char *names);
/* The slider of that adjustment comes to each of @n pictures, one by one and ten by ten. */
void td_test_reaches_all (gpointer adjustment, guint n);
/* Tells where a widget is in each one that it stands in, for who reads why a test failed. */
void td_test_tell_place (GtkWidget *widget);
/* The button below @parent that has this label, with or without a mnemonic, or this tooltip. */
GtkWidget *td_test_button (gpointer parent, const char *label);
/* The row of a list below @parent that has this title. */
gpointer td_test_row (gpointer parent, const char *title);
void td_test_click (gpointer button);
/* A key goes down or up wherever the focus is; whether the window took it. */
gboolean td_test_key (guint key, GdkModifierType state, gboolean down);
/* As the key does it: what the widget's class has bound to it, if anything. */
void td_test_press (gpointer widget, guint key);
gboolean td_test_message_is_shown (gpointer unused);
gboolean td_test_plan_is_ready (gpointer dialog);

/* The next dialog that asks for files is answered as soon as it is shown: by @path, or, if that is
   NULL, by nothing. Returns what it asked: its title, what is to be chosen, the name that it
   proposes, and its filters. */
char *td_test_choose (const char *path, void (*ask) (gpointer user), gpointer user);
char *td_test_choose_by (gpointer button, const char *path);

/* The truth: the same slice by a job of our own. */
float *td_test_slice_by_job (const TdRecipe *recipe, guint row);
double td_test_rms_between (const float *a, const float *b, gsize n);
void td_test_assert_slice_is_right (const TdRecipe *recipe);
void td_test_assert_shown_slice (void); /* by the window's recipe */
