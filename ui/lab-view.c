/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lab-view.h"

#include <glib/gi18n.h>
#include <math.h>
#include <string.h>

#include "choose-file.h"
#include "compute/device/host.h"
#include "compute/lab/lab-report.h"
#include "lab-blind.h"
#include "lab-chart.h"
#include "lab-editor.h"
#include "lab-pictures.h"
#include "lab-table.h"
#include "lab-work.h"
#include "labels.h"
#include "quantity.h"
#include "save-file.h"
#include "ui.h"
#include "wrap-layout.h"

struct _TdLabView {
  GtkWidget parent_instance;
  GtkWidget *room; /* scrolls where pictures and table do not both fit */
  TdLabPictures *pictures;
  TdLabTable *table;
  TdLabChart *profile, *differences, *frc, *scatter;
  TdLabBlind *blind;
  GtkStack *sheets;
  GtkStackPage *figures_page;
  GtkGrid *budget, *review;
  GtkMenuButton *add;
  GtkWidget *switcher;
  GtkProgressBar *progress;
  GtkWidget *stop, *go_on;
  GtkLabel *figures;
  TdLabEditor *editor;
  int edited; /* the editor's variant; -1: a new one */
  GSimpleActionGroup *actions;
  TdEngine *engine;
  TdScan *scan;
  TdLab *lab;
  guint rows[2]; /* the window's recipe's */
  gboolean has_base, active, stale;
  gboolean reviews; /* the variants are the review's */
  gboolean chosen;  /* somebody chose the variants */
  gboolean fresh;   /* the news are of what was requested last */
  TdLatest *work;
  TdLabNews *news;
};

G_DEFINE_FINAL_TYPE (TdLabView, td_lab_view, GTK_TYPE_WIDGET)

static TdLabVariant *
lab_view_variant (TdLabView *self, guint index)
{
  return self->lab->variants->pdata[index];
}

/* ── Showing ── */

static void
lab_view_budget_cell (TdLabView *self, guint column, guint row, const char *text)
{
  GtkWidget *label = gtk_label_new (text);

  gtk_label_set_xalign (GTK_LABEL (label), column ? 1 : 0);
  gtk_widget_add_css_class (label, row ? "numeric" : "dim-label");
  gtk_grid_attach (self->budget, label, (int) column, (int) row, 1, 1);
}

static void
lab_view_empty (GtkGrid *grid)
{
  for (GtkWidget *child; (child = gtk_widget_get_first_child (GTK_WIDGET (grid)));)
    gtk_grid_remove (grid, child);
}

static void
lab_view_show_budget (TdLabView *self)
{
  static const char *const heads[]
      = { N_ ("Shortcut"), N_ ("Relative error"), N_ ("Largest"), N_ ("÷ noise") };
  const TdLabResult *result = self->news ? self->news->result : NULL;

  lab_view_empty (self->budget);
  if (!result || !result->budget_n)
    return;
  for (guint i = 0; i < G_N_ELEMENTS (heads); i++)
    lab_view_budget_cell (self, i, 0, _ (heads[i]));
  for (guint i = 0; i < result->budget_n; i++) {
    const TdLabBudgetRow *row = &result->budget[i];
    g_autofree char *relative = g_strdup_printf ("%.2e", row->difference.relative_rms);
    g_autofree char *largest = g_strdup_printf ("%.2e", row->difference.max_abs);
    g_autofree char *noise = result->noise > 0
                                 ? g_strdup_printf ("%.2g", row->difference.rms / result->noise)
                                 : g_strdup ("–");
    lab_view_budget_cell (self, 0, i + 1, _ (row->label));
    lab_view_budget_cell (self, 1, i + 1, relative);
    lab_view_budget_cell (self, 2, i + 1, largest);
    lab_view_budget_cell (self, 3, i + 1, noise);
  }
}

/* What double precision costs, until it is there. */
static void
lab_view_add_cost (const TdLabResult *result, GString *text)
{
  if (result->truths == 0 || !isfinite (result->truths_s) || result->against != -2)
    return;
  g_autofree char *time = td_duration_text (ceil (result->truths_s));
  g_string_append_printf (text,
                          ngettext ("double precision: %u slice in about %s on %u threads",
                                    "double precision: %u slices in about %s on %u threads",
                                    result->truths),
                          result->truths, time, td_host_threads ());
}

static void
lab_view_say (TdLabView *self, const char *words)
{
  gtk_label_set_text (self->figures, words);
  gtk_widget_set_tooltip_text (GTK_WIDGET (self->figures), words);
}

static void
lab_view_say_error (TdLabView *self, const GError *error)
{
  g_autofree char *words = td_label_error (error);

  lab_view_say (self, words);
}

