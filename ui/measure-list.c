/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "measure-list.h"

#include <glib/gi18n.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "dataset/csv-text.h"
#include "dataset/error.h"
#include "dataset/text-file.h"
#include "ui.h"

#define PLOT_PX 90

typedef struct {
  TdMeasureList *list;
  guint number;
  TdMeasure measure;
  TdMeasured measured;
  TdVolumeAxis axis;
  guint at;
  float *profile; /* NULL: it is no line */
  guint n_profile;
  GtkWidget *row;
} Item;

struct _TdMeasureList {
  AdwBin parent_instance;
  GtkWidget *plot;
  GtkListBox *rows;
  GPtrArray *items; /* Item */
  guint last_number;
  double voxel_mm;
  char *units;
  Item *plotted; /* NULL: no line */
};

G_DEFINE_FINAL_TYPE (TdMeasureList, td_measure_list, ADW_TYPE_BIN)

static void
measure_item_free (gpointer data)
{
  Item *item = data;

  g_free (item->profile);
  g_free (item);
}

/* ── Words ── */

static const char *
item_kind (const Item *item)
{
  switch (item->measure.kind) {
  case TD_MEASURE_DISTANCE: return _ ("Distance");
  case TD_MEASURE_ANGLE: return _ ("Angle");
  case TD_MEASURE_LINE: return _ ("Line");
  case TD_MEASURE_REGION: break;
  }
  return _ ("Region");
}

static char *
item_length (const Item *item, double px)
{
  const double mm = item->list->voxel_mm;

  return mm > 0 ? g_strdup_printf (_ ("%.5g mm (%.1f px)"), px * mm, px)
                : g_strdup_printf (_ ("%.1f px"), px);
}

static char *
item_size (const Item *item)
{
  const TdMeasured *m = &item->measured;
  const double mm = item->list->voxel_mm;

  if (mm > 0)
    return g_strdup_printf (_ ("%.0f × %.0f px, %.5g mm²"), m->width_px, m->height_px,
                            m->width_px * m->height_px * mm * mm);
  return g_strdup_printf (_ ("%.0f × %.0f px"), m->width_px, m->height_px);
}

static char *
item_values (const Item *item)
{
  const TdImageStatistics *s = &item->measured.statistics;
  const char *units = item->list->units ? item->list->units : "";

  if (!item->measured.has_values)
    return g_strdup (_ ("nothing finite"));
  /* σ: the standard deviation. */
  g_autofree char *text = g_strdup_printf (_ ("mean %.6g  σ %.4g  %.6g … %.6g %s"), s->mean,
                                           s->deviation, s->minimum, s->maximum, units);
  g_autofree char *bad = g_strdup_printf ("%" PRIu64, s->n_bad);
  return s->n_bad ? g_strdup_printf (_ ("%s, %s samples not finite"), text, bad)
                  : g_steal_pointer (&text);
}

static char *
item_text (const Item *item)
{
  g_autofree char *values = NULL, *size = NULL;

  switch (item->measure.kind) {
  case TD_MEASURE_ANGLE: return g_strdup_printf (_ ("%.2f°"), item->measured.angle_deg);
  case TD_MEASURE_DISTANCE: return item_length (item, item->measured.length_px);
  case TD_MEASURE_LINE: size = item_length (item, item->measured.length_px); break;
  case TD_MEASURE_REGION: size = item_size (item); break;
  }
  values = item_values (item);
  return g_strdup_printf ("%s\n%s", size, values);
}

/* ── The profile ── */

static void
measure_list_draw (GtkDrawingArea *area, cairo_t *cr, int width, int height, gpointer user)
{
  const Item *item = TD_MEASURE_LIST (user)->plotted;
  GdkRGBA colour;

  if (!item || !item->measured.has_values)
    return;
  const double low = item->measured.statistics.minimum;
  const double range = MAX (item->measured.statistics.maximum - low, 1e-30);
  gtk_style_context_get_color (gtk_widget_get_style_context (GTK_WIDGET (area)), &colour);
  gdk_cairo_set_source_rgba (cr, &colour);
  gboolean drawing = FALSE;
  for (guint i = 0; i < item->n_profile; i++) {
    const double x = 1 + (width - 2.0) * i / (item->n_profile - 1);
    const double y = height - 3 - (height - 6) * (item->profile[i] - low) / range;
    if (!isfinite (y))
      drawing = FALSE;
    else if (drawing)
      cairo_line_to (cr, x, y);
    else
      cairo_move_to (cr, x, y);
    drawing = isfinite (y);
  }
  cairo_set_line_width (cr, 1.25);
  cairo_stroke (cr);
}

static void
measure_list_plot (TdMeasureList *self, Item *item)
{
  self->plotted = item;
  gtk_widget_set_visible (self->plot, item != NULL);
  gtk_widget_queue_draw (self->plot);
}

