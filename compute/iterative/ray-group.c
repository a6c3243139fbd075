/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ray-group.h"

#include <string.h>

#include "compute/device/host.h"
#include "rays-private.h"

/* One device's rows of the volume. */
typedef struct {
  guint first, n;
  TdRayProjector *rays; /* of these rows alone */
  TdBuffer *lines;      /* of group->batch views; NULL: all are on the device */
  float *seen;          /* what it sees of projections that others see too; pinned */
  gsize n_seen;
  TdBuffer *sums, *weights; /* back-projections in several batches */
} Member;

struct TdRayGroup {
  Member *members;
  guint n;
  guint batch;
  guint failed;
  TdConeTask task;
  TdRayProjector *lead;
  gboolean on_first; /* the first member's device leads; its lines get what others saw */
  float *sent;       /* then: what it sends to the others; pinned */
  gsize n_sent;
  float *row;        /* of voxels, from member to member; pinned */
  TdRayStore *store; /* NULL: what was measured is in memory */
};

struct TdGroupVolume {
  TdBuffer **parts; /* one a member */
  guint n;
};

/* What every member does, each on a thread of its own; FALSE with the first fault. */
typedef gboolean (*Act) (TdRayGroup *group, guint index, gpointer user, GError **error);

/* ── Life ── */

guint64
td_ray_group_volume_bytes (const TdConeTask *task, guint n)
{
  TdConeTask part = *task;

  part.ny = n;
  return td_rays_volume_bytes (&part);
}

/* The member's rows as a volume of its own. */
static TdRayProjector *
make_rays (const TdGroupMember *member, const TdConeTask *task, const guint *order,
           GCancellable *cancellable, GError **error)
{
  TdConeTask part = *task;

  part.first_mm[1] -= member->first * task->voxel_mm;
  part.ny = member->n;
  TdRayProjector *rays = td_rays_new (member->device, &part, order, cancellable, error);
  if (rays)
    rays->params.more_y = member->first + member->n < task->ny;
  return rays;
}

TdRayGroup *
td_ray_group_new (const TdGroupShares *shares, const TdConeTask *task, const guint *order,
                  guint *failed, GCancellable *cancellable, GError **error)
{
  g_autoptr (TdRayGroup) group = g_new0 (TdRayGroup, 1);

  group->n = shares->n;
  group->members = g_new0 (Member, shares->n);
  group->batch = shares->batch_views;
  group->failed = *failed = shares->n;
  td_cone_task_copy (&group->task, task);
  for (guint i = 0; i < shares->n; i++) {
    Member *member = &group->members[i];

    member->first = shares->members[i].first;
    member->n = shares->members[i].n;
    if (!(member->rays = make_rays (&shares->members[i], task, order, cancellable, error))
        || (group->batch
            && !(member->lines = td_rays_projections_new (member->rays, group->batch, error)))) {
      *failed = i;
      return NULL;
    }
  }
  group->on_first = group->batch && shares->lead == shares->members[0].device
                    && !td_device_info (shares->lead)->host_pointers;
  group->lead = group->batch ? td_rays_new (shares->lead, task, order, cancellable, error)
                             : group->members[0].rays;
  return group->lead ? g_steal_pointer (&group) : NULL;
}

void
td_ray_group_free (TdRayGroup *group)
{
  if (!group)
    return;
  TdRayProjector *first = group->members[0].rays;
  for (guint i = 0; i < group->n; i++)
    if (group->members[i].rays)
      td_queue_finish (td_rays_queue (group->members[i].rays), NULL);
  if (group->batch)
    td_rays_free (group->lead);
  if (first) {
    td_device_host_free (first->device, group->sent);
    td_device_host_free (first->device, group->row);
  }
  for (guint i = 0; i < group->n; i++) {
    Member *member = &group->members[i];

    td_buffer_free (member->lines);
    td_buffer_free (member->sums);
    td_buffer_free (member->weights);
    if (member->rays)
      td_device_host_free (member->rays->device, member->seen);
    td_rays_free (member->rays);
  }
  td_cone_task_clear (&group->task);
  g_free (group->members);
  g_free (group);
}

