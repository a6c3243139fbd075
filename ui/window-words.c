/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "window-words.h"

#include <glib/gi18n.h>
#include <string.h>

#include "compute/prepare/step.h"

typedef struct {
  const char *word, *label;
} Value;

static const Value method_values[] = {
  { "auto", N_ ("Automatic") },
  { "fbp", N_ ("Filtered back-projection") },
  { "fdk", N_ ("Cone beam (FDK)") },
  { "fourier", N_ ("Fourier (fast)") },
  { "sirt", N_ ("Iterative (SIRT)") },
  { "fista-tv", N_ ("Few views (FISTA-TV)") },
  { "cgls", N_ ("Least squares (CGLS)") },
  { NULL },
};
static const Value interpolation_values[]
    = { { "nearest", N_ ("Nearest") }, { "linear", N_ ("Linear") }, { NULL } };
static const Value field_values[] = { { "auto", N_ ("Automatic") },
                                      { "full", N_ ("As the detector") },
                                      { "half", N_ ("Wide: half acquisition") },
                                      { NULL } };
static const Value precision_values[] = { { "single", N_ ("Single (32 bits)") },
                                          { "half", N_ ("Half storage (16 bits)") },
                                          { NULL } };
static const Value bin_values[] = { { "2", "2" }, { NULL } };
static const Value no_values[] = { { NULL } };

/* Where an option stands in the window: labels as its widgets have them. */
static const struct {
  const char *option, *label;
  const Value *values; /* that may follow */
} places[] = {
  { "angles", N_ ("Open with Details (Ctrl+D): angles"), no_values },
  { "bad-pixels", N_ ("Bad pixels"), no_values },
  { "bin", N_ ("Columns averaged to one"), bin_values },
  { "centre", N_ ("Centre of rotation"), no_values },
  { "crop", N_ ("Detector"), no_values },
  { "darks", N_ ("Open with Details (Ctrl+D): darks"), no_values },
  { "device", N_ ("Compute on"), no_values },
  { "device-memory-limit", N_ ("Device memory limit (GiB)"), no_values },
  { "field-of-view", N_ ("Field of view"), field_values },
  { "flats", N_ ("Open with Details (Ctrl+D): flats"), no_values },
  { "geometry", N_ ("Open with Details (Ctrl+D): geometry file"), no_values },
  { "interpolation", N_ ("Interpolation"), interpolation_values },
  { "kernel", N_ ("Kernel"), no_values },
  { "memory-limit", N_ ("Memory limit (GiB)"), no_values },
  { "method", N_ ("Method"), method_values },
  { "pixel-mm", N_ ("Open with Details (Ctrl+D): detector pixel"), no_values },
  { "precision", N_ ("Precision"), precision_values },
  { "range", N_ ("Range"), no_values },
  { "raw", N_ ("Open with Details (Ctrl+D): no header"), no_values },
  { "region", N_ ("Part of the slice"), no_values },
  { "reverse-rotation", N_ ("Reverse rotation"), no_values },
  { "rows", N_ ("Region: rows"), no_values },
  { "sdd-mm", N_ ("Open with Details (Ctrl+D): source to detector"), no_values },
  { "sod-mm", N_ ("Open with Details (Ctrl+D): source to axis"), no_values },
  { "start", N_ ("Begin with the filtered volume"), no_values },
  { "subsets", N_ ("Subsets of the views"), no_values },
  { "tilt", N_ ("Tilt of the axis (°)"), no_values },
  { "tolerance", N_ ("Tolerance"), no_values },
  { "values", N_ ("Open with Details (Ctrl+D): samples are"), no_values },
};

static gsize
name_length (const char *text)
{
  gsize n = 0;

  while (g_ascii_islower (text[n]) || (n > 0 && text[n] == '-' && g_ascii_islower (text[n + 1])))
    n++;
  return n;
}

/* “PX”, “X,Y,W,H”: what the command line wants there, told in capitals. */
static gsize
placeholder_length (const char *text)
{
  gsize n = 0;

  if (text[0] != ' ' || !g_ascii_isupper (text[1]))
    return 0;
  for (n = 1; g_ascii_isupper (text[n]) || (text[n] == ',' && g_ascii_isupper (text[n + 1])); n++)
    ;
  return g_ascii_isalpha (text[n]) ? 0 : n;
}

static const Value *
value_at (const Value *values, const char *text)
{
  for (; values->word; values++) {
    const gsize n = strlen (values->word);
    if (*text == ' ' && strncmp (text + 1, values->word, n) == 0 && !g_ascii_isalnum (text[n + 1])
        && text[n + 1] != '-')
      return values;
  }
  return NULL;
}

/* After "--prepare": STEP and what it is given; the step is called as in the list. */
static const char *
add_step (GString *out, const char *text)
{
  const char *start = *text == ' ' ? text + 1 : text;
  const gsize n = name_length (start);
  g_autofree char *name = g_strndup (start, n);
  const TdStepKind *kind = n ? td_prepare_step (name, NULL) : NULL;
  gsize rest = n;

  while (start[rest] && !strchr (" ,;)", start[rest]))
    rest++;
  g_string_append_printf (out, "“%s", _ ("Preparation"));
  if (n)
    g_string_append_printf (out, ": %s", kind ? _ (kind->title) : name);
  if (rest > n)
    g_string_append_printf (out, " %.*s", (int) (rest - n - 1), start + n + 1);
  g_string_append (out, "”");
  return n ? start + rest : text;
}

/* @text begins behind the hyphens. Returns where the message goes on; NULL: no option of the
 * window's. */
static const char *
add_place (GString *out, const char *text)
{
  const gsize n = name_length (text);

  if (n == strlen ("prepare") && g_str_has_prefix (text, "prepare"))
    return add_step (out, text + n);
  for (guint i = 0; n && i < G_N_ELEMENTS (places); i++) {
    if (strlen (places[i].option) != n || strncmp (places[i].option, text, n) != 0)
      continue;
    const Value *value = value_at (places[i].values, text + n);
    if (value)
      g_string_append_printf (out, "“%s: %s”", _ (places[i].label), _ (value->label));
    else
      g_string_append_printf (out, "“%s”", _ (places[i].label));
    return text + n + (value ? strlen (value->word) + 1 : placeholder_length (text + n));
  }
  return NULL;
}

char *
td_window_words (const char *message)
{
  if (!message)
    return NULL;
  g_autoptr (GString) out = g_string_new (NULL);
  for (const char *at = message; *at;) {
    const gboolean option = g_str_has_prefix (at, "--") && (at == message || strchr (" (", at[-1]));
    const char *behind = option ? add_place (out, at + 2) : NULL;
    if (!behind)
      g_string_append_c (out, *at);
    at = behind ? behind : at + 1;
  }
  return g_string_free (g_steal_pointer (&out), FALSE);
}

char *
td_window_naming (const char *field, const char *value, const char *argument)
{
  g_autofree char *option = td_naming_options (field, value, argument);
  g_autoptr (GString) out = g_string_new (NULL);
  const char *behind = add_place (out, option + 2);

  return behind && !*behind ? g_strdup (out->str) : g_steal_pointer (&option);
}
