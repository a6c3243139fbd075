/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "shell.h"

#include <errno.h>
#include <fcntl.h>
#include <gio/gunixinputstream.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "dataset/message.h"

#define SSH_FAILED 255     /* ssh's own status: no connection */
#define SOCKET_EXTRA 20    /* what ssh adds to the socket's name while it makes it */
#define DO_LIMIT_S 60      /* a host that answers at all answers in a second or two */
#define COPY_LIMIT_S 86400 /* files: as long as they take */

struct TdShell {
  char *host, *config, *prelude;
  char *socket; /* ControlPath */
};

static GMutex registry_lock;
static GHashTable *registry; /* by what td_shell_get() was given */

/* ── The connection ── */

/* A folder of ours alone: anybody who can write there could take the connection's place. */
static gboolean
shell_folder_is_ours (const char *folder)
{
  GStatBuf state;

  return g_mkdir_with_parents (folder, 0700) == 0 && g_lstat (folder, &state) == 0
         && S_ISDIR (state.st_mode) && state.st_uid == getuid () && (state.st_mode & 077) == 0;
}

/* Sockets have short names only, so that the host's is a checksum. NULL: no place is private and
   short enough; each script then makes a connection of its own. */
static char *
shell_socket_path (const char *key)
{
  g_autofree char *sum = g_compute_checksum_for_string (G_CHECKSUM_SHA256, key, -1);
  g_autofree char *name = g_strdup_printf ("tomodesk-%u", (guint) getuid ());
  g_autofree char *first = g_build_filename (g_get_user_runtime_dir (), "tomodesk", NULL);
  g_autofree char *second = g_build_filename (g_get_tmp_dir (), name, NULL);
  const char *const folders[] = { first, second };
  struct sockaddr_un address;

  sum[12] = '\0';
  for (guint i = 0; i < G_N_ELEMENTS (folders); i++) {
    g_autofree char *path = g_strdup_printf ("%s/%s", folders[i], sum);
    if (strlen (path) + SOCKET_EXTRA < sizeof address.sun_path && !strpbrk (path, "% \"'")
        && shell_folder_is_ours (folders[i]))
      return g_steal_pointer (&path);
  }
  return NULL;
}

static void
shell_add_ssh_words (const TdShell *shell, GPtrArray *words)
{
  static const char *const options[]
      = { "BatchMode=yes", "ConnectTimeout=8", "ServerAliveInterval=3", "ServerAliveCountMax=2" };

  g_ptr_array_add (words, g_strdup ("ssh"));
  if (shell->config) {
    g_ptr_array_add (words, g_strdup ("-F"));
    g_ptr_array_add (words, g_strdup (shell->config));
  }
  g_ptr_array_add (words, g_strdup ("-T"));
  for (guint i = 0; i < G_N_ELEMENTS (options); i++) {
    g_ptr_array_add (words, g_strdup ("-o"));
    g_ptr_array_add (words, g_strdup (options[i]));
  }
  if (shell->socket) {
    g_ptr_array_add (words, g_strdup ("-oControlMaster=auto"));
    g_ptr_array_add (words, g_strdup ("-oControlPersist=60"));
    g_ptr_array_add (words, g_strdup_printf ("-oControlPath=%s", shell->socket));
  }
}

TdShell *
td_shell_get (const char *host, const char *config, const char *prelude)
{
  g_autofree char *key = g_strdup_printf ("%s\n%s\n%s", host ? host : "", config ? config : "",
                                          prelude ? prelude : "");

  g_mutex_lock (&registry_lock);
  if (!registry)
    registry = g_hash_table_new (g_str_hash, g_str_equal);
  TdShell *shell = g_hash_table_lookup (registry, key);
  if (!shell) {
    shell = g_new0 (TdShell, 1);
    shell->host = g_strdup (host);
    shell->config = g_strdup (config);
    shell->prelude = g_strdup (prelude);
    shell->socket = host ? shell_socket_path (key) : NULL;
    g_hash_table_insert (registry, g_steal_pointer (&key), shell);
  }
  g_mutex_unlock (&registry_lock);
  return shell;
}

const char *
td_shell_host (const TdShell *shell)
{
  return shell->host;
}

const char *
td_shell_name (const TdShell *shell)
{
  return shell->host ? shell->host : "this computer";
}

char *
td_shell_remote_path (const TdShell *shell, const char *path)
{
  return shell->host ? g_strdup_printf ("%s:%s", shell->host, path) : g_strdup (path);
}

