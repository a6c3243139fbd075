/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <json-glib/json-glib.h>

#include <glib.h>

#include "compute/engine/plan.h"

/**
 * TdEvents: what a cluster job tells, as the file "events.jsonl" in its folder. Each line is one
 * JSON object with "time" (seconds since 1970) and "event". Lines are only ever appended, each by
 * one write, so that a reader may follow the file while it grows. Rank 0 writes; any thread.
 */
typedef struct TdEvents TdEvents;

TdEvents *td_events_open (const char *folder, GError **error);
void td_events_free (TdEvents *events); /* NULL is allowed */
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TdEvents, td_events_free)

/* Members that say what the volume is and how it is made, for whoever shows a job. */
void td_events_add_volume (JsonBuilder *builder, const TdPlanFacts *facts);
/* The members "text", which is for people who read the file, and "message", which another process
   renders. @packed: as of td_message_pack(). */
void td_events_add_message (JsonBuilder *builder, const char *packed);
/* What an event says, as td_message_unpack() takes it; NULL: nothing. */
const char *td_events_said (JsonNode *event);
/* Begins an event; add its members, then td_events_end(). No other thread begins one meanwhile. */
JsonBuilder *td_events_begin (TdEvents *events, const char *event);
/* "done", "failed" or "cancelled", if that was told in @folder since then (seconds since 1970);
   else NULL. */
const char *td_events_end_told (const char *folder, double since_s);
/* Appends it. A file that cannot be written is complained of once, on standard error: the job goes
   on. */
void td_events_end (TdEvents *events);