/* How A and B differ, and whether it shows. */
static void
lab_view_show_words (TdLabView *self)
{
  const TdLabResult *result = self->news ? self->news->result : NULL;
  const TdLabOutcome *against = result ? td_lab_against (result) : NULL;
  GString *text = g_string_new (NULL);

  if (result)
    lab_view_add_cost (result, text);
  if (against && result->noise > 0)
    g_string_append_printf (text, _ ("noise of the data %.3g %s"), result->noise, against->units);
  TdMessage *const missing[]
      = { result ? result->no_reference : NULL, result ? result->no_measure : NULL };
  for (guint i = 0; i < G_N_ELEMENTS (missing); i++)
    if (missing[i]) {
      g_autofree char *words = td_message_text (missing[i], td_label_naming);
      g_string_append_printf (text, "%s%s", text->len ? "; " : "", words);
    }
  if (against && result->against >= 0)
    g_string_append_printf (text, _ ("%scompared with variant %d"), text->len ? "; " : "",
                            result->against + 1);
  lab_view_say (self, text->str);
  g_string_free (text, TRUE);
}

static void
lab_view_show_charts (TdLabView *self)
{
  const TdLabNews *news = self->news;
  const gboolean there = news && td_lab_against (news->result);

  td_lab_chart_take (self->profile, there ? td_lab_plot_profile (news->lab, news->result) : NULL);
  td_lab_chart_take (self->differences,
                     there ? td_lab_plot_differences (news->lab, news->result) : NULL);
  td_lab_chart_take (self->frc, there ? td_lab_plot_frc (news->lab, news->result) : NULL);
  td_lab_chart_take (self->scatter, there ? td_lab_plot_scatter (news->lab, news->result) : NULL);
  td_lab_pictures_set_line (self->pictures, there ? &news->result->line : NULL);
}

/* They come at the end: until then those of another recipe would be taken for them. */
static void
lab_view_show_review (TdLabView *self)
{
  TdLabNews *news = self->news;
  const gboolean first = !gtk_stack_page_get_visible (self->figures_page);

  lab_view_empty (self->review);
  if (!news->figures[0])
    return;
  for (int i = 0; i < TD_LAB_REVIEW_PLOTS; i++) {
    GtkWidget *title = gtk_label_new (_ (news->figures[i]->title));
    TdLabChart *chart = g_object_new (TD_TYPE_LAB_CHART, "hexpand", TRUE, NULL);
    gtk_widget_add_css_class (title, "caption-heading");
    td_lab_chart_set_label (chart, _ (news->figures[i]->title));
    td_lab_chart_take (chart, td_lab_plot_ref (news->figures[i]));
    gtk_grid_attach (self->review, td_box_new (GTK_ORIENTATION_VERTICAL, 0, title, chart, NULL),
                     i % 2, i / 2, 1, 1);
  }
  gtk_stack_page_set_visible (self->figures_page, TRUE);
  if (first)
    gtk_stack_set_visible_child_name (self->sheets, "review");
}

static void
lab_view_show_news (TdLabView *self)
{
  const TdLabNews *news = self->news;
  const TdLabResult *result = news->result;

  for (guint i = 0; i < result->n; i++)
    if (result->outcomes[i])
      td_lab_pictures_set (self->pictures, i, news->images[i], result->outcomes[i]);
  if (result->reference)
    td_lab_pictures_set (self->pictures, result->n, news->images[result->n], result->reference);
  else if (result->no_reference)
    td_lab_pictures_set (self->pictures, result->n, NULL, NULL);
  td_lab_pictures_set_noise (self->pictures, result->noise);
  td_lab_table_show (self->table, news->lab, result, FALSE);
  lab_view_show_charts (self);
  lab_view_show_budget (self);
  lab_view_show_words (self);
  lab_view_show_review (self);
}

static void
lab_view_set_busy (TdLabView *self, gboolean busy)
{
  gtk_widget_set_visible (GTK_WIDGET (self->progress), busy);
  gtk_widget_set_visible (self->stop, busy);
  gtk_widget_set_visible (self->go_on, FALSE);
  td_lab_pictures_set_updating (self->pictures, busy);
}

/* A line that was drawn since the request is the line. */
static void
lab_view_take_news (TdLabView *self, TdLabNews *news)
{
  TdLabNews *old = g_steal_pointer (&self->news);

  self->news = td_lab_news_ref (news);
  if (self->lab->has_line)
    news->result->line = self->lab->line;
  lab_view_show_news (self);
  td_lab_news_unref (old);
}

/* While a newer request waits, what an older one came to is shown as such: its pictures are still
   being updated. */
