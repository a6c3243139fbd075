/* SPDX-License-Identifier: GPL-3.0-or-later */
/* People who cannot see the window, or read it in large letters or another language, can use it.
   Every control and picture has a name, no text is cut, and the window fits the screen. The
   environment says in which language (LANGUAGE) and how large the letters are
   (TOMODESK_TEXT_PERCENT). TOMODESK_MARKED: the language is tests/mark-words.py's, in which
   whatever was not translated is found. */
#include <libintl.h>
#include <locale.h>

#include "ui-test.h"
#include "ui/batch-dialog.h"
#include "ui/batch-window.h"
#include "ui/device-catalog.h"
#include "ui/devices-window.h"
#include "ui/movie-dialog.h"
#include "ui/guide-window.h"
#include "ui/jobs-window.h"
#include "ui/open-dialog.h"
#include "ui/preferences-window.h"
#include "ui/recipe-panel.h"
#include "ui/reconstruct-dialog.h"
#include "window-pins.h"
#include "window-test.h"

typedef struct {
  const char *place; /* what is shown */
} Walk;

/* What is called the same in all languages: files and scans, devices by their names in recipes,
 * formats, units, keys, options. */
#define KEPT                                                                                       \
  "(?:/"                                                                                           \
  "\\S+|\\S+\\.nxs|shepp-logan|access|volumes|host|cuda|opencl|Tomodesk|NXtomo|HDF5|uint16|"       \
  "float32"                                                                                        \
  "|[KMG]i?B|Ctrl|Shift|Alt|--[a-z-]+ [a-z-]+)(?![A-Za-z])"

#define LEAST_WIDTH 800 /* of a screen on which all can be used */
#define LEAST_HEIGHT 600
#define LEAST_PICTURE 100 /* pixels, of the lab */

static guint text_percent;
static gboolean marked;
static guint faults;
static GHashTable *all_seen;

/* ── Names ── */

/* "TdRecipePanel GtkBox GtkButton": where a widget is, in types. */
static char *
access_path (GtkWidget *widget)
{
  g_autoptr (GPtrArray) names = g_ptr_array_new ();
  g_autoptr (GString) path = g_string_new (NULL);

  for (guint i = 0; widget && i < 5; i++, widget = gtk_widget_get_parent (widget))
    g_ptr_array_insert (names, 0, (gpointer) G_OBJECT_TYPE_NAME (widget));
  for (guint i = 0; i < names->len; i++)
    g_string_append_printf (path, "%s%s", i ? " " : "", (char *) names->pdata[i]);
  return g_string_free (g_steal_pointer (&path), FALSE);
}

static void
access_fault (const Walk *walk, GtkWidget *widget, const char *what)
{
  g_autofree char *path = access_path (widget);
  g_autofree char *text = g_strdup_printf ("%s: %s", path, what);

  if (!g_hash_table_add (all_seen, g_strdup (text)))
    return;
  faults++;
  g_test_message ("%s, %s", walk->place, text);
}

/* A button that shows a symbol is labelled by its image, which has no words. */
static gboolean
access_has_name (GtkWidget *widget)
{
  if (gtk_test_accessible_has_property (GTK_ACCESSIBLE (widget), GTK_ACCESSIBLE_PROPERTY_LABEL))
    return TRUE;
  if (GTK_IS_BUTTON (widget) && !gtk_button_get_label (GTK_BUTTON (widget))
      && GTK_IS_IMAGE (gtk_button_get_child (GTK_BUTTON (widget))))
    return FALSE;
  return gtk_test_accessible_has_relation (GTK_ACCESSIBLE (widget),
                                           GTK_ACCESSIBLE_RELATION_LABELLED_BY);
}

/* The toolkit's widget whose part @widget is: it has the name, or shows its words. NULL: none. */
static GtkWidget *
access_whole (GtkWidget *widget)
{
  static const char *const wholes[]
      = { "GtkSpinButton",   "GtkMenuButton", "GtkEntry",    "GtkSwitch",      "GtkDropDown",
          "AdwViewSwitcher", "AdwComboRow",   "AdwEntryRow", "GtkPopoverMenu", "GtkWindowControls",
          "AdwExpanderRow",  "GtkColumnView", "GtkInfoBar",  "AdwToast",       "GtkSearchEntry" };

  for (GtkWidget *up = gtk_widget_get_parent (widget); up; up = gtk_widget_get_parent (up))
    for (guint i = 0; i < G_N_ELEMENTS (wholes); i++)
      if (g_type_is_a (G_OBJECT_TYPE (up), g_type_from_name (wholes[i])))
        return up;
  return NULL;
}

