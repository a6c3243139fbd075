/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib/gi18n.h>
#include <locale.h>

#include "application.h"
#include "compute/device/device-probe.h"
#include "config.h"
#include "dataset/hdf5-trial.h"

/* Translations lie beside the program as installed, in its build folder, or as configured.
 * (transfer full) */
static char *
main_locale_folder (void)
{
  static const char *const places[] = { "../share/locale", "../po" };
  g_autofree char *program = g_file_read_link ("/proc/self/exe", NULL);
  g_autofree char *folder = program ? g_path_get_dirname (program) : g_strdup (".");

  for (guint i = 0; i < G_N_ELEMENTS (places); i++) {
    g_autofree char *place = g_build_filename (folder, places[i], NULL);
    g_autofree char *some
        = g_build_filename (place, "de", "LC_MESSAGES", GETTEXT_PACKAGE ".mo", NULL);
    if (g_file_test (some, G_FILE_TEST_EXISTS))
      return g_steal_pointer (&place);
  }
  return g_strdup (TD_LOCALEDIR);
}

int
main (int argc, char **argv)
{
  if (td_device_probe_helper (argc, argv) || td_h5_trial_helper (argc, argv))
    return 0;
  setlocale (LC_ALL, "");
  g_autofree char *translations = main_locale_folder ();
  bindtextdomain (GETTEXT_PACKAGE, translations);
  bind_textdomain_codeset (GETTEXT_PACKAGE, "UTF-8");
  textdomain (GETTEXT_PACKAGE);
  g_autoptr (TdApplication) application = td_application_new ();
  const int status = g_application_run (G_APPLICATION (application), argc, argv);
  g_clear_object (&application);
  td_device_leave (status); /* devices may still be listed */
}
