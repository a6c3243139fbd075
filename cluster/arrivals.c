/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "arrivals.h"

#include <glib/gstdio.h>
#include <string.h>

#include "dataset/scan.h"
#include "dataset/sort.h"

#define DEPTH 3

/* How a file or a folder looks: any write changes it. */
typedef struct {
  guint64 files, bytes;
  gint64 newest_ns;
} Look;

typedef struct {
  Look look;
  gint64 since_us;
  gboolean told, seen; /* seen: in this round */
} Entry;

struct TdArrivals {
  char *folder, *but;
  gint64 settle_us;
  GHashTable *entries; /* name → Entry */
  GPtrArray *passed;   /* paths of this look that are no scans */
};

static gboolean
arrivals_is_scan (const char *name, const char *path)
{
  gboolean alone = FALSE;

  return g_file_test (path, G_FILE_TEST_IS_DIR) || (td_scan_ending (name, &alone) && alone);
}

/* Hidden, or on its way. */
static gboolean
arrivals_is_quiet (const char *name)
{
  g_autofree char *lower = g_ascii_strdown (name, -1);

  return *name == '.' || g_str_has_suffix (lower, ".part");
}

static void
arrivals_add_look (const char *path, guint depth, Look *look)
{
  GStatBuf status;

  if (g_stat (path, &status) != 0)
    return;
  look->files++;
  /* Not when it was written: copies may be given the time of what they are copies of. */
  look->newest_ns
      = MAX (look->newest_ns, (gint64) status.st_ctim.tv_sec * 1000000000 + status.st_ctim.tv_nsec);
  if (!S_ISDIR (status.st_mode)) {
    look->bytes += (guint64) status.st_size;
    return;
  }
  g_autoptr (GDir) dir = depth < DEPTH ? g_dir_open (path, 0, NULL) : NULL;
  const char *name;
  while (dir && (name = g_dir_read_name (dir))) {
    g_autofree char *child = g_build_filename (path, name, NULL);
    arrivals_add_look (child, depth + 1, look);
  }
}

TdArrivals *
td_arrivals_new (const char *folder, const char *but, double settle_s)
{
  TdArrivals *arrivals = g_new0 (TdArrivals, 1);

  arrivals->folder = g_canonicalize_filename (folder, NULL);
  arrivals->but = but ? g_canonicalize_filename (but, NULL) : NULL;
  arrivals->settle_us = (gint64) (settle_s * G_USEC_PER_SEC);
  arrivals->entries = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  arrivals->passed = g_ptr_array_new_with_free_func (g_free);
  return arrivals;
}

void
td_arrivals_free (TdArrivals *arrivals)
{
  g_free (arrivals->folder);
  g_free (arrivals->but);
  g_hash_table_unref (arrivals->entries);
  g_ptr_array_unref (arrivals->passed);
  g_free (arrivals);
}

/* The entry of @name; *@is_new: it was not there, and is now. */
static Entry *
arrivals_entry (TdArrivals *arrivals, const char *name, gboolean *is_new)
{
  Entry *entry = g_hash_table_lookup (arrivals->entries, name);

  *is_new = entry == NULL;
  if (!entry) {
    entry = g_new0 (Entry, 1);
    g_hash_table_insert (arrivals->entries, g_strdup (name), entry);
  }
  entry->seen = TRUE;
  return entry;
}

/* TRUE: the entry has become still, which was not told yet. */
static gboolean
arrivals_look_at (TdArrivals *arrivals, const char *name, const char *path, gint64 now,
                  guint *moving)
{
  gboolean is_new;
  Entry *entry = arrivals_entry (arrivals, name, &is_new);
  Look look = { 0 };

  arrivals_add_look (path, 0, &look);
  if (memcmp (&look, &entry->look, sizeof look) != 0) {
    entry->look = look;
    entry->since_us = now;
    entry->told = FALSE;
  }
  const gboolean still = now - entry->since_us >= arrivals->settle_us;
  *moving += !still;
  if (!still || entry->told)
    return FALSE;
  entry->told = TRUE;
  return TRUE;
}

static gboolean
arrivals_is_gone (gpointer name, gpointer entry, gpointer user)
{
  const gboolean gone = !((Entry *) entry)->seen;

  ((Entry *) entry)->seen = FALSE;
  return gone;
}

/* The folder where volumes go lies at or below @path. */
static gboolean
arrivals_holds_but (const TdArrivals *arrivals, const char *path)
{
  const gsize n = strlen (path);

  return arrivals->but && strncmp (arrivals->but, path, n) == 0
         && (arrivals->but[n] == '/' || arrivals->but[n] == '\0');
}

/* A scan, or something else that is told once. */
static void
arrivals_take (TdArrivals *arrivals, const char *name, gint64 now, GPtrArray *paths, guint *moving)
{
  g_autofree char *path = g_build_filename (arrivals->folder, name, NULL);

  if (arrivals_holds_but (arrivals, path) || arrivals_is_quiet (name))
    return;
  if (arrivals_is_scan (name, path)) {
    if (arrivals_look_at (arrivals, name, path, now, moving))
      g_ptr_array_add (paths, g_steal_pointer (&path));
    return;
  }
  gboolean is_new;
  arrivals_entry (arrivals, name, &is_new);
  if (is_new)
    g_ptr_array_add (arrivals->passed, g_steal_pointer (&path));
}

const char *const *
td_arrivals_passed (const TdArrivals *arrivals)
{
  return (const char *const *) arrivals->passed->pdata;
}

char **
td_arrivals_look (TdArrivals *arrivals, guint *moving, GError **error)
{
  g_autoptr (GError) reason = NULL;
  g_autoptr (GDir) dir = g_dir_open (arrivals->folder, 0, &reason);
  const gint64 now = g_get_monotonic_time ();
  guint n_moving = 0;
  const char *name;

  if (g_strcmp0 (arrivals->folder, arrivals->but) == 0)
    return td_set_error_null (
        error, TD_ERROR_INVALID,
        "“%s” is watched, and each volume in it would come as a scan; take another folder for the "
        "volumes, which may lie in this one",
        arrivals->folder);
  if (!dir)
    return td_set_error_null (error, TD_ERROR_IO, "The folder “%s” cannot be read: %s",
                              arrivals->folder, reason->message);
  GPtrArray *paths = g_ptr_array_new ();
  g_ptr_array_set_size (arrivals->passed, 0);
  while ((name = g_dir_read_name (dir)))
    arrivals_take (arrivals, name, now, paths, &n_moving);
  g_ptr_array_sort (arrivals->passed, td_compare_strings);
  g_ptr_array_add (arrivals->passed, NULL);
  g_hash_table_foreach_remove (arrivals->entries, arrivals_is_gone, NULL);
  g_ptr_array_sort (paths, td_compare_strings);
  g_ptr_array_add (paths, NULL);
  if (moving)
    *moving = n_moving;
  return (char **) g_ptr_array_free (paths, FALSE);
}