static gboolean
access_is_unnamed (GtkWidget *widget)
{
  GtkWidget *whole = access_whole (widget);

  if (!whole)
    return !access_has_name (widget);
  return (GTK_IS_SPIN_BUTTON (whole) || GTK_IS_ENTRY (whole) || GTK_IS_DROP_DOWN (whole)
          || GTK_IS_MENU_BUTTON (whole))
         && !access_has_name (whole) && !access_whole (whole);
}

/* What speaks for itself: a text, a list's row with its title, what only holds others. */
static gboolean
access_needs_name (GtkWidget *widget)
{
  return gtk_widget_get_focusable (widget) && gtk_widget_get_can_focus (widget)
         && !GTK_IS_LABEL (widget) && !GTK_IS_LIST_BOX_ROW (widget) && !GTK_IS_WINDOW (widget)
         && !GTK_IS_SCROLLED_WINDOW (widget) && !GTK_IS_POPOVER (widget) && !GTK_IS_STACK (widget);
}

/* ── Texts ── */

/* A line that may be shortened: names of files and what a picture is, whose whole the tooltip
 * tells. */
static gboolean
access_may_be_cut (GtkWidget *label)
{
  for (GtkWidget *up = label; up; up = gtk_widget_get_parent (up)) {
    if (ADW_IS_ENTRY_ROW (up)) /* its title says what is to be typed */
      return FALSE;
    if (gtk_widget_get_has_tooltip (up))
      return TRUE;
    if (GTK_IS_LIST_BOX_ROW (up) || GTK_IS_WINDOW (up))
      return FALSE;
  }
  return FALSE;
}

/* ── Languages ── */

/* The text without the names that drivers give their devices. */
static char *
access_without_devices (const char *text)
{
  GPtrArray *entries = td_device_catalog_entries (td_device_catalog_default ());
  g_autoptr (GString) rest = g_string_new (text);

  for (guint i = 0; entries && i < entries->len; i++) {
    const TdDeviceEntry *entry = entries->pdata[i];
    if (entry->name)
      g_string_replace (rest, entry->name, "", 0);
  }
  return g_string_free (g_steal_pointer (&rest), FALSE);
}

/* In tests/mark-words.py's language every letter that was translated is none of a to z. */
static void
access_language (const Walk *walk, GtkWidget *widget, const char *text)
{
  static GRegex *plain;

  if (!marked || !text)
    return;
  if (!plain)
    plain = g_regex_new (KEPT "(*SKIP)(*FAIL)|[A-Za-z]{3,}", 0, 0, NULL);
  g_autofree char *rest = access_without_devices (text);
  if (g_regex_match (plain, rest, 0, NULL)) {
    g_autofree char *what = g_strdup_printf ("“%s” is not translated", text);
    access_fault (walk, widget, what);
  }
}

static void
access_text (const Walk *walk, GtkWidget *label)
{
  const char *text = gtk_label_get_text (GTK_LABEL (label));
  PangoLayout *layout = gtk_label_get_layout (GTK_LABEL (label));

  if (!text[0])
    return;
  access_language (walk, label, text);
  if (marked)
    return; /* its letters are wider than any language's */
  if (pango_layout_is_ellipsized (layout) && !access_may_be_cut (label)) {
    g_autofree char *what = g_strdup_printf ("“%s” is shortened", text);
    access_fault (walk, label, what);
  }
  /* Below its least width a text is cut by what holds it. */
  graphene_rect_t bounds;
  for (GtkWidget *up = gtk_widget_get_parent (label); up; up = gtk_widget_get_parent (up)) {
    if (GTK_IS_SCROLLABLE (up) || GTK_IS_SCROLLED_WINDOW (up) || GTK_IS_REVEALER (up))
      break;
    if (!gtk_widget_compute_bounds (label, up, &bounds))
      break;
    if (access_may_be_cut (label))
      break;
    if (bounds.origin.x < -1.5
        || bounds.origin.x + bounds.size.width > gtk_widget_get_width (up) + 1.5) {
      if (gtk_widget_get_overflow (up) == GTK_OVERFLOW_HIDDEN || GTK_IS_WINDOW (up)) {
        g_autofree char *what
            = g_strdup_printf ("“%s” is cut by %s", text, G_OBJECT_TYPE_NAME (up));
        access_fault (walk, label, what);
        break;
      }
    }
  }
}

