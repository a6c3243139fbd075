/* SPDX-License-Identifier: GPL-3.0-or-later */
/**
 * Preloaded into a program, this library counts the program's calls of the system, and makes one of
 * them fail, or all from one on. The environment says which:
 *
 *     FAIL_AT=KIND:N       the call number N (from 1) of a kind fails
 *     FAIL_AT=KIND:N+      that call and all after it fail
 *     FAIL_COUNTS=FILE     at the end, the number of calls of each kind goes to this file
 *     FAIL_INTERRUPTS=1    every other transfer is interrupted (EINTR) and must be tried again
 *     FAIL_UNDER=FOLDER    opens, reads, writes and names count in this folder only
 *     FAIL_TRACE=1         the failing call's stack goes to standard error
 *     FAIL_SEGV=99         a wrong address ends the program with this status, and with the next
 *                          one if it is libhdf5 that goes there; an overflow of the stack, on which
 *                          no handler can run, still ends it by a signal
 *     FAIL_FREE=BYTES      are free on the disk where "space" fails; else a block
 *     FAIL_PROCESSORS=8    the program sees so many processors, whatever there are
 *
 * The kinds are:
 *
 *     memory               pieces of 64 KiB or more, which grow with what is computed
 *     open, read, write    files
 *     sync                 to the disk
 *     space                that is free on the disk
 *     name                 renaming and removing
 *     thread, device       threads; calls of OpenCL
 */
#undef _FILE_OFFSET_BITS /* both open() and open64() are told apart here */
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <unistd.h>

#define LARGE (64u << 10)
#define MOST_FILES 4096

enum { MEMORY, OPEN, READ, WRITE, SYNC, SPACE, NAME, THREAD, DEVICE, N_KINDS };
static const char *const kind_names[N_KINDS]
    = { "memory", "open", "read", "write", "sync", "space", "name", "thread", "device" };

static atomic_long calls[N_KINDS];
static int failing_kind = -1;
static long failing_call;
static int failing_on, tracing; /* all calls from that one on; its stack is told */
static const char *folder;
static atomic_char watched[MOST_FILES]; /* file descriptors opened in the folder */

static int
fail_at (int kind)
{
  const long call = atomic_fetch_add (&calls[kind], 1) + 1;

  if (kind != failing_kind || call < failing_call || (call > failing_call && !failing_on))
    return 0;
  if (tracing && call == failing_call) {
    void *stack[40];
    backtrace_symbols_fd (stack, backtrace (stack, 40), 2);
  }
  return 1;
}

static int segv_status;

/* Who called first what is neither the C library's nor this one's. */
static int
fail_at_is_hdf5 (void *const *stack, int n)
{
  Dl_info own, libc, info;

  if (!dladdr (stack[0], &own) || !dladdr (dlsym (RTLD_NEXT, "malloc"), &libc))
    return 0;
  for (int i = 0; i < n; i++)
    if (dladdr (stack[i], &info) && info.dli_fbase != own.dli_fbase
        && info.dli_fbase != libc.dli_fbase)
      return info.dli_fname && strstr (info.dli_fname, "libhdf5") ? 1 : 0;
  return 0;
}

static void
fail_at_segv (int number)
{
  void *stack[40];

  (void) number;
  _exit (segv_status + fail_at_is_hdf5 (stack, backtrace (stack, 40)));
}

__attribute__ ((constructor)) static void
fail_at_begin (void)
{
  const char *segv = getenv ("FAIL_SEGV");
  const char *what = getenv ("FAIL_AT"), *colon = what ? strchr (what, ':') : NULL;

  if (segv) {
    segv_status = (int) strtol (segv, NULL, 10);
    signal (SIGSEGV, fail_at_segv);
  }
  folder = getenv ("FAIL_UNDER");
  tracing = getenv ("FAIL_TRACE") != NULL;
  if (tracing || segv) {
    void *stack[4];
    backtrace (stack, 4); /* loads what it needs before anything fails */
  }
  for (int i = 0; colon && i < N_KINDS; i++)
    if (strncmp (what, kind_names[i], (size_t) (colon - what)) == 0)
      failing_kind = i;
  if (!colon)
    return;
  failing_call = strtol (colon + 1, NULL, 10);
  failing_on = strchr (colon, '+') != NULL;
}

