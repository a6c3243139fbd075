/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "guide-window.h"

#include <string.h>

#include "ui.h"

#define PLACE "/org/tomodesk/guide/"

struct _TdGuideWindow {
  AdwWindow parent_instance;
  GtkListBox *list;
  GtkTextView *view;
  GtkTextBuffer *text; /* the view's */
};

G_DEFINE_FINAL_TYPE (TdGuideWindow, td_guide_window, ADW_TYPE_WINDOW)

/* In the order in which they are read. */
static const char *const pages[] = { "guide-window.md",
                                     "guide-prepare.md",
                                     "guide-centre.md",
                                     "guide-turn.md",
                                     "guide-cone.md",
                                     "guide-lab.md",
                                     "guide.md",
                                     "guide-cli.md",
                                     "guide-cluster.md",
                                     "formats.md",
                                     NULL };

/* ── Markdown into text with tags ── */

static void
guide_append (TdGuideWindow *self, const char *text, gssize n, const char *const tags[2])
{
  GtkTextIter end, start;

  gtk_text_buffer_get_end_iter (self->text, &end);
  const int offset = gtk_text_iter_get_offset (&end);
  gtk_text_buffer_insert (self->text, &end, text, (int) n);
  for (guint i = 0; i < 2; i++)
    if (tags[i]) {
      gtk_text_buffer_get_end_iter (self->text, &end);
      gtk_text_buffer_get_iter_at_offset (self->text, &start, offset);
      gtk_text_buffer_apply_tag_by_name (self->text, tags[i], &start, &end);
    }
}

/* "[words](target)": a tag of its own that knows the target. Pages that are not here are words. */
static const char *
guide_append_link (TdGuideWindow *self, const char *open, const char *block)
{
  const char *close = strchr (open, ']');
  const char *end = close && close[1] == '(' ? strchr (close, ')') : NULL;

  if (!end)
    return NULL;
  g_autofree char *target = g_strndup (close + 2, (gsize) (end - close - 2));
  char *place = strchr (target, '#');
  if (place)
    *place = 0;
  const gboolean here = g_strv_contains (pages, target);
  GtkTextIter from, to;
  gtk_text_buffer_get_end_iter (self->text, &to);
  const int offset = gtk_text_iter_get_offset (&to);
  guide_append (self, open + 1, close - open - 1, (const char *const[]) { block, NULL });
  if (here) {
    GtkTextTag *tag
        = gtk_text_buffer_create_tag (self->text, NULL, "underline", PANGO_UNDERLINE_SINGLE, NULL);
    g_object_set_data_full (G_OBJECT (tag), "page", g_strdup (target), g_free);
    gtk_text_buffer_get_end_iter (self->text, &to);
    gtk_text_buffer_get_iter_at_offset (self->text, &from, offset);
    gtk_text_buffer_apply_tag (self->text, tag, &from, &to);
  }
  return end + 1;
}

/* Code, bold, emphasis and links within a block. */
static void
guide_append_inline (TdGuideWindow *self, const char *text, const char *block)
{
  static const struct {
    const char *mark, *tag;
  } spans[] = { { "`", "mono" }, { "**", "bold" }, { "*", "italic" } };

  while (*text) {
    const char *next = text + strcspn (text, "`*[!");
    guide_append (self, text, next - text, (const char *const[]) { block, NULL });
    text = next;
    if (*text == 0)
      return;
    if (text[0] == '!' && text[1] == '[') {
      const char *end = strchr (text, ')');
      text = end ? end + 1 : text + strlen (text);
      continue;
    }
    const char *after = *text == '[' ? guide_append_link (self, text, block) : NULL;
    for (guint i = 0; !after && i < G_N_ELEMENTS (spans); i++) {
      const gsize n = strlen (spans[i].mark);
      const char *end
          = g_str_has_prefix (text, spans[i].mark) ? strstr (text + n, spans[i].mark) : NULL;
      if (!end || end == text + n)
        continue;
      guide_append (self, text + n, end - text - n, (const char *const[]) { block, spans[i].tag });
      after = end + n;
    }
    if (!after) {
      guide_append (self, text, 1, (const char *const[]) { block, NULL });
      after = text + 1;
    }
    text = after;
  }
}

