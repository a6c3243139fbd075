/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "iterative.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "compute/device/host.h"
#include "dataset/file-bytes.h"
#include "dataset/output.h"
#include "compute/engine/job-private.h"

#define MAGIC "TDMOMENT"
#define ORDER 0x01020304u
#define VERSION 1u

/* As docs/formats.md has them; padding there is none. */
typedef struct {
  char magic[8];
  guint32 order, version;
  char method[16];
  guint32 nx, ny, n_slices, n_volumes;
} Header;

typedef struct {
  guint32 first, n; /* slices */
  guint64 sum;      /* over the volume's values */
  guint32 passes, zero;
  double numbers[TD_SOLVER_NUMBERS];
} Record;

G_STATIC_ASSERT (sizeof (Header) == 48);
G_STATIC_ASSERT (sizeof (Record) == 24 + 8 * TD_SOLVER_NUMBERS);

#define SUM_START 0xcbf29ce484222325u

struct TdIterativeMomentum {
  TdJob *job;
  const TdIterativePlan *self;
  Header header;
  int from;         /* -1: none */
  guint64 at;       /* in it, the slab's volumes */
  TdOutput *output; /* NULL: nothing is kept */
  int to;
  guint64 slab, end;  /* in it, the slab's record and what follows */
  guint slices;       /* that are whole in it */
  gboolean saved;     /* the slab */
  guint64 took, gave; /* sums */
};

/* ── Files ── */

static char *
path_beside (const char *volume)
{
  g_autofree char *whole = g_canonicalize_filename (volume, NULL);

  return g_strconcat (whole, ".momentum", NULL);
}

static Header
make_header (const TdPlan *plan, const TdIterativePlan *self)
{
  Header header = { .order = ORDER,
                    .version = VERSION,
                    .nx = self->task.nx,
                    .ny = self->task.ny,
                    .n_slices = self->slabs ? self->n_rows : self->task.nz,
                    .n_volumes = td_solver_momentum_volumes (self->settings.kind) };

  memcpy (header.magic, MAGIC, sizeof header.magic);
  g_strlcpy (header.method, plan->method->name, sizeof header.method);
  return header;
}

static guint64
volumes_bytes (const Header *header, guint n)
{
  return (guint64) header->n_volumes * n * header->ny * header->nx * sizeof (float);
}

/* Opens what an earlier run left; -1 with the reason. (static) */
static int
open_earlier (const char *path, const Header *wanted, const char **reason)
{
  const int file = td_file_open (path, NULL);
  Header header;

  if (file < 0) {
    *reason = errno == EINVAL ? N_ ("what lies beside it is no file")
                              : N_ ("there is none beside it; {keep} writes it");
    return -1;
  }
  if (td_file_read (file, &header, sizeof header, 0) != 0
      || memcmp (header.magic, wanted->magic, sizeof header.magic) != 0
      || header.order != wanted->order || header.version != wanted->version)
    *reason = N_ ("the file beside it is damaged, or of another computer or version");
  else if (memcmp (&header, wanted, sizeof header) != 0)
    *reason = N_ ("the file beside it is of another method or size");
  else
    return file;
  close (file);
  return -1;
}

void
td_iterative_momentum_note (TdPlan *plan, const TdIterativePlan *self)
{
  g_autofree char *path = path_beside (plan->recipe.start);
  const Header header = make_header (plan, self);
  const char *reason;

  if (header.n_volumes == 0)
    return;
  const int file = open_earlier (path, &header, &reason);
  if (file >= 0) {
    close (file);
    td_plan_note (plan,
                  "Momentum lies beside it (“%s”): if it is this volume's, iterations go on as if "
                  "they had not stopped.",
                  path);
  } else
    td_plan_note (plan, "Their momentum begins anew: %p (“%s”).", td_message_new_plain (reason),
                  path);
}

/* ── Life ── */

/* Only the whole volume can be gone on from, and only as it is. */
static const char *
not_kept (const TdPlan *plan, const TdIterativePlan *self)
{
  const gboolean whole = self->size[0] == self->task.nx && self->size[1] == self->task.ny
                         && (self->slabs || self->size[2] == self->task.nz);

  if (!whole)
    return N_ ("only a part of the volume is written ({rows}, {region})");
  return plan->recipe.output_bits != 32 ? N_ ("values are rounded to integers ({bits})") : NULL;
}