const TdConeTask *
td_ray_group_task (const TdRayGroup *group)
{
  return &group->task;
}

void
td_ray_group_set_store (TdRayGroup *group, TdRayStore *store)
{
  group->store = store;
}

TdRayProjector *
td_ray_group_lead (TdRayGroup *group)
{
  return group->lead;
}

guint
td_ray_group_failed (const TdRayGroup *group)
{
  const gboolean first = !group->batch || (group->on_first && group->failed == group->n);

  return first ? 0 : group->failed;
}

gboolean
td_ray_group_finish (TdRayGroup *group, GError **error)
{
  gboolean ok = td_queue_finish (td_rays_queue (group->lead), error);

  for (guint i = 0; i < group->n; i++)
    if (!td_queue_finish (td_rays_queue (group->members[i].rays), ok ? error : NULL)) {
      group->failed = ok ? i : group->failed;
      ok = FALSE;
    }
  return ok;
}

TdGroupVolume *
td_ray_group_volume_new (TdRayGroup *group, GError **error)
{
  g_autoptr (TdGroupVolume) volume = g_new0 (TdGroupVolume, 1);

  volume->n = group->n;
  volume->parts = g_new0 (TdBuffer *, group->n);
  for (guint i = 0; i < group->n; i++)
    if (!(volume->parts[i] = td_rays_volume_new (group->members[i].rays, error))) {
      group->failed = i;
      return NULL;
    }
  return g_steal_pointer (&volume);
}

void
td_ray_group_volume_free (TdGroupVolume *volume)
{
  if (!volume)
    return;
  for (guint i = 0; i < volume->n; i++)
    td_buffer_free (volume->parts[i]);
  g_free (volume->parts);
  g_free (volume);
}

TdBuffer *
td_ray_group_lines_new (TdRayGroup *group, guint n_views, GError **error)
{
  return td_rays_projections_new (group->lead, n_views, error);
}

/* ── All at once ── */

typedef struct {
  TdRayGroup *group;
  guint index;
  Act act;
  gpointer user;
  GError *error;
  gboolean ok;
} Turn;

static gpointer
take_turn (gpointer data)
{
  Turn *turn = data;

  turn->ok = turn->act (turn->group, turn->index, turn->user, &turn->error)
             && td_queue_finish (td_rays_queue (turn->group->members[turn->index].rays),
                                 turn->error ? NULL : &turn->error);
  return NULL;
}

/* A device's fault counts for more than that the others were cancelled. */
static void
take_error (TdRayGroup *group, Turn *turn, GError **error)
{
  if (turn->error && (!*error || g_error_matches (*error, G_IO_ERROR, G_IO_ERROR_CANCELLED))) {
    g_clear_error (error);
    *error = g_steal_pointer (&turn->error);
    group->failed = turn->index;
  }
  g_clear_error (&turn->error);
}

static gboolean
ray_group_each (TdRayGroup *group, Act act, gpointer user, GError **error)
{
  g_autofree Turn *turns = g_new0 (Turn, group->n);
  g_autofree GThread **threads = g_new0 (GThread *, group->n);
  g_autoptr (GError) reason = NULL;
  gboolean ok = TRUE;

  /* One that works alone has no need to wait for itself. */
  if (group->n == 1) {
    ok = act (group, 0, user, error);
    group->failed = ok ? group->failed : 0;
    return ok;
  }
  for (guint i = 0; i < group->n; i++) {
    turns[i] = (Turn) { .group = group, .index = i, .act = act, .user = user };
    threads[i] = td_thread_start ("rays", take_turn, &turns[i], &turns[i].error);
  }
  for (guint i = 0; i < group->n; i++) {
    if (threads[i])
      g_thread_join (threads[i]);
    ok = ok && turns[i].ok;
    take_error (group, &turns[i], &reason);
  }
  if (!ok)
    g_propagate_error (error, g_steal_pointer (&reason));
  return ok;
}

