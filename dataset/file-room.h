/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gio/gio.h>

/**
 * TdFileRoom: threads that take room for a file that lies in memory, ahead of those who write to
 * windows of it (file-bytes.h). There, taking room is half of the work. Several threads do it in
 * large pages. Where there are none, one does, since one at a time can. Of a file that several
 * processes write, each takes the room that it wants.
 */
typedef struct TdFileRoom TdFileRoom;

/* Of bytes [at, at + bytes) of @file. None is taken before it is wanted. */
TdFileRoom *td_file_room_new (int file, guint64 at, guint64 bytes, GError **error);
/* These bytes of the file will be written. Any threads. */
void td_file_room_want (TdFileRoom *room, guint64 at, guint64 bytes);
/* Blocks until these bytes of the file have room, which are taken next. 0, or errno (ENOSPC: the
   disk is full; ECANCELED). Any threads. */
int td_file_room_await (TdFileRoom *room, guint64 at, gsize bytes, GCancellable *cancellable);
/* Takes no more of it; NULL is allowed. */
void td_file_room_free (TdFileRoom *room);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TdFileRoom, td_file_room_free)
