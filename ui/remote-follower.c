/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "remote-follower.h"

#include <glib/gstdio.h>
#include <unistd.h>

#include "dataset/error.h"
#include "dataset/volume.h"

#define LOOK_MS 1000
#define RETRY_MS 4000 /* after the connection was cut */
/* A job of this computer is looked at more often in the beginning: it may end soon. */
#define SOON_MS 200
#define SOON_LOOKS 25

struct TdRemoteFollower {
  gatomicrefcount references; /* the owner's and the thread's */
  TdRemoteJob *job;
  TdRemoteTask task;
  gboolean own;       /* a job of this computer alone */
  GCancellable *stop; /* of what is sent before the job is launched, and of nothing else */
  GMutex lock;        /* all below */
  GCond wake;
  guint wishes, looks; /* TdRemoteWish */
  guint served;        /* wishes that a look takes care of */
  gboolean over, left; /* left: the owner has gone */
  char *problem;
  char *refused; /* why the last wish came to nothing */
  TdSliceStore *slices;
  guint nx, ny;  /* of each of its slices */
  guint n_taken; /* slices of the job's list */
};

static void
remote_follower_unref (TdRemoteFollower *follower)
{
  if (!g_atomic_ref_count_dec (&follower->references))
    return;
  td_remote_job_unref (follower->job);
  g_object_unref (follower->stop);
  g_mutex_clear (&follower->lock);
  g_cond_clear (&follower->wake);
  g_clear_pointer (&follower->slices, td_slice_store_unref);
  g_free (follower->problem);
  g_free (follower->refused);
  g_free (follower);
}

/* ── The thread ── */

static void
remote_follower_note (TdRemoteFollower *follower, const GError *error)
{
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&follower->lock);

  g_free (follower->problem);
  follower->problem = error ? td_error_pack (error) : NULL;
  follower->served = 0;
}

static void
remote_follower_refuse (TdRemoteFollower *follower, const GError *error)
{
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&follower->lock);

  g_free (follower->refused);
  follower->refused = td_error_pack (error);
}

/* A slice of the job's folder, by way of a file of ours: readers take files. */
static void
remote_follower_take_slice (TdRemoteFollower *follower, const TdRemoteSlice *slice)
{
  g_autofree char *path = NULL;
  g_autoptr (GBytes) bytes = td_remote_job_read (follower->job, slice->path, NULL, NULL);
  const int file = bytes ? g_file_open_tmp ("tomodesk-XXXXXX.tif", &path, NULL) : -1;

  if (file < 0)
    return;
  close (file);
  g_autoptr (TdVolume) volume
      = g_file_set_contents (path, g_bytes_get_data (bytes, NULL), g_bytes_get_size (bytes), NULL)
            ? td_volume_open (path, NULL)
            : NULL;
  const TdVolumeFacts *facts = volume ? td_volume_facts (volume) : NULL;
  g_autofree float *pixels = facts ? g_try_new (float, (gsize) facts->nx * facts->ny) : NULL;
  g_mutex_lock (&follower->lock);
  TdSliceStore *store = follower->slices;
  g_mutex_unlock (&follower->lock);
  if (pixels && facts->nx == follower->nx && facts->ny == follower->ny
      && slice->index < td_slice_store_size (store) && td_volume_read (volume, 0, 1, pixels, NULL))
    td_slice_store_put (store, slice->index, 1, pixels);
  g_unlink (path);
}

/* The store is made once the volume's size is known: by the job's events, or of the volume. */
static void
remote_follower_size (TdRemoteFollower *follower, const TdRemoteFacts *facts)
{
  guint nx = facts->nx, ny = facts->ny, n = facts->n_slices;

  if (follower->slices || facts->scans)
    return;
  if (facts->state == TD_REMOTE_DONE && facts->output) {
    g_autoptr (TdVolume) volume = td_volume_open (facts->output, NULL);
    if (volume) {
      nx = td_volume_facts (volume)->nx;
      ny = td_volume_facts (volume)->ny;
      n = td_volume_facts (volume)->n_slices;
    }
  }
  if (nx == 0 || ny == 0 || n == 0)
    return;
  g_mutex_lock (&follower->lock);
  follower->slices = td_slice_store_new (nx, ny, n, TD_SLICE_STORE_BYTES);
  follower->nx = nx;
  follower->ny = ny;
  g_mutex_unlock (&follower->lock);
}

static void
remote_follower_take (TdRemoteFollower *follower)
{
  g_auto (TdRemoteFacts) facts = { 0 };

  td_remote_job_facts (follower->job, &facts);
  remote_follower_size (follower, &facts);
  if (!follower->slices || facts.state == TD_REMOTE_DONE)
    return;
  if (follower->n_taken > facts.slices->len) /* another run tells its own */
    follower->n_taken = 0;
  for (; follower->n_taken < facts.slices->len; follower->n_taken++)
    remote_follower_take_slice (follower,
                                &g_array_index (facts.slices, TdRemoteSlice, follower->n_taken));
}

/* The follower's lock is not held. */
static gboolean
remote_follower_begin (TdRemoteFollower *follower, GError **error)
{
  switch (follower->task) {
  case TD_REMOTE_SUBMIT: return td_remote_job_submit (follower->job, follower->stop, error);
  case TD_REMOTE_AGAIN: return td_remote_job_again (follower->job, NULL, error);
  default: return TRUE;
  }
}

static guint
remote_follower_take_wishes (TdRemoteFollower *follower)
{
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&follower->lock);

  follower->served = follower->wishes;
  follower->wishes = 0;
  return follower->served;
}

