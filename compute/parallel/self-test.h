/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "backproject.h"

/* One family in one kind of task on the device that was tested. */
typedef struct {
  const char *family; /* static */
  TdInterpolation interpolation;
  TdPrecision precision;
  guint n_slices; /* at once; 0: of a cone beam, where interpolation says nothing */
  gboolean passed;
  double error, bound; /* relative L2 against the double-precision reference */
  char *reason;        /* why it failed, for td_message_words(); NULL */
} TdSelfTestRow;

/* Called before each test: @about says which, and has no result yet; the @number-th from 1 on, of
   @total. */
typedef void (*TdSelfTestTell) (const TdSelfTestRow *about, guint number, guint total,
                                gpointer user);

/**
 * After td_device_check(), runs a small problem with a known answer through every family in every
 * kind of task it takes. The tuner's store remembers which families failed. td_backproject_choose()
 * does not use those on this device and driver until a later test passes. Blocks: seconds, mostly
 * building. Any thread.
 *
 * @tell: (nullable). (transfer full) (element-type TdSelfTestRow); NULL: the device itself fails.
 */
GPtrArray *td_self_test_device (TdDevice *device, TdSelfTestTell tell, gpointer user,
                                GCancellable *cancellable, GError **error);

/* For tests of other families: an array of rows. */
GPtrArray *td_self_test_rows_new (void);
/* A copy of @row, whose test is still to be made. */
void td_self_test_add (GPtrArray *rows, const TdSelfTestRow *row);
/* The row passed if its error is within its bound. @failure: (nullable): why it has none. */
void td_self_test_judge (TdSelfTestRow *row, const GError *failure);
/* Remembers each family, behind @prefix, as out of use or in use. */
gboolean td_self_test_remember (TdDevice *device, const char *prefix, const GPtrArray *rows,
                                GError **error);