/* ── The list ── */

static void
measure_list_changed (TdMeasureList *self)
{
  gtk_widget_set_visible (GTK_WIDGET (self->rows), self->items->len > 0);
  g_signal_emit_by_name (self, "changed");
}

static void
measure_list_on_remove (GtkButton *button, Item *item)
{
  TdMeasureList *self = item->list;

  if (self->plotted == item)
    measure_list_plot (self, NULL);
  gtk_list_box_remove (self->rows, item->row);
  g_ptr_array_remove (self->items, item);
  measure_list_changed (self);
}

static void
measure_list_on_activated (AdwActionRow *row, Item *item)
{
  if (item->profile)
    measure_list_plot (item->list, item);
  g_signal_emit_by_name (item->list, "shown", (int) item->axis, item->at);
}

static void
measure_list_add_row (TdMeasureList *self, Item *item)
{
  g_autofree char *title = g_strdup_printf (_ ("%u  %s, %c = %u"), item->number, item_kind (item),
                                            "xyz"[item->axis], item -> at);
  g_autofree char *text = item_text (item);
  GtkWidget *remove = td_symbol_button ("user-trash-symbolic", _ ("Remove"),
                                        G_CALLBACK (measure_list_on_remove), item);

  item->row = td_plain_row_new (title, text);
  gtk_list_box_row_set_activatable (GTK_LIST_BOX_ROW (item->row), TRUE);
  adw_action_row_add_suffix (ADW_ACTION_ROW (item->row), remove);
  g_signal_connect (item->row, "activated", G_CALLBACK (measure_list_on_activated), item);
  gtk_list_box_append (self->rows, item->row);
}

void
td_measure_list_add (TdMeasureList *self, const TdMeasure *measure, TdVolumeAxis axis, guint at,
                     const TdImage *image)
{
  Item *item = g_new0 (Item, 1);

  *item = (Item) {
    .list = self, .number = ++self->last_number, .measure = *measure, .axis = axis, .at = at
  };
  td_measure_take (measure, image, &item->measured);
  if (measure->kind == TD_MEASURE_LINE)
    item->profile = td_measure_profile (measure, image, &item->n_profile);
  g_ptr_array_add (self->items, item);
  measure_list_add_row (self, item);
  if (item->profile)
    measure_list_plot (self, item);
  measure_list_changed (self);
  td_scroll_into_sight (item->row);
}

GArray *
td_measure_list_marks (TdMeasureList *self, TdVolumeAxis axis, guint at)
{
  GArray *marks = g_array_new (FALSE, TRUE, sizeof (TdMark));

  for (guint i = 0; i < self->items->len; i++) {
    const Item *item = self->items->pdata[i];
    TdMark mark = { item->measure, td_measure_points (item->measure.kind), "" };
    if (item->axis != axis || item->at != at)
      continue;
    g_snprintf (mark.label, sizeof mark.label, "%u", item->number);
    g_array_append_val (marks, mark);
  }
  return marks;
}

guint
td_measure_list_length (TdMeasureList *self)
{
  return self->items->len;
}

void
td_measure_list_begin (TdMeasureList *self, double voxel_mm, const char *units)
{
  measure_list_plot (self, NULL);
  for (guint i = 0; i < self->items->len; i++)
    gtk_list_box_remove (self->rows, ((Item *) self->items->pdata[i])->row);
  g_ptr_array_set_size (self->items, 0);
  self->last_number = 0;
  self->voxel_mm = voxel_mm;
  g_free (self->units);
  self->units = g_strdup (units);
  measure_list_changed (self);
}

/* ── Exporting ── */

static void
csv_item (GString *csv, const Item *item)
{
  static const char *const kinds[] = { "distance", "angle", "line", "region" };
  const TdMeasured *m = &item->measured;
  const TdImageStatistics *s = &m->statistics;
  const double mm = item->list->voxel_mm > 0 ? item->list->voxel_mm : NAN;
  const guint n = td_measure_points (item->measure.kind);

  g_string_append_printf (csv, "%u,%s,%c,%u", item->number, kinds[item->measure.kind],
                          "xyz"[item->axis], item -> at);
  for (guint i = 0; i < 3; i++)
    for (guint k = 0; k < 2; k++)
      td_csv_add_number (csv, i < n ? item->measure.points[i][k] : NAN);
  td_csv_add_number (csv, m->length_px);
  td_csv_add_number (csv, m->length_px * mm);
  td_csv_add_number (csv, m->angle_deg);
  td_csv_add_number (csv, m->width_px * m->height_px);
  td_csv_add_number (csv, m->width_px * m->height_px * mm * mm);
  td_csv_add_number (csv, m->has_values ? s->mean : NAN);
  td_csv_add_number (csv, m->has_values ? s->deviation : NAN);
  td_csv_add_number (csv, m->has_values ? s->minimum : NAN);
  td_csv_add_number (csv, m->has_values ? s->maximum : NAN);
  td_csv_add_number (csv, m->has_values ? (double) s->n : NAN);
  g_string_append_printf (csv, ",%s\n", item->list->units ? item->list->units : "");
}

