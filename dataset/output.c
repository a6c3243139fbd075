/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "error.h"
#include "file-bytes.h"
#include "hdf5-trial.h"
#include "hdf5-util.h"
#include "series.h"
#include "text-file.h"
#include "tiff-io.h"
#include "volume.h"

/* Directories and sizes beside the samples, per output. */
#define SLACK_BYTES ((guint64) 1 << 20)

struct TdOutput {
  char *path, *part, *parent;
  gboolean folder, overwrite;
  gboolean keep; /* the part, when it is freed */
  int lock;      /* the part, locked while it is being written; -1: none yet */
};

gboolean
td_output_set_error (GError **error, const char *path, int errno_value)
{
  if (errno_value == ENOSPC || errno_value == EDQUOT)
    return td_set_error (
        error, TD_ERROR_IO,
        "“%s” cannot be written: the disk is full; free some space or write elsewhere", path);
  return td_set_error (error, TD_ERROR_IO, "“%s” cannot be written: %s", path,
                       g_strerror (errno_value));
}

static gboolean
same_file (const char *path, const struct stat *status)
{
  struct stat other;

  return stat (path, &other) == 0 && other.st_dev == status->st_dev
         && other.st_ino == status->st_ino;
}

gboolean
td_output_spares (const char *path, const char *input, GError **error)
{
  struct stat target;
  g_autofree char *file = input ? td_volume_file (input, NULL) : NULL;
  char *real = file ? realpath (file, NULL) : NULL;
  gboolean spares = TRUE;

  /* From the input upwards; "/" is its own parent. */
  if (real && stat (path, &target) == 0) {
    spares = !same_file (real, &target);
    for (char *slash = strrchr (real, '/'); spares && slash; slash = strrchr (real, '/')) {
      *slash = '\0';
      spares = !same_file (slash == real ? "/" : real, &target);
    }
  }
  free (real);
  return spares
         || td_set_error (
             error, TD_ERROR_IO,
             "“%s” holds what is read (“%s”) and is not replaced by what is written; choose "
             "another name",
             path, input);
}

gboolean
td_output_spares_volume (const char *path, const char *volume, GError **error)
{
  struct stat slices;
  g_autofree char *folder = volume ? td_volume_file (volume, NULL) : NULL;
  g_autofree char *own = g_canonicalize_filename (path, NULL);
  g_autofree char *above = g_path_get_dirname (own), *name = g_path_get_basename (own);

  if (!td_output_spares (path, volume, error))
    return FALSE;
  if (!folder || stat (folder, &slices) != 0 || !S_ISDIR (slices.st_mode)
      || !same_file (above, &slices)
      || !(td_series_is_tiff (name) || g_file_test (own, G_FILE_TEST_IS_REGULAR)))
    return TRUE;
  return td_set_error (error, TD_ERROR_IO,
                       "“%s” would lie among the slices that are read (“%s”); write it to another "
                       "folder",
                       path, volume);
}

gboolean
td_output_spares_all (const char *path, const char *const *inputs, GError **error)
{
  if (!g_file_test (path, G_FILE_TEST_EXISTS))
    return TRUE;
  for (guint i = 0; inputs && inputs[i]; i++)
    if (!td_output_spares (path, inputs[i], error))
      return FALSE;
  return TRUE;
}

gboolean
td_output_spares_scan (const char *path, const TdScanFacts *scan, GError **error)
{
  return td_output_spares (path, scan->path, error)
         && td_output_spares_all (path, (const char *const *) scan->sources, error);
}

static void
remove_tree (const char *path)
{
  struct stat status;

  if (lstat (path, &status) != 0)
    return;
  if (S_ISDIR (status.st_mode)) {
    GDir *dir = g_dir_open (path, 0, NULL);
    const char *name;

    while (dir && (name = g_dir_read_name (dir))) {
      g_autofree char *child = g_build_filename (path, name, NULL);

      remove_tree (child);
    }
    g_clear_pointer (&dir, g_dir_close);
  }
  remove (path);
}

/* "slice_00012.tif", as volumes and scans are written; "flat_00003_after.tif". */
static gboolean
is_numbered (const char *name, const char *what)
{
  const gsize n = strlen (what);
  const gsize digits = strncmp (name, what, n) == 0 ? strspn (name + n, "0123456789") : 0;
  const char *end = name + n + digits;

  return digits >= 5
         && (strcmp (end, ".tif") == 0 || strcmp (end, "_before.tif") == 0
             || strcmp (end, "_after.tif") == 0);
}

/* What this program writes into a folder; other people's TIFF files are not its. Texts that were
   being written when a run was ended have a few letters more. */
