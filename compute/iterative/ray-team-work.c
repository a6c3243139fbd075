/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A team's projection, back-projection and denoising. */
#include <string.h>

#include "compute/device/host.h"
#include "ray-team-private.h"

typedef struct {
  TdTeamVolume *volume;
  TdBuffer *lines, *measured, *squares; /* the lead's */
  guint first, n;
  double relaxation;
  gboolean correct, non_negative;
  GCancellable *cancellable;
} Work;

static gsize
ray_team_work_view_values (const TdRayTeam *team)
{
  return (gsize) team->task.n_columns * team->task.n_rows;
}

/* ── Projection ── */

/* The first member's integrals go where the sum will be. */
static float *
seen_by (TdRayTeam *team, guint i, const Work *work)
{
  TdTeamRays *member = &team->members[i];
  const gsize n = work->n * ray_team_work_view_values (team);

  if (i == 0)
    return td_buffer_map (work->lines);
  if (member->n_seen < n) {
    g_free (member->seen);
    member->seen = g_new (float, n);
    member->n_seen = n;
  }
  return member->seen;
}

static gboolean
ray_team_work_project (TdRayTeam *team, guint i, gpointer user, GError **error)
{
  const Work *work = user;
  const TdTeamRays *member = &team->members[i];
  TdQueue *queue = td_rays_queue (member->rays);
  const gsize view = ray_team_work_view_values (team);
  float *seen = seen_by (team, i, work);

  for (guint at = 0; at < work->n; at += team->batch) {
    const guint n = MIN (team->batch, work->n - at);

    if (!td_rays_project (member->rays, work->volume->parts[i], work->first + at, n, member->lines,
                          work->cancellable, error)
        || !td_download (queue, seen + at * view, member->lines, 0, n * view * sizeof *seen, error)
        || !td_queue_finish (queue, error))
      return FALSE;
  }
  return TRUE;
}

typedef struct {
  TdRayTeam *team;
  float *sum;
} Adding;

static void
ray_team_work_add_view (guint index, gpointer user)
{
  const Adding *work = user;
  const gsize n = ray_team_work_view_values (work->team);
  float *sum = work->sum + index * n;

  for (guint i = 1; i < work->team->n; i++) {
    const float *seen = work->team->members[i].seen + index * n;
    for (gsize k = 0; k < n; k++)
      sum[k] += seen[k];
  }
}

static gboolean
project_all (TdRayTeam *team, Work *work, GError **error)
{
  if (!td_team_each (team, ray_team_work_project, work, error))
    return FALSE;
  Adding adding = { team, td_buffer_map (work->lines) };
  if (team->n > 1)
    td_parallel_for (work->n, ray_team_work_add_view, &adding);
  return TRUE;
}

gboolean
td_team_project (TdRayTeam *team, TdTeamVolume *volume, guint first, guint n, TdBuffer *out,
                 GCancellable *cancellable, GError **error)
{
  Work work
      = { .volume = volume, .lines = out, .first = first, .n = n, .cancellable = cancellable };

  return team->batch
             ? project_all (team, &work, error)
             : td_rays_project (team->lead, volume->parts[0], first, n, out, cancellable, error);
}

gboolean
td_team_compare (TdRayTeam *team, TdTeamVolume *volume, TdBuffer *measured, guint first, guint n,
                 TdBuffer *out, TdBuffer *squares, GCancellable *cancellable, GError **error)
{
  Work work
      = { .volume = volume, .lines = out, .first = first, .n = n, .cancellable = cancellable };

  const guint held = team->store ? first : 0;
  if (team->store && !(measured = td_ray_store_bring (team->store, first, n, error)))
    return FALSE;
  if (team->batch)
    return project_all (team, &work, error)
           && td_rays_differ (team->lead, measured, held, first, n, out, squares, cancellable,
                              error);
  return td_rays_compare (team->lead, volume->parts[0], measured, held, first, n, out, squares,
                          cancellable, error);
}