/* What is wider than the pane that it scrolls in, with no bar that says so, is lost. */
static void
access_scrolls (const Walk *walk, GtkWidget *widget)
{
  GtkAdjustment *along = gtk_scrolled_window_get_hadjustment (GTK_SCROLLED_WINDOW (widget));
  const double over = gtk_adjustment_get_upper (along) - gtk_adjustment_get_page_size (along);

  if (over > 1 && gtk_scrolled_window_get_overlay_scrolling (GTK_SCROLLED_WINDOW (widget))) {
    g_autofree char *what = g_strdup_printf ("%.0f of %.0f pixels lie beyond its edge", over,
                                             gtk_adjustment_get_upper (along));
    access_fault (walk, widget, what);
  }
}

/* A box whose children need more lines than it got: they lie over its neighbour. */
static void
access_flow (const Walk *walk, GtkWidget *box)
{
  graphene_rect_t bounds;

  for (GtkWidget *child = gtk_widget_get_first_child (box); child;
       child = gtk_widget_get_next_sibling (child))
    if (gtk_widget_compute_bounds (child, box, &bounds)
        && bounds.origin.y + bounds.size.height > (float) gtk_widget_get_height (box) + 1.5F)
      access_fault (walk, child, "lies below its box");
}

/* Beside its title a row has room for 20 letters of what is chosen: longer ones stand below. */
static void
access_choices (const Walk *walk, AdwComboRow *row)
{
  GListModel *choices = adw_combo_row_get_model (row);

  if (adw_combo_row_get_use_subtitle (row) || !GTK_IS_STRING_LIST (choices))
    return;
  for (guint i = 0; i < g_list_model_get_n_items (choices); i++) {
    const char *text = gtk_string_list_get_string (GTK_STRING_LIST (choices), i);
    if (g_utf8_strlen (text, -1) > 20) {
      g_autofree char *what = g_strdup_printf ("“%s” would be shortened", text);
      access_fault (walk, GTK_WIDGET (row), what);
    }
  }
}

static void
access_walk (const Walk *walk, GtkWidget *widget)
{
  GtkWidget *parent = gtk_widget_get_parent (widget);

  if (!gtk_widget_get_mapped (widget) || !gtk_widget_get_child_visible (widget))
    return;
  if (parent && ADW_IS_FLAP (parent) && !adw_flap_get_reveal_flap (ADW_FLAP (parent))
      && widget == adw_flap_get_flap (ADW_FLAP (parent)))
    return;
  if (access_needs_name (widget) && access_is_unnamed (widget))
    access_fault (walk, widget, "has no name");
  if (GTK_IS_BUTTON (widget) && gtk_button_get_use_underline (GTK_BUTTON (widget))
      && gtk_test_accessible_has_property (GTK_ACCESSIBLE (widget), GTK_ACCESSIBLE_PROPERTY_LABEL)
      && gtk_button_get_label (GTK_BUTTON (widget)))
    access_fault (walk, widget, "is called with the mark of its mnemonic");
  access_language (walk, widget, gtk_widget_get_tooltip_text (widget));
  if (GTK_IS_SCROLLED_WINDOW (widget) && !marked)
    access_scrolls (walk, widget);
  if (GTK_IS_FLOW_BOX (widget))
    access_flow (walk, widget);
  if (ADW_IS_COMBO_ROW (widget) && !marked)
    access_choices (walk, ADW_COMBO_ROW (widget));
  if (GTK_IS_LABEL (widget))
    access_text (walk, widget);
  for (GtkWidget *child = gtk_widget_get_first_child (widget); child;
       child = gtk_widget_get_next_sibling (child))
    access_walk (walk, child);
}