/* What can be done about ssh's own words. */
static void
shell_set_error (const TdShell *shell, const char *words, GError **error)
{
  const char *last = strrchr (words, '\n');
  const char *why = last ? last + 1 : words;

  if (strstr (words, "Permission denied"))
    td_set_error (error, TD_ERROR_IO,
                  "%s does not let you in without a password: %s. Make \"ssh %s\" work with a key, "
                  "and load the key with ssh-add if it has a passphrase",
                  shell->host, why, shell->host);
  else if (strstr (words, "Host key verification failed"))
    td_set_error (error, TD_ERROR_IO,
                  "%s is not known yet, or its key has changed: run \"ssh %s\" once in a terminal "
                  "and check the key",
                  shell->host, shell->host);
  else
    td_set_error (error, TD_ERROR_IO,
                  "%s cannot be reached: %s. Check the network and \"ssh %s\"; jobs there go on",
                  shell->host, *why ? why : "the connection was closed", shell->host);
}

/* ── Running ── */

void
td_shell_result_clear (TdShellResult *result)
{
  g_clear_pointer (&result->out, g_free);
  g_clear_pointer (&result->error, g_free);
}

/* The words become the positional parameters. A function is read whole before it runs, so that no
   command of the script can read the rest of the script as its input. */
static char *
shell_input (const TdShell *shell, const char *script, const char *const *words)
{
  GString *text = g_string_new ("set --");

  for (guint i = 0; words && words[i]; i++) {
    g_autofree char *quoted = g_shell_quote (words[i]);
    g_string_append_printf (text, " %s", quoted);
  }
  g_string_append (text, "\ntomodesk_script () {\n");
  if (shell->prelude)
    g_string_append_printf (text, "{ :\n%s\n} >/dev/null 2>&1\n", shell->prelude);
  g_string_append_printf (text, "%s\n}\ntomodesk_script \"$@\" </dev/null\nexit $?\n", script);
  return g_string_free (text, FALSE);
}

/* A file without a name that holds @text. -1: there is no memory for it. */
static int
shell_memory_file (const char *text)
{
  const int file = memfd_create ("tomodesk", MFD_CLOEXEC);
  const gsize n = strlen (text);

  for (gsize done = 0; file >= 0 && done < n;) {
    const gssize step = write (file, text + done, n - done);
    if (step < 0 && errno == EINTR)
      continue;
    if (step < 0) {
      close (file);
      return -1;
    }
    done += (gsize) step;
  }
  if (file >= 0)
    lseek (file, 0, SEEK_SET);
  return file;
}

static char *
shell_read_back (int file)
{
  GString *text = g_string_new (NULL);
  char block[4096];

  lseek (file, 0, SEEK_SET);
  for (gssize n; (n = read (file, block, sizeof block)) > 0;)
    g_string_append_len (text, block, n);
  g_strchomp (text->str);
  char *valid = g_utf8_make_valid (text->str, -1);
  g_string_free (text, TRUE);
  return valid;
}

/* One child, with a loop of its own, so that any thread can wait for it for a limited time. */
typedef struct {
  char **words;
  const char *input; /* of the child, which gets none else */
  guint limit_s;
  GSubprocess *process;
  GBytes *out;
  GError *error;
  gboolean ended, late;
  TdShellProgress progress; /* NULL: standard output is kept */
  gpointer user;
} Running;

static void
shell_on_output (GObject *source, GAsyncResult *result, gpointer user)
{
  Running *running = user;

  g_subprocess_communicate_finish (G_SUBPROCESS (source), result, &running->out, NULL,
                                   &running->error);
  running->ended = TRUE;
}

static gboolean
shell_on_limit (gpointer user)
{
  Running *running = user;

  running->late = TRUE;
  g_subprocess_force_exit (running->process);
  return G_SOURCE_REMOVE;
}

static void
shell_on_wait (GObject *source, GAsyncResult *result, gpointer user)
{
  Running *running = user;

  g_subprocess_wait_finish (G_SUBPROCESS (source), result, &running->error);
  running->ended = TRUE;
}

