/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "hdf5-util.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "error.h"
#include "file-bytes.h"
#include "hdf5-filters.h"
#include "series.h"
#include "sort.h"
#include "unit.h"

#define MAX_STRING_BYTES (16u << 20)
#define MAX_NUMBERS ((gsize) 1 << 25)

static GRecMutex library;

TdH5Guard
td_h5_lock (void)
{
  static gsize prepared;

  g_rec_mutex_lock (&library);
  if (g_once_init_enter (&prepared)) {
    /* Everything is closed where it was opened. Left to itself the library would, at exit, once
       more try to write what a full disk refused, and crash. */
    H5dont_atexit ();
    td_h5_filters_init ();
    g_once_init_leave (&prepared, 1);
  }
  H5Eset_auto2 (H5E_DEFAULT, NULL, NULL); /* a setting of the calling thread */
  return 0;
}

void
td_h5_unlock (TdH5Guard *guard)
{
  g_rec_mutex_unlock (&library);
}

void
td_h5_close (hid_t id)
{
  TD_H5_GUARD;

  H5Idec_ref (id);
}

hid_t
td_h5_native_type (TdSampleType type)
{
  switch (type) {
  case TD_SAMPLE_UINT8: return H5T_NATIVE_UINT8;
  case TD_SAMPLE_INT8: return H5T_NATIVE_INT8;
  case TD_SAMPLE_UINT16: return H5T_NATIVE_UINT16;
  case TD_SAMPLE_INT16: return H5T_NATIVE_INT16;
  case TD_SAMPLE_UINT32: return H5T_NATIVE_UINT32;
  case TD_SAMPLE_INT32: return H5T_NATIVE_INT32;
  case TD_SAMPLE_FLOAT32: return H5T_NATIVE_FLOAT;
  case TD_SAMPLE_FLOAT64: return H5T_NATIVE_DOUBLE;
  }
  return -1;
}

gboolean
td_h5_is_regular (const char *path)
{
  struct stat status;

  return stat (path, &status) == 0 && S_ISREG (status.st_mode);
}

gboolean
td_h5_probe (const char *path)
{
  static const guint8 signature[8] = { 0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n' };
  guint64 size = 0, at = 0;
  guint8 found[8];
  gboolean known = FALSE;
  const int file = td_file_open (path, &size);

  /* At the beginning, or behind a user's block of 512 bytes, 1024, and so on. */
  while (file >= 0 && !known && at < size && td_file_read (file, found, sizeof found, at) == 0) {
    known = memcmp (found, signature, sizeof found) == 0;
    at = at ? 2 * at : 512;
  }
  if (file >= 0)
    close (file);
  return known;
}

hid_t
td_h5_open (const char *path, GError **error)
{
  TD_H5_GUARD;
  g_auto (TdH5Id) access = H5Pcreate (H5P_FILE_ACCESS);

  if (!td_h5_is_regular (path)) {
    td_set_error (error, TD_ERROR_NOT_FOUND, "“%s” is not a file", path);
    return -1;
  }
  H5Pset_file_locking (access, FALSE, TRUE);
  td_h5_driver_set (access);
  const hid_t file = H5Fopen (path, H5F_ACC_RDONLY, access);
  if (file < 0)
    td_set_error (
        error, TD_ERROR_BAD_FILE,
        "“%s” is not a readable HDF5 file: it is damaged, cut short or still being written", path);
  return file;
}

char *
td_h5_file_name (hid_t object)
{
  TD_H5_GUARD;
  gssize length = H5Fget_name (object, NULL, 0);

  if (length < 0)
    return g_strdup ("?");
  char *name = g_malloc0 (length + 1);
  H5Fget_name (object, name, length + 1);
  return name;
}

static herr_t
collect_name (hid_t group, const char *name, const H5L_info_t *info, void *user)
{
  g_ptr_array_add (user, g_strdup (name));
  return 0;
}

char **
td_h5_names (hid_t group)
{
  TD_H5_GUARD;
  GPtrArray *names = g_ptr_array_new ();

  H5Literate (group, H5_INDEX_NAME, H5_ITER_NATIVE, NULL, collect_name, names);
  g_ptr_array_sort (names, td_compare_strings);
  g_ptr_array_add (names, NULL);
  return (char **) g_ptr_array_free (names, FALSE);
}

typedef struct {
  TdH5Visit visit;
  gpointer user;
  GHashTable *seen; /* addresses: hard links can make a circle */
} Tour;

#define MAX_DEPTH 12u
#define MAX_GROUPS 20000u

static gboolean
tour_group (Tour *tour, hid_t group, const char *path, guint depth)
{
  H5O_info_t info;
  guint64 *address;

  if (H5Oget_info2 (group, &info, H5O_INFO_BASIC) < 0 || depth > MAX_DEPTH
      || g_hash_table_size (tour->seen) > MAX_GROUPS)
    return FALSE;
  address = g_memdup2 (&(guint64) { info.addr }, sizeof *address);
  if (!g_hash_table_add (tour->seen, address))
    return FALSE;
  if (tour->visit (group, path, tour->user))
    return TRUE;
  g_auto (GStrv) names = td_h5_names (group);
  for (guint i = 0; names[i]; i++) {
    g_autofree char *below = g_build_path ("/", path, names[i], NULL);
    g_auto (TdH5Id) child = -1;
    H5L_info_t link;

    if (H5Lget_info (group, names[i], &link, H5P_DEFAULT) < 0 || link.type != H5L_TYPE_HARD)
      continue;
    child = H5Oopen (group, names[i], H5P_DEFAULT);
    if (child >= 0 && H5Iget_type (child) == H5I_GROUP
        && tour_group (tour, child, below, depth + 1))
      return TRUE;
  }
  return FALSE;
}

gboolean
td_h5_visit_groups (hid_t file, TdH5Visit visit, gpointer user)
{
  TD_H5_GUARD;
  g_autoptr (GHashTable) seen = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, NULL);
  g_auto (TdH5Id) root = H5Gopen2 (file, "/", H5P_DEFAULT);
  Tour tour = { visit, user, seen };

  return root >= 0 && tour_group (&tour, root, "/", 0);
}

