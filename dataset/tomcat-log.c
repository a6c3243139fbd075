/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tomcat-log.h"

#include <math.h>
#include <string.h>

#include "number.h"
#include "scan-private.h"
#include "series.h"
#include "text-file.h"

#define HEAD_BYTES 65536

static gboolean
tomcat_log_is (const char *name)
{
  return td_series_ends (name, ".log");
}

/* What stands behind the colon of the line that begins with @key; NULL: there is no such line. */
static const char *
tomcat_log_value (const char *text, const char *key)
{
  const char *at = strstr (text, key), *colon = at ? strchr (at, ':') : NULL;

  if (!colon || (at > text && at[-1] != '\n') || memchr (at, '\n', (gsize) (colon - at)))
    return NULL;
  return colon + 1 + strspn (colon + 1, " \t");
}

static double
tomcat_log_number (const char *text, const char *key)
{
  const char *at = tomcat_log_value (text, key);
  double value;

  return at && td_next_number (&at, &value) ? value : NAN;
}

static gboolean
tomcat_log_count (const char *text, const char *key, guint *count)
{
  const double value = tomcat_log_number (text, key);

  if (!(value >= 0 && value <= TD_SCAN_MAX_FRAMES))
    return FALSE;
  *count = (guint) value;
  return TRUE;
}

static gboolean
tomcat_log_read (const char *text, const char *image, TdTomcatLog *log)
{
  const char *prefix = tomcat_log_value (text, "File Prefix");
  const gsize length = prefix ? strcspn (prefix, " \t\r\n") : 0;
  const double step = tomcat_log_number (text, "Angular step");

  if (!tomcat_log_count (text, "Number of darks", &log->n_darks)
      || !tomcat_log_count (text, "Number of flats", &log->n_flats)
      || !tomcat_log_count (text, "Number of projections", &log->n_views) || log->n_views == 0
      || g_ascii_strncasecmp (image, prefix ? prefix : "", length) != 0)
    return FALSE;
  log->first_deg = tomcat_log_number (text, "Rot Y min position");
  log->last_deg = isfinite (step) ? log->first_deg + (log->n_views - 1) * step
                                  : tomcat_log_number (text, "Rot Y max position");
  return TRUE;
}

char *
td_tomcat_log_find (const char *folder, const char *image, TdTomcatLog *log)
{
  g_auto (GStrv) paths = td_series_paths (folder, tomcat_log_is, NULL);

  for (guint i = 0; paths && paths[i]; i++) {
    g_autofree char *text = td_text_head (paths[i], HEAD_BYTES);

    if (text && tomcat_log_read (text, image, log))
      return g_strdup (paths[i]);
  }
  return NULL;
}
