/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which devices there are, and opening each of them once. */
#include "config.h"

#include "device-api.h"
#include "device-probe.h"
#include "dataset/message.h"

#include <string.h>

/* Best first: "auto" takes the first GPU, else the host. */
static const TdDeviceApi apis[] = {
#if TD_HAVE_CUDA
  { "cuda", "CUDA", td_cuda_list, td_cuda_open },
#endif
#if TD_HAVE_OPENCL
  { "opencl", "OpenCL", td_opencl_list, td_opencl_open },
#endif
  { "host", "Host", td_host_list, td_host_open },
};

static GMutex registry_lock;
static GHashTable
    *registry; /* "api:index" → TdDevice, not referenced: the last unref takes it out */

TdDeviceEntry *
td_device_entry_new (const char *id, const char *name, const char *api, TdDeviceKind kind,
                     guint64 memory_bytes, const char *hardware_id, const char *reason)
{
  TdDeviceEntry *entry = g_new0 (TdDeviceEntry, 1);

  entry->id = g_strdup (id);
  entry->name = g_strdup (name);
  entry->api = g_strdup (api);
  entry->kind = kind;
  entry->memory_bytes = memory_bytes;
  entry->hardware_id = g_strdup (hardware_id);
  entry->reason = g_strdup (reason);
  entry->available = reason == NULL;
  return entry;
}

static void
entry_free (gpointer data)
{
  TdDeviceEntry *entry = data;

  g_free (entry->id);
  g_free (entry->name);
  g_free (entry->api);
  g_free (entry->hardware_id);
  g_free (entry->reason);
  g_free (entry);
}

GPtrArray *
td_device_list_api (const char *name)
{
  GPtrArray *entries = g_ptr_array_new_with_free_func (entry_free);

  for (guint i = 0; i < G_N_ELEMENTS (apis); i++)
    if (strcmp (apis[i].name, name) == 0)
      apis[i].list (entries);
  return entries;
}

/* Why the API must not be used in this process; NULL: it may. */
static const char *
device_list_unsound (const TdDeviceApi *api)
{
  return api->open == td_host_open ? NULL : td_device_probe (api->name);
}

static void
device_list_find_same (GPtrArray *entries)
{
  for (guint i = 0; i < entries->len; i++) {
    TdDeviceEntry *entry = entries->pdata[i];
    for (guint j = 0; j < i && entry->hardware_id && *entry->hardware_id && !entry->same_as; j++) {
      const TdDeviceEntry *earlier = entries->pdata[j];
      if (g_strcmp0 (earlier->hardware_id, entry->hardware_id) == 0)
        entry->same_as = earlier->id;
    }
  }
}

GPtrArray *
td_device_list (void)
{
  GPtrArray *entries = g_ptr_array_new_with_free_func (entry_free);

  for (guint i = 0; i < G_N_ELEMENTS (apis); i++) {
    const char *reason = device_list_unsound (&apis[i]);
    if (reason)
      g_ptr_array_add (entries, td_device_entry_new (apis[i].name, apis[i].title, apis[i].name,
                                                     TD_DEVICE_OTHER, 0, NULL, reason));
    else
      apis[i].list (entries);
  }
  device_list_find_same (entries);
  return entries;
}

/* Cards of the first API that has any. (transfer full) */
static GPtrArray *
device_list_cards (void)
{
  GPtrArray *ids = g_ptr_array_new_with_free_func (g_free);

  for (guint i = 0; i < G_N_ELEMENTS (apis) && ids->len == 0; i++) {
    g_autoptr (GPtrArray) entries = g_ptr_array_new_with_free_func (entry_free);
    if (!device_list_unsound (&apis[i]))
      apis[i].list (entries);
    for (guint j = 0; j < entries->len; j++) {
      const TdDeviceEntry *entry = g_ptr_array_index (entries, j);
      if (entry->available && entry->kind == TD_DEVICE_GPU)
        g_ptr_array_add (ids, g_strdup (entry->id));
    }
  }
  return ids;
}

/* "opencl" and "opencl:0" are one device: the parts of @id; NULL: no such API. */
static const TdDeviceApi *
parse_id (const char *id, guint *index)
{
  for (guint i = 0; i < G_N_ELEMENTS (apis); i++) {
    gsize length = strlen (apis[i].name);
    guint64 number = 0;
    if (strncmp (id, apis[i].name, length) == 0
        && (id[length] == '\0'
            || (id[length] == ':'
                && g_ascii_string_to_unsigned (id + length + 1, 10, 0, 9999, &number, NULL)))) {
      *index = number;
      return &apis[i];
    }
  }
  return NULL;
}

