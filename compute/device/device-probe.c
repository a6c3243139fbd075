/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "device-probe.h"

#include <glib/gstdio.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#endif

#include "dataset/helper.h"
#include "dataset/sort.h"
#include "dataset/text-file.h"
#include "device-api.h"
#include "dataset/message.h"

#define HELPER "--list-devices-of"
#define LIMIT_S 20 /* a driver starts in one second, on a busy machine in a few */
#define MAX_TEXT ((gsize) 1 << 20)
#define VENDORS "/etc/OpenCL/vendors"

static GMutex lock; /* all below */
static gboolean anew;
static GHashTable *verdicts; /* of an API: what is wrong with its driver, or NULL */

/* ── The child ── */

gboolean
td_device_probe_helper (int argc, char **argv)
{
  if (!td_helper_begin (argc, argv, HELPER))
    return FALSE;
  g_autoptr (GPtrArray) entries = argc == 3 ? td_device_list_api (argv[2]) : NULL;
  _exit (0); /* a driver that crashes while it is unloaded has been listed all the same */
}

void
td_device_leave (int status)
{
  fflush (NULL);
#ifdef __SANITIZE_ADDRESS__
  if (status == 0) /* who failed leaves what other threads still use */
    __lsan_do_leak_check ();
#endif
  _exit (status);
}

/* How the child ended, in words; NULL: well, or it could not be started. @vendor: the OpenCL driver
   to look at alone; NULL: all. */
static char *
device_probe_run (const char *api, const char *vendor)
{
  const char *const words[] = { HELPER, api, NULL };
  g_auto (GStrv) environment = g_get_environ ();

  if (vendor)
    environment = g_environ_setenv (environment, "OCL_ICD_VENDORS", vendor, TRUE);
  return td_helper_run (words, environment, td_helper_seconds (LIMIT_S), NULL);
}

/* ── Which driver it is ── */

/* The OpenCL drivers' files; empty where one file is named directly. */
static GPtrArray *
vendor_files (void)
{
  const char *folder = g_getenv ("OCL_ICD_VENDORS");
  GPtrArray *files = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GDir) dir = g_dir_open (folder ? folder : VENDORS, 0, NULL);

  for (const char *name; dir && (name = g_dir_read_name (dir));)
    if (g_str_has_suffix (name, ".icd"))
      g_ptr_array_add (files, g_build_filename (folder ? folder : VENDORS, name, NULL));
  g_ptr_array_sort (files, td_compare_strings);
  return files;
}

/* "the OpenCL driver of /etc/OpenCL/vendors/pocl.icd crashed (Aborted)" */
static char *
name_driver (const char *api, const char *all)
{
  g_autoptr (GPtrArray) files = vendor_files ();
  g_autoptr (TdMessage) text = NULL;

  if (strcmp (api, "cuda") == 0)
    return td_message_packed ("NVIDIA's driver %p", td_message_unpack (all));
  for (guint i = 0; i < files->len; i++) {
    g_autofree char *how
        = files->len > 1 ? device_probe_run (api, files->pdata[i]) : g_strdup (all);
    if (how) {
      TdMessage *one = td_message_new ("the OpenCL driver of %s %p", (const char *) files->pdata[i],
                                       td_message_unpack (how));
      text = text ? td_message_new ("%p, %p", g_steal_pointer (&text), one) : one;
    }
  }
  if (!text)
    text = td_message_new ("an OpenCL driver %p", td_message_unpack (all));
  return td_message_pack (text);
}

static void
add_file (GChecksum *sum, const char *path)
{
  GStatBuf state = { 0 };
  g_autofree char *text = NULL;

  if (g_stat (path, &state) != 0)
    memset (&state, 0, sizeof state);
  text = g_strdup_printf ("%s %" PRId64 " %" PRId64 "\n", path, (gint64) state.st_size,
                          (gint64) state.st_mtime);
  g_checksum_update (sum, (const guchar *) text, -1);
}

