/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "steps.h"

#include <math.h>
#include <string.h>

/* Bad pixels and zingers first: they are the camera's, and would be smeared by what follows. After
   the flat field what it left: dose and detector. Then phase, on transmissions; then the logarithm,
   and what is defined on line integrals: outliers over the angle, beam hardening, stripes. */
static const TdStepKind *const steps[] = {
  &td_step_bad_pixels,
  &td_step_zingers,
  &td_step_flat_field,
  &td_step_dose,
  &td_step_double_flat,
  &td_step_paganin,
  &td_step_minus_log,
  &td_step_zingers_angle,
  &td_step_beam_hardening,
  &td_step_rings,
  &td_step_rings_all,
  &td_step_rings_dead,
  &td_step_rings_large,
  &td_step_rings_sorting,
  &td_step_rings_filtering,
  &td_step_rings_fitting,
  &td_step_rings_wavelet,
  &td_step_rings_normalise,
  NULL,
};

const TdStepKind *const *
td_prepare_steps (void)
{
  return steps;
}

const TdStepKind *
td_prepare_step (const char *name, GError **error)
{
  for (guint i = 0; steps[i]; i++)
    if (strcmp (steps[i]->name, name) == 0)
      return steps[i];

  g_autoptr (GString) names = g_string_new (NULL);
  for (guint i = 0; steps[i]; i++)
    g_string_append_printf (names, "%s%s", i ? ", " : "", steps[i]->name);
  return td_set_error_null (error, TD_ERROR_INVALID,
                            "There is no preparation step \"%s\"; there are %s", name, names->str);
}

void
td_step_scale_columns (TdStep *step, guint factor)
{
  const TdStepKind *kind = td_prepare_step (step->name, NULL);

  for (guint i = 0; kind && i < kind->n_parameters; i++) {
    const TdStepParameter *parameter = &kind->parameters[i];
    if (!parameter->in_columns)
      continue;
    double value = step->values[i] / factor;
    if (parameter->digits == 0)
      value = round (value);
    step->values[i] = CLAMP (value, parameter->minimum, parameter->maximum);
  }
}

gboolean
td_step_equal (const TdStep *a, const TdStep *b)
{
  return strcmp (a->name, b->name) == 0 && a->enabled == b->enabled
         && memcmp (a->values, b->values, sizeof a->values) == 0;
}

void
td_step_init (TdStep *step, const TdStepKind *kind)
{
  memset (step, 0, sizeof *step);
  g_strlcpy (step->name, kind->name, sizeof step->name);
  step->enabled = TRUE;
  for (guint i = 0; i < kind->n_parameters; i++)
    step->values[i] = kind->parameters[i].preset;
}