/* @names gets @id, or what "auto" stands for, unless it has that already. */
static void
device_list_add (GStrvBuilder *names, GHashTable *known, const char *id)
{
  guint index = 0;
  const TdDeviceApi *api = parse_id (id, &index);
  char *key = api ? g_strdup_printf ("%s:%u", api->name, index) : g_strdup (id);
  const char *name = api && api->open == td_host_open ? id : key;

  if (!g_hash_table_contains (known, key))
    g_strv_builder_add (names, name);
  g_hash_table_add (known, key);
}

char **
td_device_names (const char *list)
{
  g_autoptr (GStrvBuilder) names = g_strv_builder_new ();
  g_autoptr (GHashTable) known = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  g_auto (GStrv) ids = g_strsplit (list && *list ? list : "auto", ",", -1);

  for (guint i = 0; ids[i]; i++) {
    if (!g_str_equal (g_strstrip (ids[i]), "auto")) {
      device_list_add (names, known, ids[i]);
      continue;
    }
    g_autoptr (GPtrArray) cards = device_list_cards ();
    for (guint j = 0; j < cards->len; j++)
      device_list_add (names, known, cards->pdata[j]);
    if (cards->len == 0)
      device_list_add (names, known, "host");
  }
  return g_strv_builder_end (names);
}

TdDevice *
td_device_open (const char *id, GError **error)
{
  g_autoptr (GPtrArray) cards = NULL;
  g_autofree char *key = NULL;
  TdDevice *device = NULL;
  guint index = 0;

  if (!id || g_str_equal (id, "auto")) {
    cards = device_list_cards ();
    id = cards->len > 0 ? cards->pdata[0] : "host";
  }
  const TdDeviceApi *api = parse_id (id, &index);
  if (!api)
    return td_set_error_null (error, TD_ERROR_INVALID,
                              "there is no device '%s'; 'tomodesk-cli devices' lists them", id);
  const char *reason = device_list_unsound (api);
  if (reason)
    return td_set_error_null (error, TD_ERROR_NOT_FOUND, "the device %s cannot be used: %p", id,
                              td_message_unpack (reason));
  key = g_strdup_printf ("%s:%u", api->name, index);

  g_mutex_lock (&registry_lock);
  if (!registry)
    registry = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  device = g_hash_table_lookup (registry, key);
  if (device)
    td_device_ref (device);
  else if (api->open (index, &device, error))
    g_hash_table_insert (registry, g_steal_pointer (&key), device);
  g_mutex_unlock (&registry_lock);
  return device;
}

TdDevice *
td_device_ref (TdDevice *device)
{
  g_atomic_int_inc (&device->references);
  return device;
}

TdDevice *
td_device_for_job (TdDevice *device, guint64 limit_bytes)
{
  TdDevice *handle = g_new0 (TdDevice, 1);

  handle->references = 1;
  handle->hardware = td_device_ref (device->hardware);
  handle->memory_limit_bytes = limit_bytes;
  return handle;
}

gboolean
td_device_alike (const TdDevice *a, const TdDevice *b)
{
  return a->hardware == b->hardware && a->memory_limit_bytes == b->memory_limit_bytes;
}

static gboolean
is_device (gpointer key, gpointer value, gpointer device)
{
  return value == device;
}

/* TRUE: there are others. Only the last reference needs the registry, and an open that is trying
   out a new device holds the registry's lock. */
static gboolean
drop_unless_last (TdDevice *device)
{
  for (;;) {
    gint count = g_atomic_int_get (&device->references);
    if (count == 1)
      return FALSE;
    if (g_atomic_int_compare_and_exchange (&device->references, count, count - 1))
      return TRUE;
  }
}

void
td_device_unref (TdDevice *device)
{
  if (!device || drop_unless_last (device))
    return;
  if (device->hardware != device) {
    td_device_unref (device->hardware);
    g_free (device);
    return;
  }
  g_mutex_lock (&registry_lock);
  gboolean last = g_atomic_int_dec_and_test (&device->references);
  if (last)
    g_hash_table_foreach_remove (registry, is_device, device);
  g_mutex_unlock (&registry_lock);
  if (last)
    td_device_clear (device);
}
