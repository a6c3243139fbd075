/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <adwaita.h>

#include "slice-view.h"

/**
 * TdImagePane: a slice view with its heading, tools (fit, 1:1, contrast, colours, enlarge),
 * histogram and read-out. Contrast is automatic until the user sets it.
 *
 * Signals: "enlarge-toggled" (gboolean enlarged); "option-toggled" (gboolean on);
 * "contrast-changed" (double low, double high): by the user or automatically.
 */
#define TD_TYPE_IMAGE_PANE (td_image_pane_get_type ())
G_DECLARE_FINAL_TYPE (TdImagePane, td_image_pane, TD, IMAGE_PANE, GtkWidget)

/* The text under the picture for a position. @value: NULL if the pointer is outside. (transfer
 * full) */
typedef char *(*TdReadout) (gpointer user, double column, double row, const float *value);

void td_image_pane_set_title (TdImagePane *self, const char *title);
void td_image_pane_set_subtitle (TdImagePane *self, const char *subtitle);
/* Headings of a group are equally high, and so are the pictures below. Panes of one width. */
void td_image_pane_join_heading (TdImagePane *self, GtkSizeGroup *group);
/* Also clears the message. NULL: empty. */
void td_image_pane_set_image (TdImagePane *self, TdImage *image);
/* As td_image_pane_set_image(), but with the contrast as it is: to look from one to the other. */
void td_image_pane_flip_image (TdImagePane *self, TdImage *image);
TdImage *td_image_pane_get_image (TdImagePane *self);
/* The style class "updating"; where it takes long, a spinner. */
void td_image_pane_set_updating (TdImagePane *self, gboolean updating);
/* A sentence over the picture; NULL: none. */
void td_image_pane_set_message (TdImagePane *self, const char *message);
/* Why there is no picture, in the window's words. What was cancelled is no problem. */
void td_image_pane_set_problem (TdImagePane *self, const GError *error);
/* A button under the message that activates an action; it goes with the message. */
void td_image_pane_offer (TdImagePane *self, const char *label, const char *action);
/* What is special about the picture, in its corner; NULL: nothing. */
void td_image_pane_set_badge (TdImagePane *self, const char *badge);
/* The units of the picture's values, beside every value but the read-out's; "": none. */
void td_image_pane_set_units (TdImagePane *self, const char *units);
void td_image_pane_set_readout (TdImagePane *self, TdReadout readout, gpointer user);
/* A colour map by its name in the preferences; a name that is unknown: grey. */
void td_image_pane_set_colour_map (TdImagePane *self, const char *name);
void td_image_pane_set_range (TdImagePane *self, double low, double high); /* ends automatic */
/* Whether each new picture gets a contrast of its own; FALSE: it stays. */
void td_image_pane_set_automatic (TdImagePane *self, gboolean automatic);
/* Pictures of something else follow: contrast is automatic, nothing is measured, the next one fits.
 */
void td_image_pane_renew (TdImagePane *self);
void td_image_pane_set_enlarged (TdImagePane *self, gboolean enlarged);
void td_image_pane_set_can_enlarge (TdImagePane *self, gboolean can);
/* Whether the histogram is below the picture: it is at first. */
void td_image_pane_set_histogram (TdImagePane *self, gboolean shown);
/* How high the heading and, if @histogram, the histogram are in a pane of that width. */
int td_image_pane_frame_height (TdImagePane *self, int width, gboolean histogram);
TdSliceView *td_image_pane_view (TdImagePane *self);
/* A switch of the owner's in the menu, on at first. */
void td_image_pane_add_option (TdImagePane *self, const char *label);
gboolean td_image_pane_get_option (TdImagePane *self);
/* A widget of the owner's under the picture; once. */
void td_image_pane_set_footer (TdImagePane *self, GtkWidget *widget);
