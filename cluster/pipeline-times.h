/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/* Seconds of each stage, of one rank. They overlap. */
typedef struct {
  double read, filter, gather, back_project, transfer, reduce, store;
  double start; /* until the first kernel runs */
  double all;
} TdPipelineTimes;
