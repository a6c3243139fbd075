/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "text-file.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "error.h"
#include "file-bytes.h"

/* Up to @n bytes, with a '\0' behind them; NULL with errno if it cannot be read. Closes @file. */
static char *
text_file_read (int file, gsize n, gsize *length)
{
  g_autofree char *buffer = g_try_malloc (n + 1);
  const gssize done = buffer ? td_file_read_some (file, buffer, n, 0) : -1;
  const int code = buffer ? errno : ENOMEM;

  close (file);
  errno = code;
  *length = (gsize) MAX (done, 0);
  if (!buffer || done < 0)
    return NULL;
  buffer[done] = '\0';
  return g_steal_pointer (&buffer);
}

char *
td_file_load (const char *path, gsize max_bytes, gsize *length, GError **error)
{
  guint64 size;
  const int file = td_file_open (path, &size);

  if (file >= 0 && size > max_bytes) {
    td_set_error (error, TD_ERROR_TOO_LARGE,
                  "“%s” has more than %zu MiB, which no file of its kind has", path,
                  max_bytes >> 20);
    close (file);
    return NULL;
  }
  char *bytes = file >= 0 ? text_file_read (file, (gsize) size, length) : NULL;
  const int code = errno;
  if (!bytes && code == EINVAL)
    td_set_error (error, TD_ERROR_IO, "“%s” is not a file", path);
  else if (!bytes)
    td_set_error (error, code == ENOENT ? TD_ERROR_NOT_FOUND : TD_ERROR_IO,
                  "“%s” cannot be read: %s", path, g_strerror (code));
  return bytes;
}

/* Whether all the even or the odd bytes of a text are 0 but few: of Latin letters in UTF-16. */
static gboolean
text_file_is_wide (const char *bytes, gsize length, gsize zeros)
{
  gsize n[2] = { 0 };

  for (gsize i = 0; i < length; i++)
    n[i % 2] += bytes[i] == '\0';
  return length >= 4 && n[1 - zeros] == 0 && n[zeros] >= length / 2 - length / 8;
}

/* Of a text as Windows writes it, in UTF-16 or with a mark before it, the same in plain UTF-8; of
   any other, @bytes. The mark tells, or the zeros of Latin letters. NULL: it has no characters for
   its bytes. */
static char *
text_file_decode (char *bytes, gsize *length)
{
  g_autofree char *own = bytes;
  const gboolean marked_little = *length >= 2 && memcmp (own, "\xff\xfe", 2) == 0;
  const gboolean marked = marked_little || (*length >= 2 && memcmp (own, "\xfe\xff", 2) == 0);
  const gboolean little = marked_little || (!marked && text_file_is_wide (own, *length, 1));
  const guint skip = marked ? 2 : 0;

  if (*length >= 3 && memcmp (own, "\xef\xbb\xbf", 3) == 0) {
    *length -= 3;
    memmove (own, own + 3, *length + 1);
    return g_steal_pointer (&own);
  }
  if (!marked && !little && !text_file_is_wide (own, *length, 0))
    return g_steal_pointer (&own);
  return g_convert (own + skip, (gssize) (*length - skip), "UTF-8",
                    little ? "UTF-16LE" : "UTF-16BE", NULL, length, NULL);
}

char *
td_text_head (const char *path, gsize n)
{
  guint64 size;
  gsize length;
  const int file = td_file_open (path, &size);
  char *bytes = file >= 0 ? text_file_read (file, MIN (n, size), &length) : NULL;

  return bytes ? text_file_decode (bytes, &length) : NULL;
}

char *
td_text_load (const char *path, gsize max_bytes, GError **error)
{
  gsize length;
  char *bytes = td_file_load (path, max_bytes, &length, error);

  if (!bytes)
    return NULL;
  g_autofree char *text = text_file_decode (bytes, &length);
  if (!text || strlen (text) != length)
    return td_set_error_null (error, TD_ERROR_BAD_FILE,
                              "“%s” is no text file: save it as plain text (UTF-8)", path);
  return g_utf8_make_valid (text, (gssize) length);
}