/* rsync's "  1,234  45%  10.00MB/s    0:00:10" lines end in carriage returns. */
static gboolean
shell_on_progress (GObject *stream, gpointer user)
{
  Running *running = user;
  char block[1024];
  const gssize n = g_pollable_input_stream_read_nonblocking (G_POLLABLE_INPUT_STREAM (stream),
                                                             block, sizeof block - 1, NULL, NULL);

  if (n <= 0)
    return n < 0 && !running->ended;
  block[n] = '\0';
  const char *sign = strrchr (block, '%');
  const char *digit = sign;
  while (digit && digit > block && g_ascii_isdigit (digit[-1]))
    digit--;
  if (digit && digit < sign)
    running->progress (g_ascii_strtod (digit, NULL) / 100, running->user);
  return G_SOURCE_CONTINUE;
}

static void
shell_wait (Running *running, GCancellable *cancellable)
{
  g_autoptr (GMainContext) context = g_main_context_new ();
  g_autoptr (GSource) limit = g_timeout_source_new_seconds (running->limit_s);
  g_autoptr (GSource) output = NULL;

  g_main_context_push_thread_default (context);
  g_source_set_callback (limit, shell_on_limit, running, NULL);
  g_source_attach (limit, context);
  if (running->progress) {
    output = g_pollable_input_stream_create_source (
        G_POLLABLE_INPUT_STREAM (g_subprocess_get_stdout_pipe (running->process)), cancellable);
    g_source_set_callback (output, G_SOURCE_FUNC (shell_on_progress), running, NULL);
    g_source_attach (output, context);
    g_subprocess_wait_async (running->process, cancellable, shell_on_wait, running);
  } else {
    g_subprocess_communicate_async (running->process, NULL, cancellable, shell_on_output, running);
  }
  while (!running->ended)
    g_main_context_iteration (context, TRUE);
  g_source_destroy (limit);
  if (output)
    g_source_destroy (output);
  if (running->error) {
    g_subprocess_force_exit (running->process);
    g_subprocess_wait (running->process, NULL, NULL);
  }
  g_main_context_pop_thread_default (context);
}

static gboolean
shell_spawn (const TdShell *shell, Running *running, TdShellResult *result,
             GCancellable *cancellable, GError **error)
{
  g_autoptr (GSubprocessLauncher) launcher
      = g_subprocess_launcher_new (G_SUBPROCESS_FLAGS_STDOUT_PIPE);
  const int in = shell_memory_file (running->input), err = shell_memory_file ("");
  const int err_copy = err < 0 ? -1 : fcntl (err, F_DUPFD_CLOEXEC, 3);

  if (in < 0 || err_copy < 0) {
    td_set_error (error, TD_ERROR_IO, "no memory is left to run \"%s\": %s", running->words[0],
                  g_strerror (errno));
    if (in >= 0)
      close (in);
    if (err >= 0)
      close (err);
    return FALSE;
  }
  /* A file and no pipe: the connection that ssh leaves behind may keep standard error open. */
  g_subprocess_launcher_take_stdin_fd (launcher, in);
  g_subprocess_launcher_take_stderr_fd (launcher, err_copy);
  running->process = g_subprocess_launcher_spawnv (launcher, (const char *const *) running->words,
                                                   &running->error);
  if (running->process)
    shell_wait (running, cancellable);
  result->error = shell_read_back (err);
  close (err);
  if (running->error) {
    if (!g_error_matches (running->error, G_IO_ERROR, G_IO_ERROR_CANCELLED))
      td_prefix_error (&running->error, "%s cannot be run: ", running->words[0]);
    g_propagate_error (error, g_steal_pointer (&running->error));
  } else if (running->late) {
    td_set_error (error, TD_ERROR_IO,
                  "%s did not answer within %u s: its file system or network may hang; jobs there "
                  "go on",
                  td_shell_name (shell), running->limit_s);
  } else {
    result->status = g_subprocess_get_if_exited (running->process)
                         ? g_subprocess_get_exit_status (running->process)
                         : SSH_FAILED;
    g_clear_object (&running->process);
    return TRUE;
  }
  g_clear_object (&running->process);
  return FALSE;
}