/* A row of a table reads "first: second; third". */
static void
guide_append_row (TdGuideWindow *self, const char *line)
{
  g_auto (GStrv) cells = g_strsplit (line, "|", -1);
  const guint n = g_strv_length (cells);

  if (strspn (line, "|-: ") == strlen (line))
    return;
  for (guint i = 1; i + 1 < n; i++) {
    g_strstrip (cells[i]);
    guide_append_inline (self, cells[i], i == 1 ? "cell" : "row");
    guide_append (self, i + 2 < n ? (i == 1 ? "  ·  " : "; ") : "\n", -1,
                  (const char *const[]) { "row", NULL });
  }
}

static gboolean
guide_begins_block (const char *line)
{
  return *line == 0 || *line == '#' || *line == '|' || g_str_has_prefix (line, "    ")
         || g_str_has_prefix (line, "- ") || g_str_has_prefix (line, "```")
         || (g_ascii_isdigit (line[0]) && g_str_has_prefix (line + 1, ". "));
}

/* A paragraph or an item, whose lines were broken for the source's sake. */
static guint
guide_append_paragraph (TdGuideWindow *self, char **lines, guint i)
{
  const gboolean item = g_str_has_prefix (lines[i], "- ");
  g_autoptr (GString) words = g_string_new (item ? "•  " : "");

  g_string_append (words, item ? lines[i] + 2 : lines[i]);
  while (
      lines[i + 1]
      && (!guide_begins_block (lines[i + 1]) || (item && g_str_has_prefix (lines[i + 1], "  ")))) {
    char *line = g_strstrip (lines[++i]);
    if (*line == 0)
      break;
    g_string_append_printf (words, " %s", line);
  }
  g_string_append_c (words, '\n');
  guide_append_inline (self, words->str, item ? "item" : "paragraph");
  return i;
}

static void
guide_append_page (TdGuideWindow *self, const char *markdown)
{
  g_auto (GStrv) lines = g_strsplit (markdown, "\n", -1);
  static const char *const headings[] = { "h1", "h2", "h3" };
  gboolean code = FALSE;

  for (guint i = 0; lines[i]; i++) {
    const char *line = lines[i];
    const guint level = (guint) strspn (line, "#");
    if (g_str_has_prefix (line, "```")) {
      code = !code;
    } else if (code || g_str_has_prefix (line, "    ")) {
      guide_append (self, code ? line : line + 4, -1, (const char *const[]) { "code", NULL });
      guide_append (self, "\n", -1, (const char *const[]) { "code", NULL });
    } else if (level > 0 && line[level] == ' ') {
      guide_append_inline (self, line + level + 1, headings[MIN (level, 3) - 1]);
      guide_append (self, "\n", -1, (const char *const[]) { headings[MIN (level, 3) - 1], NULL });
    } else if (*line == '|') {
      guide_append_row (self, line);
    } else if (*line && !g_str_has_prefix (line, "![")) {
      i = guide_append_paragraph (self, lines, i);
    }
  }
}

/* ── Pages ── */

static char *
guide_read (const char *page)
{
  g_autofree char *path = g_strconcat (PLACE, page, NULL);
  g_autoptr (GBytes) bytes = g_resources_lookup_data (path, 0, NULL);
  gsize n;
  const char *data = bytes ? g_bytes_get_data (bytes, &n) : NULL;

  return data ? g_strndup (data, n) : NULL;
}

gboolean
td_guide_window_show (TdGuideWindow *self, const char *page)
{
  g_autofree char *markdown = guide_read (page);

  if (!markdown)
    return FALSE;
  gtk_text_buffer_set_text (self->text, "", 0);
  guide_append_page (self, markdown);
  GtkTextIter start;
  gtk_text_buffer_get_start_iter (self->text, &start);
  gtk_text_buffer_place_cursor (self->text, &start);
  gtk_text_view_scroll_to_iter (self->view, &start, 0, FALSE, 0, 0);
  for (guint i = 0; pages[i]; i++)
    if (strcmp (pages[i], page) == 0)
      gtk_list_box_select_row (self->list, gtk_list_box_get_row_at_index (self->list, (int) i));
  return TRUE;
}

