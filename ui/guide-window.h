/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <adwaita.h>

/**
 * TdGuideWindow: the guide, offline. It shows the pages of docs/ that the program carries, with a
 * list of them. Of Markdown it knows headings, paragraphs, lists, tables, code, emphasis, and links
 * between the pages. Pictures are left out.
 */
#define TD_TYPE_GUIDE_WINDOW (td_guide_window_get_type ())
G_DECLARE_FINAL_TYPE (TdGuideWindow, td_guide_window, TD, GUIDE_WINDOW, AdwWindow)

GtkWidget *td_guide_window_new (GtkWindow *parent);
/* "guide-window.md". FALSE: there is no such page. */
gboolean td_guide_window_show (TdGuideWindow *self, const char *page);