char *
td_h5_place (hid_t dataset)
{
  TD_H5_GUARD;
  H5O_info_t info = { 0 };

  H5Oget_info2 (dataset, &info, H5O_INFO_BASIC);
  return g_strdup_printf ("%lu %" PRIu64, info.fileno, (guint64) info.addr);
}

/* Which dimensions of @space are left of at most @max. Returns how many; -1: there are more. */
static int
hdf5_kept_dimensions (hid_t space, int max, int *kept, hsize_t *shape)
{
  hsize_t all[H5S_MAX_RANK];
  const int rank = space < 0 ? -1 : H5Sget_simple_extent_dims (space, all, NULL);
  const gboolean without_last = rank > max && all[rank - 1] == 1;
  int spare = rank - max - without_last, n = 0;

  for (int i = 0; i < rank - without_last; i++) {
    if (all[i] == 1 && spare > 0) {
      spare--;
      continue;
    }
    if (n == max)
      return -1;
    kept[n] = i;
    shape[n++] = all[i];
  }
  return rank < 0 ? -1 : n;
}

int
td_h5_shape (hid_t dataset, hsize_t *shape, int max)
{
  TD_H5_GUARD;
  g_auto (TdH5Id) space = H5Dget_space (dataset);
  int kept[H5S_MAX_RANK];

  return hdf5_kept_dimensions (space, max, kept, shape);
}

gboolean
td_h5_dimensions (hid_t space, TdH5Dimensions *dimensions, hsize_t shape[3])
{
  int kept[3];
  hsize_t own[3];
  const int n = hdf5_kept_dimensions (space, 3, kept, own);

  dimensions->rank = space < 0 ? -1 : H5Sget_simple_extent_ndims (space);
  for (int i = 0; i < 3; i++) {
    const int from = i - (3 - n);
    dimensions->at[i] = from < 0 ? -1 : kept[from];
    shape[i] = from < 0 ? 1 : own[from];
  }
  return n >= 2;
}

void
td_h5_dimensions_spread (const TdH5Dimensions *dimensions, const hsize_t frames[3], hsize_t other,
                         hsize_t *all)
{
  for (int i = 0; i < dimensions->rank; i++)
    all[i] = other;
  for (int i = 0; i < 3; i++)
    if (dimensions->at[i] >= 0)
      all[dimensions->at[i]] = frames[i];
}

void
td_h5_dimensions_pick (const TdH5Dimensions *dimensions, const hsize_t *all, hsize_t frames[3])
{
  for (int i = 0; i < 3; i++)
    if (dimensions->at[i] >= 0)
      frames[i] = all[dimensions->at[i]];
}

