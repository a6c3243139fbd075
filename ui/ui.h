/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gtk/gtk.h>

/* Registers the room's templates and style sheet; before any widget is made. Main thread. */
void td_ui_init (void);

/**
 * Whether the processor draws pictures although there is an OpenGL. Without a graphics card, and on
 * remote desktops, OpenGL is itself computed by the processor (llvmpipe). It then takes several
 * times as long for every change, and takes the cores that the preview needs. In that case the
 * toolkit draws without OpenGL too. The room decides once, when it starts; TOMODESK_DRAW=gl or
 * =processor overrides it. Main thread.
 */
gboolean td_drawing_by_processor (void);

/* A dialog over @over (nullable) that tells something, and has nothing but a button to close it.
   The caller presents it. Main thread. */
GtkWidget *td_telling_dialog_new (GtkWindow *over, const char *heading, const char *text);

/* Makes a dialog's default size larger as the desktop's text is, up to a small screen's; while it
   is built. Main thread. */
void td_size_for_text (GtkWindow *window);

/* Sets a label's text or a widget's tooltip, if it is another than before. The toolkit would lay
   the window out anew for the same text too. For the same tooltip it would ask the display where
   the pointer is. A change of the recipe meets dozens that are the same. Main thread. */
void td_set_text (GtkLabel *label, const char *text);
void td_set_tooltip (gpointer widget, const char *text);

/* Sets a row's path and shows its end, where there is no room for all of it: the beginning is often
   that of other paths. A TdFileChosen. Main thread. */
void td_set_path (gpointer row, const char *path);

/* What a reader of screens calls the widget. Main thread. */
void td_set_spoken_name (gpointer widget, const char *name);

/* Gives the widget a style class, or takes it away. Main thread. */
void td_set_style_class (gpointer widget, const char *name, gboolean on);

/* As gtk_widget_set_sensitive(), and what has the focus in @widget gives it on before. The toolkit
   would take it away without a word to the text that has it: its cursor would blink on, and GTK
   warns (gtk#5845). Main thread. */
void td_set_sensitive (GtkWidget *widget, gboolean sensitive);

/* As wide as the largest whole number that it can show; the toolkit looks at its adjustment when it
   is made alone. Main thread. */
void td_spin_fit (GtkSpinButton *number);

/* A row of a list whose title and subtitle are no markup: names of files, numbers, errors.
   @subtitle: (nullable). Both have as many lines as they need. Main thread. */
GtkWidget *td_plain_row_new (const char *title, const char *subtitle);

/* Text that is drawn beside what it is about, that much smaller than the widget's. (transfer full)
 */
PangoLayout *td_small_layout (gpointer widget, const char *text, double scale);

/* Adds style classes, whose names have spaces between them; NULL: none. Main thread. */
void td_add_style (gpointer widget, const char *classes);

/* What a button that shows a symbol is for: its tooltip and readers of screens say it. */
void td_set_purpose (gpointer widget, const char *purpose);

/* Widgets as the room makes them everywhere; @classes as for td_add_style(). A box takes its
   children, to NULL. A label begins at the left. A button stands in the middle of its row, and with
   a symbol it is flat, and says @purpose. Main thread. */
GtkWidget *td_box_new (GtkOrientation orientation, int spacing, ...) G_GNUC_NULL_TERMINATED;
GtkWidget *td_label_new (const char *text, const char *classes);
GtkWidget *td_button_new (const char *label, const char *classes, GCallback clicked, gpointer user);
GtkWidget *td_symbol_button (const char *icon, const char *purpose, GCallback clicked,
                             gpointer user);

/* A slider and a number below pictures of which one is shown, and before them @title (nullable);
   @what, @number: how readers of screens call the two. Main thread. */
GtkWidget *td_footer_new (const char *title, GtkAdjustment *adjustment, const char *what,
                          const char *number);

/* A short progress bar in a row, which is not seen until it is shown; @label: what it is called. */
GtkWidget *td_narrow_bar_new (const char *label);

/* Scrolls the widget into sight, its top first. The scrolling follows while the widget is being
   opened and has not its size yet. */
void td_scroll_into_sight (GtkWidget *widget);
/* The longest side of a volume that is looked at from outside, in voxels: as many as whoever draws
   turns at once (render/gl.h). Main thread. */
guint td_drawing_volume_side (void);

/* Begins a class's dispose() or finalize(): the block that follows releases what @self has, and the
   parent's is called after it. */
