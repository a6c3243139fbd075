/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "wrap-layout.h"

static int
wrap_layout_spacing (GtkWidget *widget)
{
  return GPOINTER_TO_INT (g_object_get_data (G_OBJECT (widget), "wrap-spacing"));
}

/* Children that stand on one line. */
typedef struct {
  GtkWidget *first, *end; /* end: the first child of the next line, or NULL */
  int width, height;      /* natural */
  guint n_expand;
} Line;

static GtkWidget *
wrap_layout_next (GtkWidget *child)
{
  while (child && !gtk_widget_should_layout (child))
    child = gtk_widget_get_next_sibling (child);
  return child;
}

static int
wrap_layout_measure_child (GtkWidget *child, int *minimum)
{
  int natural;

  gtk_widget_measure (child, GTK_ORIENTATION_HORIZONTAL, -1, minimum, &natural, NULL, NULL);
  return natural;
}

/* The line that begins at @first. One child alone may be wider than the line. */
static Line
wrap_layout_line (GtkWidget *first, int spacing, int width)
{
  Line line = { .first = first };
  GtkWidget *child = first;

  for (; child; child = wrap_layout_next (gtk_widget_get_next_sibling (child))) {
    int least;
    const int before = child == first ? 0 : line.width + spacing;
    const int takes = wrap_layout_measure_child (child, &least);
    if (child != first && before + takes > width)
      break;
    int height;
    const int given = MAX (MIN (takes, width), least);
    gtk_widget_measure (child, GTK_ORIENTATION_VERTICAL, given, NULL, &height, NULL, NULL);
    line.width = before + given;
    line.height = MAX (line.height, height);
    line.n_expand += gtk_widget_compute_expand (child, GTK_ORIENTATION_HORIZONTAL);
  }
  line.end = child;
  return line;
}

static GtkSizeRequestMode
wrap_layout_mode (GtkWidget *widget)
{
  return GTK_SIZE_REQUEST_HEIGHT_FOR_WIDTH;
}

static void
wrap_layout_measure (GtkWidget *widget, GtkOrientation orientation, int for_size, int *minimum,
                     int *natural, int *minimum_baseline, int *natural_baseline)
{
  const int spacing = wrap_layout_spacing (widget);
  GtkWidget *child = wrap_layout_next (gtk_widget_get_first_child (widget));

  *minimum = *natural = 0;
  if (orientation == GTK_ORIENTATION_VERTICAL) {
    while (child) {
      const Line line = wrap_layout_line (child, spacing, for_size < 0 ? G_MAXINT : for_size);
      *natural += (*natural ? spacing : 0) + line.height;
      child = line.end;
    }
    *minimum = *natural;
    return;
  }
  for (; child; child = wrap_layout_next (gtk_widget_get_next_sibling (child))) {
    int least;
    *natural += (*natural ? spacing : 0) + wrap_layout_measure_child (child, &least);
    *minimum = MAX (*minimum, least);
  }
}

static void
wrap_layout_allocate_line (GtkWidget *widget, const Line *line, GtkAllocation place)
{
  const gboolean rtl = gtk_widget_get_direction (widget) == GTK_TEXT_DIR_RTL;
  int spare = MAX (place.width - line->width, 0), x = 0;
  guint expanding = line->n_expand;

  for (GtkWidget *child = line->first; child != line->end;
       child = wrap_layout_next (gtk_widget_get_next_sibling (child))) {
    int least;
    const int takes = wrap_layout_measure_child (child, &least);
    int width = MAX (MIN (takes, place.width), least);
    if (gtk_widget_compute_expand (child, GTK_ORIENTATION_HORIZONTAL)) {
      const int more = spare / (int) expanding--;
      spare -= more;
      width += more;
    }
    gtk_widget_size_allocate (
        child, &(GtkAllocation) { rtl ? place.width - x - width : x, place.y, width, line->height },
        -1);
    x += width + wrap_layout_spacing (widget);
  }
}

static void
wrap_layout_allocate (GtkWidget *widget, int width, int height, int baseline)
{
  const int spacing = wrap_layout_spacing (widget);
  int y = 0;

  for (GtkWidget *child = wrap_layout_next (gtk_widget_get_first_child (widget)); child;) {
    const Line line = wrap_layout_line (child, spacing, width);
    wrap_layout_allocate_line (widget, &line, (GtkAllocation) { 0, y, width, line.height });
    y += line.height + spacing;
    child = line.end;
  }
}

void
td_wrap (gpointer widget, int spacing)
{
  g_object_set_data (widget, "wrap-spacing", GINT_TO_POINTER (spacing));
  gtk_widget_set_layout_manager (
      widget, gtk_custom_layout_new (wrap_layout_mode, wrap_layout_measure, wrap_layout_allocate));
}
