/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "hdf5-trial.h"

#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "error.h"
#include "hdf5-util.h"
#include "helper.h"
#include "scan-private.h"
#include "series.h"
#include "volume.h"

#define HELPER "--try-hdf5"
#define LIMIT_S 60 /* of computing: a slow disk may take longer */
#define LIMIT_BYTES ((guint64) 4 << 30)
#define MOST_VOXELS ((guint64) 1 << 26) /* of a slice that is read for a trial */

/* Before them stand exe, HELPER, the kind and the path; behind them the strings of the options. */
enum { KIND = 2, PATH, OPTIONS, STRINGS };

/* ── Options as words ── */

/* The child is the same program, so the struct's bytes mean the same; its strings go apart. */
static const gsize strings[] = {
  G_STRUCT_OFFSET (TdScanOptions, flats),   G_STRUCT_OFFSET (TdScanOptions, darks),
  G_STRUCT_OFFSET (TdScanOptions, angles),  G_STRUCT_OFFSET (TdScanOptions, geometry),
  G_STRUCT_OFFSET (TdScanOptions, dataset),
};

static const char **
trial_string (TdScanOptions *options, guint i)
{
  return (const char **) ((char *) options + strings[i]);
}

/* "-" is no string, "=TEXT" is one. */
static void
trial_add_options (GPtrArray *words, const TdScanOptions *options)
{
  TdScanOptions own = *options;

  for (guint i = 0; i < G_N_ELEMENTS (strings); i++)
    *trial_string (&own, i) = NULL;
  g_ptr_array_add (words, g_base64_encode ((const guchar *) &own, sizeof own));
  for (guint i = 0; i < G_N_ELEMENTS (strings); i++) {
    const char *text = *trial_string ((TdScanOptions *) options, i);
    g_ptr_array_add (words, text ? g_strconcat ("=", text, NULL) : g_strdup ("-"));
  }
}

static gboolean
trial_take_options (TdScanOptions *options, char **words)
{
  gsize n = 0;
  g_autofree guchar *bytes = g_base64_decode (words[OPTIONS], &n);

  if (n != sizeof *options)
    return FALSE;
  memcpy (options, bytes, n);
  for (guint i = 0; i < G_N_ELEMENTS (strings); i++)
    *trial_string (options, i) = words[STRINGS + i][0] == '=' ? words[STRINGS + i] + 1 : NULL;
  return TRUE;
}

/* ── The child ── */

/* Reads some of @scan (nullable), which ends the child where the library crashes. */
static void
trial_read_scan (TdScan *scan)
{
  const TdScanFacts *facts = scan ? td_scan_facts (scan) : NULL;
  g_autofree float *row = facts ? g_try_new (float, facts->n_columns) : NULL;

  for (TdFrameKind kind = TD_FRAME_PROJECTION; row && kind <= TD_FRAME_DARK; kind++) {
    const guint n = td_scan_facts_frames (facts, kind);
    for (guint i = 0; i < MIN (n, 2); i++)
      td_scan_read (scan, &(TdFrameRange) { kind, i ? n - 1 : 0, 1, 0, 1 }, row, NULL, NULL);
  }
  td_scan_unref (scan);
}

static void
trial_read_volume (TdVolume *volume)
{
  const TdVolumeFacts *facts = volume ? td_volume_facts (volume) : NULL;
  const guint64 voxels = facts ? (guint64) facts->nx * facts->ny : 0;
  g_autofree float *slice = voxels && voxels <= MOST_VOXELS ? g_try_new (float, voxels) : NULL;

  for (guint i = 0; slice && i < MIN (facts->n_slices, 2); i++)
    td_volume_read (volume, i ? facts->n_slices - 1 : 0, 1, slice, NULL);
  td_volume_free (volume);
}

gboolean
td_h5_trial_helper (int argc, char **argv)
{
  /* The child shows nobody what it reads. */
  static const TdScanOptions beside = { .angles = "0:180", .allow_external = TRUE };
  TdScanOptions options;

  if (!td_helper_begin (argc, argv, HELPER))
    return FALSE;
  td_helper_limit (td_helper_seconds (LIMIT_S), LIMIT_BYTES);
  if (argc == OPTIONS + 1 && strcmp (argv[KIND], "volume") == 0) {
    const TdScanOptions stated = { .dataset = argv[OPTIONS], .allow_external = TRUE };
    trial_read_volume (td_volume_open_stated (argv[PATH], &stated, NULL));
  } else if (argc > PATH && strcmp (argv[KIND], "volume") == 0) {
    trial_read_volume (td_volume_open_stated (argv[PATH], &beside, NULL));
    trial_read_scan (td_scan_open (argv[PATH], &beside, NULL, NULL)); /* flats of another scan */
    g_free (td_h5_program (argv[PATH]));
  } else if (argc == STRINGS + (int) G_N_ELEMENTS (strings) && trial_take_options (&options, argv))
    trial_read_scan (td_scan_open (argv[PATH], &options, NULL, NULL));
  else
    _exit (2);
  _exit (0);
}