/* ── Vectors ── */

/* to = blend of itself and from; the next two of rays.h where that is asked for. */
typedef struct {
  TdGroupVolume *to, *from;
  TdRayBlend blend;
  gboolean extrapolate; /* by the blend's factor */
  TdRaySums *sums;      /* one for each member */
} Vectors;

static gboolean
ray_group_vectors (TdRayGroup *group, guint i, gpointer user, GError **error)
{
  const Vectors *work = user;
  TdRayProjector *rays = group->members[i].rays;
  TdBuffer *to = work->to->parts[i], *from = work->from->parts[i];

  if (work->sums)
    return td_rays_sums (rays, to, from, 0, &work->sums[i], error);
  return work->extrapolate ? td_rays_extrapolate (rays, to, from, work->blend.factor, error)
                           : td_rays_combine (rays, to, work->blend, from, 0, error);
}

gboolean
td_ray_group_combine (TdRayGroup *group, TdGroupVolume *to, TdRayBlend blend, TdGroupVolume *from,
                      GError **error)
{
  Vectors work = { .to = to, .from = from, .blend = blend };

  return ray_group_each (group, ray_group_vectors, &work, error);
}

gboolean
td_ray_group_extrapolate (TdRayGroup *group, TdGroupVolume *here, TdGroupVolume *before,
                          double factor, GError **error)
{
  Vectors work = { .to = here, .from = before, .blend = { 0, factor }, .extrapolate = TRUE };

  return ray_group_each (group, ray_group_vectors, &work, error);
}

gboolean
td_ray_group_sums (TdRayGroup *group, TdGroupVolume *a, TdGroupVolume *b, TdRaySums *sums,
                   GError **error)
{
  g_autofree TdRaySums *parts = g_new0 (TdRaySums, group->n);
  Vectors work = { .to = a, .from = b, .sums = parts };

  *sums = (TdRaySums) { 0 };
  if (!ray_group_each (group, ray_group_vectors, &work, error))
    return FALSE;
  for (guint i = 0; i < group->n; i++) {
    sums->product += parts[i].product;
    sums->magnitude += parts[i].magnitude;
  }
  return TRUE;
}

/* ── In and out ── */

typedef struct {
  TdGroupVolume *volume;
  const TdRayBox *box;
  float *slices; /* of the whole box */
  gboolean put;
  double least;
} Transfer;

/* The member's rows of the box are some rows of each of its slices. */
static void
copy_rows (const Transfer *work, guint row, guint n, float *part)
{
  const guint *size = work->box->size;
  const gsize width = size[0];

  for (guint z = 0; z < size[2]; z++) {
    float *mine = part + (gsize) z * n * width,
          *all = work->slices + ((gsize) z * size[1] + row) * width;

    memcpy (work->put ? mine : all, work->put ? all : mine, n * width * sizeof *mine);
  }
}