static gboolean
is_own_file (const char *name, guint depth)
{
  static const char *const texts[] = { "provenance.json", "geometry.json", "angles.txt" };
  static const char *const frames[] = { "projection_", "flat_", "dark_" };
  gboolean own = depth == 0 && is_numbered (name, "slice_");

  for (guint i = 0; depth == 0 && i < G_N_ELEMENTS (texts); i++)
    own |= g_str_has_prefix (name, texts[i]);
  for (guint i = 0; depth == 1 && i < G_N_ELEMENTS (frames); i++)
    own |= is_numbered (name, frames[i]);
  return own;
}

/* The first thing in @path that this program would not have written; NULL: nothing. */
static char *
find_foreign (const char *path, guint depth)
{
  static const char *const folders[] = { "projections", "flats", "darks", NULL };
  g_autoptr (GDir) dir = g_dir_open (path, 0, NULL);
  const char *name;

  while (dir && (name = g_dir_read_name (dir))) {
    g_autofree char *child = g_build_filename (path, name, NULL);

    if (g_file_test (child, G_FILE_TEST_IS_DIR)) {
      char *foreign = depth == 0 && g_strv_contains (folders, name) ? find_foreign (child, 1)
                                                                    : g_strdup (name);

      if (foreign)
        return foreign;
    } else if (!is_own_file (name, depth))
      return g_strdup (name);
  }
  return NULL;
}

/* What NXtomo files, HDF5 volumes, TIFF images and movies of this program say of themselves. */
static gboolean
says_own_hdf5 (const char *path)
{
  g_autofree char *program
      = td_h5_trial_volume (path, NULL, NULL, NULL) ? td_h5_program (path) : NULL;

  return program && g_str_has_prefix (program, "Tomodesk");
}

static gboolean
says_own_tiff (const char *path)
{
  g_autoptr (TdTiff) tiff = td_tiff_open (path, NULL, NULL);
  const char *description = tiff ? td_tiff_description (tiff) : NULL;

  return description && strstr (description, "\"tomodesk_volume\"");
}

/* A movie (RIFF) names it in its head. */
static gboolean
says_own_movie (const char *path)
{
  guint8 head[256];
  guint64 size = 0;
  const int file = td_file_open (path, &size);
  const gboolean read
      = file >= 0 && size >= sizeof head && td_file_read (file, head, sizeof head, 0) == 0;

  if (file >= 0)
    close (file);
  return read && memcmp (head, "RIFF", 4) == 0
         && memmem (head, sizeof head, "ISFT\x0c\0\0\0Tomodesk", 16) != NULL;
}

/* A lab's variants, numbers and curves begin so. */
static gboolean
says_own_text (const char *path)
{
  static const char *const beginnings[]
      = { "{\n  \"tomodesk_lab\"", "variant,options,remark,", "<svg id=\"tomodesk\"" };
  g_autofree char *head = td_text_head (path, 64);
  gboolean own = FALSE;

  for (guint i = 0; i < G_N_ELEMENTS (beginnings) && head; i++)
    own = own || g_str_has_prefix (head, beginnings[i]);
  return own;
}

/* TRUE also for an empty file, in which nothing is lost. */
static gboolean
is_own_single (const char *path)
{
  g_autofree char *head = td_text_head (path, 8);

  if (!head)
    return FALSE;
  if (g_str_equal (head, "TDMOMENT")) /* an iterative solver's, beside its volume */
    return TRUE;
  struct stat status;
  if (stat (path, &status) == 0 && status.st_size == 0)
    return TRUE;
  return td_h5_probe (path) ? says_own_hdf5 (path)
                            : says_own_text (path) || says_own_movie (path) || says_own_tiff (path);
}

/* Only what this program wrote is replaced. */
static gboolean
check_own (const TdOutput *output, const char *path, GError **error)
{
  gboolean is_folder = g_file_test (path, G_FILE_TEST_IS_DIR);
  g_autofree char *foreign = is_folder ? find_foreign (path, 0) : NULL;

  /* A part is not finished, and so cannot say what it is. */
  if (!is_folder && !output->folder && path != output->part && !is_own_single (path))
    return td_set_error (
        error, TD_ERROR_IO,
        "“%s” was not written by this program and is not replaced; choose another name", path);

  if (is_folder != output->folder)
    td_set_error (error, TD_ERROR_IO,
                  is_folder
                      ? N_ ("“%s” is a folder, and a file is to be written; choose another name")
                      : N_ ("“%s” is a file, and a folder is to be written; choose another name"),
                  path);
  else if (foreign)
    td_set_error (error, TD_ERROR_IO,
                  "“%s” holds “%s”, which this program did not write, "
                  "and is not replaced; choose another name",
                  path, foreign);
  return is_folder == output->folder && !foreign;
}

static gboolean
check_target (TdOutput *output, GError **error)
{
  if (!g_file_test (output->path, G_FILE_TEST_EXISTS))
    return TRUE;
  if (!output->overwrite)
    return td_set_error (error, TD_ERROR_IO,
                         "“%s” exists already; choose another name, or allow it to be overwritten",
                         output->path);
  return check_own (output, output->path, error);
}