/* A window is mapped before it has a size. */
static gboolean
access_has_size (gpointer widget)
{
  return gtk_widget_get_mapped (widget) && gtk_widget_get_width (widget) > 0;
}

/* What asks for more than @most pixels, from the whole to the part. */
static void
access_tell_wide (GtkWidget *widget, GtkOrientation along, int most)
{
  int least;

  for (GtkWidget *child = gtk_widget_get_first_child (widget); child;
       child = gtk_widget_get_next_sibling (child)) {
    if (!gtk_widget_get_mapped (child))
      continue;
    gtk_widget_measure (child, along, -1, &least, NULL, NULL, NULL);
    if (least > most) {
      g_autofree char *path = access_path (child);
      g_test_message ("  %s needs %d", path, least);
    }
    access_tell_wide (child, along, most);
  }
}

/* TRUE: it fits a small screen. */
static gboolean
access_size (const Walk *walk, GtkWidget *top)
{
  int width, height;

  gtk_widget_measure (top, GTK_ORIENTATION_HORIZONTAL, -1, &width, NULL, NULL, NULL);
  gtk_widget_measure (top, GTK_ORIENTATION_VERTICAL, -1, &height, NULL, NULL, NULL);
  g_test_message ("%s: at least %d × %d pixels, is %d × %d", walk->place, width, height,
                  gtk_widget_get_width (top), gtk_widget_get_height (top));
  if (width > LEAST_WIDTH || height > LEAST_HEIGHT) {
    g_autofree char *what = g_strdup_printf ("%s needs %d × %d pixels", walk->place, width, height);
    access_fault (walk, top, what);
    if (width > LEAST_WIDTH)
      access_tell_wide (top, GTK_ORIENTATION_HORIZONTAL, LEAST_WIDTH / 2);
    if (height > LEAST_HEIGHT)
      access_tell_wide (top, GTK_ORIENTATION_VERTICAL, LEAST_HEIGHT / 4);
  }
  return width <= LEAST_WIDTH && height <= LEAST_HEIGHT;
}

static gboolean
access_has_width (gpointer size)
{
  const int *wanted = size;

  return abs (gtk_widget_get_width (GTK_WIDGET (td_test_window)) - *wanted) < 40;
}

/* A row of the jobs at the foot is seen as a whole, all lines of it. */
static void
access_jobs (const Walk *walk)
{
  GtkListBox *list = td_test_part (td_test_window, "jobs_list");
  GtkWidget *row = GTK_WIDGET (gtk_list_box_get_row_at_index (list, 0));
  GtkWidget *pane = gtk_widget_get_ancestor (GTK_WIDGET (list), GTK_TYPE_SCROLLED_WINDOW);

  if (row && gtk_widget_get_mapped (row)
      && gtk_widget_get_height (row) > gtk_widget_get_height (pane))
    access_fault (walk, row, "is higher than its pane");
}

/* So much of the lab's first picture is seen that it can be judged. */
static void
access_lab (const Walk *walk)
{
  GtkWidget *panes = td_test_part (td_test_window, "lab_view.pictures.panes");
  GtkWidget *pane = td_test_find (panes, TD_TYPE_IMAGE_PANE, NULL, NULL);
  GtkWidget *view = pane ? td_test_part (pane, "view") : NULL;
  graphene_rect_t bounds;

  if (!view || !gtk_widget_get_mapped (view))
    return;
  if (!gtk_widget_compute_bounds (view, panes, &bounds)
      || (float) gtk_widget_get_height (panes) - bounds.origin.y < LEAST_PICTURE)
    access_fault (walk, view, "is too small");
}

/* Everything that is shown, in the size that it has. */
static gboolean
access_look_as_is (const char *place, gpointer top)
{
  const Walk walk = { .place = place };

  td_test_wait (access_has_size, top, place);
  td_test_pause (100);
  td_test_frames (top);
  const gboolean fits = access_size (&walk, top);
  if (top == td_test_window)
    access_jobs (&walk);
  if (top == td_test_window)
    access_lab (&walk);
  access_walk (&walk, top);
  if (!g_str_has_suffix (place, "-small") && !g_str_equal (place, "shortcuts")
      && !g_str_equal (place, "guide")) {
    td_test_pin_window (place, top);
    td_test_pin_popovers (place, top);
  }
  if (g_getenv ("TOMODESK_ACCESS_PICTURES")) {
    g_autofree char *name
        = g_strdup_printf ("access-%s-%s-%u", place, g_getenv ("LANGUAGE"), text_percent);
    td_test_screenshot (top, name);
  }
  return fits;
}

