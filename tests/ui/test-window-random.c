/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What nobody thought of: random actions on whatever the window and its dialogs offer, on three
   scans. Nothing may crash, warn or hang, and the keyboard must stay where something is shown.
   TOMODESK_ACTIONS says how many; --seed and what the log names repeat a run. TOMODESK_DEADLINE_S
   is how long one action may take, for a computer that does much else. */
#include <unistd.h>
#include <string.h>

#include "ui-test.h"
#include "ui/tuning-row.h"
#include "window-test.h"

#define ACTIONS 300
#define DEADLINE_S                                                                                 \
  120 /* of one action: a sanitized program on a busy computer is slow, but it goes on */
#define N_SCANS 3

static const char *const plain_actions[]
    = { "undo",           "redo",           "do-next",          "show-trials",
        "toggle-sidebar", "show-jobs",      "show-devices",     "reconstruct",
        "open-details",   "cancel-opening", "state-empty-beam", "choose-flats" };
static const char *const pages[] = { "slices", "lab", "volume", "geometry" };
static char *scans[N_SCANS];
static guint counts[9];

enum { PRESSED, SET, CHOSEN, TYPED, EXPANDED, ACTIVATED, FOCUSED, OPENED, CHANGED };

/* ── What can be used ── */

static gboolean
random_is_excluded (GtkWidget *widget)
{
  static const char *const elsewhere[] = { "GtkWindowControls", "GtkFileChooserWidget" };

  if (GTK_IS_LINK_BUTTON (widget))
    return TRUE;
  for (GtkWidget *up = widget; up; up = gtk_widget_get_parent (up)) {
    if (TD_IS_TUNING_ROW (up)) /* takes minutes */
      return TRUE;
    for (guint i = 0; i < G_N_ELEMENTS (elsewhere); i++)
      if (strcmp (G_OBJECT_TYPE_NAME (up), elsewhere[i]) == 0)
        return TRUE;
  }
  return FALSE;
}

static gboolean
random_is_usable (GtkWidget *widget)
{
  return GTK_IS_BUTTON (widget) || GTK_IS_SWITCH (widget) || GTK_IS_SPIN_BUTTON (widget)
         || GTK_IS_RANGE (widget) || GTK_IS_DROP_DOWN (widget) || GTK_IS_ENTRY (widget)
         || GTK_IS_LIST_BOX_ROW (widget);
}

static void
random_collect (GtkWidget *widget, GPtrArray *found)
{
  if (!gtk_widget_get_mapped (widget) || !gtk_widget_get_sensitive (widget))
    return;
  if (random_is_usable (widget) && !random_is_excluded (widget))
    g_ptr_array_add (found, widget);
  for (GtkWidget *child = gtk_widget_get_first_child (widget); child;
       child = gtk_widget_get_next_sibling (child))
    random_collect (child, found);
}

static GtkWindow *
random_window (void)
{
  GListModel *windows = gtk_window_get_toplevels ();
  g_autoptr (GPtrArray) shown = g_ptr_array_new ();

  for (guint i = 0; i < g_list_model_get_n_items (windows); i++) {
    g_autoptr (GtkWindow) window = g_list_model_get_item (windows, i);
    if (gtk_widget_get_mapped (GTK_WIDGET (window)))
      g_ptr_array_add (shown, window);
  }
  /* The last one is what lies over the others. */
  if (shown->len == 0)
    return GTK_WINDOW (td_test_window);
  return g_test_rand_bit () ? shown->pdata[shown->len - 1]
                            : shown->pdata[g_test_rand_int_range (0, (int) shown->len)];
}

/* ── Using it ── */

/* Minutes and seconds of the hour: the log then says what took long. Valid until the next one. */
static const char *
random_clock (void)
{
  static char text[16];
  const gint64 s = g_get_real_time () / G_USEC_PER_SEC;

  g_snprintf (text, sizeof text, "%02d:%02d", (int) (s / 60 % 60), (int) (s % 60));
  return text;
}

