/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tune-store.h"

#include "config.h"
#include "dataset/json-walk.h"

#include <json-glib/json-glib.h>
#include <math.h>

#define FORMAT 1

static GMutex lock;
static JsonArray *entries; /* of objects with "key" and what is known; NULL: not read yet */

static char *
tune_store_file (void)
{
  return g_build_filename (g_get_user_cache_dir (), "tomodesk", "tuned.json", NULL);
}

/* 1, 2, 4: the class of a number of slices at once. */
static guint
tune_store_slices_class (guint n_slices)
{
  return n_slices >= 4 ? 4 : n_slices >= 2 ? 2 : 1;
}

/* The power of two that a task belongs to. */
static guint
tune_store_size_class (const TdBackprojectTask *task)
{
  guint largest = MAX (task->n_columns, MAX (task->nx, task->ny));
  guint size = 256;

  while (size < largest && size < 16384)
    size *= 2;
  return size;
}

/* ── The file ── */

static JsonArray *
read_file (void)
{
  g_autofree char *file = tune_store_file ();
  g_autoptr (JsonNode) root = td_json_load (file, NULL);
  JsonArray *list
      = td_json_number (root, "format") == FORMAT ? td_json_list (root, "entries") : NULL;

  return list ? json_array_ref (list) : json_array_new ();
}

static gboolean
write_file (GError **error)
{
  g_autofree char *file = tune_store_file ();
  g_autofree char *folder = g_path_get_dirname (file);
  g_autoptr (JsonNode) root = json_node_new (JSON_NODE_OBJECT);
  JsonObject *object = json_object_new ();

  json_object_set_int_member (object, "format", FORMAT);
  json_object_set_array_member (object, "entries", json_array_ref (entries));
  json_node_take_object (root, object);
  g_autofree char *text = td_json_text (root, TRUE);
  g_mkdir_with_parents (folder, 0700);
  if (g_file_set_contents (file, text, -1, error))
    return TRUE;
  return td_prefix_error (error, "What was found out about this device could not be kept: ");
}

/* ── Entries, under the lock ── */

/* An entry may lack anything: what it has is checked where it is used. */
static JsonNode *
tune_store_find (const char *key)
{
  if (!entries)
    entries = read_file ();
  for (guint i = 0; i < json_array_get_length (entries); i++) {
    JsonNode *entry = json_array_get_element (entries, i);
    if (g_strcmp0 (td_json_string (entry, "key"), key) == 0)
      return entry;
  }
  return NULL;
}

/* Replaces the entry of @key by @entry (taken; NULL: removes it) and writes the file, after reading
   what other processes have written meanwhile. */
static gboolean
tune_store_replace (const char *key, JsonObject *entry, GError **error)
{
  g_clear_pointer (&entries, json_array_unref);
  entries = read_file ();
  for (guint i = json_array_get_length (entries); i-- > 0;)
    if (g_strcmp0 (td_json_string (json_array_get_element (entries, i), "key"), key) == 0)
      json_array_remove_element (entries, i);
  if (entry) {
    json_object_set_string_member (entry, "key", key);
    json_array_add_object_element (entries, entry);
  }
  return write_file (error);
}

static char *
device_key (const TdDeviceInfo *device, const char *family)
{
  return g_strjoin ("|", device->api, device->name, device->driver, TD_VERSION, family, NULL);
}

static char *
task_key (const TdDeviceInfo *device, const char *family, const TdBackprojectTask *task,
          guint n_slices)
{
  g_autofree char *start = device_key (device, family);

  return g_strdup_printf ("%s|%s|%s|%u slices|%u", start,
                          td_interpolation_names[task->interpolation],
                          td_precision_names[task->precision], tune_store_slices_class (n_slices),
                          tune_store_size_class (task));
}

/* ── Tuned variants ── */

gboolean
td_tune_store_find (const TdDeviceInfo *device, const char *family, const TdBackprojectTask *task,
                    guint n_slices, TdTuned *tuned)
{
  g_autofree char *key = task_key (device, family, task, n_slices);

  *tuned = (TdTuned) { 0 };
  g_mutex_lock (&lock);
  JsonNode *entry = tune_store_find (key);
  if (entry) {
    tuned->updates_per_second = fmax (td_json_number (entry, "updates_per_second"), 0);
    tuned->slices = MIN (td_json_count (entry, "slices"), 64);
    tuned->defines = td_json_strings (entry, "defines");
  }
  g_mutex_unlock (&lock);
  return entry != NULL;
}

void
td_tuned_clear (TdTuned *tuned)
{
  g_clear_pointer (&tuned->defines, g_strfreev);
}

gboolean
td_tune_store_add (const TdDeviceInfo *device, const char *family, const TdBackprojectTask *task,
                   guint n_slices, const TdTuned *tuned, GError **error)
{
  g_autofree char *key = task_key (device, family, task, n_slices);
  JsonObject *entry = json_object_new ();

  json_object_set_double_member (entry, "updates_per_second", tuned->updates_per_second);
  json_object_set_int_member (entry, "slices", tuned->slices);
  if (tuned->defines) {
    JsonArray *defines = json_array_new ();
    for (guint i = 0; tuned->defines[i]; i++)
      json_array_add_string_element (defines, tuned->defines[i]);
    json_object_set_array_member (entry, "defines", defines);
  }
  g_mutex_lock (&lock);
  gboolean ok = tune_store_replace (key, entry, error);
  g_mutex_unlock (&lock);
  return ok;
}

/* ── Families out of use ── */

char *
td_tune_store_disabled (const TdDeviceInfo *device, const char *family)
{
  g_autofree char *key = device_key (device, family);

  g_mutex_lock (&lock);
  char *reason = g_strdup (td_json_string (tune_store_find (key), "disabled"));
  g_mutex_unlock (&lock);
  return reason;
}

gboolean
td_tune_store_disable (const TdDeviceInfo *device, const char *family, const char *reason,
                       GError **error)
{
  g_autofree char *key = device_key (device, family);
  JsonObject *entry = NULL;
  gboolean ok = TRUE;

  if (reason) {
    entry = json_object_new ();
    json_object_set_string_member (entry, "disabled", reason);
  }
  g_mutex_lock (&lock);
  if (entry || tune_store_find (key))
    ok = tune_store_replace (key, entry, error);
  g_mutex_unlock (&lock);
  return ok;
}
