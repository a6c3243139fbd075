/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "handout.h"

/* Grants a rank has on average, so that the last ones are short. */
#define GRANTS 8
/* A grant is late after so many times the mean of those that are done, and not before LATE_US. */
#define LATE_TIMES 4
#define LATE_US (5 * G_USEC_PER_SEC)

typedef struct {
  TdGridShare share;
  guint rank;
  gint64 since_us;
} Grant;

struct TdHandout {
  GArray *todo; /* TdGridShare, the first next */
  GArray *out;  /* Grant, not done yet */
  guint most;   /* slices of one grant */
  gint64 done_us;
  guint n_done;
};

TdHandout *
td_handout_new (const GArray *missing, guint ranks)
{
  TdHandout *handout = g_new0 (TdHandout, 1);
  guint all = 0;

  handout->todo = g_array_new (FALSE, FALSE, sizeof (TdGridShare));
  handout->out = g_array_new (FALSE, FALSE, sizeof (Grant));
  g_array_append_vals (handout->todo, missing->data, missing->len);
  for (guint i = 0; i < missing->len; i++)
    all += g_array_index (missing, TdGridShare, i).count;
  handout->most = MAX (1, all / (GRANTS * ranks));
  return handout;
}

void
td_handout_free (TdHandout *handout)
{
  g_array_unref (handout->todo);
  g_array_unref (handout->out);
  g_free (handout);
}

static void
handout_drop_done (TdHandout *handout, TdParts *parts, gint64 now)
{
  for (guint i = handout->out->len; i-- > 0;) {
    const Grant *grant = &g_array_index (handout->out, Grant, i);
    if (!td_parts_has (parts, grant->share.first, grant->share.count))
      continue;
    handout->done_us += now - grant->since_us;
    handout->n_done++;
    g_array_remove_index (handout->out, i);
  }
}

TdGridShare
td_handout_grant (TdHandout *handout, guint rank, TdParts *parts, gint64 now, gboolean *later,
                  guint *slow)
{
  Grant grant = { .rank = rank, .since_us = now };

  *slow = G_MAXUINT;
  handout_drop_done (handout, parts, now);
  if (handout->todo->len > 0) {
    TdGridShare *next = &g_array_index (handout->todo, TdGridShare, 0);
    grant.share = (TdGridShare) { next->first, MIN (next->count, handout->most) };
    next->first += grant.share.count;
    next->count -= grant.share.count;
    if (next->count == 0)
      g_array_remove_index (handout->todo, 0);
    g_array_append_val (handout->out, grant);
    return grant.share;
  }
  const gint64 late = MAX (LATE_US, LATE_TIMES * handout->done_us / MAX (1, handout->n_done));
  for (guint i = 0; i < handout->out->len; i++) {
    Grant *old = &g_array_index (handout->out, Grant, i);
    if (old->rank == rank || now - old->since_us < late)
      continue;
    *slow = old->rank;
    old->rank = rank;
    old->since_us = now;
    return old->share;
  }
  *later = handout->out->len > 0;
  return grant.share;
}
