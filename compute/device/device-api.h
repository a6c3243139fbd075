/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "device.h"

/**
 * For implementations of the device contract, nobody else: how an API is found and opened.
 *
 * To add a device API, write NAME.c behind a const TdDeviceOps. Add its row to the table in
 * device-list.c and its files to meson.build. tests/unit/test-device.c then runs over it.
 */
typedef struct {
  const char *name;  /* in ids: "opencl" */
  const char *title; /* for people: "OpenCL" */
  /* Appends an entry for each device, or one unavailable entry with the reason. */
  void (*list) (GPtrArray *entries);
  /* @index: the number in "name:index". *device starts with td_device_init() and has its whole
   * info. */
  gboolean (*open) (guint index, TdDevice **device, GError **error);
} TdDeviceApi;

/* The devices of one API, listed in this process: what a probe's child does. (transfer full) */
GPtrArray *td_device_list_api (const char *name);

void td_host_list (GPtrArray *entries);
gboolean td_host_open (guint index, TdDevice **device, GError **error);
void td_cuda_list (GPtrArray *entries);
gboolean td_cuda_open (guint index, TdDevice **device, GError **error);
void td_opencl_list (GPtrArray *entries);
gboolean td_opencl_open (guint index, TdDevice **device, GError **error);

/* Strings are copied; @reason NULL: available. */
TdDeviceEntry *td_device_entry_new (const char *id, const char *name, const char *api,
                                    TdDeviceKind kind, guint64 memory_bytes,
                                    const char *hardware_id, const char *reason);

void td_device_init (TdDevice *device, const TdDeviceOps *ops);
/* Undoes td_device_init() and calls device_free. The last unref does so, and an open that fails.
 */
void td_device_clear (TdDevice *device);
/* PCI function as all APIs write it in hardware_id. (transfer full) */
char *td_device_pci_id (guint domain, guint bus, guint slot, guint function);