static void
lab_view_on_news (gpointer data, const GError *error, gboolean last, gpointer user)
{
  TdLabView *self = user;
  const gboolean newest = !td_latest_outdated (self->work);

  if (data) {
    self->fresh = newest;
    lab_view_take_news (self, data);
    if (newest)
      gtk_progress_bar_set_fraction (self->progress, self->news->fraction);
    else
      td_lab_pictures_set_updating (self->pictures, TRUE);
  } else if (newest && !g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CANCELLED)) {
    lab_view_say_error (self, error);
    td_lab_pictures_set (self->pictures, self->lab->variants->len, NULL, NULL);
  }
  if (last && newest)
    lab_view_set_busy (self, FALSE);
}

/* ── Computing ── */

static void
lab_view_request (TdLabView *self)
{
  self->stale = TRUE;
  td_lab_blind_end (self->blind);
  if (!self->active || !self->scan || !self->has_base || !self->engine)
    return;
  self->stale = self->fresh = FALSE;
  gtk_progress_bar_set_fraction (self->progress, 0);
  lab_view_set_busy (self, TRUE);
  td_lab_work_request (self->work, self->engine, self->scan, self->lab, self->reviews);
}

/* Variants are called as what they take is called in the window, unless somebody named them. */
static void
lab_view_name_variants (TdLabView *self)
{
  for (guint i = 0; i < self->lab->variants->len; i++) {
    TdLabVariant *variant = self->lab->variants->pdata[i];
    if (td_label_variant_is_named (variant))
      continue;
    g_free (variant->name);
    variant->name = td_label_variant (variant);
  }
}

static void
lab_view_drop_news (TdLabView *self)
{
  td_lab_table_show (self->table, self->lab, NULL, FALSE);
  g_clear_pointer (&self->news, td_lab_news_unref);
  lab_view_show_charts (self);
  lab_view_show_budget (self);
  lab_view_show_words (self);
}

/* The variants are others than they were. */
static void
lab_view_variants_changed (TdLabView *self)
{
  lab_view_name_variants (self);

  const guint n = self->lab->variants->len;
  g_autofree const char **names = g_new (const char *, n + 1);

  for (guint i = 0; i < n; i++)
    names[i] = lab_view_variant (self, i)->name;
  td_latest_cancel (self->work);
  lab_view_set_busy (self, FALSE);
  td_lab_pictures_set_names (self->pictures, names, n);
  lab_view_drop_news (self);
  gtk_stack_page_set_visible (self->figures_page, FALSE);
  lab_view_request (self);
}

/* ── Variants ── */

static const char *const presets[][TD_LAB_MOST + 2] = {
  { "interpolations", "", "--interpolation nearest", NULL },
  { "kernels", "", "--kernel texture", "--precision half", NULL },
  { "precisions", "--precision single", "--precision half", "--precision half-run", NULL },
  { "methods", "--method fbp", "--method fourier", NULL },
  { "filters", "--filter ram-lak", "--filter shepp-logan", "--filter cosine", "--filter hann",
    "--filter parzen", NULL },
};

static gboolean
lab_view_fill (TdLabView *self, const char *name, GError **error)
{
  g_ptr_array_set_size (self->lab->variants, 0);
  self->reviews = FALSE;
  /* What only a graphics card does is shown without one, too. */
  self->lab->emulate = g_str_equal (name, "kernels");
  if (g_str_equal (name, "review")) {
    self->reviews = TRUE;
    return td_lab_review_add (self->lab, error);
  }
  for (guint i = 0; i < G_N_ELEMENTS (presets); i++)
    for (guint k = 1; g_str_equal (presets[i][0], name) && presets[i][k]; k++)
      if (!td_lab_add (self->lab, presets[i][k], error))
        return FALSE;
  return TRUE;
}

static gboolean
lab_view_is_cone (const TdLabView *self)
{
  return self->scan && td_scan_facts (self->scan)->geometry.beam != TD_BEAM_PARALLEL;
}

/* Until somebody chose variants there are these: what they differ in, the beam's methods do. */
static void
lab_view_fill_first (TdLabView *self)
{
  GAction *parallel = g_action_map_lookup_action (G_ACTION_MAP (self->actions), "preset-parallel");

  g_simple_action_set_enabled (G_SIMPLE_ACTION (parallel), !lab_view_is_cone (self));
  if (!self->chosen)
    lab_view_fill (self, lab_view_is_cone (self) ? "kernels" : "interpolations", NULL);
}

static void
lab_view_on_preset (TdLabView *self, GVariant *parameter)
{
  g_autoptr (GError) error = NULL;

  self->chosen = TRUE;
  lab_view_fill (self, g_variant_get_string (parameter, NULL), &error);
  lab_view_variants_changed (self);
}

static void
lab_view_edit (TdLabView *self, int index, GtkWidget *from)
{
  graphene_rect_t bounds;

  if (!gtk_widget_compute_bounds (from, GTK_WIDGET (self), &bounds))
    return;
  self->edited = index;
  gtk_popover_set_pointing_to (GTK_POPOVER (self->editor),
                               &(GdkRectangle) { (int) bounds.origin.x, (int) bounds.origin.y,
                                                 (int) MIN (bounds.size.width, 300), 24 });
  td_lab_editor_show (self->editor, index < 0 ? NULL : lab_view_variant (self, (guint) index));
}