__attribute__ ((destructor)) static void
fail_at_end (void)
{
  const char *path = getenv ("FAIL_COUNTS");
  FILE *out = path ? fopen (path, "w") : NULL;

  for (int i = 0; out && i < N_KINDS; i++)
    fprintf (out, "%s %ld\n", kind_names[i], (long) calls[i]);
  if (out)
    fclose (out);
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
  fail_at_end ();
  real (status);
  __builtin_unreachable ();
}

/* ── Memory ── */

/* The dynamic linker itself allocates while a symbol is looked up: the C library's own names. */
void *__libc_malloc (size_t size);
void *__libc_calloc (size_t n, size_t size);
void *__libc_realloc (void *old, size_t size);
void *__libc_memalign (size_t alignment, size_t size);

/* libhdf5 1.10 follows the null pointer that it gets, and FFTW's plans end the process; what fails
   is what others ask for. The program asks whether there is room before it plans (host-fft.c). */
static int
is_of_library (void *caller)
{
  Dl_info info;

  if (!dladdr (caller, &info) || !info.dli_fname)
    return 0;
  return strstr (info.dli_fname, "libhdf5")
         || (strstr (info.dli_fname, "libfftw") && info.dli_sname
             && strstr (info.dli_sname, "malloc_plain"));
}

static int
no_memory (size_t size, void *caller)
{
  if (size < LARGE || is_of_library (caller) || !fail_at (MEMORY))
    return 0;
  errno = ENOMEM;
  return 1;
}

void *
malloc (size_t size)
{
  return no_memory (size, __builtin_return_address (0)) ? NULL : __libc_malloc (size);
}

void *
calloc (size_t n, size_t size)
{
  return no_memory (n * size, __builtin_return_address (0)) ? NULL : __libc_calloc (n, size);
}

void *
realloc (void *old, size_t size)
{
  return no_memory (size, __builtin_return_address (0)) ? NULL : __libc_realloc (old, size);
}

void *
aligned_alloc (size_t alignment, size_t size)
{
  return no_memory (size, __builtin_return_address (0)) ? NULL : __libc_memalign (alignment, size);
}

void *
memalign (size_t alignment, size_t size)
{
  return no_memory (size, __builtin_return_address (0)) ? NULL : __libc_memalign (alignment, size);
}

int
posix_memalign (void **out, size_t alignment, size_t size)
{
  if (no_memory (size, __builtin_return_address (0)))
    return ENOMEM;
  *out = __libc_memalign (alignment, size);
  return *out ? 0 : ENOMEM;
}

/* ── Files ── */

static int
in_folder (const char *path)
{
  /* Relative names are the scan's and the output's. */
  return path[0] != '/' || (folder && strncmp (path, folder, strlen (folder)) == 0);
}

static int
watches (int fd)
{
  return fd >= 0 && fd < MOST_FILES && watched[fd];
}

static int
opened (int fd)
{
  if (fd >= 0 && fd < MOST_FILES)
    watched[fd] = 1;
  return fd;
}

#define OPEN_BODY(name, call)                                                                      \
  mode_t mode = 0;                                                                                 \
  if (flags & (O_CREAT | __O_TMPFILE)) {                                                           \
    va_list more;                                                                                  \
    va_start (more, flags);                                                                        \
    mode = va_arg (more, mode_t);                                                                  \
    va_end (more);                                                                                 \
  }                                                                                                \
  REAL (name);                                                                                     \
  if (!in_folder (path))                                                                           \
    return call;                                                                                   \
  if (fail_at (OPEN)) {                                                                            \
    errno = EMFILE;                                                                                \
    return -1;                                                                                     \
  }                                                                                                \
  return opened (call)

int
open (const char *path, int flags, ...)
{
  OPEN_BODY (open, real (path, flags, mode));
}

int
open64 (const char *path, int flags, ...)
{
  OPEN_BODY (open64, real (path, flags, mode));
}

int
openat (int at, const char *path, int flags, ...)
{
  OPEN_BODY (openat, real (at, path, flags, mode));
}

int
close (int fd)
{
  REAL (close);
  if (fd >= 0 && fd < MOST_FILES)
    watched[fd] = 0;
  return real (fd);
}

/* A signal's handler ran before anything was transferred. */
static int
fail_at_interrupts (void)
{
  static atomic_long turn;

  return getenv ("FAIL_INTERRUPTS") && atomic_fetch_add (&turn, 1) % 2 == 0;
}

