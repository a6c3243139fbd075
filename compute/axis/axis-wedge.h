/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/**
 * The double wedge of a sinogram of a whole turn, joined of half a turn and its own mirror image
 * (Vo et al., Opt. Express 22 (2014), section 2). Its two-dimensional Fourier transform F lives
 * where |m| <= 2 pi r |f|. Here m is in cycles a turn, f in cycles a pixel, and r is the sample's
 * radius in pixels.
 */
typedef struct TdAxisWedge TdAxisWedge;

/* Half turns of @n_views views of a sample within @radius pixels of the axis, transformed over
   @length columns, at least the widest. @weights of F: frequencies 0 … length / 2, copied. NULL: no
   memory. */
TdAxisWedge *td_axis_wedge_new (guint n_views, guint length, double radius, const double *weights);
void td_axis_wedge_free (TdAxisWedge *wedge);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TdAxisWedge, td_axis_wedge_free)

/* Mean |F|^2 outside the wedge over mean |F|^2 everywhere. @half: [n_views][width]; width is odd
   and the middle column lies on the centre. Each view loses its mean, for the beam may change, and
   td_axis_taper() tapers it. Squares make a parabola about the centre, whatever the noise. Slow
   motions, |m| <= TD_AXIS_WEDGE_DROP, are left out: the taper alone makes them spill, and they
   carry stripes and the wandering beam. @rows: [n_views + 1] to which each m's part is added, may
   be NULL. Runs on the host's threads; one call at a time. */
double td_axis_wedge_spilled (const TdAxisWedge *wedge, const float *half, guint width,
                              double *rows);

#define TD_AXIS_WEDGE_DROP 6