static void
lab_view_on_add (TdLabView *self)
{
  lab_view_edit (self, -1, GTK_WIDGET (self->add));
}

static void
lab_view_on_edit (TdLabView *self, GVariant *parameter)
{
  lab_view_edit (self, (int) g_variant_get_uint32 (parameter), GTK_WIDGET (self->table));
}

/* In the place of another: the new one comes last and is moved there. */
static void
lab_view_on_applied (TdLabEditor *editor, const char *text, TdLabView *self)
{
  g_autoptr (GError) error = NULL;
  GPtrArray *variants = self->lab->variants;
  const int at = self->edited;
  TdLabVariant *old = at >= 0 ? g_ptr_array_steal_index (variants, (guint) at) : NULL;

  if (!td_lab_add (self->lab, text, &error)) {
    g_autofree char *words = td_label_error (error);
    if (old)
      g_ptr_array_insert (variants, at, old);
    td_lab_editor_set_problem (editor, words);
    return;
  }
  if (old) {
    g_ptr_array_insert (variants, at, g_ptr_array_steal_index (variants, variants->len - 1));
    td_lab_variant_free (old);
  }
  self->reviews = FALSE;
  self->chosen = TRUE;
  td_lab_editor_set_problem (editor, NULL);
  lab_view_variants_changed (self);
}

static void
lab_view_on_duplicate (TdLabView *self, GVariant *parameter)
{
  const TdLabVariant *variant = lab_view_variant (self, g_variant_get_uint32 (parameter));
  g_autofree char *text
      = !td_label_variant_is_named (variant) || !*variant->options
            ? g_strdup (variant->options)
            : g_strdup_printf (_ ("%s, copy: %s"), variant->name, variant->options);
  g_autoptr (GError) error = NULL;

  if (!td_lab_add (self->lab, text, &error)) {
    lab_view_say_error (self, error);
    return;
  }
  self->chosen = TRUE;
  lab_view_variants_changed (self);
}

static void
lab_view_on_remove (TdLabView *self, GVariant *parameter)
{
  if (self->lab->variants->len <= TD_LAB_LEAST) {
    lab_view_say (self, _ ("A lab compares two variants at least"));
    return;
  }
  g_ptr_array_remove_index (self->lab->variants, g_variant_get_uint32 (parameter));
  self->reviews = FALSE;
  self->chosen = TRUE;
  lab_view_variants_changed (self);
}

static void
lab_view_on_hold (TdLabView *self, GVariant *parameter)
{
  TdLabVariant *variant = lab_view_variant (self, g_variant_get_uint32 (parameter));
  TdRecipe base = self->lab->base;

  variant->held = !variant->held;
  self->chosen = TRUE;
  td_lab_set_base (self->lab, &base, NULL);
  lab_view_request (self);
}

/* The window's rows and region stay the window's. */
static void
lab_view_use (TdLabView *self, guint index)
{
  const TdRecipe *base = &self->lab->base;
  TdRecipe recipe = lab_view_variant (self, index)->recipe;

  recipe.row_first = self->rows[0];
  recipe.row_end = self->rows[1];
  memcpy (recipe.region, base->region, sizeof recipe.region);
  g_signal_emit_by_name (self, "take-requested", &recipe);
}

static void
lab_view_on_use (gpointer user, GVariant *parameter)
{
  lab_view_use (user, g_variant_get_uint32 (parameter));
}

static void
lab_view_on_budget (TdLabView *self)
{
  self->lab->budget = TRUE;
  lab_view_request (self);
}

/* What is there stays; what is not is not made any more. */
static void
lab_view_on_stop (TdLabView *self)
{
  td_latest_cancel (self->work);
  td_lab_pictures_stop (self->pictures);
  lab_view_set_busy (self, FALSE);
  if (!self->fresh)
    lab_view_drop_news (self);
  td_lab_table_show (self->table, self->news ? self->news->lab : self->lab,
                     self->news ? self->news->result : NULL, TRUE);
  lab_view_say (self, _ ("Stopped: what is missing was not computed"));
  gtk_widget_set_visible (self->go_on, TRUE);
}

static void
lab_view_on_line_drawn (TdLabPictures *pictures, double x0, double y0, double x1, double y1,
                        TdLabView *self)
{
  self->lab->has_line = TRUE;
  self->lab->line = (TdLabLine) { x0, y0, x1, y1 };
  gtk_stack_set_visible_child_name (self->sheets, "profile");
  if (!self->news)
    return;
  self->news->result->line = self->lab->line;
  lab_view_show_charts (self);
}

/* ── Blind test ── */