/* @text itself, or what it says in Latin-1, in which Windows' programs write their µm and °. */
static char *
hdf5_text_valid (const char *text)
{
  char *valid = g_utf8_validate (text, -1, NULL)
                    ? NULL
                    : g_convert (text, -1, "UTF-8", "ISO-8859-1", NULL, NULL, NULL);

  return valid ? valid : g_utf8_make_valid (text, -1);
}

/* One string of type @type, fixed or variable length, read by @read from @object. */
static char *
read_text (hid_t object, hid_t type, hid_t space, gboolean attribute)
{
  g_autofree char *text = NULL;
  gsize size;

  if (H5Tget_class (type) != H5T_STRING || space < 0 || H5Sget_simple_extent_npoints (space) != 1)
    return NULL;
  g_auto (TdH5Id) memory = H5Tcopy (H5T_C_S1);
  H5Tset_cset (memory, H5Tget_cset (type));
  if (H5Tis_variable_str (type) > 0) {
    char *variable = NULL;
    herr_t status;

    H5Tset_size (memory, H5T_VARIABLE);
    status = attribute ? H5Aread (object, memory, &variable)
                       : H5Dread (object, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, &variable);
    if (status >= 0 && variable)
      text = g_strndup (variable, MAX_STRING_BYTES);
    if (variable)
      H5free_memory (variable);
  } else {
    size = H5Tget_size (type);
    if (size == 0 || size > MAX_STRING_BYTES)
      return NULL;
    text = g_malloc0 (size + 1);
    H5Tset_size (memory, size + 1);
    if ((attribute ? H5Aread (object, memory, text)
                   : H5Dread (object, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, text))
        < 0)
      return NULL;
  }
  return text ? hdf5_text_valid (g_strstrip (text)) : NULL;
}

char *
td_h5_string (hid_t location, const char *path)
{
  TD_H5_GUARD;
  g_auto (TdH5Id) dataset = td_h5_find_dataset (location, path, NULL);
  g_auto (TdH5Id) type = dataset < 0 ? -1 : H5Dget_type (dataset);
  g_auto (TdH5Id) space = dataset < 0 ? -1 : H5Dget_space (dataset);

  return type < 0 ? NULL : read_text (dataset, type, space, FALSE);
}

char *
td_h5_attribute_string (hid_t object, const char *name)
{
  TD_H5_GUARD;
  g_auto (TdH5Id) attribute
      = H5Aexists (object, name) > 0 ? H5Aopen (object, name, H5P_DEFAULT) : -1;
  g_auto (TdH5Id) type = attribute < 0 ? -1 : H5Aget_type (attribute);
  g_auto (TdH5Id) space = attribute < 0 ? -1 : H5Aget_space (attribute);

  return type < 0 ? NULL : read_text (attribute, type, space, TRUE);
}

gboolean
td_h5_attribute_numbers (hid_t object, const char *name, double *values, guint n)
{
  TD_H5_GUARD;
  g_auto (TdH5Id) attribute
      = H5Aexists (object, name) > 0 ? H5Aopen (object, name, H5P_DEFAULT) : -1;
  g_auto (TdH5Id) type = attribute < 0 ? -1 : H5Aget_type (attribute);
  g_auto (TdH5Id) space = attribute < 0 ? -1 : H5Aget_space (attribute);
  const H5T_class_t class = type < 0 ? H5T_NO_CLASS : H5Tget_class (type);
  gboolean good = (class == H5T_INTEGER || class == H5T_FLOAT)
                  && H5Sget_simple_extent_npoints (space) == (hssize_t) n
                  && H5Aread (attribute, H5T_NATIVE_DOUBLE, values) >= 0;

  for (guint i = 0; i < n && good; i++)
    good = isfinite (values[i]);
  return good;
}

char *
td_h5_program (const char *path)
{
  static const char *const places[] = { "/entry/program_name", "/entry/tomo_entry/program_name" };
  TD_H5_GUARD;
  g_auto (TdH5Id) file = td_h5_open (path, NULL);
  char *program = NULL;

  for (guint i = 0; file >= 0 && !program && i < G_N_ELEMENTS (places); i++)
    program = td_h5_string (file, places[i]);
  return program;
}

char *
td_h5_units (hid_t dataset)
{
  TD_H5_GUARD;
  char *units = td_h5_attribute_string (dataset, "units");

  if (!units)
    units = td_h5_attribute_string (dataset, "unit"); /* as the ESRF wrote for some years */
  if (!units)
    units = td_h5_attribute_string (dataset, "angle_unit"); /* the Core Imaging Library */
  if (units && !*units)
    g_clear_pointer (&units, g_free);
  return units;
}