gboolean
td_team_measured_squares (TdRayTeam *team, TdBuffer *measured, double *squares,
                          GCancellable *cancellable, GError **error)
{
  const guint n_views = team->task.n_views,
              step = team->store ? td_ray_store_most (team->store) : n_views;
  double part, magnitude;

  *squares = 0;
  for (guint first = 0; first < n_views; first += step) {
    const guint n = MIN (step, n_views - first);
    TdBuffer *lines = team->store ? td_ray_store_bring (team->store, first, n, error) : measured;

    if (!lines
        || !td_rays_sums (team->lead, lines, lines, n, &part, &magnitude, cancellable, error))
      return FALSE;
    *squares += part;
  }
  return TRUE;
}

/* ── Back-projection ── */

static gboolean
ray_team_work_send (TdRayTeam *team, guint i, const Work *work, guint at, guint n, GError **error)
{
  const TdTeamRays *member = &team->members[i];
  const gsize view = ray_team_work_view_values (team);
  const float *lines = td_buffer_map (work->lines);

  return td_upload (td_rays_queue (member->rays), member->lines, 0, lines + at * view,
                    n * view * sizeof *lines, error);
}

/* Zeros in *@buffer, made when it is first wanted. */
static gboolean
ray_team_work_clear (TdTeamRays *member, TdBuffer **buffer, GError **error)
{
  if (!*buffer)
    return (*buffer = td_rays_volume_new (member->rays, error)) != NULL;
  return td_fill_zero (td_rays_queue (member->rays), *buffer, 0,
                       td_rays_volume_bytes (&member->rays->task), error);
}

/* More views than there is room for: sums, batch after batch. */
static gboolean
back_batches (TdRayTeam *team, guint i, const Work *work, GError **error)
{
  TdTeamRays *member = &team->members[i];
  TdBuffer **sums = work->correct ? &member->sums : &work->volume->parts[i];

  if (!ray_team_work_clear (member, sums, error)
      || (work->correct && !ray_team_work_clear (member, &member->weights, error)))
    return FALSE;
  for (guint at = 0; at < work->n; at += team->batch) {
    const guint n = MIN (team->batch, work->n - at);

    if (!ray_team_work_send (team, i, work, at, n, error)
        || !td_rays_add (member->rays, member->lines, work->first + at, n, *sums,
                         work->correct ? member->weights : NULL, work->cancellable, error)
        || !td_queue_finish (td_rays_queue (member->rays), error))
      return FALSE;
  }
  return !work->correct
         || td_rays_apply (member->rays, member->sums, member->weights, work->relaxation,
                           work->non_negative, work->volume->parts[i], work->cancellable, error);
}

static gboolean
ray_team_work_back (TdRayTeam *team, guint i, gpointer user, GError **error)
{
  const Work *work = user;
  TdRayProjector *rays = team->members[i].rays;
  TdBuffer *lines = team->batch ? team->members[i].lines : work->lines,
           *volume = work->volume->parts[i];

  if (team->batch && work->n > team->batch)
    return back_batches (team, i, work, error);
  if (team->batch && !ray_team_work_send (team, i, work, 0, work->n, error))
    return FALSE;
  return work->correct
             ? td_rays_correct (rays, lines, work->first, work->n, work->relaxation,
                                work->non_negative, volume, work->cancellable, error)
             : td_rays_back (rays, lines, work->first, work->n, volume, work->cancellable, error);
}

gboolean
td_team_back (TdRayTeam *team, TdBuffer *lines, guint first, guint n, TdTeamVolume *volume,
              GCancellable *cancellable, GError **error)
{
  Work work
      = { .volume = volume, .lines = lines, .first = first, .n = n, .cancellable = cancellable };

  return td_team_each (team, ray_team_work_back, &work, error);
}

gboolean
td_team_correct (TdRayTeam *team, TdBuffer *lines, guint first, guint n, double relaxation,
                 gboolean non_negative, TdTeamVolume *volume, GCancellable *cancellable,
                 GError **error)
{
  Work work = { .volume = volume,
                .lines = lines,
                .first = first,
                .n = n,
                .relaxation = relaxation,
                .correct = TRUE,
                .non_negative = non_negative,
                .cancellable = cancellable };

  return td_team_each (team, ray_team_work_back, &work, error);
}

