/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "file-bytes.h"

#include <errno.h>
#include <fcntl.h>
#include <gio/gunixmounts.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <glib/gstdio.h>
#include <string.h>

#include "error.h"
#include "message.h"

#ifndef MADV_COLLAPSE /* Linux 6.1 has it, and older headers do not */
#define MADV_COLLAPSE 25
#endif
#define COLLAPSE_TRIES 3 /* of pages that another process is at */

int
td_file_open (const char *path, guint64 *size)
{
  const int file = open (path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat status;

  if (file < 0)
    return -1;
  if (fstat (file, &status) == 0 && S_ISREG (status.st_mode)) {
    if (size)
      *size = (guint64) status.st_size;
    return file;
  }
  close (file);
  errno = EINVAL;
  return -1;
}

/* How many bytes were moved, whatever interrupts it: fewer where the file ends. -1 with errno. */
static gssize
file_bytes_transfer (int file, gboolean write, char *values, gsize bytes, guint64 at)
{
  gsize done = 0;

  while (done < bytes) {
    const off_t there = (off_t) (at + done);
    const ssize_t now = write ? pwrite (file, values + done, bytes - done, there)
                              : pread (file, values + done, bytes - done, there);
    if (now < 0 && errno == EINTR)
      continue;
    if (now < 0)
      return -1;
    if (now == 0)
      break;
    done += (gsize) now;
  }
  return (gssize) done;
}

/* As td_file_read() has it, of what was moved. */
static int
file_bytes_code (gssize done, gsize bytes)
{
  return done < 0 ? errno : (gsize) done < bytes ? ENODATA : 0;
}

gssize
td_file_read_some (int file, void *to, gsize bytes, guint64 at)
{
  return file_bytes_transfer (file, FALSE, to, bytes, at);
}

int
td_file_allocate (int file, int mode, guint64 at, guint64 bytes)
{
  while (fallocate (file, mode, (off_t) at, (off_t) bytes) != 0)
    if (errno != EINTR)
      return errno;
  return 0;
}

int
td_file_read (int file, void *to, gsize bytes, guint64 at)
{
  return file_bytes_code (file_bytes_transfer (file, FALSE, to, bytes, at), bytes);
}

int
td_file_write (int file, const void *from, gsize bytes, guint64 at)
{
  return file_bytes_code (file_bytes_transfer (file, TRUE, (char *) from, bytes, at), bytes);
}

/* 0: files may be made in the temporary folder; else errno. */
static int
file_bytes_temporary_trouble (void)
{
  const char *folder = g_get_tmp_dir ();
  struct stat status;

  if (stat (folder, &status) != 0)
    return errno;
  return !S_ISDIR (status.st_mode) ? ENOTDIR : access (folder, W_OK | X_OK) != 0 ? errno : 0;
}

static gboolean
file_bytes_refuse_folder (int code, GError **error)
{
  return td_set_error (
      error, TD_ERROR_IO,
      "No file can be made in the folder for temporary files, “%s”: %s; set TMPDIR "
      "to another folder",
      g_get_tmp_dir (), g_strerror (code));
}

gboolean
td_file_temporary_check (const char *what, guint64 bytes, GError **error)
{
  const int code = file_bytes_temporary_trouble ();

  if (code)
    return file_bytes_refuse_folder (code, error);
  return bytes <= td_file_temporary_room ()
         || td_set_error (error, TD_ERROR_IO,
                          "%p need %" PRIu64
                          " MiB in %s, which has not that much room; set TMPDIR to a larger disk.",
                          td_message_unpack (what), bytes >> 20, g_get_tmp_dir ());
}

int
td_file_temporary (const char *what, guint64 bytes, GError **error)
{
  g_autofree char *name = g_build_filename (g_get_tmp_dir (), "tomodesk-XXXXXX", NULL);

  if (!td_file_temporary_check (what, bytes, error))
    return -1;
  const int file = g_mkstemp_full (name, O_RDWR | O_CLOEXEC, 0600);
  int code = file < 0 ? errno : EINTR;
  while (code == EINTR && file >= 0)
    code = posix_fallocate (file, 0, (off_t) bytes);
  if (file >= 0)
    g_unlink (name);
  if (code == 0)
    return file;
  if (file >= 0)
    close (file);
  /* Others may have taken the room in the meantime. */
  if (code != ENOSPC || td_file_temporary_check (what, bytes, error))
    file_bytes_refuse_folder (code, error);
  return -1;
}

guint64
td_file_room (const char *path)
{
  g_autofree char *place = g_canonicalize_filename (path, NULL);
  struct statvfs facts;

  while (statvfs (place, &facts) != 0) {
    if (errno != ENOENT && errno != ENOTDIR)
      return G_MAXUINT64;
    char *above = g_path_get_dirname (place);
    g_free (place);
    place = above;
  }
  return facts.f_blocks ? (guint64) facts.f_bavail * facts.f_frsize : G_MAXUINT64;
}

guint64
td_file_temporary_room (void)
{
  struct statvfs facts;

  return file_bytes_temporary_trouble () == 0 && statvfs (g_get_tmp_dir (), &facts) == 0
             ? (guint64) facts.f_bavail * facts.f_frsize
             : 0;
}

char *
td_file_storage (const char *path)
{
  g_autofree char *place = g_canonicalize_filename (path ? path : "/", NULL);
  GUnixMountEntry *mount = NULL;

  while (!(mount = g_unix_mount_for (place, NULL)) && strcmp (place, "/") != 0) {
    char *above = g_path_get_dirname (place);
    g_free (place);
    place = above;
  }
  if (!mount)
    return g_strdup ("/");
  char *storage = g_strdup_printf ("%s %s", g_unix_mount_get_fs_type (mount),
                                   g_unix_mount_get_mount_path (mount));
  g_unix_mount_free (mount);
  return storage;
}

gboolean
td_file_lies_in_memory (int file)
{
  struct statfs status;

  return fstatfs (file, &status) == 0 && (guint64) status.f_type == TMPFS_MAGIC;
}

gboolean
td_file_enlarge (int file, guint64 bytes, guint64 at)
{
  const guint64 small = (guint64) sysconf (_SC_PAGESIZE);
  const guint64 first = (at + TD_FILE_LARGE_PAGE - 1) / TD_FILE_LARGE_PAGE * TD_FILE_LARGE_PAGE;
  const guint64 end = (at + bytes) / TD_FILE_LARGE_PAGE * TD_FILE_LARGE_PAGE;
  TdFileWindow window;

  if (first >= end)
    return TRUE;
  if (!td_file_lies_in_memory (file))
    return FALSE;
  /* Linux makes a large page of a mapping on request, where a small one of it is there. */
  for (guint64 next = first + TD_FILE_LARGE_PAGE; next <= end; next += TD_FILE_LARGE_PAGE)
    if (td_file_allocate (file, 0, next - small, small) != 0)
      return FALSE;
  if (td_file_window_open (&window, file, end - first, first) != 0)
    return FALSE;
  int code = EAGAIN;
  for (guint i = 0; i < COLLAPSE_TRIES && code == EAGAIN; i++)
    code = madvise (window.bytes, end - first, MADV_COLLAPSE) == 0 ? 0 : errno;
  td_file_window_close (&window);
  return code == 0 || code == EAGAIN;
}

/* Large pages can be mapped as such where addresses and places in the file differ by some of them.
 */
int
td_file_window_open (TdFileWindow *window, int file, guint64 bytes, guint64 at)
{
  const guint64 page = (guint64) sysconf (_SC_PAGESIZE), first = at / page * page;
  const gsize length = (gsize) (at + bytes - first);

  window->map_bytes = length + TD_FILE_LARGE_PAGE;
  window->map = mmap (NULL, window->map_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (window->map == MAP_FAILED)
    return errno;
  char *memory = (char *) window->map + (first - (gsize) window->map) % TD_FILE_LARGE_PAGE;
  window->bytes = memory + (at - first);
  if (mmap (memory, length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, (off_t) first)
      != MAP_FAILED)
    return 0;
  const int code = errno;
  td_file_window_close (window);
  return code;
}

void
td_file_window_close (TdFileWindow *window)
{
  munmap (window->map, window->map_bytes);
}
