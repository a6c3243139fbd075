/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "done-strip.h"

struct _TdDoneStrip {
  GtkWidget parent_instance;
  TdSliceStore *store;
};

G_DEFINE_FINAL_TYPE (TdDoneStrip, td_done_strip, GTK_TYPE_WIDGET)

static void
draw_run (TdDoneStrip *self, GtkSnapshot *snapshot, guint from, guint to)
{
  static const GdkRGBA green = { 0.18f, 0.76f, 0.49f, 1 };
  double scale = (double) gtk_widget_get_width (GTK_WIDGET (self))
                 / MAX (td_slice_store_size (self->store), 1);

  gtk_snapshot_append_color (
      snapshot, &green,
      &GRAPHENE_RECT_INIT ((float) (from * scale), 0, (float) ((to - from) * scale),
                           (float) gtk_widget_get_height (GTK_WIDGET (self))));
}

static void
td_done_strip_snapshot (GtkWidget *widget, GtkSnapshot *snapshot)
{
  TdDoneStrip *self = TD_DONE_STRIP (widget);
  guint n = self->store ? td_slice_store_size (self->store) : 0, from = 0;

  for (guint i = 0; i <= n; i++)
    if (i == n || !td_slice_store_has (self->store, i)) {
      if (i > from)
        draw_run (self, snapshot, from, i);
      from = i + 1;
    }
}

void
td_done_strip_set_store (TdDoneStrip *self, TdSliceStore *store)
{
  TdSliceStore *old = self->store;

  self->store = store ? td_slice_store_ref (store) : NULL;
  g_clear_pointer (&old, td_slice_store_unref);
  gtk_widget_set_visible (GTK_WIDGET (self), store != NULL);
  gtk_widget_queue_draw (GTK_WIDGET (self));
}

static void
td_done_strip_finalize (GObject *object)
{
  g_clear_pointer (&TD_DONE_STRIP (object)->store, td_slice_store_unref);
  G_OBJECT_CLASS (td_done_strip_parent_class)->finalize (object);
}

static void
td_done_strip_class_init (TdDoneStripClass *class)
{
  G_OBJECT_CLASS (class)->finalize = td_done_strip_finalize;
  GTK_WIDGET_CLASS (class)->snapshot = td_done_strip_snapshot;
  gtk_widget_class_set_css_name (GTK_WIDGET_CLASS (class), "donestrip");
}

static void
td_done_strip_init (TdDoneStrip *self)
{
  gtk_widget_set_size_request (GTK_WIDGET (self), 40, 4);
}