static gboolean
check_space (TdOutput *output, guint64 bytes, GError **error)
{
  struct statvfs space;

  bytes += SLACK_BYTES;
  if (!g_file_test (output->parent, G_FILE_TEST_IS_DIR))
    return td_set_error (error, TD_ERROR_NOT_FOUND,
                         "“%s” cannot be written: the folder “%s” does not exist", output->path,
                         output->parent);
  if (statvfs (output->parent, &space) != 0)
    return TRUE; /* some network file systems cannot tell; writing will */
  const guint64 available = (guint64) space.f_bavail * space.f_frsize;
  if (bytes > available) {
    g_autofree char *need = g_format_size_full (bytes, G_FORMAT_SIZE_IEC_UNITS);
    g_autofree char *have = g_format_size_full (available, G_FORMAT_SIZE_IEC_UNITS);

    return td_set_error (error, TD_ERROR_IO,
                         "“%s” needs %s, but only %s are free there; free "
                         "some space or write elsewhere",
                         output->path, need, have);
  }
  return TRUE;
}

/* What became of an attempt to lock the part. */
typedef enum {
  PART_LOCKED, /* or the file system has no locks */
  PART_BUSY,   /* another run holds it */
  PART_GONE,   /* it is not there, or another took its place before it was locked: try again */
  PART_FAILED, /* errno */
} PartLock;