/* ── Total variation ── */

typedef struct {
  TdTeamVolume *volume, *out;
  TdBuffer *(*fields)[3];
  double strength;
  gboolean non_negative;
  GCancellable *cancellable;
} Denoise;

static gboolean
ray_team_work_move (TdRayTeam *team, guint i, gpointer user, GError **error)
{
  const Denoise *work = user;

  return td_rays_move (team->members[i].rays, work->volume->parts[i], work->fields[i],
                       work->out->parts[i], work->strength, work->non_negative, work->cancellable,
                       error);
}

static gboolean
ray_team_work_climb (TdRayTeam *team, guint i, gpointer user, GError **error)
{
  const Denoise *work = user;

  return td_rays_climb (team->members[i].rays, work->out->parts[i], work->fields[i], work->strength,
                        work->cancellable, error);
}

/* Row @y of a member's part to row @to_y of its neighbour's, the borders' rows counted as -1 and n.
 */
static gboolean
ray_team_work_copy_row (TdRayTeam *team, guint from, TdBuffer *part, gint y, guint to,
                        TdBuffer *to_part, gint to_y, float *row, GError **error)
{
  const guint64 bytes = (guint64) (team->task.nx + 3) * (team->task.nz + 3) * sizeof *row;
  TdQueue *queue = td_rays_queue (team->members[from].rays),
          *to_queue = td_rays_queue (team->members[to].rays);

  if (!td_download (queue, row, part, (y + 1) * bytes, bytes, error)
      || !td_queue_finish (queue, error)) {
    team->failed = from;
    return FALSE;
  }
  if (!td_upload (to_queue, to_part, (to_y + 1) * bytes, row, bytes, error)
      || !td_queue_finish (to_queue, error)) {
    team->failed = to;
    return FALSE;
  }
  return TRUE;
}

/* What a member's gradient or divergence sees of its neighbours: the row behind its last of the
   volume, or the row before its first of the field along y. */
static gboolean
ray_team_work_exchange (TdRayTeam *team, const Denoise *work, gboolean field, float *row,
                        GError **error)
{
  for (guint i = 0; i + 1 < team->n; i++) {
    const guint n = team->members[i].n;
    const gboolean ok = field ? ray_team_work_copy_row (team, i, work->fields[i][1], n - 1, i + 1,
                                                        work->fields[i + 1][1], -1, row, error)
                              : ray_team_work_copy_row (team, i + 1, work->out->parts[i + 1], 0, i,
                                                        work->out->parts[i], n, row, error);
    if (!ok)
      return FALSE;
  }
  return TRUE;
}

gboolean
td_team_denoise (TdRayTeam *team, TdTeamVolume *volume, TdTeamVolume *const field[3],
                 TdTeamVolume *spare, double strength, guint steps, gboolean non_negative,
                 GCancellable *cancellable, GError **error)
{
  g_autofree float *row = g_new (float, (gsize) (team->task.nx + 3) * (team->task.nz + 3));
  TdBuffer *(*fields)[3] = g_malloc (team->n * sizeof *fields);
  Denoise work = { volume, spare, fields, strength, non_negative, cancellable };
  gboolean ok = TRUE;

  for (guint i = 0; i < team->n; i++)
    for (guint k = 0; k < 3; k++)
      fields[i][k] = field[k]->parts[i];
  for (guint step = 0; ok && step < steps; step++)
    ok = ray_team_work_exchange (team, &work, TRUE, row, error)
         && td_team_each (team, ray_team_work_move, &work, error)
         && ray_team_work_exchange (team, &work, FALSE, row, error)
         && td_team_each (team, ray_team_work_climb, &work, error);
  work.out = volume;
  ok = ok && ray_team_work_exchange (team, &work, TRUE, row, error)
       && td_team_each (team, ray_team_work_move, &work, error);
  g_free (fields);
  return ok;
}