static void
lab_view_on_blind_begin (TdLabBlind *blind, TdLabView *self)
{
  guint a, b;

  td_lab_pictures_get_pair (self->pictures, &a, &b);
  const guint n = self->lab->variants->len;
  const char *reference = _ ("Reference");
  if (a == b) {
    td_lab_blind_say (blind, _ ("A and B are the same picture: choose two, above the pictures"));
    return;
  }
  if (!self->fresh || !self->news->images[a] || !self->news->images[b]) {
    td_lab_blind_say (blind, _ ("A or B has no picture yet"));
    return;
  }
  td_lab_blind_begin (blind, a < n ? lab_view_variant (self, a)->name : reference,
                      b < n ? lab_view_variant (self, b)->name : reference);
}

static void
lab_view_on_blind_shown (TdLabBlind *blind, int which, TdLabView *self)
{
  guint pair[2];

  td_lab_pictures_get_pair (self->pictures, &pair[0], &pair[1]);
  td_lab_pictures_show_blind (self->pictures, which < 0 ? -1 : (int) pair[which],
                              td_lab_blind_title (blind));
}

/* ── Files ── */

typedef enum { SAVE_PNG, SAVE_SVG, SAVE_CSV, SAVE_VARIANTS, N_SAVES } Save;

static char *
lab_view_text (TdLabView *self, Save what)
{
  const TdLabNews *news = self->news;

  if (what == SAVE_VARIANTS)
    return td_lab_to_json (self->lab);
  if (!news)
    return NULL;
  if (what == SAVE_CSV)
    return td_lab_csv (news->lab, news->result);
  return news->figures[0] ? td_lab_review_svg (news->figures)
                          : td_lab_svg (news->lab, news->result);
}

/* What is written. */
typedef struct {
  GBytes *bytes;       /* of a text, or of pixels */
  guint width, height; /* of a picture; 0: a text */
} Saving;

static void
lab_view_saving_free (gpointer user)
{
  Saving *saving = user;

  g_bytes_unref (saving->bytes);
  g_free (saving);
}

static GBytes *
lab_view_png (const Saving *saving)
{
  g_autoptr (GdkTexture) texture
      = gdk_memory_texture_new ((int) saving->width, (int) saving->height, GDK_MEMORY_DEFAULT,
                                saving->bytes, 4 * (gsize) saving->width);

  return gdk_texture_save_to_png_bytes (texture);
}

static gboolean
lab_view_write (gpointer what, const char *path, GError **error)
{
  const Saving *saving = what;
  g_autoptr (GBytes) bytes = saving->width ? lab_view_png (saving) : g_bytes_ref (saving->bytes);

  /* Whoever chose the name was asked whether to replace what is there. */
  return g_file_set_contents (path, g_bytes_get_data (bytes, NULL),
                              (gssize) g_bytes_get_size (bytes), error);
}

static void
lab_view_on_written (GtkWidget *widget, const char *path, gboolean written)
{
  TdLabView *self = TD_LAB_VIEW (widget);
  g_autofree char *name = g_path_get_basename (path);
  g_autofree char *words = g_strdup_printf (_ ("%s is written"), name);

  if (written && self->lab) /* else the window has gone */
    lab_view_say (self, words);
}

/* A figure has no buttons: where they stand there is nothing. */
static void
lab_view_clear_buttons (GtkWidget *area, GtkWidget *widget, guchar *pixels, gsize stride)
{
  const graphene_rect_t box = GRAPHENE_RECT_INIT (0, 0, (float) gtk_widget_get_width (area),
                                                  (float) gtk_widget_get_height (area));
  graphene_rect_t bounds;

  if (GTK_IS_BUTTON (widget) && gtk_widget_compute_bounds (widget, area, &bounds)
      && graphene_rect_intersection (&bounds, &box, &bounds)) {
    guchar *corner = pixels + (gsize) bounds.origin.y * stride + 4 * (gsize) bounds.origin.x;
    for (gsize y = 0; y < (gsize) bounds.size.height; y++)
      memset (corner + y * stride, 0, 4 * (gsize) bounds.size.width);
  }
  for (GtkWidget *child = gtk_widget_get_first_child (widget); child;
       child = gtk_widget_get_next_sibling (child))
    if (gtk_widget_get_mapped (child))
      lab_view_clear_buttons (area, child, pixels, stride);
}

