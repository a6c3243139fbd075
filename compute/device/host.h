/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/**
 * The host's threads and instruction sets, for hand-shaped code (back-projection, filtering) that
 * runs on a host_pointers device.
 */
typedef enum { TD_ISA_PLAIN, TD_ISA_AVX2, TD_ISA_AVX512 } TdIsa;

/* The best this CPU has, or less if the environment variable TOMODESK_ISA says "plain" or "avx2":
   tests run every path on one machine. */
TdIsa td_host_isa (void);
/* What is compiled once for each instruction set, NAME_plain and so on: a pointer to this CPU's. */
#ifdef __x86_64__
#define TD_HOST_PICK(name)                                                                         \
  (td_host_isa () == TD_ISA_AVX512 ? &name##_avx512                                                \
   : td_host_isa () == TD_ISA_AVX2 ? &name##_avx2                                                  \
                                   : &name##_plain)
#else
#define TD_HOST_PICK(name) (&name##_plain)
#endif
/* As g_thread_try_new(), with a sentence: a process may be short of address space or of threads. */
GThread *td_thread_start (const char *name, GThreadFunc body, gpointer data, GError **error);
/* As g_try_malloc(), with a sentence that says how much was wanted. Free it with g_free(). */
gpointer td_host_malloc (guint64 bytes, GError **error);
/* Host memory, bytes, within this process's control groups: all of it, and what can still be had.
 */
guint64 td_host_memory_bytes (void);
guint64 td_host_memory_available (void);
/* What those groups allow, of either version, each within the one that it lies in: a scheduler's
   job, a container. G_MAXUINT64: no limit. @root: before /proc and /sys, "" but for tests. */
void td_host_group_memory (const char *root, guint64 *limit, guint64 *available);
/* A container, or a job of a cluster, may have less CPU time than it sees CPUs: so many, rounded
   up; 0 if version 2 sets no quota. */
guint td_host_group_processors (const char *root);
/* So many processes of this computer share what memory can be had, and so many the processors that
   this one may use. Before any device is opened. */
void td_host_share (guint memory, guint processors);
guint td_host_threads (void); /* TOMODESK_THREADS, else its share of the CPUs it may use */

/* In a program with a window, threads that compute have a lower priority than the one that
   draws. The program calls the first function before any such thread starts. Each thread that
   computes calls the second; the threads that it starts inherit the priority. */
void td_host_set_background (void);
void td_host_enter_background (void);

/* Calls @body (index, user) for index 0 … count-1 on the pool's threads and the caller's, and
   returns when all are done. Dynamic: one index at a time. Nested calls run in the caller. */
typedef void (*TdParallelBody) (guint index, gpointer user);
void td_parallel_for (guint count, TdParallelBody body, gpointer user);

/* memcpy() by all of them, where that is worth it: one core does not use the memory fully. */
void td_host_copy (void *to, const void *from, gsize bytes);
/* to[i] += from[i] by all of them. */
void td_host_add (float *to, const float *from, gsize n);