/* What is done, for the log: @what, and the widget's or the window's own words for it. */
static void
random_tell (const char *what, const char *of)
{
  if (g_test_verbose ())
    g_test_message ("%s %s “%s”", random_clock (), what, of ? of : "");
}

static void
random_press (GtkWidget *button)
{
  const char *action = gtk_actionable_get_action_name (GTK_ACTIONABLE (button));

  if (action && (strcmp (action, "window.close") == 0 || strcmp (action, "app.quit") == 0))
    return;
  g_signal_emit_by_name (button, "clicked");
  counts[PRESSED]++;
}

static void
random_choose (GtkWidget *list, GListModel *model)
{
  const guint n = model ? g_list_model_get_n_items (model) : 0;

  if (n > 0)
    g_object_set (list, "selected", (guint) g_test_rand_int_range (0, (int) n), NULL);
  counts[CHOSEN]++;
}

static void
random_set (GtkAdjustment *adjustment)
{
  const double least = gtk_adjustment_get_lower (adjustment);
  const double most = gtk_adjustment_get_upper (adjustment);

  gtk_adjustment_set_value (adjustment, g_test_rand_double_range (least, MAX (most, least + 1e-9)));
  counts[SET]++;
}

/* Nobody reaches what lies beside an open list before the list is closed. */
static void
random_close_lists (GtkWidget *below, GtkWidget *used)
{
  if (GTK_IS_POPOVER (below) && gtk_widget_get_mapped (below)
      && gtk_popover_get_autohide (GTK_POPOVER (below)) && !gtk_widget_is_ancestor (used, below))
    gtk_popover_popdown (GTK_POPOVER (below));
  for (GtkWidget *child = gtk_widget_get_first_child (below); child;
       child = gtk_widget_get_next_sibling (child))
    random_close_lists (child, used);
}

static guint n_frames;

static gboolean
random_on_frame (GtkWidget *widget, GdkFrameClock *clock, gpointer unused)
{
  n_frames++;
  return G_SOURCE_REMOVE;
}

/* What was moved has its place after a frame. */
static void
random_next_frame (GtkWidget *widget)
{
  n_frames = 0;
  gtk_widget_add_tick_callback (widget, random_on_frame, NULL, NULL);
  for (guint i = 0; i < 200 && !n_frames && gtk_widget_get_mapped (widget); i++)
    td_test_pause (5);
}

/* Whether it is there already. */
static gboolean
random_scroll_along (GtkAdjustment *adjustment, double at, double size)
{
  const double value = gtk_adjustment_get_value (adjustment);
  const double page = gtk_adjustment_get_page_size (adjustment);

  if (at < 0 || size > page)
    gtk_adjustment_set_value (adjustment, value + at);
  else if (at + size > page)
    gtk_adjustment_set_value (adjustment, value + at + size - page);
  return gtk_adjustment_get_value (adjustment) == value;
}

/* A list that dropped down has a surface of its own, which may lie beside the window. What its
 * button stands in does not scroll it. */
static gboolean
random_scroll (GtkWidget *widget)
{
  gboolean there = TRUE;

  for (GtkWidget *up = gtk_widget_get_parent (widget); !GTK_IS_NATIVE (up);
       up = gtk_widget_get_parent (up)) {
    graphene_rect_t at;
    if (!GTK_IS_VIEWPORT (up) || !gtk_widget_compute_bounds (widget, up, &at))
      continue;
    there &= random_scroll_along (gtk_scrollable_get_hadjustment (GTK_SCROLLABLE (up)), at.origin.x,
                                  at.size.width);
    there &= random_scroll_along (gtk_scrollable_get_vadjustment (GTK_SCROLLABLE (up)), at.origin.y,
                                  at.size.height);
  }
  return there;
}

static gboolean
random_is_seen (GtkWidget *widget)
{
  GtkWidget *surface = GTK_WIDGET (gtk_widget_get_native (widget));
  graphene_rect_t at, seen = GRAPHENE_RECT_INIT (0, 0, (float) gtk_widget_get_width (surface),
                                                 (float) gtk_widget_get_height (surface));

  return gtk_widget_compute_bounds (widget, surface, &at)
         && graphene_rect_intersection (&at, &seen, NULL);
}

