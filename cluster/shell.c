/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "shell.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "dataset/message.h"

#define SSH_FAILED 255  /* ssh's own status: no connection */
#define SOCKET_EXTRA 20 /* what ssh adds to the socket's name while it makes it */
#define DO_LIMIT_S 60   /* a host that answers at all answers in a second or two */
#define POLL_MS 100
#define COPY_LIMIT_S 86400 /* files: as long as they take */

struct TdShell {
  char *host, *config, *prelude;
  char *socket; /* ControlPath */

  /* A shell on the host that waits for scripts: the user's login files are run once, and what they
     print is in nobody's way. */
  GMutex lock;
  GSubprocess *session; /* NULL: none yet, or its connection is gone */
  int line;             /* its input and output */
  int complaints;       /* its standard error, a file without a name */
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
shell_add_ssh_words (const TdShell *shell, GStrvBuilder *words)
{
  static const char *const options[]
      = { "BatchMode=yes", "ConnectTimeout=8", "ServerAliveInterval=3", "ServerAliveCountMax=2",
          /* Of the user's configuration what is for a terminal: a command of its own, and ports. */
          "RemoteCommand=none", "ClearAllForwardings=yes" };

  g_strv_builder_add (words, "ssh");
  if (shell->config)
    g_strv_builder_add_many (words, "-F", shell->config, NULL);
  g_strv_builder_add (words, "-T");
  for (guint i = 0; i < G_N_ELEMENTS (options); i++)
    g_strv_builder_add_many (words, "-o", options[i], NULL);
  if (shell->socket) {
    g_autofree char *path = g_strdup_printf ("-oControlPath=%s", shell->socket);
    g_strv_builder_add_many (words, "-oControlMaster=auto", "-oControlPersist=60", path, NULL);
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
    g_mutex_init (&shell->lock);
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
                  "%s cannot be reached: %p. Check the network and \"ssh %s\"; jobs there go on",
                  shell->host, td_message_quoted (why, N_ ("the connection was closed")),
                  shell->host);
}

static void
shell_set_late (const TdShell *shell, guint limit_s, GError **error)
{
  td_set_error (error, TD_ERROR_IO,
                "%s did not answer within %u s: its file system or network may hang; jobs there go "
                "on",
                td_shell_name (shell), limit_s);
}

/* ── Running ── */

void
td_shell_result_clear (TdShellResult *result)
{
  g_clear_pointer (&result->out, g_free);
  g_clear_pointer (&result->error, g_free);
}

/* The words become the positional parameters, and the script a function. A function is read whole
   before it runs, so that no command of the script can read the rest of the script as its input. */
static char *
shell_function (const TdShell *shell, const char *script, const char *const *words)
{
  GString *text = g_string_new ("set --");

  for (guint i = 0; words && words[i]; i++) {
    g_autofree char *quoted = g_shell_quote (words[i]);
    g_string_append_printf (text, " %s", quoted);
  }
  g_string_append (text, "\ntomodesk_script () {\n");
  if (shell->prelude)
    g_string_append_printf (text, "{ :\n%s\n} >/dev/null 2>&1\n", shell->prelude);
  g_string_append_printf (text, "%s\n}\n", script);
  return g_string_free (text, FALSE);
}

static char *
shell_input (const TdShell *shell, const char *script, const char *const *words)
{
  g_autofree char *function = shell_function (shell, script, words);

  /* What a script's program ended with is not ssh's own word. */
  return g_strconcat (
      function,
      "( tomodesk_script \"$@\" ) </dev/null\ntomodesk_status=$?\n"
      "[ $tomodesk_status != " G_STRINGIFY (SSH_FAILED) " ] || tomodesk_status=254\n"
                                                        "exit $tomodesk_status\n",
      NULL);
}

/* A shell that reads its script, here or there. */
static char **
shell_command (const TdShell *shell)
{
  g_autoptr (GStrvBuilder) words = g_strv_builder_new ();

  if (shell->host) {
    shell_add_ssh_words (shell, words);
    g_strv_builder_add_many (words, "--", shell->host, NULL);
  }
  g_strv_builder_add_many (words, "sh", "-s", NULL);
  return g_strv_builder_end (words);
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

/* With a '\0' behind it. (transfer full) */
static char *
shell_text_of (GBytes *bytes, gsize *n)
{
  const char *data = bytes ? g_bytes_get_data (bytes, n) : NULL;
  char *text = g_malloc ((data ? *n : 0) + 1);

  if (!data)
    *n = 0;
  if (*n)
    memcpy (text, data, *n);
  text[*n] = '\0';
  return text;
}

/* One child, with a loop of its own, so that any thread can wait for it for a limited time. */
typedef struct {
  char **words;
  const char *input; /* of the child, which gets none else */
  guint limit_s;
  GSubprocess *process;
  GBytes *out;
  GError *error;
  GCancellable *stop; /* cancelled by whoever waits, and where it takes too long */
  gboolean ended, late;
  TdShellProgress progress; /* NULL: standard output is kept */
  gpointer user;
} Running;

static void
shell_on_end (GObject *source, GAsyncResult *result, gpointer user)
{
  Running *running = user;

  if (running->progress)
    g_subprocess_wait_finish (G_SUBPROCESS (source), result, &running->error);
  else
    g_subprocess_communicate_finish (G_SUBPROCESS (source), result, &running->out, NULL,
                                     &running->error);
  running->ended = TRUE;
}

static gboolean
shell_on_limit (gpointer user)
{
  Running *running = user;

  running->late = TRUE;
  g_cancellable_cancel (running->stop);
  return G_SOURCE_REMOVE;
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
shell_on_cancelled (GCancellable *cancellable, gpointer stop)
{
  g_cancellable_cancel (stop);
}

/* What a child has started may keep standard output open after its end: nobody waits for that. */
static void
shell_wait (Running *running, GCancellable *cancellable)
{
  g_autoptr (GMainContext) context = g_main_context_new ();
  /* A source of whole seconds may come a quarter of one early. */
  g_autoptr (GSource) limit = g_timeout_source_new (1000 * running->limit_s);
  g_autoptr (GSource) output = NULL;
  g_autoptr (GCancellable) stop = g_cancellable_new ();
  const gulong linked
      = cancellable
            ? g_cancellable_connect (cancellable, G_CALLBACK (shell_on_cancelled), stop, NULL)
            : 0;

  running->stop = stop;
  g_main_context_push_thread_default (context);
  g_source_set_callback (limit, shell_on_limit, running, NULL);
  g_source_attach (limit, context);
  if (running->progress) {
    output = g_pollable_input_stream_create_source (
        G_POLLABLE_INPUT_STREAM (g_subprocess_get_stdout_pipe (running->process)), stop);
    g_source_set_callback (output, G_SOURCE_FUNC (shell_on_progress), running, NULL);
    g_source_attach (output, context);
    g_subprocess_wait_async (running->process, stop, shell_on_end, running);
  } else {
    g_subprocess_communicate_async (running->process, NULL, stop, shell_on_end, running);
  }
  while (!running->ended)
    g_main_context_iteration (context, TRUE);
  g_cancellable_disconnect (cancellable, linked);
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
  if (running->late) {
    g_clear_error (&running->error);
    shell_set_late (shell, running->limit_s, error);
  } else if (running->error) {
    if (!g_error_matches (running->error, G_IO_ERROR, G_IO_ERROR_CANCELLED))
      td_prefix_error (&running->error, "%s cannot be run: ", running->words[0]);
    g_propagate_error (error, g_steal_pointer (&running->error));
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

/* A shell of its own for one script. */
static gboolean
shell_run_alone (TdShell *shell, const char *input, guint limit_s, TdShellResult *result,
                 GCancellable *cancellable, GError **error)
{
  g_auto (GStrv) argv = shell_command (shell);
  Running running = { .words = argv, .input = input, .limit_s = limit_s };

  if (!shell_spawn (shell, &running, result, cancellable, error)) {
    td_shell_result_clear (result);
    return FALSE;
  }
  result->out = shell_text_of (running.out, &result->out_bytes);
  g_clear_pointer (&running.out, g_bytes_unref);
  if (!shell->host || result->status != SSH_FAILED)
    return TRUE;
  shell_set_error (shell, result->error, error);
  td_shell_result_clear (result);
  return FALSE;
}

/* ── The shell that waits ── */

/* Between a script's output and what follows it. No file of a job has it by chance. */
#define MARK "tomodesk-5d1f0c4e8a7b4c39"

/* The script runs in a shell of its own, so that it leaves nothing behind. Once all was said no
   program runs that could keep a line open whose shell has ended. */
static char *
shell_session_input (const TdShell *shell, const char *script, const char *const *words)
{
  g_autofree char *function = shell_function (shell, script, words);

  return g_strdup_printf ("{\n%s( tomodesk_script \"$@\" ) </dev/null 2>\"$tomodesk_said\"\n"
                          "set -- $? $(wc -c < \"$tomodesk_said\")\n"
                          "printf '\\n" MARK " %%d %%d\\n' \"$1\" \"$2\"\n"
                          "[ \"$2\" = 0 ] || cat \"$tomodesk_said\"\n}\n",
                          function);
}

static void
shell_session_end (TdShell *shell)
{
  if (!shell->session)
    return;
  g_subprocess_force_exit (shell->session);
  g_subprocess_wait (shell->session, NULL, NULL);
  g_clear_object (&shell->session);
  close (shell->line);
  close (shell->complaints);
}

static gboolean
shell_session_is_there (const TdShell *shell)
{
  char byte;
  const gssize n = shell->session ? recv (shell->line, &byte, 1, MSG_PEEK | MSG_DONTWAIT) : 0;

  return n > 0 || (n < 0 && errno == EAGAIN); /* 0 leaves an older errno: it has gone */
}

/* The connection is gone: ssh's words say why. */
static gboolean
shell_session_fail (TdShell *shell, GError **error)
{
  g_subprocess_wait (shell->session, NULL, NULL);
  g_autofree char *words = shell_read_back (shell->complaints);
  shell_set_error (shell, words, error);
  shell_session_end (shell);
  return FALSE;
}

/* One exchange with the shell: until when, and what came. */
typedef struct {
  gint64 deadline;
  guint limit_s;
  GCancellable *cancellable;
  GString *bytes;
} Exchange;

static gboolean
shell_session_read (TdShell *shell, Exchange *exchange, GError **error)
{
  char block[16384];
  struct pollfd ready = { .fd = shell->line, .events = POLLIN };

  for (;;) {
    if (g_cancellable_set_error_if_cancelled (exchange->cancellable, error)) {
      shell_session_end (shell);
      return FALSE;
    }
    if (g_get_monotonic_time () > exchange->deadline) {
      shell_set_late (shell, exchange->limit_s, error);
      shell_session_end (shell);
      return FALSE;
    }
    if (poll (&ready, 1, POLL_MS) <= 0)
      continue;
    const gssize n = recv (shell->line, block, sizeof block, 0);
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      return shell_session_fail (shell, error);
    g_string_append_len (exchange->bytes, block, n);
    return TRUE;
  }
}

/* Writing waits for the other side, too, but scripts are short: the socket takes them at once. */
static gboolean
shell_session_write (TdShell *shell, const char *text, GError **error)
{
  const gsize n = strlen (text);

  for (gsize done = 0; done < n;) {
    const gssize step = send (shell->line, text + done, n - done, MSG_NOSIGNAL);
    if (step < 0 && errno == EINTR)
      continue;
    if (step < 0)
      return shell_session_fail (shell, error);
    done += (gsize) step;
  }
  return TRUE;
}

/* Reads until @words and the line that they begin are there; their place. -1 with @error. */
static gssize
shell_session_read_to (TdShell *shell, const char *words, Exchange *exchange, GError **error)
{
  const gsize n = strlen (words);
  gsize from = 0;

  for (;;) {
    const GString *bytes = exchange->bytes;
    const char *at
        = from < bytes->len ? memmem (bytes->str + from, bytes->len - from, words, n) : NULL;
    if (at && memchr (at + n, '\n', bytes->str + bytes->len - at - n))
      return at - bytes->str;
    if (!at)
      from = bytes->len > n ? bytes->len - n : 0;
    if (!shell_session_read (shell, exchange, error))
      return -1;
  }
}

static gboolean
shell_session_begin (TdShell *shell, Exchange *exchange, GError **error)
{
  static const char greeting[]
      = "tomodesk_said=$(mktemp 2>/dev/null) || tomodesk_said=/dev/null\n"
        "trap '[ \"$tomodesk_said\" = /dev/null ] || rm -f \"$tomodesk_said\"' EXIT\n"
        "trap 'exit 1' HUP TERM INT\n"
        "printf '\\n" MARK " ready\\n'\n";
  g_auto (GStrv) argv = shell_command (shell);
  g_autoptr (GSubprocessLauncher) launcher = g_subprocess_launcher_new (G_SUBPROCESS_FLAGS_NONE);
  g_autoptr (GError) problem = NULL;
  int ends[2];

  if (socketpair (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return td_set_error (error, TD_ERROR_IO, "%s cannot be reached: %s", shell->host,
                         g_strerror (errno));
  shell->complaints = shell_memory_file ("");
  g_subprocess_launcher_take_stdin_fd (launcher, ends[1]);
  g_subprocess_launcher_take_stdout_fd (launcher, fcntl (ends[1], F_DUPFD_CLOEXEC, 3));
  g_subprocess_launcher_take_stderr_fd (launcher, fcntl (shell->complaints, F_DUPFD_CLOEXEC, 3));
  shell->session = g_subprocess_launcher_spawnv (launcher, (const char *const *) argv, &problem);
  g_subprocess_launcher_close (launcher);
  if (!shell->session) {
    td_set_error (error, TD_ERROR_IO, "%s cannot be run: %s", argv[0], problem->message);
    close (ends[0]);
    close (shell->complaints);
    return FALSE;
  }
  shell->line = ends[0];
  return shell_session_write (shell, greeting, error)
         && shell_session_read_to (shell, "\n" MARK " ready", exchange, error) >= 0;
}

/* "MARK STATUS BYTES", and then so many bytes of standard error. */
static gboolean
shell_session_take (TdShell *shell, Exchange *exchange, TdShellResult *result, GError **error)
{
  const gssize at = shell_session_read_to (shell, "\n" MARK " ", exchange, error);
  guint64 bytes = 0;

  if (at < 0)
    return FALSE;
  const char *numbers = exchange->bytes->str + at + strlen ("\n" MARK " ");
  char *rest;
  result->status = (int) g_ascii_strtoll (numbers, &rest, 10);
  bytes = g_ascii_strtoull (rest, &rest, 10);
  const gsize begin = (gsize) (rest + 1 - exchange->bytes->str);
  while (exchange->bytes->len < begin + bytes)
    if (!shell_session_read (shell, exchange, error))
      return FALSE;
  g_autoptr (GBytes) out = g_bytes_new (exchange->bytes->str, (gsize) at);
  result->out = shell_text_of (out, &result->out_bytes);
  result->error = g_utf8_make_valid (exchange->bytes->str + begin, (gssize) bytes);
  g_strchomp (result->error);
  return TRUE;
}

static gboolean
shell_run_in_session (TdShell *shell, const char *input, guint limit_s, TdShellResult *result,
                      GCancellable *cancellable, GError **error)
{
  g_autoptr (GString) bytes = g_string_new (NULL);
  Exchange exchange
      = { g_get_monotonic_time () + limit_s * G_USEC_PER_SEC, limit_s, cancellable, bytes };

  g_mutex_lock (&shell->lock);
  if (!shell_session_is_there (shell))
    shell_session_end (shell);
  gboolean ran = shell->session || shell_session_begin (shell, &exchange, error);
  if (ran) {
    g_string_truncate (bytes, 0);
    ran = shell_session_write (shell, input, error)
          && shell_session_take (shell, &exchange, result, error);
  }
  g_mutex_unlock (&shell->lock);
  return ran;
}

gboolean
td_shell_run (TdShell *shell, const char *script, const char *const *words, guint limit_s,
              TdShellResult *result, GCancellable *cancellable, GError **error)
{
  /* What may take long would hold up all others. */
  const gboolean waits = shell->host && limit_s <= DO_LIMIT_S;
  g_autofree char *input
      = waits ? shell_session_input (shell, script, words) : shell_input (shell, script, words);

  *result = (TdShellResult) { 0 };
  return (waits ? shell_run_in_session : shell_run_alone) (shell, input, limit_s, result,
                                                           cancellable, error);
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
    return td_set_error (
        error, TD_ERROR_IO, "%s: %p", td_shell_name (shell),
        td_message_quoted (last ? last + 1 : result.error, N_ ("a command failed")));
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
  g_autoptr (GStrvBuilder) builder = g_strv_builder_new ();

  shell_add_ssh_words (shell, builder);
  g_auto (GStrv) words = g_strv_builder_end (builder);
  g_autofree char *text = g_strjoinv ("' '", words);
  return g_strconcat ("'", text, "'", NULL);
}

gboolean
td_shell_copy (TdShell *shell, const char *const *from, const char *to, const TdShellCopy *copy,
               GCancellable *cancellable, GError **error)
{
  g_autoptr (GStrvBuilder) words = g_strv_builder_new ();
  g_auto (TdShellResult) result = { 0 };
  g_autofree char *command = shell->host ? shell_rsync_command (shell) : NULL;
  Running running
      = { .input = "", .limit_s = COPY_LIMIT_S, .progress = copy->progress, .user = copy->user };

  if (shell->config && strchr (shell->config, '\''))
    return td_set_error (error, TD_ERROR_UNSUPPORTED,
                         "rsync cannot use \"%s\": no apostrophe may be in the name of ssh's file",
                         shell->config);
  /* -s: names reach the other side as they are, past its shell. --inplace: the next try has the
     beginning of a file that was cut off. --copy-links: what a link names here is not there. */
  static const char *const options[]
      = { "rsync",        "-as",       "--inplace", "--no-inc-recursive", "--info=progress2",
          "--copy-links", "--relative" }; /* the last two: to the host */
  for (guint i = 0; i < G_N_ELEMENTS (options) - (copy->relative ? 0 : 2); i++)
    g_strv_builder_add (words, options[i]);
  if (command)
    g_strv_builder_add_many (words, "-e", command, NULL);
  g_strv_builder_add (words, "--");
  g_strv_builder_addv (words, (const char **) from);
  g_strv_builder_add (words, to);
  g_auto (GStrv) argv = g_strv_builder_end (words);
  running.words = argv;
  if (!shell_spawn (shell, &running, &result, cancellable, error))
    return FALSE;
  g_clear_pointer (&running.out, g_bytes_unref);
  if (result.status == 0)
    return TRUE;
  const char *line = strchr (result.error, '\n');
  g_autofree char *first
      = line ? g_strndup (result.error, line - result.error) : g_strdup (result.error);
  return td_set_error (
      error, TD_ERROR_IO,
      copy->relative
          ? N_ ("the files could not be copied to %s: %s. Nothing is left there; submit the job "
                "again")
          : N_ ("the files could not be copied from %s: %s. What was copied is kept, and another "
                "try goes on from there"),
      td_shell_name (shell), first);
}