static gboolean
transfer_box (TdRayGroup *group, guint i, gpointer user, GError **error)
{
  const Transfer *work = user;
  const TdRayBox *box = work->box;
  const Member *member = &group->members[i];
  const guint low = MAX (member->first, box->first[1]);
  const guint high = MIN (member->first + member->n, box->first[1] + box->size[1]);

  if (low >= high)
    return TRUE;
  const TdRayBox mine = { { box->first[0], low - member->first, box->first[2] },
                          { box->size[0], high - low, box->size[2] } };
  const gsize bytes = (gsize) mine.size[0] * mine.size[1] * mine.size[2] * sizeof (float);
  const gboolean whole = mine.size[1] == box->size[1];
  TdQueue *queue = td_rays_queue (member->rays);
  TdBuffer *slices = td_buffer_new (member->rays->device, bytes, error);
  float *part = whole    ? work->slices
                : slices ? td_device_host_alloc (member->rays->device, bytes, error)
                         : NULL;
  gboolean ok = slices && part;

  if (ok && work->put) {
    if (!whole)
      copy_rows (work, low - box->first[1], mine.size[1], part);
    ok = td_upload (queue, slices, 0, part, bytes, error)
         && td_rays_put (member->rays, slices, &mine, work->least, work->volume->parts[i], error)
         && td_queue_finish (queue, error);
  } else if (ok) {
    ok = td_rays_give (member->rays, work->volume->parts[i], &mine, slices, error)
         && td_download (queue, part, slices, 0, bytes, error) && td_queue_finish (queue, error);
    if (ok && !whole)
      copy_rows (work, low - box->first[1], mine.size[1], part);
  }
  td_queue_finish (queue, NULL);
  td_buffer_free (slices);
  if (!whole)
    td_device_host_free (member->rays->device, part);
  return ok;
}

gboolean
td_ray_group_give (TdRayGroup *group, TdGroupVolume *volume, const TdRayBox *box, float *slices,
                   GError **error)
{
  Transfer work = { volume, box, slices, FALSE, 0 };

  return !g_cancellable_set_error_if_cancelled (group->lead->cancellable, error)
         && ray_group_each (group, transfer_box, &work, error);
}

gboolean
td_ray_group_put (TdRayGroup *group, const float *slices, const TdRayBox *box, double least,
                  TdGroupVolume *volume, GError **error)
{
  Transfer work = { volume, box, (float *) slices, TRUE, least };

  return !g_cancellable_set_error_if_cancelled (group->lead->cancellable, error)
         && ray_group_each (group, transfer_box, &work, error);
}

/* ── Projection ── */

typedef struct {
  TdGroupVolume *volume;
  TdBuffer *lines; /* the lead's */
  TdRayViews views;
  gboolean correct;
  TdRayStep step;
  TdGroupVolume *weights; /* the step's, of all members */
} Work;

static gsize
ray_group_view_values (const TdRayGroup *group)
{
  return (gsize) group->task.n_columns * group->task.n_rows;
}

/* Room for @n values that @device sends or receives, in *@memory, which has *@had. */
static gboolean
ray_group_room (TdDevice *device, float **memory, gsize *had, gsize n, GError **error)
{
  if (*had >= n)
    return TRUE;
  td_device_host_free (device, *memory);
  *had = 0;
  if (!(*memory = td_device_host_alloc (device, n * sizeof **memory, error)))
    return FALSE;
  *had = n;
  return TRUE;
}

/* The first member's integrals go where the sum will be. */
static float *
seen_by (TdRayGroup *group, guint i, const Work *work, GError **error)
{
  Member *member = &group->members[i];
  const gsize n = work->views.n * ray_group_view_values (group);

  if (i == 0)
    return td_buffer_map (work->lines);
  return ray_group_room (member->rays->device, &member->seen, &member->n_seen, n, error)
             ? member->seen
             : NULL;
}

static gboolean
ray_group_project (TdRayGroup *group, guint i, gpointer user, GError **error)
{
  const Work *work = user;
  const Member *member = &group->members[i];
  TdQueue *queue = td_rays_queue (member->rays);
  const gsize view = ray_group_view_values (group);

  if (group->on_first && i == 0)
    return td_rays_project (member->rays, work->volume->parts[0], work->views, work->lines, error);
  float *seen = seen_by (group, i, work, error);
  if (!seen)
    return FALSE;
  for (guint at = 0; at < work->views.n; at += group->batch) {
    const guint n = MIN (group->batch, work->views.n - at);

    if (!td_rays_project (member->rays, work->volume->parts[i],
                          (TdRayViews) { work->views.first + at, n }, member->lines, error)
        || !td_download (queue, seen + at * view, member->lines, 0, n * view * sizeof *seen, error)
        || !td_queue_finish (queue, error))
      return FALSE;
  }
  return TRUE;
}

