/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ray-team.h"

#include <string.h>

#include "ray-team-private.h"

/* ── Life ── */

guint64
td_team_volume_bytes (const TdConeTask *task, guint n)
{
  TdConeTask part = *task;

  part.ny = n;
  return td_rays_volume_bytes (&part);
}

/* The member's rows as a volume of its own. */
static TdRayProjector *
make_rays (const TdTeamMember *member, const TdConeTask *task, const guint *order, GError **error)
{
  TdConeTask part = *task;

  part.first_mm[1] -= member->first * task->voxel_mm;
  part.ny = member->n;
  TdRayProjector *rays = td_rays_new (member->device, &part, order, error);
  if (rays)
    rays->params.more_y = member->first + member->n < task->ny;
  return rays;
}

TdRayTeam *
td_team_new (const TdTeamMember *members, guint n_members, TdDevice *host, const TdConeTask *task,
             const guint *order, guint batch_views, guint *failed, GError **error)
{
  g_autoptr (TdRayTeam) team = g_new0 (TdRayTeam, 1);

  team->n = n_members;
  team->members = g_new0 (TdTeamRays, n_members);
  team->batch = batch_views;
  team->failed = *failed = n_members;
  td_cone_task_copy (&team->task, task);
  for (guint i = 0; i < n_members; i++) {
    TdTeamRays *member = &team->members[i];

    member->first = members[i].first;
    member->n = members[i].n;
    if (!(member->rays = make_rays (&members[i], task, order, error))
        || (batch_views
            && !(member->lines = td_rays_projections_new (member->rays, batch_views, error)))) {
      *failed = i;
      return NULL;
    }
  }
  team->lead = batch_views ? td_rays_new (host, task, order, error) : team->members[0].rays;
  return team->lead ? g_steal_pointer (&team) : NULL;
}

void
td_team_free (TdRayTeam *team)
{
  if (!team)
    return;
  if (team->batch)
    td_rays_free (team->lead);
  for (guint i = 0; i < team->n; i++) {
    TdTeamRays *member = &team->members[i];

    if (member->rays)
      td_queue_finish (td_rays_queue (member->rays), NULL);
    td_buffer_free (member->lines);
    td_buffer_free (member->sums);
    td_buffer_free (member->weights);
    td_rays_free (member->rays);
    g_free (member->seen);
  }
  td_cone_task_clear (&team->task);
  g_free (team->members);
  g_free (team);
}

void
td_team_set_store (TdRayTeam *team, TdRayStore *store)
{
  team->store = store;
}

TdRayProjector *
td_team_lead (TdRayTeam *team)
{
  return team->lead;
}

guint
td_team_failed (const TdRayTeam *team)
{
  return team->batch ? team->failed : 0;
}

gboolean
td_team_finish (TdRayTeam *team, GError **error)
{
  gboolean ok = td_queue_finish (td_rays_queue (team->lead), error);

  for (guint i = 0; i < team->n; i++)
    if (!td_queue_finish (td_rays_queue (team->members[i].rays), ok ? error : NULL)) {
      team->failed = ok ? i : team->failed;
      ok = FALSE;
    }
  return ok;
}

TdTeamVolume *
td_team_volume_new (TdRayTeam *team, GError **error)
{
  g_autoptr (TdTeamVolume) volume = g_new0 (TdTeamVolume, 1);

  volume->n = team->n;
  volume->parts = g_new0 (TdBuffer *, team->n);
  for (guint i = 0; i < team->n; i++)
    if (!(volume->parts[i] = td_rays_volume_new (team->members[i].rays, error))) {
      team->failed = i;
      return NULL;
    }
  return g_steal_pointer (&volume);
}

void
td_team_volume_free (TdTeamVolume *volume)
{
  if (!volume)
    return;
  for (guint i = 0; i < volume->n; i++)
    td_buffer_free (volume->parts[i]);
  g_free (volume->parts);
  g_free (volume);
}