/* A hand uses what it sees, and everything can be scrolled into sight. FALSE: the widget is gone
 * meanwhile. */
static gboolean
random_reach (GtkWidget *widget)
{
  g_autoptr (GtkWidget) held = g_object_ref (widget);

  random_close_lists (GTK_WIDGET (gtk_widget_get_root (widget)), widget);
  for (guint i = 0; i < 100 && gtk_widget_get_mapped (widget); i++) {
    random_next_frame (widget);
    if (gtk_widget_get_mapped (widget) && random_scroll (widget) && random_is_seen (widget))
      return gtk_widget_is_sensitive (widget);
  }
  if (gtk_widget_get_mapped (widget)) {
    td_test_tell_place (widget);
    g_error ("%s cannot be scrolled into sight", G_OBJECT_TYPE_NAME (widget));
  }
  return FALSE;
}

static const char *
random_words (GtkWidget *widget)
{
  const char *tooltip = gtk_widget_get_tooltip_text (widget);

  if (ADW_IS_PREFERENCES_ROW (widget))
    return adw_preferences_row_get_title (ADW_PREFERENCES_ROW (widget));
  if (!tooltip && GTK_IS_BUTTON (widget) && gtk_button_get_label (GTK_BUTTON (widget)))
    return gtk_button_get_label (GTK_BUTTON (widget));
  return tooltip ? tooltip : G_OBJECT_TYPE_NAME (gtk_widget_get_parent (widget));
}

static void
random_use (GtkWidget *widget)
{
  static const char *const texts[]
      = { "", "0", "-1", "12.5", "1e300", "nonsense", "ä/漢字", "0:4" };

  if (GTK_IS_BUTTON (widget)) {
    random_press (widget);
  } else if (GTK_IS_SWITCH (widget)) {
    gtk_widget_activate (widget);
    counts[SET]++;
  } else if (GTK_IS_SPIN_BUTTON (widget)) {
    random_set (gtk_spin_button_get_adjustment (GTK_SPIN_BUTTON (widget)));
  } else if (GTK_IS_RANGE (widget)) {
    random_set (gtk_range_get_adjustment (GTK_RANGE (widget)));
  } else if (GTK_IS_DROP_DOWN (widget)) {
    random_choose (widget, gtk_drop_down_get_model (GTK_DROP_DOWN (widget)));
  } else if (GTK_IS_ENTRY (widget) || ADW_IS_ENTRY_ROW (widget)) {
    gtk_editable_set_text (GTK_EDITABLE (widget),
                           texts[g_test_rand_int_range (0, G_N_ELEMENTS (texts))]);
    counts[TYPED]++;
  } else if (ADW_IS_COMBO_ROW (widget)) {
    random_choose (widget, adw_combo_row_get_model (ADW_COMBO_ROW (widget)));
  } else if (ADW_IS_EXPANDER_ROW (widget)) {
    adw_expander_row_set_expanded (ADW_EXPANDER_ROW (widget), g_test_rand_bit ());
    counts[EXPANDED]++;
  } else {
    gtk_widget_activate (widget);
    counts[ACTIVATED]++;
  }
}

static void
random_action (void)
{
  const int n = G_N_ELEMENTS (plain_actions) + 1;
  const int which = g_test_rand_int_range (0, n);

  random_close_lists (GTK_WIDGET (td_test_window), GTK_WIDGET (td_test_window));
  random_tell ("action", which == n - 1 ? "show-page" : plain_actions[which]);
  if (which == n - 1)
    td_test_show_page (pages[g_test_rand_int_range (0, G_N_ELEMENTS (pages))]);
  else if (g_action_group_get_action_enabled (G_ACTION_GROUP (td_test_window),
                                              plain_actions[which]))
    td_test_activate (plain_actions[which], NULL);
  counts[ACTIVATED]++;
}

static void
random_open (void)
{
  const char *scan = scans[g_test_rand_int_range (0, N_SCANS)];

  random_tell ("open", scan);
  td_window_open_path (td_test_window, scan);
  counts[OPENED]++;
}