/* Everything that the window or a dialog shows, once it has settled: the window on a small screen,
   too. */
static void
access_look (const char *place, gpointer top)
{
  g_autofree char *small = g_strconcat (place, "-small", NULL);
  int width, height, least = LEAST_WIDTH;

  if (!access_look_as_is (place, top) || top != td_test_window)
    return;
  gtk_window_get_default_size (top, &width, &height);
  gtk_window_set_default_size (top, LEAST_WIDTH, LEAST_HEIGHT);
  td_test_wait (access_has_width, &least, "the window to be small");
  access_look_as_is (small, top);
  gtk_window_set_default_size (top, width, height);
  td_test_wait (access_has_width, &width, "the window to be large");
}

static void
access_check (void)
{
  if (faults > 0)
    g_test_fail ();
  faults = 0;
}

/* ── Places ── */

static void
access_expand (GtkWidget *widget)
{
  if (ADW_IS_EXPANDER_ROW (widget) && gtk_widget_get_visible (widget))
    adw_expander_row_set_expanded (ADW_EXPANDER_ROW (widget), TRUE);
  for (GtkWidget *child = gtk_widget_get_first_child (widget); child;
       child = gtk_widget_get_next_sibling (child))
    access_expand (child);
}

/* One that is hidden ends the program where a reader of screens asks for a window past the last. */
static void
access_no_window_is_hidden (void)
{
  GListModel *windows = gtk_window_get_toplevels ();

  for (guint i = 0; i < g_list_model_get_n_items (windows); i++) {
    g_autoptr (GtkWidget) window = g_list_model_get_item (windows, i);
    if (!gtk_widget_get_mapped (window))
      g_test_message ("%s is hidden", G_OBJECT_TYPE_NAME (window));
    g_assert_true (gtk_widget_get_mapped (window));
  }
}

static void
access_dialog (const char *action, GType type, const char *place)
{
  GAction *on_window = g_action_map_lookup_action (G_ACTION_MAP (td_test_window), action);

  if (on_window)
    g_action_activate (on_window, NULL);
  else
    g_action_group_activate_action (G_ACTION_GROUP (g_application_get_default ()), action, NULL);
  td_test_wait (td_test_window_is_mapped, &type, place);
  GtkWindow *dialog = td_test_other_window (type);
  access_expand (GTK_WIDGET (dialog));
  access_look (place, dialog);
  if (type != TD_TYPE_RECONSTRUCT_DIALOG) /* whose plan is made anew each time */
    td_test_pin_choices (place, dialog);
  td_test_press (dialog, GDK_KEY_Escape);
  td_test_wait (td_test_window_is_gone, &type, "the dialog to close");
  access_no_window_is_hidden ();
}

static void
test_empty (void)
{
  access_look ("empty", td_test_window);
  access_check ();
}

static void
test_failed (void)
{
  td_window_open_path (td_test_window, "/nowhere/scan.nxs");
  td_test_wait (td_test_in_state, (gpointer) "failed", "the scan to fail");
  g_assert_true (gtk_window_get_focus (GTK_WINDOW (td_test_window))
                 == td_test_part (td_test_window, "details_button"));
  access_look ("failed", td_test_window);
  access_check ();
}

static gboolean
access_axis_is_found (gpointer unused)
{
  return td_recipe_panel_next (td_test_part (td_test_window, "panel")) != TD_FLOW_AXIS;
}

static gboolean
access_has_class (GtkWidget *widget, gpointer class)
{
  return gtk_widget_has_css_class (widget, class);
}

/* What a fact is called is smaller than the fact: the style's rules meet the toolkit's parts. */
static void
access_style (void)
{
  GtkWidget *row = td_test_find (td_test_part (td_test_window, "panel"), ADW_TYPE_ACTION_ROW,
                                 access_has_class, (gpointer) "fact");
  const char *const classes[] = { "title", "subtitle" };
  int sizes[2];

  for (guint i = 0; i < 2; i++) {
    GtkWidget *label = td_test_find (row, GTK_TYPE_LABEL, access_has_class, (gpointer) classes[i]);
    sizes[i] = pango_font_description_get_size (
        pango_context_get_font_description (gtk_widget_get_pango_context (label)));
  }
  g_assert_cmpint (sizes[0], <, sizes[1]);
}

