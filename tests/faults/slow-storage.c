/* SPDX-License-Identifier: GPL-3.0-or-later */
/**
 * Preloaded into a program, this library makes a folder's storage as slow as one that is reached
 * through a network. Each request is answered late, and all share one line. The environment says
 * how slow:
 *
 *     SLOW_STORAGE=FOLDER  preads and pwrites of files opened in this folder are slow
 *     SLOW_RATE=100        megabytes (10^6 bytes) a second, of all requests together
 *     SLOW_LATENCY=20      milliseconds that a request waits, beside the others
 *     SLOW_GATE=FILE       once a megabyte was written, this file is made, and all further writes
 *                          wait until somebody removes it, though not for ever
 *     SLOW_UNTIL=FILE      nothing is read or written before this file is there, or as long
 *
 * At the end, standard error is told for how much of the time from the first request to the last
 * answer the line was busy. SLOW_TRACE=1 also tells of every pause of the line above 5 ms.
 */
#undef _FILE_OFFSET_BITS /* both open() and open64() are told apart here */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MOST_FILES 65536
#define BEFORE_GATE 1e6 /* bytes */
#define GATE_S 300      /* then whoever should have opened it is gone */

static const char *folder, *gate, *until;
static pthread_once_t gate_once = PTHREAD_ONCE_INIT;
static double rate = 100e6, latency = 20e-3;
static int tracing;
static atomic_char watched[MOST_FILES]; /* file descriptors opened in the folder */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static double line_free, first_request, busy; /* seconds; under the lock */
static double read_bytes, written_bytes;
static long requests;

static double
now (void)
{
  struct timespec time;

  clock_gettime (CLOCK_MONOTONIC, &time);
  return (double) time.tv_sec + time.tv_nsec * 1e-9;
}

__attribute__ ((constructor)) static void
slow_storage_begin (void)
{
  folder = getenv ("SLOW_STORAGE");
  gate = getenv ("SLOW_GATE");
  until = getenv ("SLOW_UNTIL");
  tracing = getenv ("SLOW_TRACE") != NULL;
  if (getenv ("SLOW_RATE"))
    rate = atof (getenv ("SLOW_RATE")) * 1e6;
  if (getenv ("SLOW_LATENCY"))
    latency = atof (getenv ("SLOW_LATENCY")) * 1e-3;
}

__attribute__ ((destructor)) static void
slow_storage_end (void)
{
  if (requests > 0)
    fprintf (stderr,
             "slow storage: busy for %.1f %% of %.2f s: %ld requests, %.0f MB read, %.0f MB "
             "written\n",
             100 * busy / (line_free - first_request), line_free - first_request, requests,
             read_bytes * 1e-6, written_bytes * 1e-6);
}

static void
slow_storage_pause (double seconds)
{
  const struct timespec pause
      = { (time_t) seconds, (long) ((seconds - (double) (time_t) seconds) * 1e9) };

  nanosleep (&pause, NULL);
}

static void
slow_storage_shut (void)
{
  close (creat (gate, 0600));
}

/* Returns when the line has moved the bytes. */
static void
slow_storage_wait (int file, size_t bytes, int writing)
{
  if (file < 0 || file >= MOST_FILES || !watched[file])
    return;
  for (const double asked = now (); until && access (until, F_OK) != 0 && now () - asked < GATE_S;)
    slow_storage_pause (5e-3);
  const double begun = now ();
  pthread_mutex_lock (&lock);
  double start = begun + latency;
  if (requests++ == 0)
    first_request = begun;
  if (start < line_free)
    start = line_free;
  else if (tracing && line_free > 0 && start - line_free > 5e-3)
    fprintf (stderr, "slow storage: the line waited for %.1f ms at %.3f s\n",
             (start - line_free) * 1e3, start - first_request);
  const double takes = (double) bytes / rate;
  line_free = start + takes;
  busy += takes;
  const int held = gate && writing && written_bytes >= BEFORE_GATE;
  *(writing ? &written_bytes : &read_bytes) += (double) bytes;
  const double end = line_free;
  pthread_mutex_unlock (&lock);
  const double left = end - now ();
  if (left > 0)
    slow_storage_pause (left);
  if (held)
    pthread_once (&gate_once, slow_storage_shut);
  while (held && access (gate, F_OK) == 0 && now () - end < GATE_S)
    slow_storage_pause (1e-3);
}

#define REAL(name)                                                                                 \
  static __typeof__ (&name) real;                                                                  \
  if (!real)                                                                                       \
  real = (__typeof__ (&name)) dlsym (RTLD_NEXT, #name)

/* Programs leave by this, without destructors. */
void
_exit (int status)
{
  REAL (_exit);
  slow_storage_end ();
  real (status);
  __builtin_unreachable ();
}

static int
slow_storage_watch (int file, const char *path)
{
  if (file >= 0 && file < MOST_FILES)
    watched[file] = folder && strncmp (path, folder, strlen (folder)) == 0;
  return file;
}

static int
slow_storage_mode (int flags, va_list more)
{
  return flags & (O_CREAT | O_TMPFILE) ? va_arg (more, int) : 0;
}

#define OPEN(name)                                                                                 \
  int name (const char *path, int flags, ...)                                                      \
  {                                                                                                \
    REAL (name);                                                                                   \
    va_list more;                                                                                  \
    va_start (more, flags);                                                                        \
    const int mode = slow_storage_mode (flags, more);                                              \
    va_end (more);                                                                                 \
    return slow_storage_watch (real (path, flags, mode), path);                                    \
  }
OPEN (open)
OPEN (open64)

ssize_t
pread (int file, void *to, size_t bytes, off_t at)
{
  REAL (pread);
  slow_storage_wait (file, bytes, 0);
  return real (file, to, bytes, at);
}

ssize_t
pread64 (int file, void *to, size_t bytes, off64_t at)
{
  REAL (pread64);
  slow_storage_wait (file, bytes, 0);
  return real (file, to, bytes, at);
}

ssize_t
pwrite (int file, const void *from, size_t bytes, off_t at)
{
  REAL (pwrite);
  slow_storage_wait (file, bytes, 1);
  return real (file, from, bytes, at);
}

ssize_t
pwrite64 (int file, const void *from, size_t bytes, off64_t at)
{
  REAL (pwrite64);
  slow_storage_wait (file, bytes, 1);
  return real (file, from, bytes, at);
}