static void
remote_follower_wait (TdRemoteFollower *follower, guint ms)
{
  const gint64 until = g_get_monotonic_time () + (gint64) ms * 1000;
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&follower->lock);

  while (!follower->wishes && !follower->left
         && g_cond_wait_until (&follower->wake, &follower->lock, until))
    ;
}

/* TRUE: the job has ended, and all of it is here. */
static gboolean
remote_follower_look (TdRemoteFollower *follower, gboolean *reached)
{
  g_auto (TdRemoteFacts) facts = { 0 };
  g_autoptr (GError) error = NULL;
  const TdShellCopy copy = { 0 };

  const guint wishes = remote_follower_take_wishes (follower);
  if (wishes & TD_REMOTE_KEEP)
    td_remote_job_keep (follower->job, NULL, &error);
  /* Jobs that are asked to go first do so in the order in which the last was asked. */
  if (wishes & TD_REMOTE_GO_FIRST && !error)
    td_remote_job_set_place (
        follower->job, -(gint) (g_get_real_time () / G_USEC_PER_SEC % G_MAXINT), NULL, &error);
  if (error)
    *reached = TRUE;
  else if (wishes & TD_REMOTE_CANCEL)
    *reached = td_remote_job_cancel (follower->job, NULL, &error);
  else
    *reached = td_remote_job_look (follower->job, NULL, &error);
  if (wishes && error)
    remote_follower_refuse (follower, error);
  td_remote_job_facts (follower->job, &facts);
  const gboolean ended = *reached && td_remote_state_ended (facts.state);
  if (ended && facts.state == TD_REMOTE_DONE && !facts.fetched) /* it may have been moved since */
    td_remote_job_fetch (follower->job, &copy, NULL, &error);
  remote_follower_note (follower, error);
  remote_follower_take (follower);
  return ended;
}

static gboolean
remote_follower_is_left (TdRemoteFollower *follower)
{
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&follower->lock);

  return follower->left;
}

static gpointer
remote_follower_run (gpointer user)
{
  TdRemoteFollower *follower = user;
  g_autoptr (GError) error = NULL;
  gboolean over = !remote_follower_begin (follower, &error), reached = TRUE;

  if (over)
    remote_follower_note (follower, error);
  while (!over && !remote_follower_is_left (follower)) {
    over = remote_follower_look (follower, &reached);
    if (!over)
      remote_follower_wait (follower, !reached                                          ? RETRY_MS
                                      : follower->own && follower->looks++ < SOON_LOOKS ? SOON_MS
                                                                                        : LOOK_MS);
  }
  g_mutex_lock (&follower->lock);
  follower->over = over;
  g_mutex_unlock (&follower->lock);
  remote_follower_unref (follower);
  return NULL;
}

/* ── Main thread ── */

TdRemoteFollower *
td_remote_follower_new (TdRemoteJob *job, TdRemoteTask task)
{
  TdRemoteFollower *follower = g_new0 (TdRemoteFollower, 1);

  g_atomic_ref_count_init (&follower->references);
  g_atomic_ref_count_inc (&follower->references);
  g_mutex_init (&follower->lock);
  g_cond_init (&follower->wake);
  follower->job = td_remote_job_ref (job);
  follower->task = task;
  follower->stop = g_cancellable_new ();
  g_auto (TdRemoteFacts) facts = { 0 };
  td_remote_job_facts (job, &facts);
  follower->own = g_strcmp0 (facts.profile, TD_CLUSTER_OWN) == 0;
  g_thread_unref (g_thread_new ("remote job", remote_follower_run, follower));
  return follower;
}

/* The thread is not cancelled in the middle of a look: GLib may use the thread's
   context when it is gone, if a call and its cancellation end at once. */
void
td_remote_follower_free (TdRemoteFollower *follower)
{
  g_mutex_lock (&follower->lock);
  follower->left = TRUE;
  g_cond_signal (&follower->wake);
  g_mutex_unlock (&follower->lock);
  remote_follower_unref (follower);
}

void
td_remote_follower_ask (TdRemoteFollower *follower, TdRemoteWish wish)
{
  g_auto (TdRemoteFacts) facts = { 0 };

  td_remote_job_facts (follower->job, &facts);
  /* Files that are on their way stop at once; there is nothing else of the job yet. A job that is
     launched meanwhile ends by the wish. */
  if (wish == TD_REMOTE_CANCEL && facts.state == TD_REMOTE_STAGED
      && follower->task == TD_REMOTE_SUBMIT)
    g_cancellable_cancel (follower->stop);
  g_mutex_lock (&follower->lock);
  follower->wishes |= wish;
  g_clear_pointer (&follower->refused, g_free);
  g_cond_signal (&follower->wake);
  g_mutex_unlock (&follower->lock);
}

gboolean
td_remote_follower_was_asked (TdRemoteFollower *follower, TdRemoteWish wish)
{
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&follower->lock);

  return (follower->wishes | follower->served) & wish;
}

char *
td_remote_follower_refused (TdRemoteFollower *follower)
{
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&follower->lock);

  return g_strdup (follower->refused);
}

TdSliceStore *
td_remote_follower_slices (TdRemoteFollower *follower)
{
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&follower->lock);

  return follower->slices ? td_slice_store_ref (follower->slices) : NULL;
}

gboolean
td_remote_follower_is_over (TdRemoteFollower *follower, char **problem)
{
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&follower->lock);

  *problem = g_strdup (follower->problem);
  return follower->over;
}
