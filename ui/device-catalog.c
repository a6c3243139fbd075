/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "device-catalog.h"

#include "ui.h"

struct _TdDeviceCatalog {
  GObject parent_instance;
  GPtrArray *entries;
};

G_DEFINE_FINAL_TYPE (TdDeviceCatalog, td_device_catalog, G_TYPE_OBJECT)

static void
list_devices (GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
  g_task_return_pointer (task, td_device_list (), (GDestroyNotify) g_ptr_array_unref);
}

static void
on_listed (GObject *source, GAsyncResult *result, gpointer user)
{
  TdDeviceCatalog *self = TD_DEVICE_CATALOG (source);

  self->entries = g_task_propagate_pointer (G_TASK (result), NULL);
  if (self->entries)
    g_signal_emit_by_name (self, "loaded");
}

TdDeviceCatalog *
td_device_catalog_default (void)
{
  static TdDeviceCatalog *catalog; /* lives as long as the program */

  if (!catalog) {
    catalog = g_object_new (TD_TYPE_DEVICE_CATALOG, NULL);
    g_autoptr (GTask) task = g_task_new (catalog, NULL, on_listed, NULL);
    g_task_run_in_thread (task, list_devices);
  }
  return catalog;
}

GPtrArray *
td_device_catalog_entries (TdDeviceCatalog *self)
{
  return self->entries;
}

TD_FINALIZE (TdDeviceCatalog, td_device_catalog)
{
  g_clear_pointer (&self->entries, g_ptr_array_unref);
}

static void
td_device_catalog_class_init (TdDeviceCatalogClass *class)
{
  G_OBJECT_CLASS (class)->finalize = td_device_catalog_finalize;
  td_signal_new (class, "loaded", 0);
}

static void
td_device_catalog_init (TdDeviceCatalog *self)
{
}
