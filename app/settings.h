/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gio/gio.h>

/**
 * The user's preferences. The program looks for their schema where the system keeps schemas, then
 * beside itself as installed (../share/glib-2.0/schemas). Last it looks in the build folder
 * (../data), so that a program that was only built runs too. NULL with @error: it is nowhere.
 */
GSettings *td_settings_new (GError **error);
/* Puts @path at the head of the recent scans. */
void td_settings_add_recent (GSettings *settings, const char *path);
/* What was stated about a recent scan, for as long as it is one: a value of "recent-details", NULL:
   nothing. (transfer full) */
GVariant *td_settings_get_details (GSettings *settings, const char *path);
/* @details: (transfer floating) (nullable). */
void td_settings_set_details (GSettings *settings, const char *path, GVariant *details);
/* The recipe a recent scan had when it was closed, as JSON; NULL: none was kept, or of another
   @detector, the scan's sizes in words. (transfer full) */
char *td_settings_get_recipe (GSettings *settings, const char *path, const char *detector);
/* @json: (nullable): forgets it. */
void td_settings_set_recipe (GSettings *settings, const char *path, const char *detector,
                             const char *json);