static gboolean
is_number (hid_t dataset)
{
  g_auto (TdH5Id) type = H5Dget_type (dataset);
  H5T_class_t class = type < 0 ? H5T_NO_CLASS : H5Tget_class (type);

  return class == H5T_INTEGER || class == H5T_FLOAT || class == H5T_ENUM;
}

double *
td_h5_numbers (hid_t dataset, const char *name, gsize *n, GError **error)
{
  TD_H5_GUARD;
  g_auto (TdH5Id) space = H5Dget_space (dataset);
  hssize_t points = space < 0 ? -1 : H5Sget_simple_extent_npoints (space);
  hsize_t shape[8];
  int rank = td_h5_shape (dataset, shape, 8), large = 0;

  for (int i = 0; i < rank; i++)
    large += shape[i] > 1;
  if (points < 1 || (gsize) points > MAX_NUMBERS || rank < 0 || large > 1 || !is_number (dataset))
    return td_set_error_null (error, TD_ERROR_BAD_FILE, "%s is not a list of numbers", name);
  if (!td_h5_filters_check (dataset, name, error))
    return NULL;
  g_autofree double *values = g_new (double, points);
  if (H5Dread (dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) < 0)
    return td_set_error_null (error, TD_ERROR_BAD_FILE,
                              "%s cannot be read: the file is damaged or cut short", name);
  *n = points;
  return g_steal_pointer (&values);
}

gboolean
td_h5_number (hid_t location, const char *path, double *value)
{
  TD_H5_GUARD;
  g_auto (TdH5Id) dataset = td_h5_find_dataset (location, path, NULL);
  gsize n;

  g_autofree double *values = dataset < 0 ? NULL : td_h5_numbers (dataset, path, &n, NULL);
  if (!values || !isfinite (values[0]))
    return FALSE;
  *value = values[0];
  return TRUE;
}

double
td_h5_length_unit (hid_t dataset, double default_mm)
{
  TD_H5_GUARD;
  g_autofree char *name = td_h5_units (dataset);

  return name ? td_length_unit (name) : default_mm;
}

double
td_h5_quantity (hid_t location, const char *path, double (*unit) (const char *name),
                double otherwise)
{
  TD_H5_GUARD;
  g_auto (TdH5Id) dataset = td_h5_find_dataset (location, path, NULL);
  double value;

  if (dataset < 0 || !td_h5_number (location, path, &value))
    return 0;
  g_autofree char *name = td_h5_units (dataset);
  return value * (name ? unit (name) : otherwise);
}

double
td_h5_angle_unit (hid_t dataset)
{
  TD_H5_GUARD;
  g_autofree char *name = td_h5_units (dataset);

  return name ? td_angle_unit (name, FALSE) : G_PI / 180;
}

/* ── Links ── */

/* A chain of links longer than this goes round in a circle. */
#define MAX_HOPS 16u
#define MAX_LINK_BYTES 65536u

static hid_t hdf5_link_resolve (hid_t location, const char *path, guint hops, char **missing);

static void
set_missing (char **missing, char *what)
{
  if (missing && !*missing)
    *missing = what;
  else
    g_free (what);
}

char *
td_h5_linked_file (const char *folder, const char *stated)
{
  g_autofree char *base = td_series_base (stated);
  g_autofree char *beside = g_build_filename (folder, base, NULL);
  char *path
      = g_path_is_absolute (stated) ? g_strdup (stated) : g_build_filename (folder, stated, NULL);

  if (td_h5_is_regular (path) || !td_h5_is_regular (beside))
    return path;
  g_free (path);
  return g_steal_pointer (&beside);
}

static hid_t
follow_external (hid_t location, const char *target_file, const char *target_path, guint hops,
                 char **missing)
{
  g_autofree char *own = td_h5_file_name (location), *folder = g_path_get_dirname (own);
  g_autofree char *path = td_h5_linked_file (folder, target_file);

  if (!td_h5_is_regular (path)) {
    set_missing (missing, td_message_packed ("the linked file “%s” is missing", target_file));
    return -1;
  }
  g_auto (TdH5Id) file = td_h5_open (path, NULL);
  if (file < 0) {
    set_missing (missing, td_message_packed ("the linked file “%s” is damaged", path));
    return -1;
  }
  const hid_t object = hdf5_link_resolve (file, target_path, hops + 1, missing);
  if (object < 0)
    set_missing (missing,
                 td_message_packed ("the linked file “%s” holds no “%s”", path, target_path));
  return object;
}

