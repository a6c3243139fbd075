/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "host.h"

#include "dataset/error.h"
#include "dataset/unit.h"

#include <sched.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* ── Instruction sets and threads ── */

static TdIsa
detect_isa (void)
{
  TdIsa isa = TD_ISA_PLAIN;
  const char *wish = g_getenv ("TOMODESK_ISA");

#if defined(__x86_64__)
  __builtin_cpu_init ();
  if (__builtin_cpu_supports ("avx2") && __builtin_cpu_supports ("fma"))
    isa = TD_ISA_AVX2;
  if (isa == TD_ISA_AVX2 && __builtin_cpu_supports ("avx512f")
      && __builtin_cpu_supports ("avx512bw") && __builtin_cpu_supports ("avx512vl")
      && __builtin_cpu_supports ("avx512dq"))
    isa = TD_ISA_AVX512;
#endif
  if (g_strcmp0 (wish, "plain") == 0)
    isa = TD_ISA_PLAIN;
  else if (g_strcmp0 (wish, "avx2") == 0)
    isa = MIN (isa, TD_ISA_AVX2);
  return isa;
}

TdIsa
td_host_isa (void)
{
  static gsize once;

  if (g_once_init_enter (&once))
    g_once_init_leave (&once, 1 + detect_isa ());
  return once - 1;
}

/* ── Control groups ── */

/* Where a version of them lies, and which line of /proc/self/cgroup is about it. */
typedef struct {
  const char *mount, *controller; /* controller "": version 2 */
  const char *max, *used, *cache; /* files, and the line of memory.stat */
} Groups;

static const Groups groups_of_memory[] = {
  { "/sys/fs/cgroup", "", "memory.max", "memory.current", "file " },
  { "/sys/fs/cgroup/memory", "memory", "memory.limit_in_bytes", "memory.usage_in_bytes",
    "total_cache " },
};

/* The process's group, "/slurm/job_7" or "/"; NULL: it is in none. (transfer full) */
static char *
groups_own (const char *root, const char *controller)
{
  g_autofree char *path = g_strconcat (root, "/proc/self/cgroup", NULL), *text = NULL;

  if (!g_file_get_contents (path, &text, NULL, NULL))
    return NULL;
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
  for (guint i = 0; lines[i]; i++) {
    g_auto (GStrv) words = g_strsplit (lines[i], ":", 3); /* number, controllers, group */
    g_auto (GStrv) controllers = g_strv_length (words) == 3 ? g_strsplit (words[1], ",", -1) : NULL;
    if (controllers
        && (*controller ? g_strv_contains ((const char *const *) controllers, controller)
                        : !*words[1]))
      return g_strdup (words[2]);
  }
  return NULL;
}

/* The group that @group lies in; FALSE: that was the root. */
static gboolean
groups_up (char *group)
{
  char *end = strrchr (group, '/');

  if (!end)
    return FALSE;
  *end = '\0';
  return TRUE;
}

guint
td_host_group_processors (const char *root)
{
  g_autofree char *group = groups_own (root, "");
  guint cpus = 0;

  do {
    g_autofree char *path
        = g_strconcat (root, "/sys/fs/cgroup", group ? group : "", "/cpu.max", NULL);
    g_autofree char *text = NULL;
    char *end;
    if (!g_file_get_contents (path, &text, NULL, NULL))
      continue;
    const guint64 quota = g_ascii_strtoull (text, &end, 10);
    const guint64 period = g_ascii_strtoull (end, NULL, 10);
    const guint own = quota && period ? (guint) ((quota + period - 1) / period) : 0;
    cpus = cpus && own ? MIN (cpus, own) : MAX (cpus, own);
  } while (group && groups_up (group));
  return cpus;
}

static guint host_memory_sharers = 1, host_processor_sharers = 1;

void
td_host_share (guint memory, guint processors)
{
  host_memory_sharers = MAX (memory, 1);
  host_processor_sharers = MAX (processors, 1);
}

static guint
count_threads (void)
{
  const char *wish = g_getenv ("TOMODESK_THREADS");
  guint64 number;
  cpu_set_t set;
  guint cpus;

  if (wish && g_ascii_string_to_unsigned (wish, 10, 1, 1024, &number, NULL))
    return number;
  cpus = sched_getaffinity (0, sizeof set, &set) == 0 ? CPU_COUNT (&set) : g_get_num_processors ();
  guint quota = td_host_group_processors ("");
  return MAX (1, (quota ? MIN (cpus, quota) : cpus) / host_processor_sharers);
}