static void
guide_on_row (GtkListBox *list, GtkListBoxRow *row, TdGuideWindow *self)
{
  if (row)
    td_guide_window_show (self, pages[gtk_list_box_row_get_index (row)]);
}

/* A click on a link. */
static void
guide_on_click (GtkGestureClick *gesture, int n, double x, double y, TdGuideWindow *self)
{
  GtkTextIter at;
  int bx, by;

  gtk_text_view_window_to_buffer_coords (self->view, GTK_TEXT_WINDOW_WIDGET, (int) x, (int) y, &bx,
                                         &by);
  if (!gtk_text_view_get_iter_at_location (self->view, &at, bx, by))
    return;
  g_autoptr (GSList) tags = gtk_text_iter_get_tags (&at);
  for (GSList *tag = tags; tag; tag = tag->next) {
    const char *page = g_object_get_data (tag->data, "page");
    if (page) {
      td_guide_window_show (self, page);
      return;
    }
  }
}

/* ── Window ── */

static void
guide_add_tags (GtkTextBuffer *text)
{
  const char *const below = "pixels-below-lines", *const above = "pixels-above-lines";

  gtk_text_buffer_create_tag (text, "h1", "scale", 1.7, "weight", 700, below, 10, NULL);
  gtk_text_buffer_create_tag (text, "h2", "scale", 1.3, "weight", 700, above, 18, below, 6, NULL);
  gtk_text_buffer_create_tag (text, "h3", "scale", 1.1, "weight", 700, above, 12, below, 4, NULL);
  gtk_text_buffer_create_tag (text, "paragraph", above, 4, below, 8, NULL);
  gtk_text_buffer_create_tag (text, "item", "left-margin", 36, "indent", -14, below, 6, NULL);
  gtk_text_buffer_create_tag (text, "row", "left-margin", 32, "indent", -14, below, 5, NULL);
  gtk_text_buffer_create_tag (text, "cell", "left-margin", 32, "indent", -14, "weight", 700, NULL);
  gtk_text_buffer_create_tag (text, "code", "family", "monospace", "left-margin", 36, "wrap-mode",
                              GTK_WRAP_WORD_CHAR, "scale", 0.92, NULL);
  gtk_text_buffer_create_tag (text, "mono", "family", "monospace", NULL);
  gtk_text_buffer_create_tag (text, "bold", "weight", 700, NULL);
  gtk_text_buffer_create_tag (text, "italic", "style", PANGO_STYLE_ITALIC, NULL);
}

static void
td_guide_window_class_init (TdGuideWindowClass *class)
{
  td_close_on_escape (class);
  td_bind_template (class, TdGuideWindow, "/org/tomodesk/ui/guide-window.ui", list, view);
  td_bind_callbacks (class, guide_on_row, guide_on_click);
}

/* The pages by their first lines. */
static void
guide_add_pages (TdGuideWindow *self)
{
  for (guint i = 0; pages[i]; i++) {
    g_autofree char *markdown = guide_read (pages[i]);
    g_autofree char *title
        = markdown ? g_strndup (markdown, strcspn (markdown, "\n")) : g_strdup (pages[i]);
    GtkWidget *label = td_label_new (title + strspn (title, "# "), "guide-page");
    gtk_label_set_wrap (GTK_LABEL (label), TRUE);
    gtk_list_box_append (self->list, label);
  }
}

static void
td_guide_window_init (TdGuideWindow *self)
{
  gtk_widget_init_template (GTK_WIDGET (self));
  td_size_for_text (GTK_WINDOW (self));
  self->text = gtk_text_view_get_buffer (self->view);
  guide_add_tags (self->text);
  guide_add_pages (self);
}

GtkWidget *
td_guide_window_new (GtkWindow *parent)
{
  TdGuideWindow *self = g_object_new (TD_TYPE_GUIDE_WINDOW, NULL);

  if (parent)
    gtk_window_set_application (GTK_WINDOW (self), gtk_window_get_application (parent));
  td_guide_window_show (self, pages[0]);
  return GTK_WIDGET (self);
}
