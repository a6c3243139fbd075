/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "step-sections.h"

#include <glib/gi18n.h>
#include <string.h>

/* Finer than a step's stage, which only orders them: phase retrieval stands between flat field and
   logarithm, and ring removal is a family of its own. */
TdStepSection
td_step_section (const TdStepKind *kind)
{
  if (g_str_has_prefix (kind->name, "rings"))
    return TD_SECTION_RINGS;
  if (strcmp (kind->name, "paganin") == 0)
    return TD_SECTION_PHASE;
  switch (kind->stage) {
  case TD_STEP_INTENSITY: return TD_SECTION_INTENSITY;
  case TD_STEP_FLAT: return TD_SECTION_FLAT;
  default: return TD_SECTION_ABSORPTION;
  }
}

const char *
td_step_section_title (TdStepSection section)
{
  const char *const titles[TD_N_SECTIONS] = {
    [TD_SECTION_INTENSITY] = _ ("Intensity"),   [TD_SECTION_FLAT] = _ ("Flat field and logarithm"),
    [TD_SECTION_PHASE] = _ ("Phase"),           [TD_SECTION_RINGS] = _ ("Rings"),
    [TD_SECTION_ABSORPTION] = _ ("Absorption"),
  };

  return titles[section];
}
