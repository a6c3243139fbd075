/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "program-cache.h"

#include <glib/gstdio.h>
#include <string.h>

#include "dataset/text-file.h"

#define MAGIC "tomodesk-program-1\n"
#define DIGEST_LENGTH 64 /* SHA-256 in hexadecimal */
#define MAX_BYTES ((gsize) 256 << 20)
#define MOST_ENTRIES 2000 /* oldest first out: drivers and sources change, old entries stay */

/* An entry is MAGIC, the digest of key and payload, a newline, the payload. */
#define HEADER_LENGTH (sizeof MAGIC - 1 + DIGEST_LENGTH + 1)

static void
digest_part (GChecksum *digest, const char *part)
{
  /* With the final 0, so that "ab" "c" and "a" "bc" differ. */
  g_checksum_update (digest, (const guchar *) (part ? part : ""), part ? strlen (part) + 1 : 1);
}

char *
td_program_cache_key (const TdDeviceInfo *info, const char *compiler, const char *source,
                      const char *const *defines)
{
  g_autoptr (GChecksum) digest = g_checksum_new (G_CHECKSUM_SHA256);
  g_autofree char *arch = g_strdup_printf ("%u", info->arch);

  digest_part (digest, info->api);
  digest_part (digest, info->vendor);
  digest_part (digest, info->name);
  digest_part (digest, info->driver);
  digest_part (digest, arch);
  digest_part (digest, compiler);
  digest_part (digest, source);
  for (guint i = 0; defines && defines[i]; i++)
    digest_part (digest, defines[i]);
  return g_strdup (g_checksum_get_string (digest));
}

static char *
folder_name (void)
{
  return g_build_filename (g_get_user_cache_dir (), "tomodesk", "programs", NULL);
}

static char *
program_cache_file (const char *key)
{
  g_autofree char *folder = folder_name ();

  return g_build_filename (folder, key, NULL);
}

static char *
entry_digest (const char *key, const void *data, gsize bytes)
{
  g_autoptr (GChecksum) digest = g_checksum_new (G_CHECKSUM_SHA256);

  digest_part (digest, key);
  g_checksum_update (digest, data, bytes);
  return g_strdup (g_checksum_get_string (digest));
}

GBytes *
td_program_cache_load (const char *key)
{
  gsize length = 0;
  g_autofree char *file = program_cache_file (key), *digest = NULL;
  g_autofree char *text = td_file_load (file, MAX_BYTES, &length, NULL);

  if (!text || length < HEADER_LENGTH || memcmp (text, MAGIC, sizeof MAGIC - 1) != 0)
    return NULL;
  digest = entry_digest (key, text + HEADER_LENGTH, length - HEADER_LENGTH);
  if (memcmp (text + sizeof MAGIC - 1, digest, DIGEST_LENGTH) != 0)
    return NULL;
  return g_bytes_new (text + HEADER_LENGTH, length - HEADER_LENGTH);
}

/* ── Storing ── */

typedef struct {
  char *file;
  gint64 time;
} Aged;

static int
compare_age (gconstpointer a, gconstpointer b)
{
  gint64 ta = ((const Aged *) a)->time, tb = ((const Aged *) b)->time;

  return (ta > tb) - (ta < tb);
}

static void
clear_aged (gpointer data)
{
  g_free (((Aged *) data)->file);
}

static void
program_cache_prune (const char *folder)
{
  g_autoptr (GDir) dir = g_dir_open (folder, 0, NULL);
  g_autoptr (GArray) entries = g_array_new (FALSE, FALSE, sizeof (Aged));
  const char *name;

  g_array_set_clear_func (entries, clear_aged);
  while (dir && (name = g_dir_read_name (dir))) {
    Aged entry = { .file = g_build_filename (folder, name, NULL) };
    GStatBuf status;
    entry.time = g_stat (entry.file, &status) == 0 ? status.st_mtime : 0;
    g_array_append_val (entries, entry);
  }
  if (entries->len <= MOST_ENTRIES)
    return;
  g_array_sort (entries, compare_age);
  for (guint i = 0; i < entries->len / 4; i++)
    g_unlink (g_array_index (entries, Aged, i).file);
}

void
td_program_cache_store (const char *key, const void *data, gsize bytes)
{
  g_autofree char *folder = folder_name (), *file = program_cache_file (key), *digest = NULL;
  g_autoptr (GByteArray) entry = g_byte_array_new ();
  static gsize pruned;

  if (g_mkdir_with_parents (folder, 0700) != 0)
    return;
  digest = entry_digest (key, data, bytes);
  g_byte_array_append (entry, (const guint8 *) MAGIC, sizeof MAGIC - 1);
  g_byte_array_append (entry, (const guint8 *) digest, DIGEST_LENGTH);
  g_byte_array_append (entry, (const guint8 *) "\n", 1);
  g_byte_array_append (entry, data, bytes);
  /* Without waiting for the disk: the checksum finds what a power cut left. */
  g_file_set_contents_full (file, (const char *) entry->data, entry->len,
                            G_FILE_SET_CONTENTS_CONSISTENT | G_FILE_SET_CONTENTS_ONLY_EXISTING,
                            0600, NULL);
  if (g_once_init_enter (&pruned)) {
    program_cache_prune (folder);
    g_once_init_leave (&pruned, 1);
  }
}
