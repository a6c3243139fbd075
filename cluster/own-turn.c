/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "own-turn.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "dataset/message.h"
#include "dataset/number.h"
#include "dataset/output.h"

#define LOOK_US (G_USEC_PER_SEC / 5)

struct TdOwnTurn {
  int file; /* "turn", locked */
};

/* The file, locked by this process; -1 with errno. @how: LOCK_NB for EWOULDBLOCK if another has the
   lock, or 0 to wait for it. */
static int
own_turn_lock (const char *path, int flags, int how)
{
  const int file = open (path, O_RDWR | O_CLOEXEC | flags, 0600);

  if (file < 0)
    return -1;
  if (flock (file, LOCK_EX | how) == 0)
    return file;
  const int reason = errno;
  close (file);
  errno = reason;
  return -1;
}

static gint64
own_turn_place (const char *folder)
{
  g_autofree char *path = g_build_filename (folder, "place", NULL);
  g_autofree char *text = NULL;
  gint64 place = 0;

  if (g_file_get_contents (path, &text, NULL, NULL))
    td_parse_integer (g_strchomp (text), -G_MAXINT, G_MAXINT, &place);
  return place;
}

/* Whether the job in @folder waits: its process holds the lock. */
static gboolean
own_turn_waits (const char *folder)
{
  g_autofree char *path = g_build_filename (folder, "waiting", NULL);
  const int file = own_turn_lock (path, 0, LOCK_NB);

  if (file >= 0)
    close (file);
  return file < 0 && errno == EWOULDBLOCK;
}

/* The jobs that wait and go before this one. */
static guint
own_turn_ahead (const char *root, const char *folder)
{
  g_autofree char *own = g_path_get_basename (folder);
  const gint64 place = own_turn_place (folder);
  g_autoptr (GDir) dir = g_dir_open (root, 0, NULL);
  const char *name;
  guint ahead = 0;

  while (dir && (name = g_dir_read_name (dir))) {
    g_autofree char *other = g_build_filename (root, name, NULL);
    if (g_str_equal (name, own) || !own_turn_waits (other))
      continue;
    const gint64 others = own_turn_place (other);
    ahead += others < place || (others == place && strcmp (name, own) < 0);
  }
  return ahead;
}

TdOwnTurn *
td_own_turn_take (const char *folder, TdOwnTurnWaits waits, gpointer user,
                  GCancellable *cancellable, GError **error)
{
  g_autofree char *root = g_path_get_dirname (folder);
  g_autofree char *turn = g_build_filename (root, "turn", NULL);
  g_autofree char *pause = g_build_filename (root, "pause", NULL);
  g_autofree char *waiting = g_build_filename (folder, "waiting", NULL);
  /* Others have this lock for a moment when they look who waits. */
  const int own = own_turn_lock (waiting, O_CREAT, 0);
  guint told = G_MAXUINT;
  int file = -1;

  if (own < 0) {
    td_output_set_error (error, waiting, errno);
    return NULL;
  }
  while (file < 0 && !g_cancellable_set_error_if_cancelled (cancellable, error)) {
    const gboolean paused = g_file_test (pause, G_FILE_TEST_EXISTS);
    const guint ahead = own_turn_ahead (root, folder);

    if (!g_file_test (waiting, G_FILE_TEST_EXISTS)) {
      td_set_error (error, TD_ERROR_NOT_FOUND, "the job's folder %s is gone", folder);
      break;
    }
    if (ahead == 0 && !paused)
      file = own_turn_lock (turn, O_CREAT, LOCK_NB);
    if (file < 0 && !paused && ahead == 0 && errno != EWOULDBLOCK) {
      td_output_set_error (error, turn, errno);
      break;
    }
    if (file >= 0)
      break;
    if (told != 2 * ahead + paused)
      waits (ahead, paused, user);
    told = 2 * ahead + paused;
    g_usleep (LOOK_US);
  }
  g_unlink (waiting);
  close (own);
  if (file < 0)
    return NULL;
  TdOwnTurn *self = g_new (TdOwnTurn, 1);
  self->file = file;
  return self;
}

void
td_own_turn_free (TdOwnTurn *turn)
{
  close (turn->file);
  g_free (turn);
}
