/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/* Files as places for bytes. Any threads read and write whole pieces of them at once. Files may be
   temporary. */

/* Opens a regular file to read it, without waiting as for a named pipe. -1 with errno; EINVAL: it
   is something else. @size: (out) (nullable). */
int td_file_open (const char *path, guint64 *size);
/* As pread() and pwrite(), whole, whatever interrupts them. 0, or errno; ENODATA: the file ends
 * before.
 */
int td_file_read (int file, void *to, gsize bytes, guint64 at);
int td_file_write (int file, const void *from, gsize bytes, guint64 at);
/* The same of a file that may end before: how many bytes there are; -1 with errno. */
gssize td_file_read_some (int file, void *to, gsize bytes, guint64 at);
/* As fallocate(), whatever interrupts it. 0, or errno. */
int td_file_allocate (int file, int mode, guint64 at, guint64 bytes);
/* An unlinked file of @bytes in the temporary folder, which has room for all of them; -1: not.
   @what, in the plural, begins the sentence that says so. Close it. */
int td_file_temporary (const char *what, guint64 bytes, GError **error);
/* Whether there could be one now. */
gboolean td_file_temporary_check (const char *what, guint64 bytes, GError **error);

/* Bytes that are free where @path lies or will lie; G_MAXUINT64: the file system does not tell. */
guint64 td_file_room (const char *path);
/* Bytes that are free in the temporary folder; 0 if no file can be made there. */
guint64 td_file_temporary_room (void);
/* The file system that @path (nullable: "/") lies on or will lie on, by its kind and where it is
   mounted: "ext4 /". (transfer full) */
char *td_file_storage (const char *path);

gboolean td_file_lies_in_memory (int file);
/* Of a file in memory: takes room for all large pages that lie within these bytes. Several threads
   may, side by side, whereas they would wait for each other at each small page. What was written
   stays. Pages that another process is at stay small. FALSE: large ones cannot be had. */
#define TD_FILE_LARGE_PAGE ((guint64) 2 << 20)
gboolean td_file_enlarge (int file, guint64 bytes, guint64 at);

/**
 * TdFileWindow: some bytes of a file that lies in memory (tmpfs). Several threads write them in
 * place, where pwrite() would let one in at a time. A byte that has no room there ends the program:
 * take it before (file-room.h).
 */
typedef struct {
  char *bytes;
  void *map; /* such that it can have large pages */
  gsize map_bytes;
} TdFileWindow;

/* 0, or errno. */
int td_file_window_open (TdFileWindow *window, int file, guint64 bytes, guint64 at);
void td_file_window_close (TdFileWindow *window);
