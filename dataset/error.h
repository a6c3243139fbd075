/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/**
 * TD_ERROR: one error domain for the whole program. The message is a sentence for a person: what
 * failed, where (file, row, device), and what to try. The code is for callers that react.
 */
#define TD_ERROR (td_error_quark ())
GQuark td_error_quark (void);

typedef enum {
  TD_ERROR_BAD_FILE,      /* damaged, truncated or contradictory input */
  TD_ERROR_UNSUPPORTED,   /* a sound file or request that this program does not do */
  TD_ERROR_NOT_FOUND,     /* file, device, data set, key */
  TD_ERROR_IO,            /* disk full, no permission, read error */
  TD_ERROR_INVALID,       /* a recipe, option or geometry that contradicts itself or the scan */
  TD_ERROR_ANGLES,        /* the scan comes without angles, or with a number of them that fits no
                             rule: ask the user for them */
  TD_ERROR_TOO_LARGE,     /* a limit (memory, texture width, 2^31 elements) would be passed */
  TD_ERROR_DEVICE_MEMORY, /* device: out of memory; halve the slab and retry */
  TD_ERROR_DEVICE_BUILD,  /* device: program does not build; default variant, then another family */
  TD_ERROR_DEVICE_LOST,   /* device: gone; retire it and re-queue its slabs */
  TD_ERROR_DEVICE_TIMEOUT, /* device: watchdog; smaller launches */
  TD_ERROR_DEVICE_BUG,     /* device: wrong call or wrong result; never retried */
} TdErrorCode;

/* Cancellation is G_IO_ERROR_CANCELLED, as everywhere in GIO. */
