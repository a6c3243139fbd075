/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/**
 * TdRates: what this machine reached before (updates, bytes a second), by a key that names what was
 * measured and on which device. Small work is slower than large work of the same kind, since
 * launches and pages cost the same. So each size of work, a power of 8, has a rate of its own.
 * Rates are kept in the user's cache folder; losing them costs an estimate. Any thread.
 */
typedef struct TdRates TdRates;

TdRates *td_rates_new (void);
void td_rates_free (TdRates *rates);
/* The rate of work of about that size, else of larger work, or of work that is not much smaller. 0:
   no such work was measured. */
double td_rates_get (TdRates *rates, const char *key, double work);
/* @work took @seconds. */
void td_rates_set (TdRates *rates, const char *key, double work, double seconds);