/* How large each picture is, and of what, is told in full. */
static gboolean
access_headings_are_whole (gpointer unused)
{
  static const char *const headings[]
      = { "slice.subtitle", "sinogram.subtitle", "projection.subtitle" };

  for (guint i = 0; i < G_N_ELEMENTS (headings); i++) {
    GtkLabel *heading = td_test_part (td_test_scan_view (), headings[i]);
    if (pango_layout_is_ellipsized (gtk_label_get_layout (heading)))
      return FALSE;
  }
  return TRUE;
}

static void
test_scan (void)
{
  static const char *const options[]
      = { "--columns", "256",   "--rows",   "16",    "--photons",       "20000",
          "--rings",   "0.003", "--centre", "131.4", "--centre-unsaid", NULL };
  g_autofree char *path = td_test_phantom ("access.nxs", options);

  td_test_open (path);
  access_look ("slices", td_test_window);
  td_test_frames (GTK_WIDGET (td_test_window)); /* after its return to a usual size */
  td_test_wait (access_headings_are_whole, NULL, "the headings");
  td_test_pin_choices ("slices", td_test_part (td_test_window, "scan_view"));
  td_test_activate ("do-next", NULL);
  td_test_wait (access_axis_is_found, NULL, "the axis");
  td_test_activate ("show-trials", NULL);
  access_expand (td_test_part (td_test_window, "panel"));
  gtk_toggle_button_set_active (td_test_part (td_test_part (td_test_window, "panel"), "more"),
                                TRUE);
  access_look ("panel", td_test_window);
  td_test_pin_choices ("panel", td_test_part (td_test_window, "panel"));
  access_style ();
  access_dialog ("reconstruct", TD_TYPE_RECONSTRUCT_DIALOG, "reconstruct");
  access_check ();
}

static gboolean
access_lab_is_measured (gpointer unused)
{
  return !gtk_widget_get_visible (td_test_part (td_test_window, "lab_view.progress"));
}

static void
test_pages (void)
{
  static const char *const pages[] = { "lab", "volume", "geometry" };
  static const char *const charts[][2]
      = { { "profile", "Profile along the line" },
          { "differences", "Difference along the line" },
          { "frc", "Fourier ring correlation of even and odd views" },
          { "scatter", "Time against error" } };

  for (guint i = 0; i < G_N_ELEMENTS (pages); i++) {
    td_test_show_page (pages[i]);
    td_test_wait (access_has_size,
                  adw_view_stack_get_visible_child (td_test_part (td_test_window, "pages")),
                  "the page");
    td_test_wait (access_lab_is_measured, NULL, "the lab to be measured");
    access_look (pages[i], td_test_window);
  }
  td_test_pin_choices ("geometry", td_test_part (td_test_window, "geometry_view"));
  access_check ();
  for (guint i = 0; i < G_N_ELEMENTS (charts); i++) {
    g_autofree char *part = g_strconcat ("lab_view.", charts[i][0], NULL);
    g_autofree char *other = gtk_test_accessible_check_property (
        td_test_part (td_test_window, part), GTK_ACCESSIBLE_PROPERTY_LABEL,
        g_dgettext ("tomodesk", charts[i][1]), NULL);
    g_assert_cmpstr (other, ==, NULL);
  }
}

static void
test_dialogs (void)
{
  access_dialog ("show-jobs", TD_TYPE_JOBS_WINDOW, "jobs");
  access_dialog ("show-devices", TD_TYPE_DEVICES_WINDOW, "devices");
  access_dialog ("preferences", TD_TYPE_PREFERENCES_WINDOW, "preferences");
  access_dialog ("shortcuts", ADW_TYPE_PREFERENCES_WINDOW, "shortcuts");
  if (!marked) /* the guide is written in English */
    access_dialog ("guide", TD_TYPE_GUIDE_WINDOW, "guide");
  access_dialog ("open-details", TD_TYPE_OPEN_DIALOG, "details");
  access_check ();
}

