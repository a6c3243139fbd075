/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <adwaita.h>

#include "compute/lab/lab.h"
#include "image-pane.h"

/**
 * TdLabPictures: a lab's pictures beside each other, one at a time, two under a wipe, or the signed
 * difference of two. Zoom, place and contrast of all are one while they are linked. Slots 0 … n - 1
 * are the variants, slot n is the reference. Signals: "line-drawn" (double x0, y0, x1, y1), in
 * pixels of the picture.
 */
#define TD_TYPE_LAB_PICTURES (td_lab_pictures_get_type ())
G_DECLARE_FINAL_TYPE (TdLabPictures, td_lab_pictures, TD, LAB_PICTURES, GtkWidget)

/* From now on there are @n variants of these names, and no pictures. */
void td_lab_pictures_set_names (TdLabPictures *self, const char *const *names, guint n);
/* They are of another scan from now on: zoom, contrast and boxes are as at first. */
void td_lab_pictures_renew (TdLabPictures *self);
/* @image: NULL: it is on its way, or has its error. */
void td_lab_pictures_set (TdLabPictures *self, guint slot, TdImage *image,
                          const TdLabOutcome *outcome);
/* TRUE: all pictures show that new ones are on their way, each until td_lab_pictures_set(). */
void td_lab_pictures_set_updating (TdLabPictures *self, gboolean updating);
/* Those that are on their way are not made any more: they say so, and offer the action "lab.go-on".
   An earlier picture is none of what is asked for, and goes. */
void td_lab_pictures_stop (TdLabPictures *self);
/* The noise of the data, in the pictures' units; NAN: unknown. */
void td_lab_pictures_set_noise (TdLabPictures *self, double noise);
void td_lab_pictures_set_line (TdLabPictures *self, const TdLabLine *line); /* NULL: none */
/* Slots that are compared: the two that take turns. */
void td_lab_pictures_get_pair (TdLabPictures *self, guint *a, guint *b);
/* While held, B's picture stands in the place of A's, pixel on pixel. */
void td_lab_pictures_hold (TdLabPictures *self, gboolean held);
/* A blind test: one picture, without its name. @slot < 0: the test is over. */
void td_lab_pictures_show_blind (TdLabPictures *self, int slot, const char *title);
void td_lab_pictures_set_colour_map (TdLabPictures *self, const char *name);
/* What an export of the pictures is a picture of. */
GtkWidget *td_lab_pictures_area (TdLabPictures *self);
