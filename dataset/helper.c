/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "helper.h"

#include "message.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#define LOOK_US 1000
#define CHILD "TOMODESK_CHILD" /* set for children, which have none of their own */

static gint exists; /* atomic */

/* ── The child ── */

gboolean
td_helper_begin (int argc, char **argv, const char *word)
{
  const struct rlimit none = { 0, 0 };

  if (argc < 2 || strcmp (argv[1], word) != 0) {
    g_atomic_int_set (&exists, g_getenv (CHILD) == NULL);
    return FALSE;
  }
  g_atomic_int_set (&exists, FALSE);
  setrlimit (RLIMIT_CORE, &none);
  prctl (PR_SET_PDEATHSIG, SIGKILL);
  return TRUE;
}

static void
helper_lower (int resource, guint64 limit)
{
  struct rlimit now;

  if (limit == 0 || getrlimit (resource, &now) != 0)
    return;
  now.rlim_cur = MIN (limit, now.rlim_cur);
  setrlimit (resource, &now);
}

void
td_helper_limit (guint seconds, guint64 bytes)
{
  helper_lower (RLIMIT_CPU, seconds);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) /* these map terabytes */
  helper_lower (RLIMIT_AS, bytes);
#endif
}

/* ── The parent ── */

gboolean
td_helper_exists (void)
{
  return g_atomic_int_get (&exists);
}

guint
td_helper_seconds (guint seconds)
{
  const char *stated = g_getenv ("TOMODESK_PROBE_SECONDS");

  return stated ? (guint) g_ascii_strtoull (stated, NULL, 10) : seconds;
}

/* Control-C goes to both processes, and the parent decides. The child inherits from its first
   moment on which signals the thread holds back. */
static gboolean
helper_start (char **words, char **environment, GPid *child)
{
  sigset_t held, before;

  sigemptyset (&held);
  sigaddset (&held, SIGINT);
  sigaddset (&held, SIGTERM);
  sigaddset (&held, SIGHUP);
  pthread_sigmask (SIG_BLOCK, &held, &before);
  /* Files of this process are closed when another is started. That they may be left open spares a
     copy of the page tables, which are large beside a graphics card. */
  const gboolean started
      = g_spawn_async (NULL, words, environment,
                       G_SPAWN_DO_NOT_REAP_CHILD | G_SPAWN_LEAVE_DESCRIPTORS_OPEN
                           | G_SPAWN_STDOUT_TO_DEV_NULL | G_SPAWN_STDERR_TO_DEV_NULL,
                       NULL, NULL, child, NULL);
  pthread_sigmask (SIG_SETMASK, &before, NULL);
  return started;
}

static void
helper_kill (GPid child, int *status)
{
  kill (child, SIGKILL);
  while (waitpid (child, status, 0) < 0 && errno == EINTR)
    ;
}

char *
td_helper_run (const char *const *words, char **environment, guint seconds,
               GCancellable *cancellable)
{
  const gint64 deadline = g_get_monotonic_time () + (gint64) seconds * G_USEC_PER_SEC;
  g_autoptr (GPtrArray) arguments = g_ptr_array_new ();
  g_auto (GStrv) own = environment ? g_strdupv (environment) : g_get_environ ();
  int status = 0;
  GPid child;

  own = g_environ_setenv (own, CHILD, "1", TRUE);
  g_ptr_array_add (arguments, (char *) "/proc/self/exe");
  for (guint i = 0; words[i]; i++)
    g_ptr_array_add (arguments, (char *) words[i]);
  g_ptr_array_add (arguments, NULL);
  if (!helper_start ((char **) arguments->pdata, own, &child))
    return NULL;
  for (;;) {
    const pid_t ended = waitpid (child, &status, WNOHANG);
    if (ended == child)
      break;
    if (ended < 0 && errno != EINTR)
      return NULL;
    if (g_cancellable_is_cancelled (cancellable)) {
      helper_kill (child, &status);
      return NULL;
    }
    if (seconds && g_get_monotonic_time () > deadline) {
      helper_kill (child, &status);
      return td_message_packed ("did not answer within %u s", seconds);
    }
    g_usleep (LOOK_US);
  }
  if (WIFSIGNALED (status) && WTERMSIG (status) == SIGXCPU)
    return g_strdup (N_ ("computed without an end"));
  if (WIFSIGNALED (status) && WTERMSIG (status) == SIGTRAP) /* as g_error() ends a process */
    return g_strdup (TD_HELPER_NO_MEMORY);
  if (WIFSIGNALED (status))
    return td_message_packed ("crashed (%s)", strsignal (WTERMSIG (status)));
  if (WEXITSTATUS (status) != 0)
    return td_message_packed ("ended the process (status %d)", WEXITSTATUS (status));
  return NULL;
}
