/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "compute/device/device.h"

/* What tests over every device share. Each asserts that it works. */

typedef struct {
  const char *name;
  GTestDataFunc function; /* its data is the device's id */
} TdDeviceTest;

/* Adds /PREFIX/ID/NAME for each test and each device available here. */
void td_test_each_device (const char *prefix, const TdDeviceTest *tests, guint n_tests);

/* A description of a card that can do everything. @id and @name stay the caller's. */
TdDeviceInfo td_test_card (const char *id, const char *name, guint64 memory_bytes);

/* First in main(): a cache folder of the program's own, @name, in the one it was given, so that it
   may count and damage entries. */
void td_test_own_cache (const char *name);
/* The same, but without rates of an earlier run. Built programs are shared with all tests: building
   them takes longer than most. */
void td_test_own_rates (const char *name);

/* From now on what lies behind the buffers of OpenCL's processors is NaN, and whoever writes there
   ends the test when the buffer is freed. Sanitizers see the host's. */
void td_test_guard (TdDevice *device);
/* Guarded. */
TdDevice *td_test_open (gconstpointer id);
/* Until the process ends each device here stays open, and the programs that it has built. Drivers
   read a program's text anew for each device that is opened, even if they have it compiled. */
void td_test_keep_open (void);
/* The device forgets its programs: it builds or loads them again. */
void td_test_free_programs (TdDevice *device);
/* What the device's hardware counts as not yet freed. */
guint64 td_test_live_objects (TdDevice *device);
/* Bytes of its buffers and textures. */
guint64 td_test_allocated (TdDevice *device);
/* Asserts that no more than @planned bytes were allocated since td_test_allocated() said @before,
   and that @planned is at most @most times as much. Only OpenCL's processors are looked at. */
void td_test_workspace (TdDevice *device, guint64 before, guint64 planned, double most);
/* Asserts that nothing of the test is left, as the wrappers counted: drivers hide leaks from the
   sanitizer. */
void td_test_close (TdDevice *device);

void td_test_random (float *values, gsize n, guint32 seed); /* -1 … 1 */
TdBuffer *td_test_buffer (TdDevice *device, TdQueue *queue, const void *data, gsize bytes);
/* At least @n work-items along x. */
void td_test_launch (TdQueue *queue, TdKernel *kernel, guint n, guint local, const TdArg *args,
                     guint n_args);
void td_test_finish (TdQueue *queue);