static gboolean
access_job_has_ended (gpointer item)
{
  return td_job_item_ended (item);
}

static gboolean
access_volume_is_there (gpointer unused)
{
  return td_test_other_window (TD_TYPE_BATCH_WINDOW) == NULL
         && g_strcmp0 (td_test_state (), "scan") == 0;
}

/* A batch as it is asked for, its table, and a volume that is written. */
static void
test_results (void)
{
  g_autofree char *folder = g_build_filename (td_test_folder (), "volumes", NULL);
  GListModel *jobs = td_job_queue_model (td_test_jobs ());

  td_test_activate ("batch", NULL);
  GtkWindow *dialog = td_test_other_window (TD_TYPE_BATCH_DIALOG);
  gtk_editable_set_text (td_test_part (dialog, "folder"), folder);
  gtk_switch_set_active (td_test_part (dialog, "find"), FALSE);
  td_test_wait (td_test_is_sensitive, td_test_part (dialog, "accept"), "the scan to be looked at");
  access_look ("batch", dialog);
  td_test_click (td_test_part (dialog, "accept"));
  g_autoptr (TdJobItem) item = g_list_model_get_item (jobs, g_list_model_get_n_items (jobs) - 1);
  td_test_wait (access_job_has_ended, item, "the batch");
  access_look ("job", td_test_window);
  if (!td_test_other_window (TD_TYPE_BATCH_WINDOW))
    gtk_window_present (
        GTK_WINDOW (td_batch_window_new (GTK_WINDOW (td_test_window), td_test_jobs (), item)));
  GtkWindow *table = td_test_other_window (TD_TYPE_BATCH_WINDOW);
  access_look ("batch-table", table);
  const TdBatchRow *row = td_job_item_facts (item)->scans->pdata[0];
  g_assert_cmpint (row->state, ==, TD_BATCH_WRITTEN);
  td_window_open_path (td_test_window, row->output);
  gtk_window_destroy (table);
  td_test_wait (access_volume_is_there, NULL, "the volume");
  td_test_show_page ("volume");
  access_look ("written", td_test_window);
  access_check ();
  td_test_click (td_test_part (td_test_window, "volume_view.browser.movie"));
  GtkWindow *movie = td_test_other_window (TD_TYPE_MOVIE_DIALOG);
  access_look ("movie", movie);
  td_test_pin_choices ("movie", movie);
  access_check ();
  gtk_window_destroy (movie);
}

int
main (int argc, char **argv)
{
  const char *percent = g_getenv ("TOMODESK_TEXT_PERCENT");
  const char *words = g_getenv ("TOMODESK_WORDS");

  setlocale (LC_ALL, "C.UTF-8");
  if (words) {
    bindtextdomain (GETTEXT_PACKAGE, words);
    bind_textdomain_codeset (GETTEXT_PACKAGE, "UTF-8");
    textdomain (GETTEXT_PACKAGE);
  }
  g_test_init (&argc, &argv, NULL);
  marked = g_getenv ("TOMODESK_MARKED") != NULL;
  text_percent = percent ? (guint) g_ascii_strtoull (percent, NULL, 10) : 100;
  all_seen = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  g_autoptr (TdApplication) application = td_test_start ();
  if (g_getenv ("TOMODESK_WINDOW_WIDTH"))
    gtk_window_set_default_size (
        GTK_WINDOW (td_test_window),
        (int) g_ascii_strtoll (g_getenv ("TOMODESK_WINDOW_WIDTH"), NULL, 10), 760);
  g_object_set (gtk_settings_get_default (), "gtk-xft-dpi", (int) (96 * 1024 * text_percent / 100),
                "gtk-enable-animations", FALSE, NULL);
  g_test_add_func ("/window-access/empty", test_empty);
  g_test_add_func ("/window-access/failed", test_failed);
  g_test_add_func ("/window-access/scan", test_scan);
  g_test_add_func ("/window-access/pages", test_pages);
  g_test_add_func ("/window-access/dialogs", test_dialogs);
  g_test_add_func ("/window-access/results", test_results);
  const int status = g_test_run ();
  td_test_folder_remove ();
  td_device_leave (status);
}
