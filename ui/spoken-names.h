/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/* From now on what appears has the names for screen readers that the toolkit leaves out: buttons
   without the mark of a mnemonic, those that show a symbol with their tooltip's words, entries of
   lists with theirs. Once, before any widget is made. Main thread. */
void td_spoken_names_init (void);