GBytes *
td_lab_view_picture (TdLabView *self, guint *width, guint *height)
{
  GtkWidget *area = td_lab_pictures_area (self->pictures);
  g_autoptr (GdkPaintable) paintable = gtk_widget_paintable_new (area);
  g_autoptr (GtkSnapshot) snapshot = gtk_snapshot_new ();
  const graphene_rect_t box = GRAPHENE_RECT_INIT (0, 0, (float) gtk_widget_get_width (area),
                                                  (float) gtk_widget_get_height (area));

  gdk_paintable_snapshot (paintable, snapshot, box.size.width, box.size.height);
  g_autoptr (GskRenderNode) node = gtk_snapshot_to_node (snapshot);
  GskRenderer *renderer = gtk_native_get_renderer (gtk_widget_get_native (GTK_WIDGET (self)));
  if (!node || !renderer)
    return NULL;
  g_autoptr (GdkTexture) texture = gsk_renderer_render_texture (renderer, node, &box);
  *width = (guint) gdk_texture_get_width (texture);
  *height = (guint) gdk_texture_get_height (texture);
  const gsize stride = 4 * (gsize) *width;
  guchar *pixels = g_malloc (stride * *height);
  gdk_texture_download (texture, pixels, stride);
  lab_view_clear_buttons (area, area, pixels, stride);
  return g_bytes_new_take (pixels, stride * *height);
}

static void
lab_view_save_to (TdLabView *self, Save what, const char *path)
{
  char *text = what != SAVE_PNG ? lab_view_text (self, what) : NULL;
  Saving *saving = g_new0 (Saving, 1);

  saving->bytes = text               ? g_bytes_new_take (text, strlen (text))
                  : what == SAVE_PNG ? td_lab_view_picture (self, &saving->width, &saving->height)
                                     : NULL;
  if (!saving->bytes) {
    g_free (saving);
    lab_view_say (self, _ ("There is nothing yet to be exported"));
    return;
  }
  td_save_file (GTK_WIDGET (self), _ ("The lab’s file was not written"), path, lab_view_write,
                saving, lab_view_saving_free, lab_view_on_written);
}

static void
lab_view_on_painted (GdkFrameClock *clock, gpointer user)
{
  g_autofree char *path = g_object_steal_data (user, "path");

  g_signal_handlers_disconnect_by_func (clock, lab_view_on_painted, user);
  if (path)
    lab_view_save_to (user, SAVE_PNG, path);
}

static void
lab_view_on_save_chosen (gpointer user, const char *path)
{
  const Save what = GPOINTER_TO_UINT (g_object_get_data (user, "save"));
  GdkFrameClock *clock = gtk_widget_get_frame_clock (user);

  if (what != SAVE_PNG || !clock) {
    lab_view_save_to (user, what, path);
    return;
  }
  /* What has changed since the last frame has no picture until the next. */
  g_object_set_data_full (user, "path", g_strdup (path), g_free);
  g_signal_connect_object (clock, "after-paint", G_CALLBACK (lab_view_on_painted), user, 0);
  gtk_widget_queue_draw (user);
}

static void
lab_view_save (TdLabView *self, Save what)
{
  static const char *const names[N_SAVES]
      = { "lab.png", "lab.svg", "lab.csv", "lab-variants.json" };

  if (!self->news && what != SAVE_VARIANTS) {
    lab_view_say (self, _ ("There is nothing yet to be exported"));
    return;
  }
  g_object_set_data (G_OBJECT (self), "save", GUINT_TO_POINTER (what));
  td_choose_name (self, _ ("Export from the Lab"), names[what], lab_view_on_save_chosen, self);
}

static void
lab_view_on_save (gpointer user, GVariant *parameter, GAction *action)
{
  static const char *const names[N_SAVES] = { "save-png", "save-svg", "save-csv", "save-variants" };

  for (guint i = 0; i < N_SAVES; i++)
    if (g_str_equal (g_action_get_name (action), names[i]))
      lab_view_save (user, (Save) i);
}

static void
lab_view_load (GTask *task, gpointer source, gpointer path, GCancellable *cancellable)
{
  GError *error = NULL;
  TdLab *lab = td_lab_load (path, &error);

  if (lab)
    g_task_return_pointer (task, lab, (GDestroyNotify) td_lab_free);
  else
    g_task_return_error (task, error);
}

/* The file's variants over the window's recipe: its base is another scan's. */
static void
lab_view_on_loaded (GObject *object, GAsyncResult *result, gpointer user)
{
  TdLabView *self = TD_LAB_VIEW (object);
  g_autoptr (GError) error = NULL;
  g_autoptr (TdLab) lab = g_task_propagate_pointer (G_TASK (result), &error);

  if (!self->lab) /* the window has gone */
    return;
  const TdRecipe base = self->lab->base;
  if (!lab || !td_lab_set_base (lab, &base, &error)) {
    lab_view_say_error (self, error);
    return;
  }
  lab->base.row_first = base.row_first;
  lab->base.row_end = base.row_end;
  td_lab_set_base (lab, &lab->base, NULL);
  lab->reference = lab->measure = TRUE;
  td_lab_free (self->lab);
  self->lab = g_steal_pointer (&lab);
  self->reviews = FALSE;
  self->chosen = TRUE;
  lab_view_variants_changed (self);
}

