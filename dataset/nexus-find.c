/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "nexus-find.h"

#include <string.h>

#include "error.h"

typedef struct {
  GPtrArray *entries;   /* of NXtomo */
  GPtrArray *detectors; /* groups with an image_key and data */
} Found;

static gboolean
has_class (hid_t group, const char *class)
{
  g_autofree char *name = td_h5_attribute_string (group, "NX_class");

  return name && strcmp (name, class) == 0;
}

static gboolean
nexus_find_visit (hid_t group, const char *path, gpointer user)
{
  Found *found = user;
  g_autofree char *definition = H5Lexists (group, "definition", H5P_DEFAULT) > 0
                                    ? td_h5_string (group, "definition")
                                    : NULL;

  if (definition && g_ascii_strcasecmp (definition, "NXtomo") == 0)
    g_ptr_array_add (found->entries, g_strdup (path));
  if (H5Lexists (group, "image_key", H5P_DEFAULT) > 0 && H5Lexists (group, "data", H5P_DEFAULT) > 0
      && has_class (group, "NXdetector"))
    g_ptr_array_add (found->detectors, g_strdup (path));
  return FALSE;
}

static void
find_all (hid_t file, Found *found)
{
  found->entries = g_ptr_array_new_with_free_func (g_free);
  found->detectors = g_ptr_array_new_with_free_func (g_free);
  td_h5_visit_groups (file, nexus_find_visit, found);
}

static void
found_clear (Found *found)
{
  g_ptr_array_unref (found->entries);
  g_ptr_array_unref (found->detectors);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Found, found_clear)

/* @wanted is @group, or in it. */
static gboolean
is_in (const char *wanted, const char *group)
{
  gsize length = strlen (group);

  return strcmp (group, "/") == 0
         || (g_str_has_prefix (wanted, group) && (wanted[length] == '\0' || wanted[length] == '/'));
}

/* The entry of the entries that @wanted is in. NULL: none. */
static const char *
wanted_entry (const Found *found, const char *wanted)
{
  for (guint i = 0; i < found->entries->len; i++)
    if (!wanted || is_in (wanted, found->entries->pdata[i]))
      return found->entries->pdata[i];
  return NULL;
}

/* Detectors are wanted by what is in them, and by what they are in. */
static gboolean
is_wanted_detector (const char *detector, const char *wanted)
{
  return !wanted || is_in (wanted, detector) || is_in (detector, wanted);
}

gboolean
td_nexus_probe (hid_t file, const char *wanted)
{
  TD_H5_GUARD;
  g_auto (Found) found = { 0 };

  find_all (file, &found);
  if (found.entries->len > 0)
    return wanted_entry (&found, wanted) != NULL;
  for (guint i = 0; i < found.detectors->len; i++)
    if (is_wanted_detector (found.detectors->pdata[i], wanted))
      return TRUE;
  return FALSE;
}

void
td_nexus_place_clear (TdNexusPlace *place)
{
  g_free (place->entry);
  g_free (place->detector);
  g_free (place->frames_path);
  g_free (place->missing);
}

/* Opens @path if it is a data set of frames; remembers the first missing link. */
static gboolean
try_frames (hid_t file, char *path, TdNexusPlace *place)
{
  g_autofree char *own = path, *missing = NULL;
  hid_t dataset = td_h5_find_dataset (file, path, &missing);
  hsize_t shape[3];

  if (dataset < 0) {
    if (missing && !place->missing)
      place->missing = g_steal_pointer (&missing);
    return FALSE;
  }
  if (td_h5_shape (dataset, shape, 3) != 3) {
    td_h5_close (dataset);
    return FALSE;
  }
  place->frames = dataset;
  place->frames_path = g_steal_pointer (&own);
  return TRUE;
}

static gboolean
try_detector (hid_t file, const char *detector, TdNexusPlace *place)
{
  if (!try_frames (file, g_strconcat (detector, "/data", NULL), place))
    return FALSE;
  g_free (place->detector);
  place->detector = g_strdup (detector);
  return TRUE;
}

static gboolean
is_below (const char *wanted, const char *group)
{
  return wanted && strlen (wanted) > strlen (group) && is_in (wanted, group);
}

/* The frames themselves were named, or the detector that holds them. */
static gboolean
try_named (hid_t file, const char *wanted, TdNexusPlace *place)
{
  if (try_detector (file, wanted, place))
    return TRUE;
  if (!try_frames (file, g_strdup (wanted), place))
    return FALSE;
  g_free (place->detector);
  place->detector = g_path_get_dirname (wanted);
  return TRUE;
}

