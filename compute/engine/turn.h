/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "compute/angles.h"
#include "dataset/message.h"

/**
 * TdTurn: how the stage turned, as the list of angles shows it. "info", the plan's notes and the
 * window's facts show it; others must know whether opposite views were taken.
 */
typedef enum {
  TD_TURN_PART, /* less than half a turn, or with wedges left out */
  TD_TURN_HALF,
  TD_TURN_FULL,
} TdTurnKind;

typedef struct {
  TdTurnKind kind;
  guint n_views;
  double first_rad, last_rad; /* as stored */
  guint n_stops;              /* angles: n_views, unless mostly several frames were taken at each */
  guint n_frames;             /* at each of them; 0: not as many everywhere */
  double step_rad;            /* from stop to stop, above 0: the median; 0: a single one */
  gboolean even;              /* all steps are that one */
  int direction; /* 1: angles rise, -1: they fall, 0: they do neither (interlaced, golden ratio) */
  gboolean
      end_point;   /* the last view looks where the first one did, so that one of them is spare */
  guint n_lost;    /* views that lack between steps that are alike otherwise */
  double lost_rad; /* where the first of them would be */
  TdAngleCover half, full; /* modulo half a turn and modulo a full one */
} TdTurn;

extern const char *const td_turn_kind_names[]; /* "part", "half", "full" */
void td_turn_of_angles (const double *angles_rad, guint n, TdTurn *turn);
/* "a full turn, 1800 views 0.2° apart, the end point left out". (transfer full) */
TdMessage *td_turn_message (const TdTurn *turn);
char *td_turn_describe (const TdTurn *turn);
