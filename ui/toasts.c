/* SPDX-License-Identifier: GPL-3.0-or-later */
/* libadwaita 1.2 frees what it knows of a closed toast when the toast has gone. It does so also
   while the animation of the toast's coming still runs, which then uses freed memory. So only a
   toast that has come is closed. It has the overlay to itself: otherwise nobody knows when the next
   one comes. */
#include "toasts.h"

/* Longer than the animations take, which is 300 ms for each. */
#define COMING_US 500000
#define GOING_MS 400

typedef struct {
  AdwToastOverlay *overlay; /* owns this */
  GQueue waiting;           /* AdwToast, owned */
  AdwToast *shown;          /* owned; NULL: none */
  guint going;              /* the source that ends the going of the last one; 0: none goes */
  gboolean coming, close_asked;
  gint64 first_frame_us; /* 0: it has not been drawn */
} Toasts;

static void toasts_next (Toasts *self);

static void
toasts_free (Toasts *self)
{
  if (self->shown)
    g_signal_handlers_disconnect_by_data (self->shown, self);
  g_clear_object (&self->shown);
  g_queue_clear_full (&self->waiting, g_object_unref);
  g_clear_handle_id (&self->going, g_source_remove);
  g_free (self);
}

static gboolean
on_toast_gone (gpointer user)
{
  Toasts *self = user;

  self->going = 0;
  toasts_next (self);
  return G_SOURCE_REMOVE;
}

/* Comes before the overlay's own handler. */
static void
on_toast_dismissed (AdwToast *toast, Toasts *self)
{
  if (self->coming) {
    self->close_asked = TRUE;
    g_signal_stop_emission_by_name (toast, "dismissed");
    return;
  }
  g_signal_handlers_disconnect_by_data (toast, self);
  g_clear_object (&self->shown);
  self->going = g_timeout_add (GOING_MS, on_toast_gone, self);
}

/* One frame more than the time: the animation may draw its last frame after this. */
static gboolean
on_toast_frame (GtkWidget *overlay, GdkFrameClock *clock, gpointer user)
{
  Toasts *self = user;
  gint64 now_us = gdk_frame_clock_get_frame_time (clock);

  if (self->first_frame_us == 0)
    self->first_frame_us = now_us;
  if (self->coming && now_us - self->first_frame_us < COMING_US)
    return G_SOURCE_CONTINUE;
  if (self->coming) {
    self->coming = FALSE;
    return G_SOURCE_CONTINUE;
  }
  /* adw_toast_dismiss() says nothing to an overlay that it has told once. */
  if (self->shown && self->close_asked)
    g_signal_emit_by_name (self->shown, "dismissed");
  return G_SOURCE_REMOVE;
}

static void
toasts_next (Toasts *self)
{
  if (self->shown || self->going != 0 || g_queue_is_empty (&self->waiting))
    return;
  self->shown = g_queue_pop_head (&self->waiting);
  self->coming = TRUE;
  self->close_asked = FALSE;
  self->first_frame_us = 0;
  g_signal_connect (self->shown, "dismissed", G_CALLBACK (on_toast_dismissed), self);
  gtk_widget_add_tick_callback (GTK_WIDGET (self->overlay), on_toast_frame, self, NULL);
  adw_toast_overlay_add_toast (self->overlay, g_object_ref (self->shown));
}

void
td_toasts_show (AdwToastOverlay *overlay, AdwToast *toast)
{
  Toasts *self = g_object_get_data (G_OBJECT (overlay), "toasts");

  if (!self) {
    self = g_new0 (Toasts, 1);
    self->overlay = overlay;
    g_queue_init (&self->waiting);
    g_object_set_data_full (G_OBJECT (overlay), "toasts", self, (GDestroyNotify) toasts_free);
  }
  g_queue_push_tail (&self->waiting, toast);
  toasts_next (self);
}

/* The overlay does not know yet of one that waits. */
void
td_toasts_dismiss (AdwToastOverlay *overlay, AdwToast *toast)
{
  Toasts *self = g_object_get_data (G_OBJECT (overlay), "toasts");

  if (self && g_queue_remove (&self->waiting, toast))
    g_object_unref (toast);
  else
    adw_toast_dismiss (toast);
}