#define TD_DISPOSE(type, name) TD_RELEASE (type, name, dispose)
#define TD_FINALIZE(type, name) TD_RELEASE (type, name, finalize)
#define TD_RELEASE(type, name, when)                                                               \
  static void name##_release_to_##when (type *self);                                               \
  static void name##_##when (GObject *object)                                                      \
  {                                                                                                \
    name##_release_to_##when ((type *) object);                                                    \
    G_OBJECT_CLASS (name##_parent_class)->when (object);                                           \
  }                                                                                                \
  static void name##_release_to_##when (type *self)

/* As g_set_object(), of what has a td_TYPE_ref() and a td_TYPE_unref(): holds @object (nullable) in
   the place of what @held points to. */
#define td_hold(type, held, object)                                                                \
  G_STMT_START                                                                                     \
  {                                                                                                \
    __auto_type let_go = *(held);                                                                  \
    *(held) = (object) ? td_##type##_ref (object) : NULL;                                          \
    g_clear_pointer (&let_go, td_##type##_unref);                                                  \
  }                                                                                                \
  G_STMT_END

/* The Escape key closes windows of the class. */
void td_close_on_escape (gpointer class);

/* Actions of a map (GActionMap): what each is called, and what it does. That is called with @user,
   and with the parameter, if the action has one of this type. Main thread. */
typedef struct {
  const char *name;
  GCallback activate;
  const char *parameter_type;
} TdAction;

void td_add_actions (gpointer map, const TdAction *actions, guint n, gpointer user);

/* A signal of a class, with @... the number of its parameters and their types. It is emitted by its
   name, as it is connected. */
#define td_signal_new(class, name, ...)                                                            \
  g_signal_new (name, G_TYPE_FROM_CLASS (class), G_SIGNAL_RUN_LAST | G_SIGNAL_DETAILED, 0, NULL,   \
                NULL, NULL, G_TYPE_NONE, __VA_ARGS__)

/* Gives a class its template, a resource, and binds, each by its name, children of the template
   that are members of @type. td_bind_callbacks() binds the functions that the template calls. */
#define td_bind_template(class, type, resource, ...)                                               \
  gtk_widget_class_set_template_from_resource (GTK_WIDGET_CLASS (class), resource);                \
  td_bind_children (class, type, __VA_ARGS__)
#define td_bind_children(class, type, ...) TD_FOR_ALL (TD_BIND_CHILD, class, type, __VA_ARGS__)
#define td_bind_callbacks(class, ...) TD_FOR_ALL (TD_BIND_CALLBACK, class, , __VA_ARGS__)
/* Types that a template has by their names alone. */
#define td_ensure_types(...) TD_FOR_ALL (TD_ENSURE_TYPE, , , __VA_ARGS__)

#define TD_BIND_CHILD(class, type, name)                                                           \
  gtk_widget_class_bind_template_child_full (GTK_WIDGET_CLASS (class), #name, FALSE,               \
                                             G_STRUCT_OFFSET (type, name))
#define TD_BIND_CALLBACK(class, none, name)                                                        \
  gtk_widget_class_bind_template_callback_full (GTK_WIDGET_CLASS (class), #name, G_CALLBACK (name))
#define TD_ENSURE_TYPE(none, nothing, type) g_type_ensure (type)

/* what (a, b, X); for each X of @..., up to 64 of them. */
#define TD_FOR_ALL(what, a, b, ...) TD_ROUNDS (TD_FOR_FIRST (what, a, b, __VA_ARGS__))
#define TD_FOR_FIRST(what, a, b, first, ...)                                                       \
  what (a, b, first);                                                                              \
  __VA_OPT__ (TD_FOR_OTHERS TD_NOTHING () () (what, a, b, __VA_ARGS__))
#define TD_FOR_OTHERS() TD_FOR_FIRST
#define TD_NOTHING()
#define TD_ROUNDS(...) TD_16_ROUNDS (TD_16_ROUNDS (TD_16_ROUNDS (TD_16_ROUNDS (__VA_ARGS__))))
#define TD_16_ROUNDS(...) TD_4_ROUNDS (TD_4_ROUNDS (TD_4_ROUNDS (TD_4_ROUNDS (__VA_ARGS__))))
#define TD_4_ROUNDS(...) TD_ROUND (TD_ROUND (TD_ROUND (TD_ROUND (__VA_ARGS__))))
#define TD_ROUND(...) __VA_ARGS__
