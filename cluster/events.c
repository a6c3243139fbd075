/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "events.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "compute/recipe/json.h"
#include "dataset/json-walk.h"
#include "dataset/output.h"
#include "dataset/text-file.h"

#define MOST_EVENT_BYTES ((gsize) 1 << 30)

struct TdEvents {
  int file;
  GMutex lock;          /* all below, while an event is being made */
  JsonBuilder *builder; /* of the event that was begun */
  gboolean complained;
  gboolean cut; /* the last line may lack its end */
};

TdEvents *
td_events_open (const char *folder, GError **error)
{
  g_autofree char *path = g_build_filename (folder, "events.jsonl", NULL);
  const int file = open (path, O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);

  if (file < 0)
    return td_output_set_error_null (error, path, errno);
  TdEvents *events = g_new0 (TdEvents, 1);
  g_mutex_init (&events->lock);
  events->file = file;
  return events;
}

void
td_events_free (TdEvents *events)
{
  if (!events)
    return;
  g_mutex_clear (&events->lock);
  close (events->file);
  g_free (events);
}

void
td_events_add_message (JsonBuilder *builder, const char *packed)
{
  g_autofree char *text = td_message_words (packed, NULL);

  td_json_add_string (builder, "text", text);
  td_json_add_string (builder, "message", packed);
}

const char *
td_events_said (JsonNode *event)
{
  const char *message = td_json_string (event, "message");

  return message ? message : td_json_string (event, "text");
}

JsonBuilder *
td_events_begin (TdEvents *events, const char *event)
{
  g_mutex_lock (&events->lock);
  events->builder = json_builder_new ();
  json_builder_begin_object (events->builder);
  td_json_add_number (events->builder, "time", g_get_real_time () * 1e-6);
  td_json_add_string (events->builder, "event", event);
  return events->builder;
}

void
td_events_end (TdEvents *events)
{
  json_builder_end_object (events->builder);
  g_autoptr (JsonNode) root = json_builder_get_root (events->builder);
  g_autofree char *text = td_json_text (root, FALSE);
  g_autofree char *line = g_strconcat (events->cut ? "\n" : "", text, "\n", NULL);
  const gssize length = (gssize) strlen (line);

  g_clear_object (&events->builder);
  const gssize n = write (events->file, line, (gsize) length);
  const int reason = n < 0 ? errno : ENOSPC;
  events->cut = n < 0 ? events->cut : n < length;
  if (n != length && !events->complained)
    fprintf (stderr, "tomodesk-worker: events.jsonl cannot be written: %s\n", g_strerror (reason));
  events->complained |= n != length;
  g_mutex_unlock (&events->lock);
}

void
td_events_add_volume (JsonBuilder *builder, const TdPlanFacts *facts)
{
  td_json_add_integer (builder, "nx", facts->nx);
  td_json_add_integer (builder, "ny", facts->ny);
  td_json_add_integer (builder, "slices", facts->n_slices);
  td_json_add_integer (builder, "first_row", facts->first_row);
  td_json_add_integer (builder, "slice_rows", facts->slice_rows);
  td_json_add_number (builder, "pixel_mm", facts->pixel_mm);
  td_json_add_string (builder, "units", facts->units);
  td_json_add_string (builder, "method", facts->method);
  td_json_add_number (builder, "centre_px", facts->centre_px);
}

const char *
td_events_end_told (const char *folder, double since_s)
{
  static const char *const ends[] = { "failed", "cancelled", "done" };
  g_autofree char *path = g_build_filename (folder, "events.jsonl", NULL);
  g_autofree char *text = td_text_load (path, MOST_EVENT_BYTES, NULL);

  if (!text)
    return NULL;
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
  for (guint i = g_strv_length (lines); i-- > 0;) {
    g_autoptr (JsonNode) root = td_json_parse (lines[i]);
    const char *event = root ? td_json_string (root, "event") : NULL;

    if (event && td_json_number (root, "time") <= since_s)
      return NULL;
    for (guint end = 0; event && end < G_N_ELEMENTS (ends); end++)
      if (strcmp (event, ends[end]) == 0)
        return ends[end];
  }
  return NULL;
}