/* The detectors of an NXtomo entry: "detector" by definition, else any in the instrument. */
static gboolean
find_in_entry (hid_t file, const char *entry, TdNexusPlace *place)
{
  g_autofree char *instrument = g_strconcat (entry, "/instrument", NULL);
  g_autofree char *plain = g_strconcat (instrument, "/detector", NULL);
  g_auto (TdH5Id) group = td_h5_find (file, instrument, NULL);
  g_auto (GStrv) names = group >= 0 ? td_h5_names (group) : NULL;

  if (try_detector (file, plain, place))
    return TRUE;
  for (guint i = 0; names && names[i]; i++) {
    g_autofree char *path = g_strconcat (instrument, "/", names[i], NULL);
    g_auto (TdH5Id) child = td_h5_find (file, path, NULL);

    if (child >= 0 && H5Iget_type (child) == H5I_GROUP && has_class (child, "NXdetector")
        && try_detector (file, path, place))
      return TRUE;
  }
  return try_frames (file, g_strconcat (entry, "/data/data", NULL), place);
}

/* /entry/instrument/imaging -> /entry */
static char *
entry_of_detector (const char *detector)
{
  const char *instrument = strstr (detector, "/instrument");

  return instrument && instrument != detector ? g_strndup (detector, instrument - detector)
                                              : g_strdup ("/");
}

static gboolean
set_not_found (GError **error, const char *file_name, const char *wanted, const TdNexusPlace *place)
{
  if (wanted && !place->missing)
    td_set_error (
        error, TD_ERROR_NOT_FOUND,
        "“%s” holds no frames at “%s”; name the scan's group or the data set of its frames "
        "({dataset})",
        file_name, wanted);
  else if (place->missing)
    td_set_error (error, TD_ERROR_NOT_FOUND, "“%s” cannot be opened: %s; copy it beside the file",
                  file_name, place->missing);
  else
    td_set_error (error, TD_ERROR_BAD_FILE,
                  "“%s” says that it is an NXtomo scan, but it holds no frames (%s/instrument/"
                  "detector/data)",
                  file_name, place->entry ? place->entry : "");
  return FALSE;
}

/* Several detectors may be listed of which not all were copied: those that are there are taken. */
static gboolean
find_detector (hid_t file, const char *file_name, const char *wanted, const Found *found,
               TdNexusPlace *place, GError **error)
{
  g_autoptr (GString) complaints = g_string_new (NULL);

  for (guint i = 0; i < found->detectors->len; i++) {
    const char *path = found->detectors->pdata[i];

    g_clear_pointer (&place->missing, g_free);
    if (!is_wanted_detector (path, wanted))
      continue;
    if (is_below (wanted, path) ? try_named (file, wanted, place)
                                : try_detector (file, path, place)) {
      g_clear_pointer (&place->missing, g_free);
      place->entry = entry_of_detector (path);
      return TRUE;
    }
    if (place->missing)
      g_string_append_printf (complaints, "%s%s (%s)", complaints->len ? ", " : "", place->missing,
                              path);
  }
  g_free (place->missing);
  place->missing = complaints->len ? g_strdup (complaints->str) : NULL;
  return set_not_found (error, file_name, wanted, place);
}

gboolean
td_nexus_find (hid_t file, const char *file_name, const char *wanted, TdNexusPlace *place,
               GError **error)
{
  TD_H5_GUARD;
  g_auto (Found) found = { 0 };
  const char *entry;

  memset (place, 0, sizeof *place);
  place->frames = -1;
  find_all (file, &found);
  if (found.entries->len == 0)
    return find_detector (file, file_name, wanted, &found, place, error);

  entry = wanted_entry (&found, wanted);
  if (!entry)
    return set_not_found (error, file_name, wanted, place);
  place->n_entries = wanted ? 1 : found.entries->len;
  place->defined = TRUE;
  place->entry = g_strdup (strcmp (entry, "/") == 0 ? "" : entry);
  if (is_below (wanted, entry) ? try_named (file, wanted, place)
                               : find_in_entry (file, place->entry, place)) {
    g_clear_pointer (&place->missing, g_free);
    return TRUE;
  }
  return set_not_found (error, file_name, wanted, place);
}
