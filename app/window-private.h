/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "window.h"

#include "ui/recipe-panel.h"

/* Shared by window.c (the window and its session), window-open.c (scans and recipes in and out),
   window-recall.c (recipes of scans that were open before) and window-jobs.c (reconstructions). */
struct _TdWindow {
  AdwApplicationWindow parent_instance;
  GSettings *settings;
  TdSession *session;
  TdJobQueue *jobs;
  GCancellable *opening;      /* NULL: nothing is being opened */
  TdScanStatement *statement; /* of the scan that is open, or was to be; NULL: none */
  char *failure;              /* why the last one did not open; NULL: none failed */
  guint n_recalls;            /* scans that were asked for an earlier recipe of theirs */
  gboolean leaving;           /* the user said to close with jobs running */

  AdwToastOverlay *toasts;
  GtkStack *stack;
  AdwViewStack *pages;
  AdwViewSwitcherTitle *switcher;
  AdwFlap *flap;
  GtkToggleButton *sidebar_button;
  AdwStatusPage *failed_page;
  GtkLabel *opening_label;
  GtkListBox *recent_list;
  GtkWidget *recent_box, *reconstruct_button;
  GMenu *recent_menu;
  GtkInfoBar *notice;
  GtkLabel *notice_label;
  TdRecipePanel *panel;
  TdScanView *scan_view;
  TdCompareView *compare_view;
  TdGeometryView *geometry_view;
  TdVolumeView *volume_view;
  GtkRevealer *jobs_revealer;
  GtkListBox *jobs_list;
};

/* window-open.c */
void td_window_add_open_actions (TdWindow *self);
void td_window_show_recent (TdWindow *self);
void td_window_add_drop_target (TdWindow *self);

/* window-recall.c */
void td_window_preset_recipe (TdWindow *self, TdRecipe *recipe); /* what a new scan begins with */
void td_window_remember_recipe (TdWindow *self);                 /* before the scan goes */
void td_window_recall_recipe (TdWindow *self); /* once it is open; can be undone */

/* window-jobs.c */
void td_window_add_job_actions (TdWindow *self);
gboolean td_window_may_close (TdWindow *self); /* FALSE: the user is being asked */

void td_window_error_dialog (TdWindow *self, const char *heading, const char *text);