/* Changes with the driver's version, with what chooses the driver, and when the machine starts. */
static char *
driver_state (const char *api)
{
  static const char *const variables[] = { "OCL_ICD_VENDORS", "OCL_ICD_FILENAMES", "POCL_DEVICES",
                                           "LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES" };
  static const char *const files[]
      = { "/proc/sys/kernel/random/boot_id", "/proc/driver/nvidia/version" };
  g_autoptr (GChecksum) sum = g_checksum_new (G_CHECKSUM_SHA256);
  g_autoptr (GPtrArray) vendors = vendor_files ();

  for (guint i = 0; i < G_N_ELEMENTS (variables); i++) {
    const char *value = g_getenv (variables[i]);
    g_checksum_update (sum, (const guchar *) (value ? value : "-"), -1);
    g_checksum_update (sum, (const guchar *) "\n", -1);
  }
  for (guint i = 0; i < G_N_ELEMENTS (files); i++) {
    g_autofree char *text = NULL;
    if (g_file_get_contents (files[i], &text, NULL, NULL))
      g_checksum_update (sum, (const guchar *) text, -1);
  }
  for (guint i = 0; i < vendors->len && strcmp (api, "opencl") == 0; i++) {
    g_autofree char *library = td_text_load (vendors->pdata[i], MAX_TEXT, NULL);
    add_file (sum, vendors->pdata[i]);
    if (library && g_path_is_absolute (g_strstrip (library)))
      add_file (sum, library);
  }
  add_file (sum, "/sys/devices");
  return g_strdup (g_checksum_get_string (sum));
}

/* ── Memory ── */

/* TRUE: the verdict is known; @reason: NULL if the driver is sound. */
static gboolean
device_probe_recall (GKeyFile *file, const char *api, const char *state, char **reason)
{
  g_autofree char *known = g_key_file_get_string (file, api, "driver", NULL);

  if (anew || g_strcmp0 (known, state) != 0)
    return FALSE;
  *reason = g_key_file_get_string (file, api, "failure", NULL);
  return TRUE;
}

static char *
device_probe_ask (const char *api)
{
  g_autofree char *path
      = g_build_filename (g_get_user_cache_dir (), "tomodesk", "drivers.ini", NULL);
  g_autofree char *state = driver_state (api), *folder = g_path_get_dirname (path);
  g_autoptr (GKeyFile) file = g_key_file_new ();
  char *reason = NULL;

  g_autofree char *kept = td_text_load (path, MAX_TEXT, NULL);
  if (kept)
    g_key_file_load_from_data (file, kept, (gsize) -1, G_KEY_FILE_NONE, NULL);
  if (device_probe_recall (file, api, state, &reason))
    return reason;
  g_autofree char *how = device_probe_run (api, NULL);
  if (how) {
    g_autofree char *driver = name_driver (api, how);
    reason = td_message_packed ("%p while its devices were listed; update or remove it, and "
                                "'tomodesk-cli devices' tries it again",
                                td_message_unpack (driver));
  }
  g_key_file_remove_group (file, api, NULL);
  g_key_file_set_string (file, api, "driver", state);
  if (reason)
    g_key_file_set_string (file, api, "failure", reason);
  g_mkdir_with_parents (folder, 0700);
  g_key_file_save_to_file (file, path, NULL);
  return reason;
}

void
td_device_probe_anew (void)
{
  g_mutex_lock (&lock);
  anew = TRUE;
  g_mutex_unlock (&lock);
}

const char *
td_device_probe (const char *api)
{
  g_mutex_lock (&lock);
  if (!verdicts)
    verdicts = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  if (!g_hash_table_contains (verdicts, api) && td_helper_exists ())
    g_hash_table_insert (verdicts, g_strdup (api), device_probe_ask (api));
  const char *reason = g_hash_table_lookup (verdicts, api);
  g_mutex_unlock (&lock);
  return reason;
}
