/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "compute/device/device.h"

/* A device with faults: some of its operations fail. One device of a kind at a time; the test says
   what fails when after td_faulty_begin(), in any order. */
typedef struct {
  gint launches_left, uploads_left, downloads_left, allocations_left; /* before it fails */
  gint calls_left;         /* of all calls that can fail */
  guint64 least_bytes;     /* smaller transfers and allocations do not count */
  gint failures_left;      /* then all is well again */
  const char *unbuildable; /* a program; NULL: none */
  TdErrorCode code;
  GCancellable *cancels; /* is cancelled instead, and nothing fails; NULL: none */
  TdDevice *outlasts;    /* td_faulty_outlast(); NULL: fails at once */
  gboolean gave_up;      /* waiting for that */
} TdFaulty;
extern TdFaulty td_faulty;

/* Nothing fails yet. The same operations serve every device of the API. */
void td_faulty_begin (TdDevice *device);
/* The faulty one fails only when this one, which has no memory yet, has had some and has given it
 * back. */
void td_faulty_outlast (TdDevice *device);
/* This device waits with its first launch until the other one has failed, lest it does all the
 * work. */
void td_faulty_wait (TdDevice *device);
/* All devices are as they were. */
void td_faulty_end (void);
gboolean td_faulty_failed (void);
