/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "node-probe.h"

#include <errno.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "compute/device/device-check.h"
#include "compute/recipe/json.h"
#include "config.h"
#include "dataset/error.h"
#include "dataset/json-walk.h"

static void
node_probe_add_device (JsonBuilder *builder, const char *id)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TdDevice) device = td_device_open (id, &error);

  json_builder_begin_object (builder);
  td_json_add_string (builder, "id", id);
  if (device) {
    td_json_add_string (builder, "name", td_device_info (device)->name);
    td_json_add_integer (builder, "memory_bytes", td_device_info (device)->memory_bytes);
  }
  if (device && td_device_check (device, &error)) {
    td_json_add_boolean (builder, "self_test", TRUE);
  } else {
    g_autofree char *reason = td_error_text (error, NULL);
    td_json_add_string (builder, "self_test", reason);
  }
  json_builder_end_object (builder);
}

/* @mode: as access() takes it. */
static void
node_probe_add_paths (JsonBuilder *builder, const char *member, char *const *paths, int mode)
{
  td_json_begin_list (builder, member);
  for (; paths && *paths; paths++) {
    const gboolean ok = access (*paths, mode) == 0;
    json_builder_begin_object (builder);
    td_json_add_string (builder, "path", *paths);
    td_json_add_boolean (builder, "ok", ok);
    if (!ok)
      td_json_add_string (builder, "reason", g_strerror (errno));
    json_builder_end_object (builder);
  }
  json_builder_end_array (builder);
}

void
td_node_probe (const char *device, char *const *reads, char *const *writes)
{
  g_autoptr (JsonBuilder) builder = json_builder_new ();
  char library[MPI_MAX_LIBRARY_VERSION_STRING];
  int length;

  json_builder_begin_object (builder);
  td_json_add_string (builder, "node", g_get_host_name ());
  td_json_add_string (builder, "version", TD_VERSION);
  td_json_add_number (builder, "time", g_get_real_time () * 1e-6);
  td_json_begin_list (builder, "devices");
  g_auto (GStrv) names = td_device_names (device);
  for (guint i = 0; names[i]; i++)
    node_probe_add_device (builder, names[i]);
  json_builder_end_array (builder);
  node_probe_add_paths (builder, "read", reads, R_OK);
  node_probe_add_paths (builder, "write", writes, W_OK);
  MPI_Get_library_version (library, &length);
  library[strcspn (library, ",\n")] = '\0';
  td_json_add_string (builder, "mpi", library);
  json_builder_end_object (builder);
  g_autoptr (JsonNode) root = json_builder_get_root (builder);
  g_autofree char *text = td_json_text (root, FALSE);
  printf ("%s\n", text);
}