static PartLock
lock_part (const TdOutput *output, int *lock)
{
  struct stat opened;
  int fd = open (output->part, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  PartLock state = PART_LOCKED;

  if (fd < 0)
    return errno == ENOENT ? PART_GONE : PART_FAILED;
  if (flock (fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    state = PART_BUSY;
  else if (fstat (fd, &opened) != 0 || !same_file (output->part, &opened))
    state = PART_GONE;
  if (state == PART_LOCKED)
    *lock = fd;
  else
    close (fd);
  return state;
}

/* FALSE with errno. */
static gboolean
create_part (const TdOutput *output)
{
  if (output->folder)
    return mkdir (output->part, 0777) == 0;
  const int fd = open (output->part, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0666);
  return fd >= 0 && close (fd) == 0;
}

/* Removes the part of a run that died. Its lock is held until it is gone: nobody else may take it
   for one, or remove what comes in its place. */
static gboolean
remove_stale_part (const TdOutput *output, int stale, GError **error)
{
  struct stat status;
  gboolean good
      = fstat (stale, &status) == 0 && (S_ISREG (status.st_mode) || S_ISDIR (status.st_mode));

  if (!good)
    td_set_error (error, TD_ERROR_IO, "“%s” is neither a file nor a folder; remove it",
                  output->part);
  good = good && check_own (output, output->part, error);
  if (good)
    remove_tree (output->part);
  close (stale);
  return good;
}

static gboolean
output_open_part (TdOutput *output, GError **error)
{
  for (guint attempt = 0; attempt < 100; attempt++) {
    const gboolean created = create_part (output);
    int lock = -1;

    if (!created && errno != EEXIST)
      break;
    switch (lock_part (output, &lock)) {
    case PART_LOCKED:
      if (created) {
        output->lock = lock;
        return TRUE;
      }
      if (!remove_stale_part (output, lock, error))
        return FALSE;
      break;
    case PART_BUSY:
      return td_set_error (
          error, TD_ERROR_IO,
          "“%s” is being written by another run; wait for it, or choose another name",
          output->path);
    case PART_GONE: break;
    case PART_FAILED: {
      const int code = errno;
      if (created)
        g_remove (output->part);
      return td_output_set_error (error, output->path, code);
    }
    }
  }
  return td_output_set_error (error, output->path, errno);
}

/* @job: NULL: the output is one process'. */
static TdOutput *
output_new (const char *path, gboolean folder, gboolean overwrite, const char *job)
{
  TdOutput *output = g_new0 (TdOutput, 1);
  gsize length = strlen (path);

  while (length > 1 && path[length - 1] == '/')
    length--;
  output->path = g_strndup (path, length);
  output->part = job ? g_strconcat (output->path, ".", job, ".part", NULL)
                     : g_strconcat (output->path, ".part", NULL);
  output->parent = g_path_get_dirname (output->path);
  output->folder = folder;
  output->overwrite = overwrite;
  output->keep = job != NULL;
  output->lock = -1;
  return output;
}

TdOutput *
td_output_begin_shared (const char *path, gboolean folder, gboolean overwrite, guint64 bytes,
                        const char *job, gboolean go_on, GError **error)
{
  g_autoptr (TdOutput) output = output_new (path, folder, overwrite, job);
  PartLock state = PART_LOCKED;

  if (!check_target (output, error))
    return NULL;
  if (!go_on)
    return check_space (output, bytes, error) && output_open_part (output, error)
               ? g_steal_pointer (&output)
               : NULL;
  state = lock_part (output, &output->lock);
  if (state == PART_BUSY)
    td_set_error (error, TD_ERROR_IO,
                  "“%s” is being written by another run of this job; wait for it", output->path);
  else if (state != PART_LOCKED)
    td_set_error (error, TD_ERROR_NOT_FOUND,
                  "What an earlier run of the job wrote of “%s” is no longer there", output->path);
  return state == PART_LOCKED ? g_steal_pointer (&output) : NULL;
}

TdOutput *
td_output_begin (const char *path, gboolean folder, gboolean overwrite, guint64 bytes,
                 GError **error)
{
  return td_output_begin_shared (path, folder, overwrite, bytes, NULL, FALSE, error);
}

gboolean
td_output_has_room (const char *path, guint64 bytes, GError **error)
{
  g_autoptr (TdOutput) output = output_new (path, FALSE, FALSE, NULL);

  return check_space (output, bytes, error);
}

void
td_output_discard (TdOutput *output)
{
  output->keep = FALSE;
}

const char *
td_output_part (const TdOutput *output)
{
  return output->part;
}

const char *
td_output_path (const TdOutput *output)
{
  return output->path;
}

gboolean
td_output_save_text (const TdOutput *output, const char *name, const char *text, GError **error)
{
  g_autofree char *path = g_build_filename (output->part, name, NULL);
  g_autoptr (GError) local = NULL;

  /* G_FILE_SET_CONTENTS_NONE would leave the end of a longer text that is there. */
  if (g_file_set_contents_full (path, text, -1,
                                G_FILE_SET_CONTENTS_CONSISTENT | G_FILE_SET_CONTENTS_ONLY_EXISTING,
                                0666, &local))
    return TRUE;
  return td_output_set_error (error, output->path,
                              g_error_matches (local, G_FILE_ERROR, G_FILE_ERROR_NOSPC) ? ENOSPC
                                                                                        : EIO);
}

/* A folder's files are flushed all at once: fsync for each of thousands would take minutes. */
static gboolean
flush_part (TdOutput *output)
{
  struct stat status;

  /* room that was taken in advance and not needed is given back */
  if (!output->folder && fstat (output->lock, &status) == 0
      && truncate (output->part, status.st_size) != 0)
    return FALSE;
  return TEMP_FAILURE_RETRY (output->folder ? syncfs (output->lock) : fsync (output->lock)) == 0;
}

static void
flush_parent (TdOutput *output)
{
  int fd = open (output->parent, O_RDONLY | O_CLOEXEC | O_DIRECTORY);

  if (fd < 0)
    return;
  fsync (fd);
  close (fd);
}

gboolean
td_output_commit (TdOutput *output, GError **error)
{
  g_autofree char *old = NULL;

  if (!flush_part (output))
    return td_output_set_error (error, output->path, errno);
  if (!check_target (output, NULL)) {
    output->keep = TRUE;
    return td_set_error (error, TD_ERROR_IO,
                         "“%s” came to be while the result was written, and is not replaced; the "
                         "result is whole: rename “%s”",
                         output->path, output->part);
  }
  /* rename() replaces a file at once, but no folder that holds something: that goes aside, to a
     name that nothing has. */
  if (output->folder && g_file_test (output->path, G_FILE_TEST_IS_DIR)) {
    old = g_strconcat (output->path, ".old-XXXXXX", NULL);
    if (!g_mkdtemp (old) || rename (output->path, old) != 0) {
      td_output_set_error (error, output->path, errno);
      g_rmdir (old);
      return FALSE;
    }
  }
  if (rename (output->part, output->path) != 0) {
    td_output_set_error (error, output->path, errno);
    if (old)
      g_rename (old, output->path);
    return FALSE;
  }
  flush_parent (output);
  if (old)
    remove_tree (old);
  close (output->lock);
  output->lock = -1;
  return TRUE;
}

void
td_output_free (TdOutput *output)
{
  if (output->lock >= 0) {
    if (!output->keep)
      remove_tree (output->part);
    close (output->lock);
  }
  g_free (output->path);
  g_free (output->part);
  g_free (output->parent);
  g_free (output);
}

gboolean
td_output_save (const char *path, gconstpointer data, gsize n, GError **error)
{
  g_autoptr (TdOutput) output = td_output_begin (path, FALSE, TRUE, n, error);

  /* Into the part as it stands: it is locked, and must stay the same file. */
  return output
         && g_file_set_contents_full (output->part, data, (gssize) n, G_FILE_SET_CONTENTS_NONE,
                                      0666, error)
         && td_output_commit (output, error);
}
