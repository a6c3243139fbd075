/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "hdf5-util.h"

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

/* Where the file that a link names really is; NULL: nowhere. */
static char *
locate_file (hid_t location, const char *stated)
{
  g_autofree char *own = td_h5_file_name (location);
  g_autofree char *folder = g_path_get_dirname (own);
  g_autofree char *base = g_path_get_basename (stated);
  char *as_stated
      = g_path_is_absolute (stated) ? g_strdup (stated) : g_build_filename (folder, stated, NULL);
  char *beside;

  if (td_h5_is_regular (as_stated))
    return as_stated;
  g_free (as_stated);
  beside = g_build_filename (folder, base, NULL);
  if (td_h5_is_regular (beside))
    return beside;
  g_free (beside);
  return NULL;
}

static hid_t
follow_external (hid_t location, const char *target_file, const char *target_path, guint hops,
                 char **missing)
{
  g_autofree char *path = locate_file (location, target_file);
  g_autoptr (GError) error = NULL;
  g_auto (TdH5Id) file = -1;
  hid_t object;

  if (!path) {
    set_missing (missing, g_strdup_printf ("the linked file “%s” is missing", target_file));
    return -1;
  }
  file = td_h5_open (path, &error);
  if (file < 0) {
    set_missing (missing, g_strdup_printf ("the linked file “%s” is damaged", path));
    return -1;
  }
  object = hdf5_link_resolve (file, target_path, hops + 1, missing);
  if (object < 0)
    set_missing (missing,
                 g_strdup_printf ("the linked file “%s” holds no “%s”", path, target_path));
  return object;
}

/* The object that the single name @name in @location stands for. */
static hid_t
hdf5_link_step (hid_t location, const char *name, guint hops, char **missing)
{
  g_autofree char *value = NULL;
  const char *file = NULL, *path = NULL;
  H5L_info_t link;

  if (H5Lget_info (location, name, &link, H5P_DEFAULT) < 0)
    return -1;
  if (link.type == H5L_TYPE_HARD)
    return H5Oopen (location, name, H5P_DEFAULT);
  if (link.u.val_size == 0 || link.u.val_size > MAX_LINK_BYTES)
    return -1;
  value = g_malloc0 (link.u.val_size + 1);
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
    set_missing (missing, g_strdup_printf ("the link to “%s” goes round in a circle", path));
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