/* What the others saw comes to the first member, one after the other. */
static gboolean
ray_group_add_there (TdRayGroup *group, const Work *work, GError **error)
{
  const guint64 bytes = td_rays_projection_bytes (&group->task, work->views.n);
  TdQueue *queue = td_rays_queue (group->lead);
  TdBuffer *lines = group->members[0].lines;

  for (guint i = 1; i < group->n; i++)
    if (!td_upload (queue, lines, 0, group->members[i].seen, bytes, error)
        || !td_rays_combine (group->lead, work->lines, (TdRayBlend) { 1, 1 }, lines, work->views.n,
                             error))
      return FALSE;
  return td_queue_finish (queue, error);
}

typedef struct {
  TdRayGroup *group;
  float *sum;
} Adding;

static void
ray_group_add_view (guint index, gpointer user)
{
  const Adding *work = user;
  const gsize n = ray_group_view_values (work->group);
  float *sum = work->sum + index * n;

  for (guint i = 1; i < work->group->n; i++) {
    const float *seen = work->group->members[i].seen + index * n;
    for (gsize k = 0; k < n; k++)
      sum[k] += seen[k];
  }
}

static gboolean
project_all (TdRayGroup *group, Work *work, GError **error)
{
  /* The first member uses the lead's buffers by a queue of its own. */
  if (group->on_first && !td_queue_finish (td_rays_queue (group->lead), error))
    return FALSE;
  if (!ray_group_each (group, ray_group_project, work, error))
    return FALSE;
  if (group->on_first)
    return td_queue_finish (td_rays_queue (group->members[0].rays), error)
           && ray_group_add_there (group, work, error);
  Adding adding = { group, td_buffer_map (work->lines) };
  if (group->n > 1)
    td_parallel_for (work->views.n, ray_group_add_view, &adding);
  return TRUE;
}

gboolean
td_ray_group_project (TdRayGroup *group, TdGroupVolume *volume, TdRayViews views, TdBuffer *out,
                      GError **error)
{
  Work work = { .volume = volume, .lines = out, .views = views };

  return group->batch ? project_all (group, &work, error)
                      : td_rays_project (group->lead, volume->parts[0], views, out, error);
}

gboolean
td_ray_group_compare (TdRayGroup *group, TdGroupVolume *volume, TdBuffer *measured,
                      TdRayViews views, const TdRayMissing *out, GError **error)
{
  Work work = { .volume = volume, .lines = out->lines, .views = views };
  const TdRayMeasured given
      = { group->store ? td_ray_store_bring (group->store, views.first, views.n, error) : measured,
          group->store ? views.first : 0 };

  if (!given.lines)
    return FALSE;
  if (group->batch)
    return project_all (group, &work, error)
           && td_rays_differ (group->lead, &given, views, out, error);
  return td_rays_compare (group->lead, volume->parts[0], &given, views, out, error);
}

gboolean
td_ray_group_measured_squares (TdRayGroup *group, TdBuffer *measured, double *squares,
                               GError **error)
{
  const guint n_views = group->task.n_views,
              step = group->store ? td_ray_store_most (group->store) : n_views;
  TdRaySums sums;

  *squares = 0;
  for (guint first = 0; first < n_views; first += step) {
    const guint n = MIN (step, n_views - first);
    TdBuffer *lines = group->store ? td_ray_store_bring (group->store, first, n, error) : measured;

    if (!lines || !td_rays_sums (group->lead, lines, lines, n, &sums, error))
      return FALSE;
    *squares += sums.product;
  }
  return TRUE;
}

/* ── Back-projection ── */

