/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <time.h>

/* For one program: while the time is held, all who ask for it are told the same, since the
   program's functions are found first. Two things are then done as soon after each other on a
   machine that stood still in between. */
static gint64 held_time_us; /* 0: it goes on */

gint64
g_get_monotonic_time (void)
{
  struct timespec now;

  if (held_time_us)
    return held_time_us;
  clock_gettime (CLOCK_MONOTONIC, &now);
  return (gint64) now.tv_sec * G_USEC_PER_SEC + now.tv_nsec / 1000;
}

static void
hold_time (gboolean held)
{
  held_time_us = held ? g_get_monotonic_time () : 0;
}
