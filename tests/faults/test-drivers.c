/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "compute/device/device.h"
#include "tests/common/cli.h"
#include "tests/unit/test-folder.h"

/* A driver that aborts or hangs while its devices are listed is one sentence: the host goes on. */
#define PATIENCE_S "100" /* no driver that is looked at here takes so long */

static void
test_fault (gconstpointer fault)
{
  const gboolean hangs = g_str_equal (fault, "hang");
  g_auto (TdTestRun) devices = { 0 }, phantom = { 0 }, first = { 0 }, second = { 0 }, named = { 0 };
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *icd = test_folder_file (folder, "broken.icd");
  g_autofree char *cache = test_folder_file (folder, "cache");

  g_assert_true (g_file_set_contents (icd, FAKE_ICD, -1, NULL));
  g_setenv ("XDG_CACHE_HOME", cache, TRUE);
  g_setenv ("OCL_ICD_VENDORS", folder->path, TRUE);
  g_setenv ("FAKE_ICD", fault, TRUE);
  /* One that aborts does so before anybody gives it up, however slow the machine is. */
  g_setenv ("TOMODESK_PROBE_SECONDS", hangs ? "2" : PATIENCE_S, TRUE);
  td_test_cli (&devices, folder->path, "devices", NULL);
  g_assert_cmpint (devices.status, ==, 0);
  g_test_message ("%s", devices.out);
  g_assert_nonnull (strstr (devices.out, "host"));
  g_assert_nonnull (strstr (devices.out, icd));
  g_assert_nonnull (strstr (devices.out, hangs ? "did not answer within 2 s" : "crashed"));

  td_test_cli (&phantom, folder->path, "phantom", "shepp-logan", "--output", "scan.nxs",
               "--columns", "32", "--rows", "2", "--views", "40", NULL);
  g_assert_cmpint (phantom.status, ==, 0);
  td_test_cli (&first, folder->path, "reconstruct", "scan.nxs", "--output", "first", "--device",
               "auto", NULL);
  g_assert_cmpint (first.status, ==, 0);
  /* The verdict is remembered, else this would wait for ever. */
  g_setenv ("TOMODESK_PROBE_SECONDS", "100000", TRUE);
  td_test_cli (&second, folder->path, "plan", "scan.nxs", NULL);
  g_assert_cmpint (second.status, ==, 0);
  td_test_cli (&named, folder->path, "plan", "scan.nxs", "--device", "opencl:0", NULL);
  td_test_run_assert_refused (&named, 1, icd);

  /* Mended, the driver has another version: it is looked at again. */
  g_setenv ("FAKE_ICD", "none", TRUE);
  g_assert_true (g_file_set_contents (icd, FAKE_ICD "\n", -1, NULL));
  g_auto (TdTestRun) changed = { 0 }, mended = { 0 };
  td_test_cli (&changed, folder->path, "plan", "scan.nxs", "--device", "opencl:0", NULL);
  td_test_run_assert_refused (&changed, 2, "opencl:0"); /* there is none of that name */
  td_test_cli (&mended, folder->path, "devices", NULL);
  g_assert_cmpint (mended.status, ==, 0);
  g_assert_null (strstr (mended.out, icd));
}

/* The drivers that the command line is going to find. */
static void
choose_drivers (const TestFolder *folder, const char *fault)
{
  g_autofree char *cache = test_folder_file (folder, "cache");

  g_setenv ("XDG_CACHE_HOME", cache, TRUE);
  g_setenv ("OCL_ICD_VENDORS", folder->path, TRUE);
  g_setenv ("FAKE_ICD", fault, TRUE);
  g_setenv ("TOMODESK_PROBE_SECONDS", PATIENCE_S, TRUE);
}

/* A driver that hangs when the process ends does not keep a program whose work is done. */
static void
test_leaves (void)
{
  g_auto (TdTestRun) devices = { 0 }, phantom = { 0 }, volume = { 0 };
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *icd = test_folder_file (folder, "a.icd");

  g_assert_true (g_file_set_contents (icd, FAKE_ICD, -1, NULL));
  choose_drivers (folder, "stay");
  td_test_cli (&devices, folder->path, "devices", NULL);
  g_assert_cmpint (devices.status, ==, 0);
  g_assert_nonnull (strstr (devices.out, "host"));
  td_test_cli (&phantom, folder->path, "phantom", "shepp-logan", "--output", "scan.nxs",
               "--columns", "32", "--rows", "2", "--views", "40", NULL);
  g_assert_cmpint (phantom.status, ==, 0);
  td_test_cli (&volume, folder->path, "reconstruct", "scan.nxs", "--output", "slices", "--device",
               "auto", NULL);
  g_assert_cmpint (volume.status, ==, 0);
}

