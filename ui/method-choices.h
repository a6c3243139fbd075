/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gio/gio.h>

/* The lists behind the choices of filter, method, interpolation, precision (indices are the
   enumerations') and kernel family ("auto", then every family of this build), as models of strings,
   @brief where room is short. Each lives as long as the program. (transfer none) Main thread. */
GListModel *td_filter_choices (gboolean brief);
GListModel *td_method_choices (void);
GListModel *td_interpolation_choices (void);
GListModel *td_precision_choices (gboolean brief);
GListModel *td_family_choices (gboolean brief);
const char *td_family_choice_value (guint index);
guint td_family_choice_index (const char *family);