TdBuffer *
td_team_lines_new (TdRayTeam *team, guint n_views, GError **error)
{
  return td_rays_projections_new (team->lead, n_views, error);
}

/* ── All at once ── */

typedef struct {
  TdRayTeam *team;
  guint index;
  TdTeamAct act;
  gpointer user;
  GError *error;
  gboolean ok;
} Turn;

static gpointer
take_turn (gpointer data)
{
  Turn *turn = data;

  turn->ok = turn->act (turn->team, turn->index, turn->user, &turn->error)
             && td_queue_finish (td_rays_queue (turn->team->members[turn->index].rays),
                                 turn->error ? NULL : &turn->error);
  return NULL;
}

/* A device's fault counts for more than that the others were cancelled. */
static void
take_error (TdRayTeam *team, Turn *turn, GError **error)
{
  if (turn->error && (!*error || g_error_matches (*error, G_IO_ERROR, G_IO_ERROR_CANCELLED))) {
    g_clear_error (error);
    *error = g_steal_pointer (&turn->error);
    team->failed = turn->index;
  }
  g_clear_error (&turn->error);
}

gboolean
td_team_each (TdRayTeam *team, TdTeamAct act, gpointer user, GError **error)
{
  g_autofree Turn *turns = g_new0 (Turn, team->n);
  g_autofree GThread **threads = g_new0 (GThread *, team->n);
  g_autoptr (GError) reason = NULL;
  gboolean ok = TRUE;

  /* One that works alone has no need to wait for itself. */
  if (team->n == 1) {
    ok = act (team, 0, user, error);
    team->failed = ok ? team->failed : 0;
    return ok;
  }
  for (guint i = 0; i < team->n; i++) {
    turns[i] = (Turn) { .team = team, .index = i, .act = act, .user = user };
    threads[i] = g_thread_new ("rays", take_turn, &turns[i]);
  }
  for (guint i = 0; i < team->n; i++) {
    g_thread_join (threads[i]);
    ok = ok && turns[i].ok;
    take_error (team, &turns[i], &reason);
  }
  if (!ok)
    g_propagate_error (error, g_steal_pointer (&reason));
  return ok;
}

/* ── Vectors ── */

typedef struct {
  TdTeamVolume *to, *from;
  double scale, factor;
  double *sums; /* two for each member */
  GCancellable *cancellable;
} Vectors;

static gboolean
ray_team_combine (TdRayTeam *team, guint i, gpointer user, GError **error)
{
  const Vectors *work = user;

  return td_rays_combine (team->members[i].rays, work->to->parts[i], work->scale, work->factor,
                          work->from->parts[i], 0, work->cancellable, error);
}

gboolean
td_team_combine (TdRayTeam *team, TdTeamVolume *to, double scale, double factor, TdTeamVolume *from,
                 GCancellable *cancellable, GError **error)
{
  Vectors work = { to, from, scale, factor, NULL, cancellable };

  return td_team_each (team, ray_team_combine, &work, error);
}

static gboolean
ray_team_extrapolate (TdRayTeam *team, guint i, gpointer user, GError **error)
{
  const Vectors *work = user;

  return td_rays_extrapolate (team->members[i].rays, work->to->parts[i], work->from->parts[i],
                              work->factor, work->cancellable, error);
}

gboolean
td_team_extrapolate (TdRayTeam *team, TdTeamVolume *here, TdTeamVolume *before, double factor,
                     GCancellable *cancellable, GError **error)
{
  Vectors work = { here, before, 0, factor, NULL, cancellable };

  return td_team_each (team, ray_team_extrapolate, &work, error);
}

static gboolean
sums (TdRayTeam *team, guint i, gpointer user, GError **error)
{
  const Vectors *work = user;

  return td_rays_sums (team->members[i].rays, work->to->parts[i], work->from->parts[i], 0,
                       work->sums + 2 * i, work->sums + 2 * i + 1, work->cancellable, error);
}