static gboolean
ray_group_send (TdRayGroup *group, guint i, const Work *work, guint at, guint n, GError **error)
{
  const Member *member = &group->members[i];
  const gsize view = ray_group_view_values (group);
  const float *lines = group->on_first ? group->sent : td_buffer_map (work->lines);

  return td_upload (td_rays_queue (member->rays), member->lines, 0, lines + at * view,
                    n * view * sizeof *lines, error);
}

/* What members will send for, if the first of them has it. */
static gboolean
ray_group_fetch (TdRayGroup *group, const Work *work, GError **error)
{
  const gsize n = work->views.n * ray_group_view_values (group);
  TdQueue *queue = td_rays_queue (group->lead);

  if (!group->on_first)
    return TRUE;
  return (group->n == 1
          || (ray_group_room (group->lead->device, &group->sent, &group->n_sent, n, error)
              && td_download (queue, group->sent, work->lines, 0, n * sizeof *group->sent, error)))
         && td_queue_finish (queue, error);
}

/* Zeros in *@buffer, made when it is first wanted. */
static gboolean
ray_group_clear (Member *member, TdBuffer **buffer, GError **error)
{
  if (!*buffer)
    return (*buffer = td_rays_volume_new (member->rays, error)) != NULL;
  return td_fill_zero (td_rays_queue (member->rays), *buffer, 0,
                       td_rays_volume_bytes (&member->rays->task), error);
}

/* More views than there is room for: sums, batch after batch. */
static gboolean
back_batches (TdRayGroup *group, guint i, const Work *work, GError **error)
{
  Member *member = &group->members[i];
  TdBuffer **sums = work->correct ? &member->sums : &work->volume->parts[i];

  if (!ray_group_clear (member, sums, error)
      || (work->correct && !ray_group_clear (member, &member->weights, error)))
    return FALSE;
  for (guint at = 0; at < work->views.n; at += group->batch) {
    const guint n = MIN (group->batch, work->views.n - at);

    if (!ray_group_send (group, i, work, at, n, error)
        || !td_rays_add (member->rays, member->lines, (TdRayViews) { work->views.first + at, n },
                         *sums, work->correct ? member->weights : NULL, error)
        || !td_queue_finish (td_rays_queue (member->rays), error))
      return FALSE;
  }
  return !work->correct
         || td_rays_apply (member->rays, member->sums, member->weights, work->step,
                           work->volume->parts[i], error);
}

static gboolean
ray_group_back (TdRayGroup *group, guint i, gpointer user, GError **error)
{
  const Work *work = user;
  TdRayProjector *rays = group->members[i].rays;
  const gboolean sent = group->batch && !(group->on_first && i == 0);
  TdBuffer *lines = sent ? group->members[i].lines : work->lines, *volume = work->volume->parts[i];
  TdRayStep step = work->step;

  if (sent && work->views.n > group->batch)
    return back_batches (group, i, work, error);
  if (sent && !ray_group_send (group, i, work, 0, work->views.n, error))
    return FALSE;
  step.weights = work->weights ? work->weights->parts[i] : NULL;
  return work->correct ? td_rays_correct (rays, lines, work->views, step, volume, error)
                       : td_rays_back (rays, lines, work->views, volume, error);
}

static gboolean
back_all (TdRayGroup *group, Work *work, GError **error)
{
  return ray_group_fetch (group, work, error)
         && ray_group_each (group, ray_group_back, work, error);
}

gboolean
td_ray_group_back (TdRayGroup *group, TdBuffer *lines, TdRayViews views, TdGroupVolume *volume,
                   GError **error)
{
  Work work = { .volume = volume, .lines = lines, .views = views };

  return back_all (group, &work, error);
}

gboolean
td_ray_group_correct (TdRayGroup *group, TdBuffer *lines, TdRayViews views, const TdGroupStep *step,
                      TdGroupVolume *volume, GError **error)
{
  Work work = { .volume = volume,
                .lines = lines,
                .views = views,
                .correct = TRUE,
                .step = { .relaxation = step->relaxation, .non_negative = step->non_negative },
                .weights = step->weights };

  return back_all (group, &work, error);
}

