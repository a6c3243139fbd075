/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

typedef struct {
  double factor;
  const char *names; /* a space between them */
  gboolean alone;    /* a word of texts that means something else there */
} Unit;

static double
unit_find (const Unit *units, const char *name, gboolean in_text)
{
  for (; units->names; units++) {
    g_auto (GStrv) names = g_strsplit (units->names, " ", -1);
    for (guint i = 0; names[i]; i++)
      if (g_ascii_strcasecmp (name, names[i]) == 0 && !(in_text && units->alone))
        return units->factor;
  }
  return 0;
}

double
td_length_unit (const char *name)
{
  static const Unit units[] = {
    { 1e3, "m metre meter meters metres" },
    { 100, "dm" },
    { 10, "cm" },
    { 1, "mm millimeter millimeters millimetre millimetres" },
    { 1e-3, "um \xc2\xb5m \xce\xbcm" /* the micro sign, and the Greek letter */
            " micron microns micrometer micrometers micrometre micrometres" },
    { 1e-6, "nm nanometer nanometers nanometre nanometres" },
    { 0 },
  };

  return unit_find (units, name, FALSE);
}

double
td_energy_unit (const char *name)
{
  static const Unit units[] = {
    { 1e-3, "eV" }, { 1, "keV" }, { 1e3, "MeV" }, { 6.241509074460763e15, "J" }, { 0 },
  };

  return unit_find (units, name, FALSE);
}

double
td_angle_unit (const char *name, gboolean in_text)
{
  static const Unit units[] = {
    { G_PI / 180, "deg degs degree degrees \xc2\xb0" },
    { 1, "rad rads radian radians" },
    { 1e-3, "mrad" },
    { 1e-6, "urad \xc2\xb5rad \xce\xbcrad" },
    { G_PI / 180e3, "mdeg" },
    { G_PI / 10800, "arcmin arcmins arcminute arcminutes" },
    { G_PI / 648e3, "arcsec arcsecs arcsecond arcseconds" },
    { G_PI / 200, "gon" },
    { 2 * G_PI, "rev turn turns", TRUE },
    { 0 },
  };

  return unit_find (units, name, in_text);
}

char *
td_memory_text (guint64 bytes)
{
  return g_format_size_full (bytes, G_FORMAT_SIZE_IEC_UNITS);
}
