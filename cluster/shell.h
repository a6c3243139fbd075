/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gio/gio.h>

/**
 * TdShell: a POSIX shell on this computer, or on a host that the user's own ssh reaches. All that
 * jobs need of a host goes through it: files, processes, the scheduler's commands.
 *
 * A script travels as the shell's standard input, and its words are quoted there. No word is ever
 * joined into a command line, and the user's login shell does not matter. All scripts for a host
 * share one connection (ControlMaster). They also share one shell there that waits for them, but
 * for those that may take longer than a minute. Nothing is asked for: a host that wants a password
 * is refused with what to do.
 */
typedef struct TdShell TdShell;

typedef struct {
  int status;      /* the script's exit status */
  char *out;       /* standard output, ends in '\0' */
  gsize out_bytes; /* without that '\0' */
  char *error;     /* standard error, without white space at its end */
} TdShellResult;

void td_shell_result_clear (TdShellResult *result);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (TdShellResult, td_shell_result_clear)

/* The shell of a host: NULL for this computer. @config: (nullable): ssh's configuration file where
   it is not the user's. @prelude: (nullable): lines that run before each script, unheard. The same
   arguments give the same shell; it lives as long as the program. Any thread. */
TdShell *td_shell_get (const char *host, const char *config, const char *prelude);
const char *td_shell_host (const TdShell *shell); /* NULL: this computer */
/* "this computer" or the host. */
const char *td_shell_name (const TdShell *shell);

/* Runs @script with @words (NULL-terminated, nullable) as "$1", "$2", …, and waits, @limit_s
   seconds at most. TRUE: the script ran, whatever its status. FALSE with @error: the host cannot be
   reached, or did not answer in time. Any thread; blocks. */
gboolean td_shell_run (TdShell *shell, const char *script, const char *const *words, guint limit_s,
                       TdShellResult *result, GCancellable *cancellable, GError **error);
/* The same for scripts that must end with status 0; the last line of standard error says why one
   did not. @out: (nullable) (out) (transfer full). */
gboolean td_shell_do (TdShell *shell, const char *script, const char *const *words, char **out,
                      GCancellable *cancellable, GError **error);

/* Copies by rsync over the shell's connection; @from and @to: a path of this computer, or
   td_shell_remote_path(). @progress: (nullable): called with the fraction, on this thread. */
typedef void (*TdShellProgress) (double fraction, gpointer user);
typedef struct {
  gboolean relative; /* to the host, below their whole paths */
  TdShellProgress progress;
  gpointer user;
} TdShellCopy;
gboolean td_shell_copy (TdShell *shell, const char *const *from, const char *to,
                        const TdShellCopy *copy, GCancellable *cancellable, GError **error);
/* "HOST:PATH" as rsync takes it; the path alone for this computer. (transfer full) */
char *td_shell_remote_path (const TdShell *shell, const char *path);