/* ── Total variation ── */

typedef struct {
  const TdGroupDenoise *denoise;
  TdGroupVolume *volume, *out;
  TdBuffer *(*fields)[3]; /* of each member */
} Denoise;

static gboolean
ray_group_move (TdRayGroup *group, guint i, gpointer user, GError **error)
{
  const Denoise *work = user;

  return td_rays_move (group->members[i].rays, work->volume->parts[i], work->fields[i],
                       work->out->parts[i], work->denoise->variation, error);
}

static gboolean
ray_group_climb (TdRayGroup *group, guint i, gpointer user, GError **error)
{
  const Denoise *work = user;

  return td_rays_climb (group->members[i].rays, work->out->parts[i], work->fields[i],
                        work->denoise->variation, error);
}

/* A row of a member's part; the borders' rows count as -1 and n. */
typedef struct {
  guint member;
  TdBuffer *part;
  gint y;
} Row;

static gboolean
ray_group_copy_row (TdRayGroup *group, Row from, Row to, GError **error)
{
  const guint64 bytes = (guint64) (group->task.nx + 3) * (group->task.nz + 3) * sizeof *group->row;
  TdQueue *queue = td_rays_queue (group->members[from.member].rays),
          *to_queue = td_rays_queue (group->members[to.member].rays);

  if (!td_download (queue, group->row, from.part, (from.y + 1) * bytes, bytes, error)
      || !td_queue_finish (queue, error)) {
    group->failed = from.member;
    return FALSE;
  }
  if (!td_upload (to_queue, to.part, (to.y + 1) * bytes, group->row, bytes, error)
      || !td_queue_finish (to_queue, error)) {
    group->failed = to.member;
    return FALSE;
  }
  return TRUE;
}

/* What a member's gradient or divergence sees of its neighbours. For the volume it is the row
   behind its last, for the field along y the row before its first. */
static gboolean
ray_group_exchange (TdRayGroup *group, const Denoise *work, gboolean field, GError **error)
{
  for (guint i = 0; i + 1 < group->n; i++) {
    const gint n = (gint) group->members[i].n;
    const Row last = { i, work->fields[i][1], n - 1 },
              before = { i + 1, work->fields[i + 1][1], -1 };
    const Row first = { i + 1, work->out->parts[i + 1], 0 }, behind = { i, work->out->parts[i], n };

    if (!ray_group_copy_row (group, field ? last : first, field ? before : behind, error))
      return FALSE;
  }
  return TRUE;
}

gboolean
td_ray_group_denoise (TdRayGroup *group, TdGroupVolume *volume, const TdGroupDenoise *denoise,
                      GError **error)
{
  const gsize row = (gsize) (group->task.nx + 3) * (group->task.nz + 3) * sizeof *group->row;

  if (group->n > 1 && !group->row
      && !(group->row = td_device_host_alloc (group->members[0].rays->device, row, error)))
    return FALSE;
  TdBuffer *(*fields)[3] = g_malloc (group->n * sizeof *fields);
  Denoise work = { denoise, volume, denoise->spare, fields };
  gboolean ok = TRUE;

  for (guint i = 0; i < group->n; i++)
    for (guint k = 0; k < 3; k++)
      fields[i][k] = denoise->field[k]->parts[i];
  for (guint step = 0; ok && step < denoise->steps; step++)
    ok = ray_group_exchange (group, &work, TRUE, error)
         && ray_group_each (group, ray_group_move, &work, error)
         && ray_group_exchange (group, &work, FALSE, error)
         && ray_group_each (group, ray_group_climb, &work, error);
  work.out = volume;
  ok = ok && ray_group_exchange (group, &work, TRUE, error)
       && ray_group_each (group, ray_group_move, &work, error);
  g_free (fields);
  return ok;
}
