/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Preloaded into programs, this library moves the time of day by CLOCK_OFF seconds, as on a
   computer whose clock is wrong. Times that only go forward, and those of files, stay. */
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

static time_t
clock_off (void)
{
  const char *seconds = getenv ("CLOCK_OFF");

  return seconds ? atol (seconds) : 0;
}

int
clock_gettime (clockid_t which, struct timespec *now)
{
  static int (*real) (clockid_t, struct timespec *);

  if (!real)
    *(void **) &real = dlsym (RTLD_NEXT, "clock_gettime");
  const int status = real (which, now);
  if (status == 0 && (which == CLOCK_REALTIME || which == CLOCK_REALTIME_COARSE))
    now->tv_sec += clock_off ();
  return status;
}

int
gettimeofday (struct timeval *now, void *zone)
{
  struct timespec time;
  const int status = clock_gettime (CLOCK_REALTIME, &time);

  *now = (struct timeval) { time.tv_sec, time.tv_nsec / 1000 };
  return status;
}

time_t
time (time_t *to)
{
  struct timespec now;

  clock_gettime (CLOCK_REALTIME, &now);
  if (to)
    *to = now.tv_sec;
  return now.tv_sec;
}
