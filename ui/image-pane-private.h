/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "image-pane.h"

#include "histogram.h"
#include "profile.h"

/* Shared by image-pane.c (the pane) and image-pane-tools.c (what is measured in a picture, and
   saving it). */
struct _TdImagePane {
  GtkWidget parent_instance;
  GtkBox *box;
  GMenu *option_section;
  GtkLabel *title, *subtitle, *message, *readout, *badge, *statistics;
  GtkSpinner *spinner;
  GtkToggleButton *enlarge;
  TdSliceView *view;
  TdHistogram *histogram;
  TdProfile *profile;
  GtkWidget *footer;
  GSimpleActionGroup *actions;
  gboolean auto_contrast, updating;
  guint spinner_timeout;
  TdReadout describe;
  gpointer describe_user;
  gboolean pointed;
  double column, row; /* under the pointer, now or last; NAN: it never was there */
  char units[16];     /* of the values */
  double measured[4]; /* the box to measure in: x, y, width, height; width 0: none */
};

/* After its place or the pointer's changed. */
void td_image_pane_update_tools (TdImagePane *self);
void td_image_pane_picture_changed (TdImagePane *self);
/* The box was drawn, or taken away. */
void td_image_pane_measure (TdImagePane *self, const double box[4]);
/* Adds the actions "profile" and "save". */
void td_image_pane_add_tools (TdImagePane *self);