guint
td_host_threads (void)
{
  static gsize once;

  if (g_once_init_enter (&once))
    g_once_init_leave (&once, count_threads ());
  return once;
}

/* ── Priority ── */

#define BACKGROUND_NICE 5

static gboolean background; /* atomic */

void
td_host_set_background (void)
{
  g_atomic_int_set (&background, TRUE);
}

void
td_host_enter_background (void)
{
#ifdef __linux__ /* elsewhere this would be the whole process */
  if (g_atomic_int_get (&background))
    setpriority (PRIO_PROCESS, 0, BACKGROUND_NICE);
#endif
}

GThread *
td_thread_start (const char *name, GThreadFunc body, gpointer data, GError **error)
{
  g_autoptr (GError) reason = NULL;
  GThread *thread = g_thread_try_new (name, body, data, &reason);

  if (!thread)
    td_set_error (error, TD_ERROR_TOO_LARGE,
                  "The system gives this program no further thread (%s); close other programs, or "
                  "raise the limits on threads and address space (ulimit -u, -v)",
                  reason->message);
  return thread;
}

gpointer
td_host_malloc (guint64 bytes, GError **error)
{
  gpointer memory = g_try_malloc (MAX (bytes, 1));

  if (!memory) {
    g_autofree char *size = td_memory_text (bytes);
    td_set_error (error, TD_ERROR_TOO_LARGE,
                  "The system gives this program no %s of memory; close other programs, take a "
                  "smaller {region}, or bin the scan ({bin=2})",
                  size);
  }
  return memory;
}

/* ── The pool ── */

/* One td_parallel_for call, on its caller's stack. @busy and the list are under pool.lock. */
typedef struct Job {
  TdParallelBody body;
  gpointer user;
  guint count;
  guint next; /* atomic: the first index nobody took */
  guint busy; /* workers inside */
  struct Job *later;
} Job;

static struct {
  GMutex lock;
  GCond work, done;
  Job *jobs; /* that may have indices left, oldest first */
  gsize started;
} pool;

static __thread gboolean inside;

static void
take_indices (Job *job)
{
  for (guint i; (i = __atomic_fetch_add (&job->next, 1, __ATOMIC_RELAXED)) < job->count;)
    job->body (i, job->user);
}

static void
host_threads_unlist (Job *job)
{
  for (Job **at = &pool.jobs; *at; at = &(*at)->later)
    if (*at == job) {
      *at = job->later;
      return;
    }
}

static gpointer
host_threads_worker (gpointer unused)
{
  inside = TRUE;
  td_host_enter_background ();
  g_mutex_lock (&pool.lock);
  for (;;) {
    while (!pool.jobs)
      g_cond_wait (&pool.work, &pool.lock);
    Job *job = pool.jobs;
    job->busy++;
    g_mutex_unlock (&pool.lock);
    take_indices (job);
    g_mutex_lock (&pool.lock);
    host_threads_unlist (job);
    if (--job->busy == 0)
      g_cond_broadcast (&pool.done);
  }
  return NULL;
}

static void
start_workers (void)
{
  if (!g_once_init_enter (&pool.started))
    return;
  /* They wait for work until the process ends. */
  for (guint i = 1; i < td_host_threads (); i++) {
    GThread *thread = g_thread_try_new ("host-worker", host_threads_worker, NULL, NULL);
    if (!thread)
      break; /* the callers do the work with fewer helpers */
    g_thread_unref (thread);
  }
  g_once_init_leave (&pool.started, 1);
}

void
td_parallel_for (guint count, TdParallelBody body, gpointer user)
{
  Job job = { .body = body, .user = user, .count = count };

  if (count <= 1 || inside || td_host_threads () == 1) {
    for (guint i = 0; i < count; i++)
      body (i, user);
    return;
  }
  start_workers ();

  g_mutex_lock (&pool.lock);
  Job **end = &pool.jobs;
  while (*end)
    end = &(*end)->later;
  *end = &job;
  g_cond_broadcast (&pool.work);
  g_mutex_unlock (&pool.lock);

  inside = TRUE;
  take_indices (&job);
  inside = FALSE;

  g_mutex_lock (&pool.lock);
  host_threads_unlist (&job);
  while (job.busy)
    g_cond_wait (&pool.done, &pool.lock);
  g_mutex_unlock (&pool.lock);
}