void
td_h5_set_raw_folder (hid_t access)
{
  H5Pset_efile_prefix (access, "${ORIGIN}");
}

/* A data set with raw files that is open already opens only as it was opened then. */
static hid_t
hdf5_link_open (hid_t location, const char *name)
{
  const hid_t object = H5Oopen (location, name, H5P_DEFAULT);

  if (object >= 0)
    return object;
  g_auto (TdH5Id) access = H5Pcreate (H5P_DATASET_ACCESS);
  td_h5_set_raw_folder (access);
  return H5Dopen2 (location, name, access);
}

/* The object that the single name @name in @location stands for. */
static hid_t
hdf5_link_step (hid_t location, const char *name, guint hops, char **missing)
{
  const char *file = NULL, *path = NULL;
  H5L_info_t link;

  if (H5Lget_info (location, name, &link, H5P_DEFAULT) < 0)
    return -1;
  if (link.type == H5L_TYPE_HARD)
    return hdf5_link_open (location, name);
  if (link.u.val_size == 0 || link.u.val_size > MAX_LINK_BYTES)
    return -1;
  g_autofree char *value = g_malloc0 (link.u.val_size + 1);
  if (H5Lget_val (location, name, value, link.u.val_size, H5P_DEFAULT) < 0)
    return -1;
  if (link.type == H5L_TYPE_SOFT)
    return hdf5_link_resolve (location, value, hops + 1, missing);
  if (link.type != H5L_TYPE_EXTERNAL
      || H5Lunpack_elink_val (value, link.u.val_size, NULL, &file, &path) < 0)
    return -1;
  return follow_external (location, file, path, hops, missing);
}

static hid_t
hdf5_link_resolve (hid_t location, const char *path, guint hops, char **missing)
{
  g_auto (GStrv) names = g_strsplit (path, "/", -1);
  hid_t current = path[0] == '/' ? H5Gopen2 (location, "/", H5P_DEFAULT)
                                 : H5Oopen (location, ".", H5P_DEFAULT);

  if (hops > MAX_HOPS) {
    set_missing (missing, td_message_packed ("the link to “%s” goes round in a circle", path));
    td_h5_close (current);
    return -1;
  }
  for (guint i = 0; names[i] && current >= 0; i++) {
    hid_t next;

    if (names[i][0] == '\0' || strcmp (names[i], ".") == 0)
      continue;
    next = H5Iget_type (current) == H5I_GROUP ? hdf5_link_step (current, names[i], hops, missing)
                                              : -1;
    td_h5_close (current);
    current = next;
  }
  return current;
}

hid_t
td_h5_find (hid_t location, const char *path, char **missing)
{
  TD_H5_GUARD;

  if (missing)
    *missing = NULL;
  return hdf5_link_resolve (location, path, 0, missing);
}

hid_t
td_h5_find_dataset (hid_t location, const char *path, char **missing)
{
  TD_H5_GUARD;
  hid_t object = td_h5_find (location, path, missing);

  if (object >= 0 && H5Iget_type (object) != H5I_DATASET) {
    td_h5_close (object);
    return -1;
  }
  return object;
}

char *
td_h5_no_frames (hid_t location, const char *path)
{
  TD_H5_GUARD;
  g_autofree char *folder = g_path_get_dirname (path), *name = g_path_get_basename (path);
  g_auto (TdH5Id) group = td_h5_find (location, folder, NULL);
  hsize_t shape[H5S_MAX_RANK];
  H5L_info_t link;
  unsigned version[3] = { 0 };

  if (group < 0 || H5Iget_type (group) != H5I_GROUP
      || H5Lget_info (group, name, &link, H5P_DEFAULT) < 0 || link.type != H5L_TYPE_HARD)
    return NULL;
  g_auto (TdH5Id) object = H5Oopen (group, name, H5P_DEFAULT);
  H5get_libversion (&version[0], &version[1], &version[2]);
  if (object < 0)
    return td_message_packed (
        "“%.200s” cannot be read by this computer's HDF5 (%u.%u): a newer one wrote it, or it is "
        "damaged; write it anew for earlier versions (libver)",
        path, version[0], version[1]);
  if (H5Iget_type (object) != H5I_DATASET || td_h5_shape (object, shape, 3) == 3)
    return NULL;
  const int rank = td_h5_shape (object, shape, H5S_MAX_RANK);
  return td_message_packed ("“%.200s” has %d dimensions, and frames have three: frame, row and "
                            "column; write it with these",
                            path, rank);
}
