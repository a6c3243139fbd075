/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "text-file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "error.h"

/* Up to @n bytes; -1 with errno if it is no regular file or cannot be read. */
static gssize
read_head (const char *path, char *buffer, gsize n)
{
  int fd = open (path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat status;
  gsize got = 0;
  gssize part = 1;

  if (fd < 0)
    return -1;
  if (fstat (fd, &status) != 0 || !S_ISREG (status.st_mode)) {
    close (fd);
    errno = EINVAL;
    return -1;
  }
  while (got < n && part > 0) {
    part = read (fd, buffer + got, n - got);
    if (part < 0 && errno == EINTR)
      part = 1;
    else if (part > 0)
      got += part;
  }
  close (fd);
  return part < 0 ? -1 : (gssize) got;
}

char *
td_text_head (const char *path, gsize n)
{
  g_autofree char *buffer = g_malloc (n + 1);
  gssize got = read_head (path, buffer, n);

  if (got < 0)
    return NULL;
  buffer[got] = '\0';
  return g_steal_pointer (&buffer);
}

char *
td_text_load (const char *path, gsize max_bytes, GError **error)
{
  struct stat status;
  g_autofree char *buffer = NULL;
  gssize got;

  if (stat (path, &status) != 0) {
    td_set_error (error, errno == ENOENT ? TD_ERROR_NOT_FOUND : TD_ERROR_IO,
                  "“%s” cannot be read: %s", path, g_strerror (errno));
    return NULL;
  }
  if ((guint64) status.st_size > max_bytes) {
    td_set_error (error, TD_ERROR_TOO_LARGE,
                  "“%s” has more than %" G_GSIZE_FORMAT " MiB, which no text file of its kind has",
                  path, max_bytes >> 20);
    return NULL;
  }
  buffer = g_malloc (status.st_size + 1);
  got = read_head (path, buffer, status.st_size);
  if (got < 0) {
    td_set_error (error, TD_ERROR_IO, "“%s” cannot be read: %s", path, g_strerror (errno));
    return NULL;
  }
  buffer[got] = '\0';
  if (strlen (buffer) != (gsize) got) {
    td_set_error (error, TD_ERROR_BAD_FILE, "“%s” is no text file", path);
    return NULL;
  }
  return g_utf8_make_valid (buffer, got);
}