/* Scans come before the ones before them are there, and go while they are read. */
static void
random_hurry (void)
{
  const int n = g_test_rand_int_range (2, 6);

  for (int i = 0; i < n; i++) {
    random_open ();
    for (int k = g_test_rand_int_range (0, 4); k > 0; k--)
      g_main_context_iteration (NULL, FALSE);
    if (g_test_rand_bit ())
      td_test_activate (g_test_rand_bit () ? "close-scan" : "cancel-opening", NULL);
  }
}

/* What a desktop does to a program: the window's size, dark and light, larger text. */
static void
random_change_desktop (void)
{
  static const int sizes[][2] = { { 1270, 790 }, { 800, 600 }, { 360, 294 }, { 1, 1 } };
  static const AdwColorScheme schemes[]
      = { ADW_COLOR_SCHEME_DEFAULT, ADW_COLOR_SCHEME_FORCE_LIGHT, ADW_COLOR_SCHEME_FORCE_DARK };
  const int *size = sizes[g_test_rand_int_range (0, G_N_ELEMENTS (sizes))];

  const int which = g_test_rand_int_range (0, 4);
  static const char *const changes[] = { "colours", "size of text", "size", "size" };

  random_tell (changes[which], NULL);
  switch (which) {
  case 0:
    adw_style_manager_set_color_scheme (adw_style_manager_get_default (),
                                        schemes[g_test_rand_int_range (0, 3)]);
    break;
  case 1:
    g_object_set (gtk_settings_get_default (), "gtk-xft-dpi",
                  (g_test_rand_bit () ? 1 : 2) * 96 * 1024, NULL);
    break;
  default: gtk_window_set_default_size (GTK_WINDOW (td_test_window), size[0], size[1]);
  }
  counts[CHANGED]++;
}

/* What the toolkit draws for files is its own, and many windows would only hide each other. */
static void
random_close_some (void)
{
  GListModel *windows = gtk_window_get_toplevels ();
  const guint n = g_list_model_get_n_items (windows);

  for (guint i = n; i-- > 0;) {
    g_autoptr (GtkWindow) window = g_list_model_get_item (windows, i);
    if (window == GTK_WINDOW (td_test_window) || !gtk_widget_get_mapped (GTK_WIDGET (window)))
      continue;
    if (GTK_IS_FILE_CHOOSER (window) || n > 4 || g_test_rand_int_range (0, 12) == 0)
      gtk_window_close (window);
  }
}

static void
random_do (void)
{
  static const GtkDirectionType ways[]
      = { GTK_DIR_TAB_FORWARD, GTK_DIR_TAB_BACKWARD, GTK_DIR_DOWN };
  g_autoptr (GPtrArray) usable = g_ptr_array_new ();
  const int which = g_test_rand_int_range (0, 100);
  GtkWindow *window = random_window ();

  random_collect (GTK_WIDGET (window), usable);
  if (which < 3 || usable->len == 0) {
    random_open ();
  } else if (which < 4) {
    random_hurry ();
  } else if (which < 6) {
    random_change_desktop ();
  } else if (which < 15) {
    random_action ();
  } else if (which < 25) {
    random_tell ("focus", NULL);
    gtk_widget_child_focus (GTK_WIDGET (window), ways[g_test_rand_int_range (0, 3)]);
    counts[FOCUSED]++;
  } else {
    GtkWidget *widget = usable->pdata[g_test_rand_int_range (0, (int) usable->len)];
    if (!random_reach (widget))
      return;
    if (gtk_widget_get_focusable (widget) && g_test_rand_bit ())
      gtk_widget_grab_focus (widget);
    random_tell (G_OBJECT_TYPE_NAME (widget), random_words (widget));
    random_use (widget);
  }
}

