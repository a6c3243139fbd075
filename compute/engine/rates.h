/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/**
 * TdRates: what this machine reached before (updates, bytes a second), by a key that names what was
 * measured and on which device. Kept in the user's cache folder; losing it costs an estimate. Any
 * thread.
 */
typedef struct TdRates TdRates;

TdRates *td_rates_new (void);
void td_rates_free (TdRates *rates);
double td_rates_get (TdRates *rates, const char *key); /* 0: never measured */
void td_rates_set (TdRates *rates, const char *key, double per_second);