gboolean
td_team_sums (TdRayTeam *team, TdTeamVolume *a, TdTeamVolume *b, double *product, double *magnitude,
              GCancellable *cancellable, GError **error)
{
  g_autofree double *parts = g_new0 (double, 2 * team->n);
  Vectors work = { a, b, 0, 0, parts, cancellable };

  *product = *magnitude = 0;
  if (!td_team_each (team, sums, &work, error))
    return FALSE;
  for (guint i = 0; i < team->n; i++) {
    *product += parts[2 * i];
    *magnitude += parts[2 * i + 1];
  }
  return TRUE;
}

/* ── In and out ── */

typedef struct {
  TdTeamVolume *volume;
  const guint *first, *size;
  float *slices; /* of the whole box */
  gboolean put;
  double least;
} Box;

/* The member's rows of the box are every so many rows of its slices. */
static void
copy_rows (const Box *box, guint row, guint n, float *part)
{
  const gsize width = box->size[0];

  for (guint z = 0; z < box->size[2]; z++) {
    float *mine = part + (gsize) z * n * width,
          *all = box->slices + ((gsize) z * box->size[1] + row) * width;

    memcpy (box->put ? mine : all, box->put ? all : mine, n * width * sizeof *mine);
  }
}

static gboolean
move_box (TdRayTeam *team, guint i, gpointer user, GError **error)
{
  const Box *box = user;
  const TdTeamRays *member = &team->members[i];
  const guint low = MAX (member->first, box->first[1]);
  const guint high = MIN (member->first + member->n, box->first[1] + box->size[1]);

  if (low >= high)
    return TRUE;
  const guint first[3] = { box->first[0], low - member->first, box->first[2] };
  const guint size[3] = { box->size[0], high - low, box->size[2] };
  const gsize bytes = (gsize) size[0] * size[1] * size[2] * sizeof (float);
  const gboolean whole = size[1] == box->size[1];
  TdQueue *queue = td_rays_queue (member->rays);
  TdBuffer *slices = td_buffer_new (member->rays->device, bytes, error);
  float *part = whole    ? box->slices
                : slices ? td_device_host_alloc (member->rays->device, bytes, error)
                         : NULL;
  gboolean ok = slices && part;

  if (ok && box->put) {
    if (!whole)
      copy_rows (box, low - box->first[1], size[1], part);
    ok = td_upload (queue, slices, 0, part, bytes, error)
         && td_rays_put (member->rays, slices, first, size, box->least, box->volume->parts[i],
                         error)
         && td_queue_finish (queue, error);
  } else if (ok) {
    ok = td_rays_give (member->rays, box->volume->parts[i], first, size, slices, error)
         && td_download (queue, part, slices, 0, bytes, error) && td_queue_finish (queue, error);
    if (ok && !whole)
      copy_rows (box, low - box->first[1], size[1], part);
  }
  td_queue_finish (queue, NULL);
  td_buffer_free (slices);
  if (!whole && part)
    td_device_host_free (member->rays->device, part);
  return ok;
}

gboolean
td_team_give (TdRayTeam *team, TdTeamVolume *volume, const guint first[3], const guint size[3],
              float *slices, GCancellable *cancellable, GError **error)
{
  Box box = { volume, first, size, slices, FALSE, 0 };

  return !g_cancellable_set_error_if_cancelled (cancellable, error)
         && td_team_each (team, move_box, &box, error);
}

gboolean
td_team_put (TdRayTeam *team, const float *slices, const guint first[3], const guint size[3],
             double least, TdTeamVolume *volume, GCancellable *cancellable, GError **error)
{
  Box box = { volume, first, size, (float *) slices, TRUE, least };

  return !g_cancellable_set_error_if_cancelled (cancellable, error)
         && td_team_each (team, move_box, &box, error);
}