static gboolean
iterative_momentum_open_output (TdIterativeMomentum *momentum, GError **error)
{
  const TdPlan *plan = td_job_plan (momentum->job);
  const guint64 bytes = sizeof (Header) + (guint64) momentum->self->n_slabs * sizeof (Record)
                        + volumes_bytes (&momentum->header, momentum->header.n_slices);
  g_autofree char *path = path_beside (plan->output);

  momentum->output = td_output_begin (path, FALSE, momentum->job->overwrite, bytes, error);
  if (!momentum->output)
    return FALSE;
  momentum->to = open (td_output_part (momentum->output), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  int failed = momentum->to < 0 ? errno : posix_fallocate (momentum->to, 0, (off_t) bytes);
  if (!failed)
    failed = td_file_write (momentum->to, &momentum->header, sizeof (Header), 0);
  momentum->end = sizeof (Header);
  if (failed)
    td_output_set_error (error, path, failed);
  return failed == 0;
}

static void
drop_output (TdIterativeMomentum *momentum)
{
  if (momentum->to >= 0)
    close (momentum->to);
  momentum->to = -1;
  g_clear_pointer (&momentum->output, td_output_free);
}

TdIterativeMomentum *
td_iterative_momentum_new (TdJob *job, GError **error)
{
  const TdPlan *plan = td_job_plan (job);
  const TdIterativePlan *self = plan->extra;
  const gboolean any = td_solver_momentum_volumes (self->settings.kind) > 0;
  const gboolean keep = any && plan->output && job->keep_momentum;
  TdIterativeMomentum *momentum = g_new0 (TdIterativeMomentum, 1);
  const char *reason = NULL;

  momentum->job = job;
  momentum->self = self;
  momentum->header = make_header (plan, self);
  momentum->from = momentum->to = -1;
  if (any && self->start == TD_ITERATIVE_FILE) {
    g_autofree char *path = path_beside (plan->recipe.start);
    momentum->from = open_earlier (path, &momentum->header, &reason);
  }
  reason = keep ? not_kept (plan, self) : NULL;
  if (reason)
    td_job_note (job, "The momentum is not kept: %p.", td_message_new_plain (reason));
  else if (keep && !iterative_momentum_open_output (momentum, error)) {
    td_iterative_momentum_free (momentum, FALSE);
    return NULL;
  }
  return momentum;
}

void
td_iterative_momentum_free (TdIterativeMomentum *momentum, gboolean sound)
{
  if (!momentum)
    return;
  if (sound && momentum->output && momentum->slices == momentum->header.n_slices) {
    g_autofree char *size = g_format_size (momentum->end);
    td_job_note (momentum->job,
                 "What it takes to go on as if the iterations had not stopped is in “%s” (%s).",
                 td_output_path (momentum->output), size);
    momentum->job->companion = g_steal_pointer (&momentum->output);
  }
  drop_output (momentum);
  if (momentum->from >= 0)
    close (momentum->from);
  g_free (momentum);
}

/* ── The volume's values ── */

/* Fowler, Noll and Vo's, word by word. */
static guint64
iterative_momentum_add_values (guint64 sum, const float *values, gsize n)
{
  for (gsize i = 0; i < n; i++) {
    guint32 word;
    memcpy (&word, values + i, sizeof word);
    sum = (sum ^ word) * 0x100000001b3u;
  }
  return sum;
}

void
td_iterative_momentum_begin (TdIterativeMomentum *momentum)
{
  momentum->took = SUM_START;
  momentum->saved = FALSE;
}

void
td_iterative_momentum_took (TdIterativeMomentum *momentum, const float *values, gsize n)
{
  if (momentum->from >= 0)
    momentum->took = iterative_momentum_add_values (momentum->took, values, n);
}

void
td_iterative_momentum_gave (TdIterativeMomentum *momentum, const float *values, gsize n)
{
  if (momentum->saved)
    momentum->gave = iterative_momentum_add_values (momentum->gave, values, n);
}

/* ── From a file ── */

gboolean
td_iterative_momentum_recall (TdIterativeMomentum *momentum, guint first, guint n,
                              TdSolverMomentum *numbers)
{
  Record record;
  guint64 at = sizeof (Header);

  if (momentum->from < 0)
    return FALSE;
  for (guint next = 0; next < momentum->header.n_slices; next += record.n) {
    if (td_file_read (momentum->from, &record, sizeof record, at) != 0 || record.first != next
        || record.n == 0)
      break;
    at += sizeof record;
    if (record.first == first && record.n == n) {
      momentum->at = at;
      if (record.sum != momentum->took) {
        td_job_note (momentum->job,
                     "The momentum begins anew: the file beside the volume is of another one.");
        return FALSE;
      }
      numbers->passes = record.passes;
      memcpy (numbers->numbers, record.numbers, sizeof record.numbers);
      return TRUE;
    }
    at += volumes_bytes (&momentum->header, MIN (record.n, momentum->header.n_slices));
  }
  td_job_note (
      momentum->job,
      "The momentum of slices %u to %u begins anew: the file beside the volume is damaged, or was "
      "cut otherwise.",
      first, first + n - 1);
  return FALSE;
}

void
td_iterative_momentum_refuse (TdIterativeMomentum *momentum)
{
  td_job_note (
      momentum->job,
      "The momentum begins anew: what was measured, or the geometry, is not what it belongs to.");
}

/* ── Between file and group ── */

/* Slices of all volumes, one after the other. @failed: 0 or the file's errno. */
static gboolean
iterative_momentum_move (const TdIterativeMomentum *momentum, gboolean save, TdRayGroup *group,
                         const TdSolverMomentum *what, int *failed, GError **error)
{
  const int file = save ? momentum->to : momentum->from;
  guint64 at = save ? momentum->slab + sizeof (Record) : momentum->at;
  const TdConeTask *task = td_ray_group_task (group);
  const gsize slice = (gsize) task->nx * task->ny;
  const guint step = td_iterative_portion (momentum->self, task->nx, task->ny, task->nz);
  g_autofree float *slices = td_host_malloc (step * slice * sizeof *slices, error);

  *failed = 0;
  if (!slices)
    return FALSE;
  for (guint i = 0; i < what->n_volumes * task->nz && !*failed;) {
    const guint z = i % task->nz, count = MIN (step, task->nz - z);
    const TdRayBox box = { { 0, 0, z }, { task->nx, task->ny, count } };
    const gsize bytes = count * slice * sizeof (float);
    TdGroupVolume *volume = what->volumes[i / task->nz];

    if (save && !td_ray_group_give (group, volume, &box, slices, error))
      return FALSE;
    *failed
        = save ? td_file_write (file, slices, bytes, at) : td_file_read (file, slices, bytes, at);
    if (!save && !*failed && !td_ray_group_put (group, slices, &box, -G_MAXFLOAT, volume, error))
      return FALSE;
    at += bytes;
    i += count;
  }
  return TRUE;
}

gboolean
td_iterative_momentum_load (TdIterativeMomentum *momentum, TdRayGroup *group,
                            const TdSolverMomentum *into, GError **error)
{
  int failed;

  if (!iterative_momentum_move (momentum, FALSE, group, into, &failed, error))
    return FALSE;
  if (failed)
    td_set_error (
        error, TD_ERROR_IO,
        "The momentum beside “%s” cannot be read: %s; move it away to begin with the volume alone.",
        td_job_plan (momentum->job)->recipe.start, g_strerror (failed));
  return !failed;
}

static gboolean
iterative_momentum_wants (TdIterativeMomentum *momentum)
{
  const TdPlan *plan = td_job_plan (momentum->job);
  g_autoptr (GError) error = NULL;

  if (momentum->output)
    return TRUE;
  if (!plan->output || momentum->job->keep_momentum || !td_job_ends_early (momentum->job)
      || not_kept (plan, momentum->self) || momentum->slices > 0)
    return FALSE;
  if (iterative_momentum_open_output (momentum, &error))
    return TRUE;
  td_job_note (momentum->job, "The momentum is not kept: %p", td_error_message (error));
  drop_output (momentum);
  return FALSE;
}

static void
give_up (TdIterativeMomentum *momentum, int failed)
{
  td_job_note (momentum->job, "The momentum is not kept: “%s” cannot be written: %s.",
               td_output_path (momentum->output), g_strerror (failed));
  drop_output (momentum);
  momentum->saved = FALSE;
}

gboolean
td_iterative_momentum_save (TdIterativeMomentum *momentum, TdRayGroup *group, guint first,
                            const TdSolverMomentum *from, GError **error)
{
  Record record = { .first = first, .passes = from->passes };
  int failed;

  if (!iterative_momentum_wants (momentum))
    return TRUE;
  record.n = td_ray_group_task (group)->nz;
  memcpy (record.numbers, from->numbers, sizeof record.numbers);
  momentum->slab = momentum->end;
  momentum->gave = SUM_START;
  if (!iterative_momentum_move (momentum, TRUE, group, from, &failed, error))
    return FALSE;
  if (!failed)
    failed = td_file_write (momentum->to, &record, sizeof record, momentum->slab);
  momentum->saved = !failed;
  if (failed)
    give_up (momentum, failed);
  return TRUE;
}

void
td_iterative_momentum_end_slab (TdIterativeMomentum *momentum, guint n)
{
  if (!momentum->saved)
    return;
  const int failed = td_file_write (momentum->to, &momentum->gave, sizeof momentum->gave,
                                    momentum->slab + G_STRUCT_OFFSET (Record, sum));
  if (failed) {
    give_up (momentum, failed);
    return;
  }
  momentum->end += sizeof (Record) + volumes_bytes (&momentum->header, n);
  momentum->slices += n;
}