#define PROFILE_HEAD "sample,position_"

static char *
csv_profile (const Item *item)
{
  const gboolean in_mm = item->list->voxel_mm > 0;
  const double step = item->measured.length_px / (item->n_profile - 1);
  GString *csv = g_string_new (in_mm ? PROFILE_HEAD "mm,value\n" : PROFILE_HEAD "px,value\n");

  for (guint i = 0; i < item->n_profile; i++) {
    g_string_append_printf (csv, "%u", i);
    td_csv_add_number (csv, i * step * (in_mm ? item->list->voxel_mm : 1));
    td_csv_add_number (csv, item->profile[i]);
    g_string_append_c (csv, '\n');
  }
  return g_string_free (csv, FALSE);
}

GStrv
td_measure_list_texts (TdMeasureList *self)
{
  g_autoptr (GStrvBuilder) texts = g_strv_builder_new ();
  g_autoptr (GString) csv = g_string_new (
      "number,kind,across,plane,column_0,row_0,column_1,row_1,column_2,row_2,length_px,length_mm,"
      "angle_deg,area_px,area_mm2,mean,deviation,minimum,maximum,samples,units\n");

  for (guint i = 0; i < self->items->len; i++)
    csv_item (csv, self->items->pdata[i]);
  g_strv_builder_add_many (texts, "", csv->str, NULL);
  for (guint i = 0; i < self->items->len; i++) {
    const Item *item = self->items->pdata[i];
    if (!item->profile)
      continue;
    g_autofree char *end = g_strdup_printf ("-%u", item->number);
    g_autofree char *profile = csv_profile (item);
    g_strv_builder_add_many (texts, end, profile, NULL);
  }
  return g_strv_builder_end (texts);
}

/* Nobody was asked about a profile's file: only another profile is replaced. */
static gboolean
measure_profile_fits (const char *path, GError **error)
{
  g_autofree char *head = td_text_head (path, strlen (PROFILE_HEAD));

  if (!g_file_test (path, G_FILE_TEST_EXISTS) || g_strcmp0 (head, PROFILE_HEAD) == 0)
    return TRUE;
  return td_set_error (error, TD_ERROR_IO,
                       "A line's profile would replace “%s”, which is none; choose another name",
                       path);
}

gboolean
td_measure_texts_save (gpointer texts, const char *path, GError **error)
{
  g_autofree char *stem
      = g_str_has_suffix (path, ".csv") ? g_strndup (path, strlen (path) - 4) : g_strdup (path);

  for (guint write = 0; write < 2; write++)
    for (char **at = texts; *at; at += 2) {
      g_autofree char *beside = g_strconcat (stem, at[0], ".csv", NULL);
      if (write ? !g_file_set_contents (*at[0] ? beside : path, at[1], -1, error)
                : *at[0] && !measure_profile_fits (beside, error))
        return FALSE;
    }
  return TRUE;
}

/* ── Object ── */

TD_FINALIZE (TdMeasureList, td_measure_list)
{
  g_ptr_array_unref (self->items);
  g_free (self->units);
}

static void
td_measure_list_class_init (TdMeasureListClass *class)
{
  G_OBJECT_CLASS (class)->finalize = td_measure_list_finalize;
  td_signal_new (class, "changed", 0, G_TYPE_NONE);
  td_signal_new (class, "shown", 2, G_TYPE_INT, G_TYPE_UINT);
}

static void
td_measure_list_init (TdMeasureList *self)
{
  self->items = g_ptr_array_new_with_free_func (measure_item_free);
  self->rows = GTK_LIST_BOX (gtk_list_box_new ());
  self->plot = gtk_drawing_area_new ();
  gtk_list_box_set_selection_mode (self->rows, GTK_SELECTION_NONE);
  gtk_widget_add_css_class (GTK_WIDGET (self->rows), "boxed-list");
  gtk_widget_set_visible (GTK_WIDGET (self->rows), FALSE);
  gtk_drawing_area_set_content_height (GTK_DRAWING_AREA (self->plot), PLOT_PX);
  gtk_drawing_area_set_draw_func (GTK_DRAWING_AREA (self->plot), measure_list_draw, self, NULL);
  td_set_spoken_name (self->plot, _ ("Profile along the line"));
  gtk_widget_set_visible (self->plot, FALSE);
  adw_bin_set_child (ADW_BIN (self),
                     td_box_new (GTK_ORIENTATION_VERTICAL, 6, self->plot, self->rows, NULL));
}
