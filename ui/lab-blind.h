/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <adwaita.h>

/**
 * TdLabBlind: the controls of a blind test (ABX): A, B, and X, which is one of the two. Signals:
 * "begin-requested" (); "shown" (int which): 0: A, 1: B, -1: the test is over.
 */
#define TD_TYPE_LAB_BLIND (td_lab_blind_get_type ())
G_DECLARE_FINAL_TYPE (TdLabBlind, td_lab_blind, TD, LAB_BLIND, AdwBin)

/* A test begins between pictures of these names. */
void td_lab_blind_begin (TdLabBlind *self, const char *a, const char *b);
/* Why none begins. */
void td_lab_blind_say (TdLabBlind *self, const char *why_not);
void td_lab_blind_end (TdLabBlind *self); /* if one is going on */
/* The letter of what is shown. (transfer none) */
const char *td_lab_blind_title (TdLabBlind *self);
