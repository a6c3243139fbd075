/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/**
 * The program's one policy after an error of work on a device. Every method asks it, so that the
 * same failure has the same consequence everywhere.
 */
typedef enum {
  TD_REACTION_RETRY_SMALLER,    /* out of memory: the same device with smaller pieces */
  TD_REACTION_ANOTHER_KERNEL,   /* a kernel does not build: the same device with another family */
  TD_REACTION_SMALLER_LAUNCHES, /* a watchdog: the same device with less work a launch */
  TD_REACTION_RETIRE,  /* the device is lost or wrong: the other devices take over its work */
  TD_REACTION_GIVE_UP, /* the error is not the device's: every device would fail the same way */
} TdReaction;

/* @error: (nullable): NULL is TD_REACTION_GIVE_UP. */
TdReaction td_device_reaction (const GError *error);
/* The device that failed may try again, with something changed. */
gboolean td_device_may_retry (const GError *error);
/* Another device may do what this one could not. */
gboolean td_device_others_can (const GError *error);