/* A folder of @count drivers, of which the first @broken crash. The others name no library. */
static void
check_blamed (guint count, guint broken)
{
  g_auto (TdTestRun) devices = { 0 };
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autoptr (GString) blamed = g_string_new (NULL);

  for (guint i = 0; i < count; i++) {
    g_autofree char *name = g_strdup_printf ("%c.icd", 'a' + i);
    g_autofree char *icd = test_folder_file (folder, name);
    g_assert_true (g_file_set_contents (icd, i < broken ? FAKE_ICD : "/nowhere.so", -1, NULL));
    if (i < broken)
      g_string_append_printf (blamed, "%sthe OpenCL driver of %s crashed (Aborted)", i ? ", " : "",
                              icd);
  }
  g_string_append (blamed, " while its devices were listed");
  choose_drivers (folder, "abort");
  td_test_cli (&devices, folder->path, "devices", NULL);
  g_assert_cmpint (devices.status, ==, 0);
  g_test_message ("%s", devices.out);
  g_assert_nonnull (strstr (devices.out, blamed->str));
}

/* Of several drivers those that crash are named, and no other. */
static void
test_blamed (void)
{
  static const guint cases[][2] = { { 1, 1 }, { 2, 1 }, { 2, 2 }, { 3, 2 } };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    check_blamed (cases[i][0], cases[i][1]);
}

/* What is remembered of a driver holds until its library changes, though its ".icd" stays. */
static void
test_updated (void)
{
  g_auto (TdTestRun) phantom = { 0 }, broken = { 0 }, kept = { 0 }, mended = { 0 };
  g_auto (TdTestRun) others = { 0 }, again = { 0 };
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *icd = test_folder_file (folder, "a.icd");
  g_autofree char *library = test_folder_file (folder, "a.so"), *contents = NULL;
  gsize length;

  g_assert_true (g_file_get_contents (FAKE_ICD, &contents, &length, NULL));
  g_assert_true (g_file_set_contents (library, contents, (gssize) length, NULL));
  g_assert_true (g_file_set_contents (icd, library, -1, NULL));
  td_test_cli (&phantom, folder->path, "phantom", "shepp-logan", "--output", "scan.nxs",
               "--columns", "32", "--rows", "2", "--views", "40", NULL);
  g_assert_cmpint (phantom.status, ==, 0);
  choose_drivers (folder, "abort");
  td_test_cli (&broken, folder->path, "plan", "scan.nxs", "--device", "opencl:0", NULL);
  td_test_run_assert_refused (&broken, 1, icd);
  choose_drivers (folder, "none");
  g_setenv ("POCL_DEVICES", "basic", TRUE); /* other devices: the driver is looked at again */
  td_test_cli (&others, folder->path, "plan", "scan.nxs", "--device", "opencl:0", NULL);
  td_test_run_assert_refused (&others, 2, "opencl:0");
  choose_drivers (folder, "abort");
  g_unsetenv ("POCL_DEVICES");
  td_test_cli (&again, folder->path, "plan", "scan.nxs", "--device", "opencl:0", NULL);
  td_test_run_assert_refused (&again, 1, icd);
  choose_drivers (folder, "none");
  td_test_cli (&kept, folder->path, "plan", "scan.nxs", "--device", "opencl:0", NULL);
  td_test_run_assert_refused (&kept, 1, icd);
  g_assert_true (g_file_set_contents (library, contents, (gssize) length + 1, NULL)); /* NUL */
  td_test_cli (&mended, folder->path, "plan", "scan.nxs", "--device", "opencl:0", NULL);
  td_test_run_assert_refused (&mended, 2, "opencl:0"); /* there is none of that name */
  g_assert_null (strstr (mended.error, icd));
}

static gpointer
drivers_count (gpointer unused)
{
  g_autoptr (GPtrArray) entries = td_device_list ();

  return GUINT_TO_POINTER (entries->len);
}

/* Threads that are the first to ask for devices all get the same ones, prepared. */
static void
test_at_once_alone (void)
{
  GThread *threads[8];

  for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
    threads[i] = g_thread_new ("lists", drivers_count, NULL);
  const gpointer first = g_thread_join (threads[0]);
  for (guint i = 1; i < G_N_ELEMENTS (threads); i++)
    g_assert_true (g_thread_join (threads[i]) == first);
}

static void
test_at_once (void)
{
  for (guint i = 0; i < 5; i++) {
    g_test_trap_subprocess ("/drivers/at-once/subprocess", 0, 0);
    g_test_trap_assert_passed ();
  }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/drivers/at-once", test_at_once);
  g_test_add_func ("/drivers/at-once/subprocess", test_at_once_alone);
  g_test_add_data_func ("/drivers/abort", "abort", test_fault);
  g_test_add_func ("/drivers/leaves", test_leaves);
  g_test_add_func ("/drivers/blamed", test_blamed);
  g_test_add_func ("/drivers/updated", test_updated);
  g_test_add_data_func ("/drivers/hang", "hang", test_fault);
  return g_test_run ();
}