/* ── What was tried ── */

static GMutex lock;
static GHashTable *tried; /* the words and the file's state; under the lock */

static char *
trial_key (const GPtrArray *words, const char *path)
{
  GString *key = g_string_new (NULL);
  struct stat status = { 0 };

  if (stat (path, &status) != 0)
    memset (&status, 0, sizeof status);
  g_string_append_printf (key, "%ju %ju %jd %jd.%09ld", (uintmax_t) status.st_dev,
                          (uintmax_t) status.st_ino, (intmax_t) status.st_size,
                          (intmax_t) status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
  for (guint i = 0; words->pdata[i]; i++)
    g_string_append_printf (key, "\n%s", (const char *) words->pdata[i]);
  return g_string_free (key, FALSE);
}

static gboolean
trial_known (const char *key)
{
  g_mutex_lock (&lock);
  const gboolean known = tried && g_hash_table_contains (tried, key);
  g_mutex_unlock (&lock);
  return known;
}

static void
trial_keep (char *key)
{
  g_mutex_lock (&lock);
  if (!tried)
    tried = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  g_hash_table_add (tried, key);
  g_mutex_unlock (&lock);
}

/* ── The parent ── */

/* An HDF5 file, or a folder in which one would be found. */
static gboolean
trial_concerns (const char *path, gboolean below)
{
  if (!g_file_test (path, G_FILE_TEST_IS_DIR))
    return td_h5_probe (path);
  g_auto (GStrv) paths = td_series_paths (path, td_scan_folder_takes, NULL);
  g_autofree char *projections = g_build_filename (path, "projections", NULL);
  for (guint i = 0; paths && paths[i]; i++)
    if (td_h5_probe (paths[i]))
      return TRUE;
  return below && g_file_test (projections, G_FILE_TEST_IS_DIR)
         && trial_concerns (projections, FALSE);
}

/* The child has less than its limit: sound files may need that. */
static gboolean
trial_is_tight (void)
{
  struct rlimit limit;

  return getrlimit (RLIMIT_AS, &limit) == 0 && limit.rlim_cur < LIMIT_BYTES;
}

/* Ends @words with NULL. */
static gboolean
trial_run (GPtrArray *words, const char *path, GCancellable *cancellable, GError **error)
{
  g_ptr_array_add (words, NULL);
  g_autofree char *key = trial_key (words, path);
  if (trial_known (key))
    return TRUE;
  g_autofree char *how = td_helper_run ((const char *const *) words->pdata, NULL, 0, cancellable);
  if (g_cancellable_set_error_if_cancelled (cancellable, error))
    return FALSE;
  if (!how) {
    trial_keep (g_steal_pointer (&key));
    return TRUE;
  }
  if (strcmp (how, TD_HELPER_NO_MEMORY) == 0)
    return td_set_error (
        error, TD_ERROR_TOO_LARGE,
        "Opening “%s” takes more memory than there is: close other programs, or get "
        "another copy of the file, which may be damaged",
        path);
  if (trial_is_tight ())
    return td_set_error (
        error, TD_ERROR_TOO_LARGE,
        "The HDF5 library %p reading “%s”: the file is damaged, or this process may take "
        "too little memory (ulimit -v)",
        td_message_unpack (how), path);
  return td_set_error (
      error, TD_ERROR_BAD_FILE,
      "The HDF5 library %p reading “%s”: the file is damaged; get a sound copy of it",
      td_message_unpack (how), path);
}

static GPtrArray *
trial_words (const char *kind, const char *path)
{
  GPtrArray *words = g_ptr_array_new_with_free_func (g_free);

  g_ptr_array_add (words, g_strdup (HELPER));
  g_ptr_array_add (words, g_strdup (kind));
  g_ptr_array_add (words, g_strdup (path));
  return words;
}

gboolean
td_h5_trial_volume (const char *path, const char *dataset, GCancellable *cancellable,
                    GError **error)
{
  if (!td_helper_exists () || !td_h5_probe (path))
    return TRUE;
  g_autoptr (GPtrArray) words = trial_words ("volume", path);
  if (dataset)
    g_ptr_array_add (words, g_strdup (dataset));
  return trial_run (words, path, cancellable, error);
}

gboolean
td_h5_trial_scan (const char *path, const TdScanOptions *options, GCancellable *cancellable,
                  GError **error)
{
  const gboolean companions
      = td_scan_companions_in_hdf5 (options->flats) || td_scan_companions_in_hdf5 (options->darks);
  if (!td_helper_exists () || options->raw_columns > 0
      || !(companions || trial_concerns (path, TRUE)))
    return TRUE;
  /* By themselves first, so that the one at fault is named. */
  if ((options->flats && !td_h5_trial_volume (options->flats, NULL, cancellable, error))
      || (options->darks && !td_h5_trial_volume (options->darks, NULL, cancellable, error)))
    return FALSE;
  g_autoptr (GPtrArray) words = trial_words ("scan", path);
  trial_add_options (words, options);
  return trial_run (words, path, cancellable, error);
}
