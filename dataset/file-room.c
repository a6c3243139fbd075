/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "file-room.h"

#include "file-bytes.h"

#define THREADS 8u
#define STEP_BYTES ((guint64) 8 << 20) /* whole large pages */
#define LOOK_US 50000                  /* between two looks whether those who wait were cancelled */

/* A step is idle until it is wanted. */
typedef enum { STEP_IDLE, STEP_WANTED, STEP_BEGUN, STEP_TAKEN } StepState;

struct TdFileRoom {
  GThread *threads[THREADS];
  int file;
  guint64 at, end;
  guint n_steps; /* from the one that @at lies in */
  GMutex lock;
  GCond changed;
  /* Under the lock. */
  StepState *steps;
  guint next;      /* the step that is wanted next */
  guint n_at_work; /* threads */
  gboolean large;  /* large pages can be had, as far as is known */
  int code;        /* errno of what failed */
  gboolean ended;
};

/* ── Taking room ── */

/* 0, or errno. Pages that did not become large are taken small. */
static int
file_room_take (const TdFileRoom *room, guint step, gboolean *large)
{
  const guint64 begin = (room->at / STEP_BYTES + step) * STEP_BYTES;
  const guint64 from = MAX (begin, room->at), end = MIN (begin + STEP_BYTES, room->end);

  *large = *large && td_file_enlarge (room->file, end - from, from);
  return td_file_allocate (room->file, 0, from, end - from);
}

/* The first step from @from on, round the end, that is wanted and not begun; n_steps: none is. */
static guint
file_room_missing (const TdFileRoom *room, guint from)
{
  for (guint i = 0; i < room->n_steps; i++) {
    const guint step = (from + i) % room->n_steps;
    if (room->steps[step] == STEP_WANTED)
      return step;
  }
  return room->n_steps;
}

/* Small pages are taken by one thread, the last that is left. */
static gpointer
file_room_thread (gpointer user)
{
  TdFileRoom *room = user;

  g_mutex_lock (&room->lock);
  while (!room->ended && room->code == 0 && (room->large || room->n_at_work == 1)) {
    const guint step = file_room_missing (room, room->next);
    gboolean large = room->large;
    if (step == room->n_steps) {
      g_cond_wait (&room->changed, &room->lock);
      continue;
    }
    room->next = step + 1;
    room->steps[step] = STEP_BEGUN;
    g_mutex_unlock (&room->lock);
    const int code = file_room_take (room, step, &large);
    g_mutex_lock (&room->lock);
    room->large = room->large && large;
    room->code = room->code ? room->code : code;
    room->steps[step] = code == 0 ? STEP_TAKEN : STEP_IDLE;
    g_cond_broadcast (&room->changed);
  }
  room->n_at_work--;
  g_mutex_unlock (&room->lock);
  return NULL;
}

/* ── Life ── */

TdFileRoom *
td_file_room_new (int file, guint64 at, guint64 bytes, GError **error)
{
  TdFileRoom *room = g_new0 (TdFileRoom, 1);

  room->file = file;
  room->at = at;
  room->end = at + bytes;
  room->n_steps = (guint) ((room->end + STEP_BYTES - 1) / STEP_BYTES - at / STEP_BYTES);
  room->steps = g_new0 (StepState, room->n_steps);
  room->large = TRUE;
  g_mutex_init (&room->lock);
  g_cond_init (&room->changed);
  g_mutex_lock (&room->lock);
  for (guint i = 0; i < THREADS && room->n_at_work == i; i++) {
    room->threads[i]
        = g_thread_try_new ("file-room", file_room_thread, room, i == 0 ? error : NULL);
    room->n_at_work += room->threads[i] != NULL;
  }
  g_mutex_unlock (&room->lock);
  if (room->threads[0])
    return room;
  td_file_room_free (room);
  return NULL;
}

/* ── Those who write ── */

/* The steps that the bytes lie in. */
static void
file_room_steps (const TdFileRoom *room, guint64 at, guint64 bytes, guint *first, guint *last)
{
  *first = (guint) (at / STEP_BYTES - room->at / STEP_BYTES);
  *last = (guint) ((at + bytes - 1) / STEP_BYTES - room->at / STEP_BYTES);
}

void
td_file_room_want (TdFileRoom *room, guint64 at, guint64 bytes)
{
  guint first, last;

  file_room_steps (room, at, bytes, &first, &last);
  g_mutex_lock (&room->lock);
  for (guint step = first; step <= last; step++)
    room->steps[step] = MAX (room->steps[step], STEP_WANTED);
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
    if (room->steps[step] < STEP_BEGUN) {
      room->steps[step] = STEP_WANTED;
      room->next = step;
      g_cond_broadcast (&room->changed);
    }
    while (room->steps[step] != STEP_TAKEN && code == 0) {
      g_cond_wait_until (&room->changed, &room->lock, g_get_monotonic_time () + LOOK_US);
      code = room->steps[step] == STEP_TAKEN            ? 0
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
  for (guint i = 0; i < THREADS; i++)
    if (room->threads[i])
      g_thread_join (room->threads[i]);
  g_mutex_clear (&room->lock);
  g_cond_clear (&room->changed);
  g_free (room->steps);
  g_free (room);
}
