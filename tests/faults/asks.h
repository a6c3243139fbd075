/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a device is asked for while a call of its driver fails: once each. TRUE if it did what it
   should. */
#pragma once

#include "compute/device/device.h"

typedef struct {
  TdDevice *device;
  TdQueue *queue;
  TdBuffer *buffer; /* of 10 bytes and more */
  TdTexture *texture;
  TdEvent *event;
  TdKernel *kernel; /* which takes the buffer */
  TdFft *fft;
} TdAsked;

typedef gboolean (*TdAsking) (const TdAsked *asked, GError **error);

gboolean td_ask_buffer (const TdAsked *asked, GError **error);
gboolean td_ask_queue (const TdAsked *asked, GError **error);
gboolean td_ask_finish (const TdAsked *asked, GError **error);
gboolean td_ask_upload (const TdAsked *asked, GError **error);
gboolean td_ask_download (const TdAsked *asked, GError **error);
gboolean td_ask_copy (const TdAsked *asked, GError **error);
gboolean td_ask_zero (const TdAsked *asked, GError **error);
gboolean td_ask_record (const TdAsked *asked, GError **error);
gboolean td_ask_wait (const TdAsked *asked, GError **error);
gboolean td_ask_sync (const TdAsked *asked, GError **error);
gboolean td_ask_elapsed (const TdAsked *asked, GError **error);
/* A program and a kernel that nobody asked for before. */
gboolean td_ask_kernel (const TdAsked *asked, GError **error);
gboolean td_ask_launch (const TdAsked *asked, GError **error);