gboolean
td_shell_run (TdShell *shell, const char *script, const char *const *words, guint limit_s,
              TdShellResult *result, GCancellable *cancellable, GError **error)
{
  g_autoptr (GPtrArray) argv = g_ptr_array_new_with_free_func (g_free);
  g_autofree char *input = shell_input (shell, script, words);
  Running running = { .input = input, .limit_s = limit_s };

  *result = (TdShellResult) { 0 };
  if (shell->host) {
    shell_add_ssh_words (shell, argv);
    g_ptr_array_add (argv, g_strdup ("--"));
    g_ptr_array_add (argv, g_strdup (shell->host));
  }
  g_ptr_array_add (argv, g_strdup ("sh"));
  g_ptr_array_add (argv, g_strdup ("-s"));
  g_ptr_array_add (argv, NULL);
  running.words = (char **) argv->pdata;
  const gboolean ran = shell_spawn (shell, &running, result, cancellable, error);
  if (ran && running.out) {
    const char *bytes = g_bytes_get_data (running.out, &result->out_bytes);
    result->out = g_malloc (result->out_bytes + 1);
    if (result->out_bytes)
      memcpy (result->out, bytes, result->out_bytes);
    result->out[result->out_bytes] = '\0';
  }
  g_clear_pointer (&running.out, g_bytes_unref);
  if (ran && shell->host && result->status == SSH_FAILED) {
    shell_set_error (shell, result->error, error);
    td_shell_result_clear (result);
    return FALSE;
  }
  if (!ran)
    td_shell_result_clear (result);
  return ran;
}

gboolean
td_shell_do (TdShell *shell, const char *script, const char *const *words, char **out,
             GCancellable *cancellable, GError **error)
{
  g_auto (TdShellResult) result = { 0 };

  if (!td_shell_run (shell, script, words, DO_LIMIT_S, &result, cancellable, error))
    return FALSE;
  if (result.status != 0) {
    const char *last = strrchr (result.error, '\n');
    td_set_error (error, TD_ERROR_IO, "%s: %s", td_shell_name (shell),
                  *result.error ? (last ? last + 1 : result.error) : "a command failed");
    return FALSE;
  }
  if (out)
    *out = g_steal_pointer (&result.out);
  return TRUE;
}

/* ── Copying ── */

/* rsync splits the command at spaces, and takes single quotes. */
static char *
shell_rsync_command (const TdShell *shell)
{
  g_autoptr (GPtrArray) words = g_ptr_array_new_with_free_func (g_free);
  GString *text = g_string_new (NULL);

  shell_add_ssh_words (shell, words);
  for (guint i = 0; i < words->len; i++)
    g_string_append_printf (text, "%s'%s'", i ? " " : "", (const char *) words->pdata[i]);
  return g_string_free (text, FALSE);
}

gboolean
td_shell_copy (TdShell *shell, const char *const *from, const char *to, const TdShellCopy *copy,
               GCancellable *cancellable, GError **error)
{
  g_autoptr (GPtrArray) argv = g_ptr_array_new_with_free_func (g_free);
  g_auto (TdShellResult) result = { 0 };
  g_autofree char *command = shell->host ? shell_rsync_command (shell) : NULL;
  Running running
      = { .input = "", .limit_s = COPY_LIMIT_S, .progress = copy->progress, .user = copy->user };

  if (shell->config && strchr (shell->config, '\'')) {
    td_set_error (error, TD_ERROR_UNSUPPORTED,
                  "rsync cannot use \"%s\": no apostrophe may be in the name of ssh's file",
                  shell->config);
    return FALSE;
  }
  g_ptr_array_add (argv, g_strdup ("rsync"));
  /* -s: names reach the other side as they are, past its shell. */
  g_ptr_array_add (argv, g_strdup ("-as"));
  if (copy->relative)
    g_ptr_array_add (argv, g_strdup ("--relative"));
  g_ptr_array_add (argv, g_strdup ("--no-inc-recursive"));
  g_ptr_array_add (argv, g_strdup ("--info=progress2"));
  if (command) {
    g_ptr_array_add (argv, g_strdup ("-e"));
    g_ptr_array_add (argv, g_strdup (command));
  }
  g_ptr_array_add (argv, g_strdup ("--"));
  for (guint i = 0; from[i]; i++)
    g_ptr_array_add (argv, g_strdup (from[i]));
  g_ptr_array_add (argv, g_strdup (to));
  g_ptr_array_add (argv, NULL);
  running.words = (char **) argv->pdata;
  if (!shell_spawn (shell, &running, &result, cancellable, error))
    return FALSE;
  g_clear_pointer (&running.out, g_bytes_unref);
  if (result.status == 0)
    return TRUE;
  const char *line = strchr (result.error, '\n');
  g_autofree char *first
      = line ? g_strndup (result.error, line - result.error) : g_strdup (result.error);
  td_set_error (error, TD_ERROR_IO,
                "the files could not be copied to or from %s: %s. What was copied is kept, and "
                "another try goes on from there",
                td_shell_name (shell), first);
  return FALSE;
}
