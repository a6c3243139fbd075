/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "hdf5-util.h"

/**
 * Where in a NeXus file the scan is. NXtomo by its definition, wherever it stands; without one, a
 * detector that has an image_key and frames (raw files of a beamline's own acquisition).
 */
typedef struct {
  char *entry;      /* path of the group that holds instrument, sample, data */
  gboolean defined; /* it says definition = NXtomo */
  guint n_entries;  /* how many such groups the file has; the first is taken */
  char *detector;   /* path of the detector group; NULL: none, only entry/data */
  hid_t frames;     /* open data set; the caller's; -1: missing */
  char *frames_path;
  char *missing; /* why frames is -1: which linked file is missing; NULL: there is no link */
} TdNexusPlace;

/* Cheap: groups are visited, nothing is opened. @wanted: (nullable): path of the entry, of the
   detector or of the data set to take; FALSE if that belongs to none of the scans. */
gboolean td_nexus_probe (hid_t file, const char *wanted);
/* FALSE with @error naming the file when there is no scan in it, or @wanted is none of its frames.
   On success frames is open. */
gboolean td_nexus_find (hid_t file, const char *file_name, const char *wanted, TdNexusPlace *place,
                        GError **error);
void td_nexus_place_clear (TdNexusPlace *place); /* does not close frames */
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (TdNexusPlace, td_nexus_place_clear)
