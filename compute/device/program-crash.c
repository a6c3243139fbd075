/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "program-crash.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "program-cache.h"

static const int signals[] = { SIGABRT, SIGSEGV, SIGBUS, SIGILL };
static struct sigaction previous[G_N_ELEMENTS (signals)];
static __thread char *watched; /* the note's path while this thread builds */

char *
td_program_crash_file (const char *key)
{
  g_autofree char *entry = td_program_cache_file (key);

  return g_strconcat (entry, ".crashed", NULL);
}

gboolean
td_program_crashed (const char *key)
{
  g_autofree char *file = td_program_crash_file (key);

  return g_file_test (file, G_FILE_TEST_EXISTS);
}

/* Only what a signal handler may call. */
static void
on_crash (int number)
{
  int note = watched ? open (watched, O_WRONLY | O_CREAT | O_CLOEXEC, 0600) : -1;

  if (note >= 0)
    close (note);
  for (guint i = 0; i < G_N_ELEMENTS (signals); i++)
    if (signals[i] == number)
      sigaction (number, &previous[i], NULL);
  /* It arrives when this returns; a fault would come again by itself, abort() and kill() would not.
   */
  raise (number);
}

static void
program_crash_install (void)
{
  struct sigaction action = { .sa_handler = on_crash, .sa_flags = SA_ONSTACK };

  sigemptyset (&action.sa_mask);
  for (guint i = 0; i < G_N_ELEMENTS (signals); i++)
    sigaction (signals[i], &action, &previous[i]);
}

void
td_program_crash_watch (const char *key)
{
  static gsize installed;
  char *file = td_program_crash_file (key);
  g_autofree char *folder = g_path_get_dirname (file);

  if (g_once_init_enter (&installed)) {
    program_crash_install ();
    g_once_init_leave (&installed, 1);
  }
  g_mkdir_with_parents (folder, 0700);
  watched = file;
}

void
td_program_crash_unwatch (void)
{
  g_clear_pointer (&watched, g_free);
}
