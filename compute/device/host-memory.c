/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "host.h"

#include <string.h>

/* The number in a one-number file; G_MAXUINT64 for "max" or no such file. */
static guint64
number_in_file (const char *path)
{
  g_autofree char *text = NULL;

  if (!g_file_get_contents (path, &text, NULL, NULL) || !g_ascii_isdigit (text[0]))
    return G_MAXUINT64;
  return g_ascii_strtoull (text, NULL, 10);
}

/* The number after a word at the start of a line; @missing if there is none. */
static guint64
number_after (const char *path, const char *word, guint64 missing)
{
  g_autofree char *text = NULL;

  if (!g_file_get_contents (path, &text, NULL, NULL))
    return missing;
  for (const char *line = text; line; line = strchr (line, '\n'), line = line ? line + 1 : NULL)
    if (g_str_has_prefix (line, word))
      return g_ascii_strtoull (line + strlen (word), NULL, 10);
  return missing;
}

guint64
td_host_memory_available (void)
{
  guint64 free_kib = number_after ("/proc/meminfo", "MemAvailable:", 2 << 20);
  guint64 available = free_kib << 10;
  guint64 limit = number_in_file ("/sys/fs/cgroup/memory.max");
  guint64 used = number_in_file ("/sys/fs/cgroup/memory.current");

  if (limit != G_MAXUINT64 && used != G_MAXUINT64) {
    /* The file cache is given back when memory is asked for. */
    used -= MIN (used, number_after ("/sys/fs/cgroup/memory.stat", "file ", 0));
    available = MIN (available, limit > used ? limit - used : 0);
  }
  return available;
}