static void
lab_view_on_load_chosen (gpointer user, const char *path)
{
  g_autoptr (GTask) task = g_task_new (user, NULL, lab_view_on_loaded, NULL);
  g_task_set_task_data (task, g_strdup (path), g_free);
  g_task_run_in_thread (task, lab_view_load);
}

static void
lab_view_on_load (gpointer user)
{
  static const char *const json[] = { "*.json", NULL };
  GtkFileChooser *chooser = td_choose_file (user, _ ("Load Variants"), GTK_FILE_CHOOSER_ACTION_OPEN,
                                            lab_view_on_load_chosen, user);

  td_choose_file_add_filter (chooser, _ ("Variants (.json)"), json);
}

/* ── Keys ── */

/* B in the place of A while F is held: pressed again and again by the keyboard's repeat. */
static gboolean
lab_view_on_key_pressed (GtkEventControllerKey *controller, guint key, guint code,
                         GdkModifierType state, TdLabView *self)
{
  GtkWidget *focus = gtk_root_get_focus (gtk_widget_get_root (GTK_WIDGET (self)));

  if (!self->active || (key != GDK_KEY_f && key != GDK_KEY_F)
      || (state & (GDK_CONTROL_MASK | GDK_ALT_MASK)) || GTK_IS_EDITABLE (focus))
    return GDK_EVENT_PROPAGATE;
  td_lab_pictures_hold (self->pictures, TRUE);
  return GDK_EVENT_STOP;
}

static void
lab_view_on_key_released (GtkEventControllerKey *controller, guint key, guint code,
                          GdkModifierType state, TdLabView *self)
{
  if (key == GDK_KEY_f || key == GDK_KEY_F)
    td_lab_pictures_hold (self->pictures, FALSE);
}

/* A key that is let go over another window is not told here. */
static void
lab_view_on_window_active (GtkWindow *window, GParamSpec *property, TdLabView *self)
{
  if (!gtk_window_is_active (window))
    td_lab_pictures_hold (self->pictures, FALSE);
}

/* The page gets its keys wherever the focus is in the window. */
static void
lab_view_on_root (TdLabView *self)
{
  GtkRoot *root = gtk_widget_get_root (GTK_WIDGET (self));

  if (!root)
    return;
  GtkEventController *keys = gtk_event_controller_key_new ();
  gtk_event_controller_set_propagation_phase (keys, GTK_PHASE_CAPTURE);
  g_signal_connect_object (keys, "key-pressed", G_CALLBACK (lab_view_on_key_pressed), self, 0);
  g_signal_connect_object (keys, "key-released", G_CALLBACK (lab_view_on_key_released), self, 0);
  gtk_widget_add_controller (GTK_WIDGET (root), keys);
  g_signal_connect_object (root, "notify::is-active", G_CALLBACK (lab_view_on_window_active), self,
                           0);
}

/* ── Interface ── */

void
td_lab_view_set_engine (TdLabView *self, TdEngine *engine)
{
  self->engine = td_engine_ref (engine);
}

void
td_lab_view_set_scan (TdLabView *self, TdScan *scan)
{
  td_latest_cancel (self->work);
  td_hold (scan, &self->scan, scan);
  self->has_base = FALSE;
  self->lab->has_line = FALSE;
  for (guint i = 0; i < self->lab->variants->len; i++)
    lab_view_variant (self, i)->held = FALSE; /* at the axis of the scan before */
  lab_view_fill_first (self);
  lab_view_variants_changed (self);
  td_lab_pictures_renew (self->pictures);
}

void
td_lab_view_set_base (TdLabView *self, const TdRecipe *recipe, guint row)
{
  g_autoptr (GError) error = NULL;

  self->rows[0] = recipe->row_first;
  self->rows[1] = recipe->row_end;
  self->lab->base.row_first = row;
  self->lab->base.row_end = row + 1;
  self->has_base = TRUE;
  self->lab->budget = FALSE;
  if (td_lab_set_base (self->lab, recipe, &error))
    lab_view_request (self);
  else
    lab_view_say_error (self, error);
}

void
td_lab_view_set_active (TdLabView *self, gboolean active)
{
  self->active = active;
  if (!active) {
    td_lab_pictures_hold (self->pictures, FALSE);
    td_lab_blind_end (self->blind);
  } else if (self->stale) {
    lab_view_request (self);
  }
}

void
td_lab_view_set_colour_map (TdLabView *self, const char *name)
{
  td_lab_pictures_set_colour_map (self->pictures, name);
}

/* ── Widget ── */

static void
td_lab_view_measure (GtkWidget *widget, GtkOrientation orientation, int for_size, int *minimum,
                     int *natural, int *minimum_baseline, int *natural_baseline)
{
  gtk_widget_measure (TD_LAB_VIEW (widget)->room, orientation, for_size, minimum, natural,
                      minimum_baseline, natural_baseline);
}