#define TRANSFER(type, name, kind, error, parameters, ...)                                         \
  type name parameters                                                                             \
  {                                                                                                \
    REAL (name);                                                                                   \
    const int watched_one = watches (fd);                                                          \
    if (watched_one && fail_at_interrupts ()) {                                                    \
      errno = EINTR;                                                                               \
      return -1;                                                                                   \
    }                                                                                              \
    if (watched_one && fail_at (kind)) {                                                           \
      errno = error;                                                                               \
      return -1;                                                                                   \
    }                                                                                              \
    return real (__VA_ARGS__);                                                                     \
  }

TRANSFER (ssize_t, read, READ, EIO, (int fd, void *to, size_t n), fd, to, n)
TRANSFER (ssize_t, pread, READ, EIO, (int fd, void *to, size_t n, off_t at), fd, to, n, at)
TRANSFER (ssize_t, pread64, READ, EIO, (int fd, void *to, size_t n, off_t at), fd, to, n, at)
TRANSFER (ssize_t, readv, READ, EIO, (int fd, const struct iovec *to, int n), fd, to, n)
TRANSFER (ssize_t, write, WRITE, ENOSPC, (int fd, const void *from, size_t n), fd, from, n)
TRANSFER (ssize_t, pwrite, WRITE, ENOSPC, (int fd, const void *from, size_t n, off_t at), fd, from,
          n, at)
TRANSFER (ssize_t, pwrite64, WRITE, ENOSPC, (int fd, const void *from, size_t n, off_t at), fd,
          from, n, at)
TRANSFER (ssize_t, writev, WRITE, ENOSPC, (int fd, const struct iovec *from, int n), fd, from, n)
TRANSFER (int, ftruncate, WRITE, ENOSPC, (int fd, off_t n), fd, n)
TRANSFER (int, ftruncate64, WRITE, ENOSPC, (int fd, off_t n), fd, n)
TRANSFER (int, fsync, SYNC, EIO, (int fd), fd)
TRANSFER (int, fdatasync, SYNC, EIO, (int fd), fd)
TRANSFER (int, syncfs, SYNC, EIO, (int fd), fd)

int
fallocate64 (int fd, int mode, off64_t at, off64_t n)
{
  REAL (fallocate64);
  if (watches (fd) && fail_at_interrupts ()) {
    errno = EINTR;
    return -1;
  }
  return real (fd, mode, at, n);
}

static unsigned long
fail_at_free (unsigned long block)
{
  const char *bytes = getenv ("FAIL_FREE");

  return bytes ? strtoul (bytes, NULL, 10) / block : 1;
}

/* The disk is all but full; both names, for sizes are of 64 bits. */
#define SPACE_OF(name, type)                                                                       \
  int name (const char *path, struct type *space)                                                  \
  {                                                                                                \
    REAL (name);                                                                                   \
    const int done = real (path, space);                                                           \
    if (done == 0 && in_folder (path) && fail_at (SPACE))                                          \
      space->f_bavail = fail_at_free (space->f_frsize);                                            \
    return done;                                                                                   \
  }

SPACE_OF (statvfs, statvfs)
SPACE_OF (statvfs64, statvfs64)

/* ── Processors ── */

static int
fail_at_processors (void)
{
  const char *wish = getenv ("FAIL_PROCESSORS");

  return wish ? atoi (wish) : 0;
}

long
sysconf (int name)
{
  REAL (sysconf);
  const int n = name == _SC_NPROCESSORS_ONLN ? fail_at_processors () : 0;

  return n > 0 ? n : real (name);
}

int
pthread_getaffinity_np (pthread_t thread, size_t size, cpu_set_t *set)
{
  REAL (pthread_getaffinity_np);
  const int n = fail_at_processors (), failed = real (thread, size, set);

  for (int i = 0; i < n; i++)
    CPU_SET_S ((size_t) i, size, set);
  return failed;
}

#define NAMES(name, parameters, path, ...)                                                         \
  int name parameters                                                                              \
  {                                                                                                \
    REAL (name);                                                                                   \
    if (in_folder (path) && fail_at (NAME)) {                                                      \
      errno = EACCES;                                                                              \
      return -1;                                                                                   \
    }                                                                                              \
    return real (__VA_ARGS__);                                                                     \
  }