/* ── Copying ── */

#define COPY_PIECE ((gsize) 1 << 20)

typedef struct {
  char *to;
  const char *from;
  gsize bytes;
} Copy;

static void
copy_piece (guint index, gpointer user)
{
  const Copy *copy = user;
  const gsize offset = index * COPY_PIECE;

  memcpy (copy->to + offset, copy->from + offset, MIN (COPY_PIECE, copy->bytes - offset));
}

void
td_host_copy (void *to, const void *from, gsize bytes)
{
  Copy copy = { to, from, bytes };

  td_parallel_for ((guint) ((bytes + COPY_PIECE - 1) / COPY_PIECE), copy_piece, &copy);
}

#define ADD_FLOATS (1u << 16)

typedef struct {
  float *to;
  const float *from;
  gsize n;
} Addition;

static void
add_piece (guint index, gpointer user)
{
  const Addition *addition = user;
  const gsize first = (gsize) index * ADD_FLOATS, end = MIN (first + ADD_FLOATS, addition->n);

  for (gsize i = first; i < end; i++)
    addition->to[i] += addition->from[i];
}

void
td_host_add (float *to, const float *from, gsize n)
{
  Addition addition = { to, from, n };

  td_parallel_for ((guint) ((n + ADD_FLOATS - 1) / ADD_FLOATS), add_piece, &addition);
}

/* ── Memory ── */

/* The number in a one-number file; G_MAXUINT64 for "max" or no such file. */
static guint64
number_in_file (const char *path)
{
  g_autofree char *text = NULL;

  if (!g_file_get_contents (path, &text, NULL, NULL) || !g_ascii_isdigit (text[0]))
    return G_MAXUINT64;
  return g_ascii_strtoull (text, NULL, 10);
}

/* The number after a word at the start of a line; @missing if there is none. */
static guint64
number_after (const char *path, const char *word, guint64 missing)
{
  g_autofree char *text = NULL;

  if (!g_file_get_contents (path, &text, NULL, NULL))
    return missing;
  for (const char *line = text; line; line = strchr (line, '\n'), line = line ? line + 1 : NULL)
    if (g_str_has_prefix (line, word))
      return g_ascii_strtoull (line + strlen (word), NULL, 10);
  return missing;
}

void
td_host_group_memory (const char *root, guint64 *limit, guint64 *available)
{
  *limit = *available = G_MAXUINT64;
  for (guint i = 0; i < G_N_ELEMENTS (groups_of_memory); i++) {
    const Groups *groups = &groups_of_memory[i];
    g_autofree char *group = groups_own (root, groups->controller);
    do {
      g_autofree char *folder = g_strconcat (root, groups->mount, group ? group : "", NULL);
      g_autofree char *max_file = g_build_filename (folder, groups->max, NULL);
      g_autofree char *used_file = g_build_filename (folder, groups->used, NULL);
      g_autofree char *stat_file = g_build_filename (folder, "memory.stat", NULL);
      const guint64 max = number_in_file (max_file), used = number_in_file (used_file);
      *limit = MIN (*limit, max);
      if (max == G_MAXUINT64 || used == G_MAXUINT64)
        continue;
      /* The file cache is given back when memory is asked for. */
      const guint64 cache = MIN (used, number_after (stat_file, groups->cache, 0));
      *available = MIN (*available, max - MIN (max, used - cache));
    } while (group && groups_up (group));
  }
}

guint64
td_host_memory_bytes (void)
{
  const guint64 pages = (guint64) sysconf (_SC_PHYS_PAGES) * sysconf (_SC_PAGESIZE);
  guint64 limit, available;

  td_host_group_memory ("", &limit, &available);
  return MIN (number_after ("/proc/meminfo", "MemTotal:", pages >> 10) << 10, limit);
}

guint64
td_host_memory_available (void)
{
  const guint64 free_kib = number_after ("/proc/meminfo", "MemAvailable:", 2 << 20);
  guint64 limit, available;

  td_host_group_memory ("", &limit, &available);
  return MIN (free_kib << 10, available) / host_memory_sharers;
}
