/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model.h"

/* kernels/bench-units.cl: how it is launched and what it counts. */
enum { GROUP = 256, GROUPS_A_UNIT = 8, TEXTURE = 1024, RUNS = 4 };

typedef struct {
  TdDevice *device;
  TdQueue *queue;
  TdBuffer *out;
  TdTexture *texture;
  int n; /* turns of a kernel's loop */
} Bench;

typedef struct {
  guint number; /* as in the kernels */
  const char *kernel;
  double a_loop; /* operations in one turn of its loop */
} Unit;

static void
unit_rates_bench_clear (Bench *bench)
{
  td_texture_free (bench->texture);
  td_buffer_free (bench->out);
  td_queue_free (bench->queue);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Bench, unit_rates_bench_clear)

static guint
group_count (const Bench *bench)
{
  return GROUPS_A_UNIT * MAX (td_device_info (bench->device)->compute_units, 1);
}

static gboolean
unit_rates_launch (Bench *bench, TdKernel *kernel, const TdArg *args, guint n_args, double *seconds,
                   GError **error)
{
  const guint groups[3] = { group_count (bench), 1, 1 }, local[3] = { GROUP, 1, 1 };
  g_autoptr (TdEvent) from = td_event_record (bench->queue, error), to = NULL;

  if (!from || !td_launch (bench->queue, kernel, groups, local, args, n_args, error))
    return FALSE;
  to = td_event_record (bench->queue, error);
  return to && td_queue_finish (bench->queue, error) && td_event_elapsed (from, to, seconds, error);
}

/* Runs @kernel with the bench's loop count among its @args; doubles it until a run takes 16 ms.
   Gives loops of all work-items a second. */
static gboolean
loops_per_second (Bench *bench, TdKernel *kernel, const TdArg *args, guint n_args, double *rate,
                  GError **error)
{
  double seconds = 0;

  for (bench->n = 64; bench->n < 1 << 20; bench->n *= 2) {
    if (!unit_rates_launch (bench, kernel, args, n_args, &seconds, error))
      return FALSE;
    if (seconds > 16e-3)
      break;
  }
  for (guint i = 0; i < RUNS; i++) {
    double again = 0;
    if (!unit_rates_launch (bench, kernel, args, n_args, &again, error))
      return FALSE;
    seconds = MIN (seconds, again);
  }
  *rate = (double) bench->n * group_count (bench) * GROUP / seconds;
  return TRUE;
}

static gboolean
unit_rates_measure (Bench *bench, const Unit *unit, const TdArg *args, guint n_args, double *rate,
                    GError **error)
{
  g_auto (GStrv) defines = td_defines ("UNIT=%u", unit->number);
  TdKernel *kernel = td_device_kernel (bench->device, "bench-units", (const char *const *) defines,
                                       unit->kernel, error);
  const gboolean ok = kernel && loops_per_second (bench, kernel, args, n_args, rate, error);

  *rate *= unit->a_loop;
  return ok;
}

static gboolean
measure_arithmetic (Bench *bench, guint number, double a_loop, double *rate, GError **error)
{
  const Unit unit = { number, "td_bench_arithmetic", a_loop };
  float factor = 0.999f, term = 0.5f;

  return unit_rates_measure (bench, &unit, TD_ARGS (bench->out, bench->n, factor, term, 1), rate,
                             error);
}

static gboolean
unit_rates_fill_random (TdQueue *queue, TdBuffer *texels, GError **error)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (4);
  g_autofree float *values = g_new (float, TEXTURE *TEXTURE);

  for (guint i = 0; i < TEXTURE * TEXTURE; i++)
    values[i] = g_rand_double (random);
  return td_upload (queue, texels, 0, values, texels->bytes, error)
         && td_queue_finish (queue, error);
}

static gboolean
measure_texture (Bench *bench, double *rate, GError **error)
{
  const TdTextureSpec spec = { .texel = TD_TEXEL_R32F,
                               .width = TEXTURE,
                               .height = TEXTURE,
                               .linear = td_device_info (bench->device)->texture_linear };
  const Unit unit = { 3, "td_bench_texture", 16 };
  g_autoptr (TdBuffer) texels
      = td_buffer_new (bench->device, TEXTURE * TEXTURE * sizeof (float), error);

  if (!texels || !unit_rates_fill_random (bench->queue, texels, error))
    return FALSE;
  bench->texture = td_texture_new (bench->device, &spec, error);
  if (!bench->texture || !td_texture_write (bench->queue, bench->texture, 1, texels, 0, error))
    return FALSE;
  return unit_rates_measure (bench, &unit, TD_ARGS (bench->texture, bench->out, bench->n, 0.37f),
                             rate, error);
}

gboolean
td_unit_rates_measure (TdDevice *device, TdUnitRates *rates, GError **error)
{
  const TdDeviceInfo *info = td_device_info (device);
  const Unit local = { 2, "td_bench_local", 15 * 8 };
  g_auto (Bench) bench = { .device = device };

  *rates = (TdUnitRates) { 0 };
  if (info->host_pointers || info->max_group_size < GROUP)
    return td_set_error (error, TD_ERROR_UNSUPPORTED, "there is no performance model for %s",
                         info->name);
  bench.queue = td_queue_new (device, error);
  if (!bench.queue)
    return FALSE;
  bench.out
      = td_buffer_new (device, (guint64) group_count (&bench) * GROUP * sizeof (float), error);
  /* 16 x 8 operations a turn: a multiply-add, two conversions, a multiply-add and an addition. */
  return bench.out && measure_arithmetic (&bench, 0, 128, &rates->per_second[TD_UNIT_FLOAT], error)
         && measure_arithmetic (&bench, 1, 256, &rates->per_second[TD_UNIT_CONVERSION], error)
         && measure_arithmetic (&bench, 4, 256, &rates->per_second[TD_UNIT_INSTRUCTIONS], error)
         && unit_rates_measure (&bench, &local, TD_ARGS (bench.out, bench.n, 3),
                                &rates->per_second[TD_UNIT_LOCAL], error)
         && (!(info->texels & 1u << TD_TEXEL_R32F)
             || measure_texture (&bench, &rates->per_second[TD_UNIT_TEXTURE], error));
}
