/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "fourier-shape.h"

/**
 * The host's inner loops of the Fourier method (fourier-host-isa.c), compiled once for each
 * instruction set; fourier-host.c spreads them over threads. Complex numbers are two floats.
 */
enum { TD_FOURIER_PAD = 16 }; /* points before and after a grid row: windows reach over the edge */

/* Rows first … first + n_rows - 1 of the grid, in ascending order of frequency. A thread owns them,
   so that no two add to the same point, and keeps them in its cache. */
typedef struct {
  const TdFourierShape *shape;
  const TdFourierView *views;
  const float *spectra; /* [view][padded]: frequencies -P/2 … P/2 - 1; the first is 0 */
  int first, n_rows;
  float *rows; /* [n_rows][pitch], zeros; gx points from TD_FOURIER_PAD on, and the pads */
  gsize pitch; /* points */
} TdFourierBand;

typedef struct {
  /* Adds all views' samples to the band, and what falls into the pads to the other side. */
  void (*spread) (const TdFourierBand *band);
  /* One view's transformed row, in FFT order, to one row of spectra. @response: A (k); @phases:
     floats, padded + 32 of them. */
  void (*turn) (const TdFourierShape *shape, const TdFourierView *view, const float *response,
                const float *line, float *phases, float *spectrum);
} TdFourierKernels;

extern const TdFourierKernels td_fourier_kernels_plain;
extern const TdFourierKernels td_fourier_kernels_avx2;
extern const TdFourierKernels td_fourier_kernels_avx512;
