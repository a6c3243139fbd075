/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "job-queue.h"

#include "ui.h"

struct _TdJobQueue {
  GObject parent_instance;
  GListStore *items;
};

enum { ENDED, N_SIGNALS };
static guint signals[N_SIGNALS];

G_DEFINE_FINAL_TYPE (TdJobQueue, td_job_queue, G_TYPE_OBJECT)

static TdJobItem *
item_at (TdJobQueue *self, guint i)
{
  g_autoptr (TdJobItem) item = g_list_model_get_item (G_LIST_MODEL (self->items), i);
  return item; /* the store keeps it */
}

/* Whether the job computes in this program. */
static gboolean
job_queue_is_here (TdJobQueue *self, guint i)
{
  return !td_job_item_remote (item_at (self, i));
}

static void
start_next (TdJobQueue *self)
{
  guint n = g_list_model_get_n_items (G_LIST_MODEL (self->items));

  for (guint i = 0; i < n; i++)
    if (job_queue_is_here (self, i) && td_job_item_state (item_at (self, i)) == TD_JOB_RUNNING)
      return;
  for (guint i = 0; i < n; i++)
    if (job_queue_is_here (self, i) && td_job_item_state (item_at (self, i)) == TD_JOB_WAITING) {
      td_job_item_start (item_at (self, i));
      return;
    }
}

static void
on_ended (TdJobItem *item, TdJobQueue *self)
{
  g_signal_emit (self, signals[ENDED], 0, item);
  start_next (self);
}

void
td_job_queue_add (TdJobQueue *self, TdJobItem *item)
{
  g_signal_connect_object (item, "ended", G_CALLBACK (on_ended), self, 0);
  g_list_store_append (self->items, item);
  if (td_job_item_remote (item)
      && (!td_job_item_ended (item) || td_job_item_state (item) == TD_JOB_DONE))
    td_job_item_start (item);
  start_next (self);
}

void
td_job_queue_dismiss (TdJobQueue *self, TdJobItem *item)
{
  guint position;

  if (td_job_item_ended (item) && g_list_store_find (self->items, item, &position))
    g_list_store_remove (self->items, position);
}

void
td_job_queue_cancel_all (TdJobQueue *self)
{
  /* Last first: ending the running one must not start the next. */
  for (guint i = g_list_model_get_n_items (G_LIST_MODEL (self->items)); i-- > 0;)
    if (job_queue_is_here (self, i) && !td_job_item_ended (item_at (self, i)))
      td_job_item_cancel (item_at (self, i));
}

guint
td_job_queue_active (TdJobQueue *self)
{
  guint n = g_list_model_get_n_items (G_LIST_MODEL (self->items)), active = 0;

  for (guint i = 0; i < n; i++)
    active += job_queue_is_here (self, i) && !td_job_item_ended (item_at (self, i));
  return active;
}

GListModel *
td_job_queue_model (TdJobQueue *self)
{
  return G_LIST_MODEL (self->items);
}

static void
td_job_queue_finalize (GObject *object)
{
  g_clear_object (&TD_JOB_QUEUE (object)->items);
  G_OBJECT_CLASS (td_job_queue_parent_class)->finalize (object);
}

static void
td_job_queue_class_init (TdJobQueueClass *class)
{
  G_OBJECT_CLASS (class)->finalize = td_job_queue_finalize;
  signals[ENDED] = td_signal_new (TD_TYPE_JOB_QUEUE, "ended", 1, TD_TYPE_JOB_ITEM);
}

static void
td_job_queue_init (TdJobQueue *self)
{
  self->items = g_list_store_new (TD_TYPE_JOB_ITEM);
}

TdJobQueue *
td_job_queue_new (void)
{
  return g_object_new (TD_TYPE_JOB_QUEUE, NULL);
}