/* A popover wants to hear of it, which no layout manager tells. */
static void
td_lab_view_size_allocate (GtkWidget *widget, int width, int height, int baseline)
{
  gtk_widget_allocate (TD_LAB_VIEW (widget)->room, width, height, baseline, NULL);
  gtk_popover_present (GTK_POPOVER (TD_LAB_VIEW (widget)->editor));
}

TD_DISPOSE (TdLabView, td_lab_view)
{
  g_clear_pointer (&self->work, td_latest_free);
  if (self->editor)
    gtk_widget_unparent (GTK_WIDGET (self->editor));
  self->editor = NULL;
  g_clear_pointer (&self->room, gtk_widget_unparent);
  g_clear_pointer (&self->news, td_lab_news_unref);
  g_clear_pointer (&self->lab, td_lab_free);
  g_clear_pointer (&self->scan, td_scan_unref);
  g_clear_pointer (&self->engine, td_engine_unref);
  g_clear_object (&self->actions);
}

static void
td_lab_view_class_init (TdLabViewClass *class)
{
  GtkWidgetClass *widget = GTK_WIDGET_CLASS (class);

  td_ensure_types (TD_TYPE_LAB_PICTURES, TD_TYPE_LAB_TABLE, TD_TYPE_LAB_CHART, TD_TYPE_LAB_BLIND);
  G_OBJECT_CLASS (class)->dispose = td_lab_view_dispose;
  widget->measure = td_lab_view_measure;
  widget->size_allocate = td_lab_view_size_allocate;
  td_bind_template (class, TdLabView, "/org/tomodesk/ui/lab-view.ui", room, pictures, table,
                    profile, differences, frc, scatter, blind, sheets, figures_page, budget, review,
                    add, switcher, progress, stop, go_on, figures);
  td_bind_callbacks (class, lab_view_on_line_drawn, lab_view_use, lab_view_on_blind_begin,
                     lab_view_on_blind_shown);
  td_signal_new (class, "take-requested", 1, G_TYPE_POINTER);
}

static void
td_lab_view_init (TdLabView *self)
{
  static const TdAction actions[] = {
    { "add", G_CALLBACK (lab_view_on_add) },
    { "edit", G_CALLBACK (lab_view_on_edit), "u" },
    { "duplicate", G_CALLBACK (lab_view_on_duplicate), "u" },
    { "hold", G_CALLBACK (lab_view_on_hold), "u" },
    { "remove", G_CALLBACK (lab_view_on_remove), "u" },
    { "use", G_CALLBACK (lab_view_on_use), "u" },
    { "preset", G_CALLBACK (lab_view_on_preset), "s" },
    { "preset-parallel", G_CALLBACK (lab_view_on_preset), "s" },
    { "budget", G_CALLBACK (lab_view_on_budget) },
    { "stop", G_CALLBACK (lab_view_on_stop) },
    { "go-on", G_CALLBACK (lab_view_request) },
    { "load", G_CALLBACK (lab_view_on_load) },
    { "save-png", G_CALLBACK (lab_view_on_save) },
    { "save-svg", G_CALLBACK (lab_view_on_save) },
    { "save-csv", G_CALLBACK (lab_view_on_save) },
    { "save-variants", G_CALLBACK (lab_view_on_save) },
  };
  TdRecipe recipe;

  td_recipe_init (&recipe);
  self->lab = td_lab_new (&recipe, 0);
  self->lab->reference = self->lab->measure = TRUE;
  self->work = td_lab_work_new (lab_view_on_news, self);
  self->actions = g_simple_action_group_new ();
  td_add_actions (self->actions, actions, G_N_ELEMENTS (actions), self);
  gtk_widget_insert_action_group (GTK_WIDGET (self), "lab", G_ACTION_GROUP (self->actions));
  gtk_widget_init_template (GTK_WIDGET (self));
  td_wrap (gtk_widget_get_parent (GTK_WIDGET (self->add)), 8);
  td_wrap (self->switcher, 0);
  self->editor = g_object_new (TD_TYPE_LAB_EDITOR, NULL);
  gtk_widget_set_parent (GTK_WIDGET (self->editor), GTK_WIDGET (self));
  g_signal_connect (self->editor, "applied", G_CALLBACK (lab_view_on_applied), self);
  g_signal_connect (self, "notify::root", G_CALLBACK (lab_view_on_root), NULL);
  td_lab_chart_set_label (self->profile, _ ("Profile along the line"));
  td_lab_chart_set_label (self->differences, _ ("Difference along the line"));
  td_lab_chart_set_label (self->frc, _ ("Fourier ring correlation of even and odd views"));
  td_lab_chart_set_label (self->scatter, _ ("Time against error"));
  lab_view_fill_first (self);
  lab_view_variants_changed (self);
}
