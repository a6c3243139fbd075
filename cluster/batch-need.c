/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "batch-need.h"

#include <math.h>

#include "dataset/file-bytes.h"
#include "dataset/message.h"

void
td_batch_need_of_plan (const TdPlan *plan, const char *output, TdBatchNeed *need)
{
  const TdPlanFacts *facts = td_plan_facts (plan);

  *need = (TdBatchNeed) { .nx = facts->nx,
                          .ny = facts->ny,
                          .n_slices = facts->n_slices,
                          .host_bytes = facts->host_bytes,
                          .device_bytes = facts->device_bytes,
                          .write_bytes = facts->write_bytes,
                          .estimate_s = facts->estimate_s > 0 ? facts->estimate_s : NAN };
  if (!g_file_test (output, G_FILE_TEST_EXISTS))
    need->room_bytes = facts->write_bytes;
  td_plan_times (plan, &need->times);
}

void
td_batch_need_add (TdBatchNeed *all, const TdBatchNeed *one)
{
  all->n_slices += one->n_slices;
  all->host_bytes = MAX (all->host_bytes, one->host_bytes);
  all->device_bytes = MAX (all->device_bytes, one->device_bytes);
  all->write_bytes += one->write_bytes;
  all->room_bytes += one->room_bytes;
  all->times.read += one->times.read;
  all->times.compute += one->times.compute;
  all->times.write += one->times.write;
  all->estimate_s += one->estimate_s;
}

gboolean
td_batch_need_fits (const TdBatchNeed *all, const char *folder, GError **error)
{
  const guint64 available = td_file_room (folder);

  if (all->room_bytes <= available)
    return TRUE;
  g_autofree char *need = g_format_size (all->room_bytes);
  g_autofree char *have = g_format_size (available);
  return td_set_error (error, TD_ERROR_IO,
                       "The volumes take %s, and “%s” has only %s free; free some space, choose "
                       "another folder, or take fewer scans or fewer bits a sample",
                       need, folder, have);
}