NAMES (rename, (const char *from, const char *to), to, from, to)
NAMES (link, (const char *from, const char *to), to, from, to)
NAMES (mkdir, (const char *path, mode_t mode), path, path, mode)

/* ── Threads ── */

int
pthread_create (pthread_t *thread, const pthread_attr_t *attributes, void *(*run) (void *),
                void *data)
{
  REAL (pthread_create);
  return fail_at (THREAD) ? EAGAIN : real (thread, attributes, run, data);
}

/* ── OpenCL ── */

#ifdef FAIL_OPENCL
#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>

/* Calls that give an object, with the error in the last argument. */
#define CL_MAKES(type, name, code, parameters, ...)                                                \
  CL_API_ENTRY type CL_API_CALL name parameters                                                    \
  {                                                                                                \
    REAL (name);                                                                                   \
    if (fail_at (DEVICE)) {                                                                        \
      if (error)                                                                                   \
        *error = code;                                                                             \
      return NULL;                                                                                 \
    }                                                                                              \
    return real (__VA_ARGS__);                                                                     \
  }
#define CL_DOES(name, code, parameters, ...)                                                       \
  CL_API_ENTRY cl_int CL_API_CALL name parameters                                                  \
  {                                                                                                \
    REAL (name);                                                                                   \
    return fail_at (DEVICE) ? code : real (__VA_ARGS__);                                           \
  }

CL_MAKES (cl_mem, clCreateBuffer, CL_MEM_OBJECT_ALLOCATION_FAILURE,
          (cl_context context, cl_mem_flags flags, size_t size, void *host, cl_int *error), context,
          flags, size, host, error)
CL_MAKES (cl_mem, clCreateImage, CL_MEM_OBJECT_ALLOCATION_FAILURE,
          (cl_context context, cl_mem_flags flags, const cl_image_format *format,
           const cl_image_desc *shape, void *host, cl_int *error),
          context, flags, format, shape, host, error)
CL_MAKES (cl_command_queue, clCreateCommandQueue, CL_OUT_OF_RESOURCES,
          (cl_context context, cl_device_id device, cl_command_queue_properties p, cl_int *error),
          context, device, p, error)
CL_MAKES (cl_kernel, clCreateKernel, CL_OUT_OF_RESOURCES,
          (cl_program program, const char *kernel, cl_int *error), program, kernel, error)
CL_DOES (clBuildProgram, CL_BUILD_PROGRAM_FAILURE,
         (cl_program program, cl_uint n, const cl_device_id *devices, const char *options,
          void (CL_CALLBACK *notify) (cl_program, void *), void *user),
         program, n, devices, options, notify, user)
CL_DOES (clSetKernelArg, CL_OUT_OF_RESOURCES,
         (cl_kernel kernel, cl_uint index, size_t size, const void *value), kernel, index, size,
         value)
CL_DOES (clEnqueueNDRangeKernel, CL_OUT_OF_RESOURCES,
         (cl_command_queue queue, cl_kernel kernel, cl_uint dims, const size_t *offset,
          const size_t *global, const size_t *local, cl_uint n, const cl_event *wait,
          cl_event *event),
         queue, kernel, dims, offset, global, local, n, wait, event)
CL_DOES (clEnqueueReadBuffer, CL_OUT_OF_RESOURCES,
         (cl_command_queue queue, cl_mem buffer, cl_bool block, size_t offset, size_t size,
          void *to, cl_uint n, const cl_event *wait, cl_event *event),
         queue, buffer, block, offset, size, to, n, wait, event)
CL_DOES (clEnqueueWriteBuffer, CL_OUT_OF_RESOURCES,
         (cl_command_queue queue, cl_mem buffer, cl_bool block, size_t offset, size_t size,
          const void *from, cl_uint n, const cl_event *wait, cl_event *event),
         queue, buffer, block, offset, size, from, n, wait, event)
CL_DOES (clWaitForEvents, CL_OUT_OF_RESOURCES, (cl_uint n, const cl_event *events), n, events)

/* No driver leaves work behind in a queue that it calls failed: its memory may go. */
CL_API_ENTRY cl_int CL_API_CALL
clFinish (cl_command_queue queue)
{
  REAL (clFinish);
  const cl_int status = real (queue);
  return fail_at (DEVICE) ? CL_OUT_OF_RESOURCES : status;
}
#endif