/* Keys go to what is shown, or to the window. */
static void
random_check_focus (void)
{
  GtkWidget *focus = gtk_window_get_focus (GTK_WINDOW (td_test_window));

  for (guint i = 0; i < 200 && focus && !gtk_widget_get_mapped (focus); i++) {
    td_test_pause (5);
    focus = gtk_window_get_focus (GTK_WINDOW (td_test_window));
  }
  if (focus && !gtk_widget_get_mapped (focus))
    for (GtkWidget *up = focus; up; up = gtk_widget_get_parent (up))
      g_test_message ("%s%s", G_OBJECT_TYPE_NAME (up),
                      gtk_widget_get_mapped (up) ? "" : " (hidden)");
  g_assert_true (!focus || gtk_widget_get_mapped (focus));
}

/* GTK 4.8 gives a list any size where it drops down beyond all monitors. */
static void
random_tell_lists (GtkWidget *below)
{
  if (GTK_IS_POPOVER (below) && gtk_widget_get_visible (below))
    td_test_tell_place (gtk_widget_get_parent (below));
  for (GtkWidget *child = gtk_widget_get_first_child (below); child;
       child = gtk_widget_get_next_sibling (child))
    random_tell_lists (child);
}

/* The toolkit asks for the pointer in a list whose window goes. */
static gboolean
random_is_fatal (const char *domain, GLogLevelFlags level, const char *message, gpointer unused)
{
  GListModel *windows = gtk_window_get_toplevels ();

  for (guint i = 0; i < g_list_model_get_n_items (windows); i++) {
    g_autoptr (GtkWidget) window = g_list_model_get_item (windows, i);
    if (strstr (message, "gdk_monitor_get_geometry"))
      random_tell_lists (window);
  }
  return !strstr (message, "gdk_surface_get_device_position")
         && !strstr (message, "_gtk_widget_find_at_coords");
}

static void
test_random (void)
{
  g_test_log_set_fatal_handler (random_is_fatal, NULL);
  const char *text = g_getenv ("TOMODESK_ACTIONS");
  const guint n = text ? (guint) g_ascii_strtoull (text, NULL, 10) : ACTIONS;
  const char *longest = g_getenv ("TOMODESK_DEADLINE_S");
  const guint deadline_s = longest ? (guint) g_ascii_strtoull (longest, NULL, 10) : DEADLINE_S;

  for (guint i = 0; i < n; i++) {
    alarm (deadline_s);
    random_do ();
    td_test_pause (i % 50 == 0 ? 300 : 4);
    g_assert_nonnull (td_test_window);
    random_close_some ();
    td_test_pause (1);
    random_check_focus ();
  }
  alarm (0);
  g_test_message ("%u actions: %u pressed, %u set, %u chosen, %u typed, %u expanded, %u activated, "
                  "%u focus moved, %u scans opened, %u changes of the desktop",
                  n, counts[PRESSED], counts[SET], counts[CHOSEN], counts[TYPED], counts[EXPANDED],
                  counts[ACTIVATED], counts[FOCUSED], counts[OPENED], counts[CHANGED]);
}

int
main (int argc, char **argv)
{
  static const char *const parallel[]
      = { "--columns=64",  "--rows=6",      "--views=90",      "--photons=20000",
          "--rings=0.003", "--centre=33.4", "--centre-unsaid", NULL };
  static const char *const cone[]
      = { "--cone", "--columns=48", "--rows=32", "--views=60", "--pixel-mm=0.5", NULL };
  static const char *const half[] = { "--columns=64",   "--rows=6",    "--views=180", "--range=360",
                                      "--offset-field", "--centre=12", NULL };

  g_test_init (&argc, &argv, NULL);
  scans[0] = td_test_phantom ("random-parallel.nxs", parallel);
  scans[1] = td_test_phantom ("random-cone.nxs", cone);
  scans[2] = td_test_phantom ("random-half.nxs", half);
  g_autoptr (TdApplication) application = td_test_start ();
  td_test_open (scans[0]);
  g_test_add_func ("/window-random/actions", test_random);
  const int status = g_test_run ();
  g_test_log_set_fatal_handler (random_is_fatal, NULL);
  if (td_test_window)
    gtk_window_destroy (GTK_WINDOW (td_test_window));
  td_test_pause (500);
  td_test_folder_remove ();
  td_device_leave (status);
}
