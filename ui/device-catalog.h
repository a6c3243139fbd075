/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gio/gio.h>

#include "compute/device/device.h"

/**
 * TdDeviceCatalog: the devices of this machine, for every list of devices in the program. They are
 * listed once, off the main thread, since drivers take up to a second. Main thread.
 */
#define TD_TYPE_DEVICE_CATALOG (td_device_catalog_get_type ())
G_DECLARE_FINAL_TYPE (TdDeviceCatalog, td_device_catalog, TD, DEVICE_CATALOG, GObject)

/* The one catalogue; starts listing at the first call. (transfer none).
   Signal "loaded": the list is there. */
TdDeviceCatalog *td_device_catalog_default (void);
/* (element-type TdDeviceEntry) (transfer none); NULL: not there yet. */
GPtrArray *td_device_catalog_entries (TdDeviceCatalog *self);
