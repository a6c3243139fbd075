/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "app/application.h"

/**
 * One program with one window, for tests that use it as a person does. The window is NULL once it
 * was freed.
 */
extern TdWindow *td_test_window;

TdApplication *td_test_start (void);
void td_test_activate (const char *action, GVariant *parameter);
/* Opens a scan and waits for its slice. */
void td_test_open (const char *path);

/* Whether this run is meant to draw by OpenGL. */
gboolean td_test_with_gl (void);

TdImagePane *td_test_slice_pane (void);
TdImage *td_test_shown_slice (void);
/* A slice of the scan's size is shown that is not @other, and none is on its way. */
gboolean td_test_slice_is_there (gpointer other);
gboolean td_test_in_state (gpointer state);
/* A visible window of that type; NULL: none. */
GtkWindow *td_test_other_window (GType type);
/* The first widget of a type below @parent for which @matches (NULL: always) holds. */
typedef gboolean (*TdTestMatch) (GtkWidget *widget, gpointer user);
GtkWidget *td_test_find (GtkWidget *parent, GType type, TdTestMatch matches, gpointer user);
gboolean td_test_message_is_shown (gpointer unused);
gboolean td_test_plan_is_ready (gpointer dialog);

/* The truth: the same slice by a job of our own. */
float *td_test_slice_by_job (const TdRecipe *recipe, guint row);
double td_test_rms_between (const float *a, const float *b, gsize n);
void td_test_assert_slice_is_right (const TdRecipe *recipe);
void td_test_assert_shown_slice (void); /* by the window's recipe */
