/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "job-queue.h"

#include "ui.h"

struct _TdJobQueue {
  GObject parent_instance;
  GListStore *items;
};

G_DEFINE_FINAL_TYPE (TdJobQueue, td_job_queue, G_TYPE_OBJECT)

static void
on_ended (TdJobItem *item, TdJobQueue *self)
{
  g_signal_emit_by_name (self, "ended", item);
}

void
td_job_queue_add (TdJobQueue *self, TdJobItem *item)
{
  g_signal_connect_object (item, "ended", G_CALLBACK (on_ended), self, 0);
  g_list_store_append (self->items, item);
  /* The volume of one that is done may still have to be fetched; jobs of this computer have it. */
  if (!td_job_item_ended (item)
      || (td_job_item_state (item) == TD_JOB_DONE && !td_job_item_is_own (item)))
    td_job_item_start (item);
}

void
td_job_queue_dismiss (TdJobQueue *self, TdJobItem *item)
{
  guint position;

  if (!td_job_item_ended (item) || !g_list_store_find (self->items, item, &position))
    return;
  g_list_store_remove (self->items, position);
}

GListModel *
td_job_queue_model (TdJobQueue *self)
{
  return G_LIST_MODEL (self->items);
}

TD_FINALIZE (TdJobQueue, td_job_queue)
{
  g_clear_object (&self->items);
}

static void
td_job_queue_class_init (TdJobQueueClass *class)
{
  G_OBJECT_CLASS (class)->finalize = td_job_queue_finalize;
  td_signal_new (class, "ended", 1, TD_TYPE_JOB_ITEM);
}

static void
td_job_queue_init (TdJobQueue *self)
{
  self->items = g_list_store_new (TD_TYPE_JOB_ITEM);
}
