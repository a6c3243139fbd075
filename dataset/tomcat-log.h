/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/* The log of the Swiss Light Source's TOMCAT, whose TIFF files are one series: darks, flats,
   projections, and mostly as many flats again. */
typedef struct {
  guint n_darks, n_flats, n_views;
  double first_deg, last_deg; /* of the views, both ends included; NAN: it does not say */
} TdTomcatLog;

/* The log in @folder of images that are called as @image is. NULL: there is none. (transfer full)
 */
char *td_tomcat_log_find (const char *folder, const char *image, TdTomcatLog *log);
