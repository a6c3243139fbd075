/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib/gi18n.h>
#include <locale.h>

#include "application.h"
#include "compute/device/device-probe.h"
#include "config.h"
#include "dataset/hdf5-trial.h"

int
main (int argc, char **argv)
{
  if (td_device_probe_helper (argc, argv) || td_h5_trial_helper (argc, argv))
    return 0;
  setlocale (LC_ALL, "");
  bindtextdomain (GETTEXT_PACKAGE, TD_LOCALEDIR);
  bind_textdomain_codeset (GETTEXT_PACKAGE, "UTF-8");
  textdomain (GETTEXT_PACKAGE);
  g_autoptr (TdApplication) application = td_application_new ();
  return g_application_run (G_APPLICATION (application), argc, argv);
}
