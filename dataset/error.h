/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/* Marks what is translated when it is read: as in glib/gi18n.h. */
#ifndef N_
#define N_(String) (String)
#endif

/**
 * TD_ERROR: one error domain for the whole program. The message is a sentence for a person: what
 * failed, where (file, row, device), and what to try. The code is for callers that react.
 */
#define TD_ERROR (td_error_quark ())
GQuark td_error_quark (void);

typedef enum {
  TD_ERROR_BAD_FILE,    /* damaged, truncated or contradictory input; a recipe's file, too */
  TD_ERROR_UNSUPPORTED, /* a sound file or scan that this program does not do */
  TD_ERROR_NOT_FOUND,   /* file, device, data set, key */
  TD_ERROR_IO,          /* disk full, no permission, read error */
  TD_ERROR_INVALID,     /* what is asked for, by an option or a recipe: it cannot be, or not of this
                           scan or device. Wrong usage, for the command line */
  TD_ERROR_ANGLES,      /* the scan comes without angles, or with a number of them that fits no
                           rule: ask the user for them */
  TD_ERROR_TOO_LARGE,   /* a limit (memory, texture width, 2^31 elements) would be passed */
  TD_ERROR_DEVICE_MEMORY, /* device: out of memory; halve the slab and retry */
  TD_ERROR_DEVICE_BUILD,  /* device: program does not build; default variant, then another family */
  TD_ERROR_DEVICE_LOST,   /* device: gone; retire it and re-queue its slabs */
  TD_ERROR_DEVICE_TIMEOUT, /* device: watchdog; smaller launches */
  TD_ERROR_DEVICE_BUG,     /* device: wrong call or wrong result; never retried */
} TdErrorCode;

/* Cancellation is G_IO_ERROR_CANCELLED, as everywhere in GIO. */

/* What an error says, not yet in words: message.h. */
typedef struct TdMessage TdMessage;

/* How a front end calls a field. @value: to take, nullable; @argument: what the option is given,
 * nullable. (transfer full) */
typedef char *(*TdNaming) (const char *field, const char *value, const char *argument);

/* Errors of the domain TD_ERROR carry a message; GError's own text names options. These functions
 * return FALSE, for a caller that has nothing else to do than to fail. */
gboolean td_set_error (GError **error, TdErrorCode code, const char *id, ...) G_GNUC_PRINTF (3, 4);
gboolean td_set_error_plain (GError **error, TdErrorCode code, const char *id);
/* The same for a caller that returns a pointer. */
#define td_set_error_null(...) (td_set_error (__VA_ARGS__), NULL)
/* Takes @message. */
gboolean td_set_error_message (GError **error, TdErrorCode code, TdMessage *message);
/* As g_prefix_error(), for errors of any domain. */
gboolean td_prefix_error (GError **error, const char *id, ...) G_GNUC_PRINTF (2, 3);
/* What was asked for is written in a file: TD_ERROR_INVALID becomes TD_ERROR_BAD_FILE. */
gboolean td_error_blame_file (GError **error);
/* What an error says; one of another domain is its text. (transfer full) */
TdMessage *td_error_message (const GError *error);
char *td_error_text (const GError *error, TdNaming naming);
/* The message as of td_message_pack(). (transfer full) */
char *td_error_pack (const GError *error);
