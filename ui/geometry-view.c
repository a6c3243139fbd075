/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "geometry-view.h"

#include <glib/gi18n.h>
#include <math.h>

#include "compute/cone/cone.h"
#include "dataset/scan-view.h"
#include "orbit-facts.h"
#include "orbit-space.h"
#include "ui.h"
#include "wrap-layout.h"

struct _TdGeometryView {
  AdwBin parent_instance;
  GtkBox *column, *facts;
  GtkLabel *problem;
  GtkWidget *heading;
  GtkButton *side, *top;
  TdSpaceView *space;
  GtkAdjustment *view_adjustment;
  TdScan *scan;
  TdRecipe recipe;
  TdOrbit *orbit; /* of scan and recipe; NULL: to be made when it is looked at */
  gboolean active;
};

G_DEFINE_FINAL_TYPE (TdGeometryView, td_geometry_view, ADW_TYPE_BIN)

/* ── Showing ── */

static GtkWidget *
geometry_view_new_label (const char *text, const char *classes)
{
  GtkWidget *label = td_label_new (text, classes);

  gtk_label_set_wrap (GTK_LABEL (label), TRUE);
  gtk_label_set_selectable (GTK_LABEL (label), TRUE);
  /* A selectable label would take the focus on the way through the page. */
  gtk_widget_set_focusable (label, FALSE);
  return label;
}

static void
show_facts (TdGeometryView *self)
{
  g_autoptr (GArray) facts = td_orbit_facts (self->orbit);
  GtkWidget *child;

  while ((child = gtk_widget_get_first_child (GTK_WIDGET (self->facts))))
    gtk_box_remove (self->facts, child);
  for (guint i = 0; i < facts->len; i++) {
    const TdOrbitFact *fact = &g_array_index (facts, TdOrbitFact, i);
    gtk_box_append (self->facts,
                    td_box_new (GTK_ORIENTATION_VERTICAL, 1,
                                geometry_view_new_label (fact->title, "caption dim-label"),
                                geometry_view_new_label (fact->value, "numeric"), NULL));
  }
}

static void
show_view (TdGeometryView *self)
{
  guint view = (guint) round (gtk_adjustment_get_value (self->view_adjustment));
  g_autofree char *label = g_strdup_printf (
      _ ("Geometry of view %u: source, detector, rotation axis and volume"), view);

  td_space_view_take_space (self->space, td_orbit_space (self->orbit, view));
  td_set_spoken_name (self->space, label);
}

/* The centre at the middle of the rows that are left. */
static double
seen_centre (const TdScanFacts *facts, const TdScanFacts *seen, const TdScanFrame *frame,
             const TdRecipe *recipe)
{
  const double stated
      = isfinite (facts->centre_px) ? facts->centre_px : (facts->n_columns - 1) / 2.0;

  if (facts->geometry.beam != TD_BEAM_PARALLEL)
    return td_scan_frame_column (frame, facts->n_columns, recipe->centre_px);
  const TdAxisLine line = td_axis_line (isfinite (recipe->centre_px) ? recipe->centre_px : stated,
                                        recipe->tilt_deg, facts->n_rows);
  return td_axis_line_seen (&line, facts, frame, seen->n_rows).centre_px;
}

/* The orbit of what the recipe leaves of the frames. A crop that does not fit is told elsewhere. */
static TdOrbit *
new_orbit (TdGeometryView *self)
{
  TdRecipe recipe = self->recipe;
  const TdScanFrame frame = {
    .crop_column = recipe.crop[0],
    .crop_row = recipe.crop[1],
    .crop_columns = recipe.crop[2],
    .crop_rows = recipe.crop[3],
    .bin_columns = recipe.bin[0],
    .bin_rows = recipe.bin[1],
    .bin_views = recipe.bin_views,
    .on_side = td_cone_scan_portrait (td_scan_facts (self->scan)),
  };
  g_autoptr (TdScan) seen = td_scan_view_new (self->scan, &frame, NULL);

  if (!seen)
    return td_orbit_new (td_scan_facts (self->scan), &recipe);
  recipe.centre_px
      = seen_centre (td_scan_facts (self->scan), td_scan_facts (seen), &frame, &recipe);
  return td_orbit_new (td_scan_facts (seen), &recipe);
}

static void
geometry_view_show (TdGeometryView *self)
{
  const double origin[3] = { 0, 0, 0 };

  if (!self->active || !self->scan || self->orbit)
    return;
  self->orbit = new_orbit (self);
  const char *problem = self->orbit->problem;
  gtk_adjustment_set_upper (self->view_adjustment, self->orbit->n_views - 1);
  td_space_view_set_ball (self->space, origin, self->orbit->radius);
  gtk_label_set_text (self->problem, problem ? problem : "");
  gtk_widget_set_visible (GTK_WIDGET (self->problem), problem != NULL);
  show_facts (self);
  show_view (self);
}

void
td_geometry_view_set_active (TdGeometryView *self, gboolean active)
{
  self->active = active;
  geometry_view_show (self);
}

void
td_geometry_view_set_scan (TdGeometryView *self, TdScan *scan)
{
  g_clear_pointer (&self->orbit, td_orbit_free);
  g_clear_pointer (&self->scan, td_scan_unref);
  td_space_view_take_space (self->space, NULL);
  if (!scan)
    return;
  self->scan = td_scan_ref (scan);
  td_recipe_init (&self->recipe);
  gtk_adjustment_configure (self->view_adjustment, 0, 0, td_scan_facts (scan)->n_views - 1, 1, 10,
                            0);
  td_space_view_reset (self->space);
  geometry_view_show (self);
}

void
td_geometry_view_set_recipe (TdGeometryView *self, const TdRecipe *recipe)
{
  self->recipe = *recipe;
  g_clear_pointer (&self->orbit, td_orbit_free);
  geometry_view_show (self);
}

/* ── By the user ── */

static void
geometry_view_on_view_changed (GtkAdjustment *adjustment, TdGeometryView *self)
{
  if (self->orbit)
    show_view (self);
}

static void
geometry_view_on_look (GtkButton *button, TdGeometryView *self)
{
  td_space_view_look_from (self->space, button == self->side ? 90 : 0,
                           button == self->top ? 90 : 0);
}

/* ── Widget ── */

TD_DISPOSE (TdGeometryView, td_geometry_view)
{
  g_clear_pointer (&self->orbit, td_orbit_free);
  g_clear_pointer (&self->scan, td_scan_unref);
}

static void
td_geometry_view_class_init (TdGeometryViewClass *class)
{
  g_type_ensure (TD_TYPE_SPACE_VIEW);
  G_OBJECT_CLASS (class)->dispose = td_geometry_view_dispose;
  td_bind_template (class, TdGeometryView, "/org/tomodesk/ui/geometry-view.ui", column, heading,
                    facts, problem, space, view_adjustment);
  td_bind_callbacks (class, geometry_view_on_view_changed, geometry_view_on_look,
                     td_space_view_reset);
}

static void
td_geometry_view_init (TdGeometryView *self)
{
  gtk_widget_init_template (GTK_WIDGET (self));
  gtk_box_append (self->column,
                  td_footer_new (_ ("View"), self->view_adjustment, _ ("View"), _ ("View number")));
  td_wrap (self->heading, 4);
}
