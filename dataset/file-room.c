/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "file-room.h"

#include "file-bytes.h"

#define STEP_BYTES ((guint64) 16 << 20)
#define LOOK_US 50000 /* between two looks whether those who wait were cancelled */

struct TdFileRoom {
  GThread *thread;
  int file;
  guint64 at, bytes;
  guint n_steps;
  GMutex lock;
  GCond changed;
  /* Under the lock. */
  gboolean *wanted, *taken; /* by step */
  guint next;               /* the step that is wanted next */
  int code;                 /* errno of what failed */
  gboolean ended;
};

/* 0, or errno. */
static int
file_room_take (const TdFileRoom *room, guint step)
{
  const guint64 from = step * STEP_BYTES, bytes = MIN (STEP_BYTES, room->bytes - from);

  return td_file_allocate (room->file, 0, room->at + from, bytes);
}

/* The first step from @from on, round the end, that is wanted and not taken; n_steps: none is. */
static guint
file_room_missing (const TdFileRoom *room, guint from)
{
  for (guint i = 0; i < room->n_steps; i++) {
    const guint step = (from + i) % room->n_steps;
    if (room->wanted[step] && !room->taken[step])
      return step;
  }
  return room->n_steps;
}

static gpointer
file_room_thread (gpointer user)
{
  TdFileRoom *room = user;

  g_mutex_lock (&room->lock);
  while (!room->ended && room->code == 0) {
    const guint step = file_room_missing (room, room->next);
    if (step == room->n_steps) {
      g_cond_wait (&room->changed, &room->lock);
      continue;
    }
    room->next = step + 1;
    g_mutex_unlock (&room->lock);
    const int code = file_room_take (room, step);
    g_mutex_lock (&room->lock);
    room->code = code;
    room->taken[step] = code == 0;
    g_cond_broadcast (&room->changed);
  }
  g_mutex_unlock (&room->lock);
  return NULL;
}

TdFileRoom *
td_file_room_new (int file, guint64 at, guint64 bytes, GError **error)
{
  TdFileRoom *room = g_new0 (TdFileRoom, 1);

  room->file = file;
  room->at = at;
  room->bytes = bytes;
  room->n_steps = (guint) ((bytes + STEP_BYTES - 1) / STEP_BYTES);
  room->wanted = g_new0 (gboolean, room->n_steps);
  room->taken = g_new0 (gboolean, room->n_steps);
  g_mutex_init (&room->lock);
  g_cond_init (&room->changed);
  room->thread = g_thread_try_new ("file-room", file_room_thread, room, error);
  if (room->thread)
    return room;
  td_file_room_free (room);
  return NULL;
}

/* The steps that the bytes lie in. */
static void
file_room_steps (const TdFileRoom *room, guint64 at, guint64 bytes, guint *first, guint *last)
{
  *first = (guint) ((at - room->at) / STEP_BYTES);
  *last = (guint) ((at - room->at + bytes - 1) / STEP_BYTES);
}

void
td_file_room_want (TdFileRoom *room, guint64 at, guint64 bytes)
{
  guint first, last;

  file_room_steps (room, at, bytes, &first, &last);
  g_mutex_lock (&room->lock);
  for (guint step = first; step <= last; step++)
    room->wanted[step] = TRUE;
  g_cond_broadcast (&room->changed);
  g_mutex_unlock (&room->lock);
}

int
td_file_room_await (TdFileRoom *room, guint64 at, gsize bytes, GCancellable *cancellable)
{
  guint first, last;
  int code = 0;

  file_room_steps (room, at, bytes, &first, &last);
  g_mutex_lock (&room->lock);
  for (guint step = first; step <= last && code == 0; step++) {
    if (!room->taken[step]) {
      room->wanted[step] = TRUE;
      room->next = step;
      g_cond_broadcast (&room->changed);
    }
    while (!room->taken[step] && code == 0) {
      g_cond_wait_until (&room->changed, &room->lock, g_get_monotonic_time () + LOOK_US);
      code = room->taken[step]                          ? 0
             : g_cancellable_is_cancelled (cancellable) ? ECANCELED
                                                        : room->code;
    }
  }
  g_mutex_unlock (&room->lock);
  return code;
}

void
td_file_room_free (TdFileRoom *room)
{
  if (!room)
    return;
  g_mutex_lock (&room->lock);
  room->ended = TRUE;
  g_cond_broadcast (&room->changed);
  g_mutex_unlock (&room->lock);
  if (room->thread)
    g_thread_join (room->thread);
  g_mutex_clear (&room->lock);
  g_cond_clear (&room->changed);
  g_free (room->wanted);
  g_free (room->taken);
  g_free (room);
}
