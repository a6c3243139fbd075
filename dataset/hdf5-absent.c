/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "hdf5-frames.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "error.h"

/* A virtual data set takes from virtual ones no deeper than this. */
#define MAX_DEPTH 8u
/* More chunks than this are looked up by those that exist. */
#define MANY_CHUNKS (G_GUINT64_CONSTANT (1) << 22)
#define MAX_FRAMES 16777216u

typedef struct {
  gboolean allow_external;
  guint depth;
} Search;

static gboolean absent_find (TdH5Absent *absent, hid_t dataset, guint along, const Search *search,
                             GError **error);

/* ── What is known ── */

static void
absent_mark (TdH5Absent *absent, guint64 first, guint64 count, const char *why)
{
  const guint64 end = MIN (first + count, absent->n);

  if (first >= end)
    return;
  if (!absent->frames)
    absent->frames = g_new0 (guint8, absent->n);
  for (guint64 i = first; i < end; i++) {
    absent->n_absent += !absent->frames[i];
    absent->frames[i] = 1;
  }
  if (!absent->why)
    absent->why = g_strdup (why);
}

static void
absent_add_file (TdH5Absent *absent, const char *path)
{
  if (!g_ptr_array_find_with_equal_func (absent->from, path, g_str_equal, NULL))
    g_ptr_array_add (absent->from, g_strdup (path));
}

void
td_h5_absent_clear (TdH5Absent *absent)
{
  g_clear_pointer (&absent->frames, g_free);
  g_clear_pointer (&absent->why, g_free);
  g_clear_pointer (&absent->from, g_ptr_array_unref);
}

static guint64
file_bytes (const char *path)
{
  struct stat status;

  return stat (path, &status) == 0 && S_ISREG (status.st_mode) ? (guint64) status.st_size : 0;
}

/* The shape as three dimensions: a single image, [row][column], is one frame. FALSE: it is neither.
 */
static gboolean
absent_shape_of (hid_t dataset, hsize_t shape[3])
{
  g_auto (TdH5Id) space = H5Dget_space (dataset);
  TdH5Dimensions dimensions;

  return td_h5_dimensions (space, &dimensions, shape);
}

/* ── Chunks ── */

typedef struct {
  TdH5Dimensions dimensions;
  hsize_t shape[3], chunk[3], n_chunks[3];
  guint64 all, slab; /* chunks in all, and those that hold one chunk's depth of frames */
} Chunks;

/* How many chunks there are for each depth of frames. */
static void
count_by_coordinates (hid_t dataset, const Chunks *c, guint along, guint *counts)
{
  hsize_t at[3] = { 0 }, all[H5S_MAX_RANK];

  for (guint64 i = 0; i < c->all; i++) {
    guint64 rest = i;
    haddr_t address = HADDR_UNDEF;
    hsize_t bytes = 0;
    unsigned mask;

    for (int k = 2; k >= 0; k--) {
      at[k] = rest % c->n_chunks[k] * c->chunk[k];
      rest /= c->n_chunks[k];
    }
    td_h5_dimensions_spread (&c->dimensions, at, 0, all);
    if (H5Dget_chunk_info_by_coord (dataset, all, &mask, &address, &bytes) >= 0
        && address != HADDR_UNDEF)
      counts[at[along] / c->chunk[along]]++;
  }
}

static void
count_existing (hid_t dataset, hid_t space, const Chunks *c, hsize_t n, guint along, guint *counts)
{
  for (hsize_t i = 0; i < n; i++) {
    hsize_t at[3] = { 0 }, all[H5S_MAX_RANK] = { 0 }, bytes = 0;
    haddr_t address = HADDR_UNDEF;
    unsigned mask;

    if (H5Dget_chunk_info (dataset, space, i, all, &mask, &address, &bytes) < 0)
      continue;
    td_h5_dimensions_pick (&c->dimensions, all, at);
    if (address != HADDR_UNDEF && at[along] / c->chunk[along] < c->n_chunks[along])
      counts[at[along] / c->chunk[along]]++;
  }
}

static gboolean
chunks_init (Chunks *c, hid_t dataset, hid_t properties, guint along)
{
  g_auto (TdH5Id) space = H5Dget_space (dataset);
  hsize_t all[H5S_MAX_RANK];

  c->chunk[0] = 1;
  if (!td_h5_dimensions (space, &c->dimensions, c->shape)
      || H5Pget_chunk (properties, H5S_MAX_RANK, all) != c->dimensions.rank)
    return FALSE;
  td_h5_dimensions_pick (&c->dimensions, all, c->chunk);
  c->all = 1;
  for (int k = 0; k < 3; k++) {
    if (c->chunk[k] == 0)
      return FALSE;
    c->n_chunks[k] = (c->shape[k] + c->chunk[k] - 1) / c->chunk[k];
    if (c->n_chunks[k] && c->all > G_MAXINT64 / c->n_chunks[k])
      return FALSE;
    c->all *= c->n_chunks[k];
  }
  c->slab = c->n_chunks[along] ? c->all / c->n_chunks[along] : 0;
  return c->all > 0;
}

static gboolean
find_unwritten_chunks (TdH5Absent *absent, hid_t dataset, hid_t properties, guint along)
{
  g_auto (TdH5Id) space = H5Dget_space (dataset);
  hsize_t n = 0;
  Chunks c;

  if (!chunks_init (&c, dataset, properties, along) || space < 0
      || H5Dget_num_chunks (dataset, space, &n) < 0)
    return FALSE;
  if (n >= c.all)
    return TRUE;
  if (n == 0) {
    absent_mark (absent, 0, absent->n, N_ ("they were never written"));
    return TRUE;
  }
  g_autofree guint *counts = g_new0 (guint, c.n_chunks[along]);
  if (c.all > MANY_CHUNKS)
    count_existing (dataset, space, &c, n, along, counts);
  else
    count_by_coordinates (dataset, &c, along, counts);
  for (hsize_t i = 0; i < c.n_chunks[along]; i++)
    if (counts[i] < c.slab)
      absent_mark (absent, i * c.chunk[along], c.chunk[along], N_ ("they were never written"));
  return TRUE;
}

/* ── Raw data ── */

/* In a folder, or below it, whatever links both are named by. */
static gboolean
is_inside (const char *path, const char *folder)
{
  char *real = realpath (path, NULL), *above = realpath (folder, NULL);
  const gsize n = above ? strlen (above) : 0;
  const gboolean inside = real && above && strncmp (real, above, n) == 0
                          && (real[n] == '/' || (n == 1 && above[0] == '/'));

  free (real);
  free (above);
  return inside;
}

/* Frames lie one after another only if they are counted by the first dimension. */
static void
mark_from_byte (TdH5Absent *absent, hid_t dataset, guint along, guint64 byte, const char *why)
{
  g_auto (TdH5Id) type = H5Dget_type (dataset);
  hsize_t shape[3] = { 1, 1, 1 };
  const gboolean known = absent_shape_of (dataset, shape) && along == 0;
  const guint64 sample = type < 0 ? 1 : MAX (H5Tget_size (type), 1);
  const guint64 frame = MAX (sample * shape[1] * shape[2], 1);

  absent_mark (absent, known ? byte / frame : 0, absent->n, why);
}

static gboolean
find_short_raw (TdH5Absent *absent, hid_t dataset, hid_t properties, guint along,
                const Search *search, GError **error)
{
  g_autofree char *own = td_h5_file_name (dataset), *folder = g_path_get_dirname (own);
  g_auto (TdH5Id) type = H5Dget_type (dataset);
  g_auto (TdH5Id) space = H5Dget_space (dataset);
  const hssize_t points = space < 0 ? 0 : H5Sget_simple_extent_npoints (space);
  const guint64 all = (guint64) MAX (points, 0) * (type < 0 ? 0 : H5Tget_size (type));
  guint64 done = 0;

  for (int i = 0; i < H5Pget_external_count (properties) && done < all; i++) {
    char name[4096] = "";
    g_autofree char *path = NULL, *why = NULL;
    off_t offset = 0;
    hsize_t bytes = 0;

    if (H5Pget_external (properties, i, sizeof name - 1, name, &offset, &bytes) < 0)
      return FALSE;
    path = g_path_is_absolute (name) ? g_strdup (name) : g_build_filename (folder, name, NULL);
    if (!search->allow_external && file_bytes (path) > 0 && !is_inside (path, folder))
      return td_set_error (
          error, TD_ERROR_BAD_FILE,
          "“%s” takes its samples from “%.200s”, which lies outside its folder: a stranger's "
          "file may name any of yours; allow it if it is meant ({allow-external})",
          own, path);
    absent_add_file (absent, path);
    const guint64 stated = bytes == H5F_UNLIMITED ? all - done : MIN (bytes, all - done);
    const guint64 size = file_bytes (path);
    const guint64 there = size > (guint64) offset ? size - (guint64) offset : 0;
    if (there < stated) {
      why = td_message_packed (size ? N_ ("“%.200s” is cut short") : N_ ("“%.200s” is missing"),
                               name);
      mark_from_byte (absent, dataset, along, done + there, why);
    }
    done += stated;
  }
  if (done < all)
    mark_from_byte (absent, dataset, along, done, N_ ("their raw files hold less than that"));
  return TRUE;
}

static void
find_short_contiguous (TdH5Absent *absent, hid_t dataset, guint along)
{
  const haddr_t offset = H5Dget_offset (dataset);
  const guint64 bytes = H5Dget_storage_size (dataset);
  g_autofree char *own = td_h5_file_name (dataset);
  const guint64 size = file_bytes (own);

  if (bytes == 0 || offset == HADDR_UNDEF)
    absent_mark (absent, 0, absent->n, N_ ("they were never written"));
  else if (offset > size)
    absent_mark (absent, 0, absent->n, N_ ("the file is cut short"));
  else if (bytes > size - offset)
    mark_from_byte (absent, dataset, along, size - offset, "the file is cut short");
}

/* ── Virtual data sets ── */

/* A selection as a regular hyperslab; what is none counts as the box around it. */
typedef struct {
  hsize_t start[3], stride[3], count[3], block[3];
  gboolean all; /* the whole data set, whose size slab_take_all() enters */
} Slab;

static Slab
slab_take_all (const Slab *slab, const hsize_t shape[3])
{
  Slab own = *slab;

  for (guint k = 0; slab->all && k < 3; k++)
    own.block[k] = own.stride[k] = MAX (shape[k], 1);
  return own;
}

static gboolean
slab_init (Slab *slab, hid_t space)
{
  hsize_t all[4][H5S_MAX_RANK], shape[3];
  TdH5Dimensions dimensions;

  *slab = (Slab) { { 0 }, { 1, 1, 1 }, { 1, 1, 1 }, { 1, 1, 1 } };
  if (H5Sget_select_type (space) == H5S_SEL_ALL) { /* its extent may not be known yet */
    slab->all = TRUE;
    return TRUE;
  }
  if (!td_h5_dimensions (space, &dimensions, shape))
    return FALSE;
  if (H5Sget_select_type (space) == H5S_SEL_HYPERSLABS && H5Sis_regular_hyperslab (space) > 0) {
    if (H5Sget_regular_hyperslab (space, all[0], all[1], all[2], all[3]) < 0)
      return FALSE;
  } else {
    if (H5Sget_select_bounds (space, all[0], all[1]) < 0)
      return FALSE;
    for (int k = 0; k < dimensions.rank; k++) {
      all[3][k] = all[1][k] - all[0][k] + 1;
      all[1][k] = all[2][k] = 1;
    }
  }
  td_h5_dimensions_pick (&dimensions, all[0], slab->start);
  td_h5_dimensions_pick (&dimensions, all[1], slab->stride);
  td_h5_dimensions_pick (&dimensions, all[2], slab->count);
  td_h5_dimensions_pick (&dimensions, all[3], slab->block);
  return TRUE;
}

/* Place @i of those that the slab selects along a dimension; an unlimited count goes on. */
static guint64
slab_place (const Slab *slab, guint along, guint64 i)
{
  const guint64 block = MAX (slab->block[along], 1);

  return slab->start[along] + i / block * slab->stride[along] + i % block;
}

static guint64
slab_length (const Slab *slab, guint along, guint64 limit)
{
  const guint64 block = slab->block[along], count = slab->count[along];

  if (count == H5S_UNLIMITED || block == H5S_UNLIMITED || (block && count > limit / block))
    return limit;
  return block * count;
}

static gboolean
slab_is_open (const Slab *slab, guint along)
{
  return slab->count[along] == H5S_UNLIMITED || slab->block[along] == H5S_UNLIMITED;
}

/* Behind the last place along a dimension; 0 where there is no last one. */
static guint64
slab_end (const Slab *slab, guint along)
{
  return slab_is_open (slab, along) || slab->count[along] == 0
             ? 0
             : slab->start[along] + (slab->count[along] - 1) * slab->stride[along]
                   + slab->block[along];
}

/* Whether frames of that shape fill what the slab selects of each frame. */
static gboolean
slab_has_frames (const Slab *slab, const hsize_t shape[3], guint along)
{
  gboolean same = TRUE;

  for (guint k = 0; k < 3; k++)
    same &= k == along || slab_length (slab, k, G_MAXINT64) == shape[k];
  return same;
}

/* The mappings of a virtual data set, and how much of each frame they cover. */
typedef struct {
  TdH5Absent *absent;
  hid_t properties;
  const char *own, *folder; /* the file that maps, and where it lies */
  guint along;
  const Search *search;
  guint64 *covered; /* [frame]: samples that are mapped */
} Mappings;

/* "%b" is the number of the block, "%%" a per cent sign. */
static char *
block_name (const char *pattern, guint64 block)
{
  g_autofree char *number = g_strdup_printf ("%" PRIu64, block);
  g_autoptr (GString) name = g_string_new (pattern);

  g_string_replace (name, "%b", number, 0);
  g_string_replace (name, "%%", "%", 0);
  return g_string_free (g_steal_pointer (&name), FALSE);
}

/* Marks the frames [@first, @first + @n) of those that @to selects. */
static void
mark_mapped (Mappings *m, const Slab *to, guint64 first, guint64 n, const char *why)
{
  for (guint64 i = first; i < first + n; i++) {
    const guint64 frame = slab_place (to, m->along, i);

    if (frame >= m->absent->n)
      return;
    absent_mark (m->absent, frame, 1, why);
  }
}

/* What a mapping's source lacks is missing where it is mapped to. */
static gboolean
check_source (Mappings *m, hid_t source, const char *name, const Slab *wanted, const Slab *to,
              GError **error)
{
  const guint64 n = slab_length (to, m->along, m->absent->n);
  const Search deeper = { m->search->allow_external, m->search->depth + 1 };
  g_auto (TdH5Absent) own = { 0 };
  g_autofree char *why = NULL;
  hsize_t shape[3];

  /* HDF5 would go through a source that is taken whole, whatever the length of its lines. */
  if (!absent_shape_of (source, shape) || (wanted->all && !slab_has_frames (to, shape, m->along))) {
    why = td_message_packed ("“%.200s” has other dimensions than are mapped", name);
    mark_mapped (m, to, 0, n, why);
    return TRUE;
  }
  if (!absent_find (&own, source, m->along, &deeper, error))
    return FALSE;
  for (guint i = 0; i < own.from->len; i++)
    absent_add_file (m->absent, own.from->pdata[i]);
  const Slab all = slab_take_all (wanted, shape), *from = &all;
  /* Frames whose order is not kept are all there or all missing. */
  const gboolean ordered
      = from->all || slab_length (from, m->along, n + 1) == n || slab_is_open (from, m->along);
  gboolean smaller = FALSE;
  for (guint k = 0; k < 3; k++)
    smaller |= (k != m->along || !ordered) && slab_end (from, k) > shape[k];
  if (smaller)
    why = td_message_packed ("“%.200s” holds less than is mapped", name);
  else if (!ordered && own.n_absent > 0)
    why = td_message_packed ("“%.200s” is not complete: %p", name, td_message_unpack (own.why));
  if (why)
    mark_mapped (m, to, 0, n, why);
  if (why || !ordered)
    return TRUE;
  for (guint64 i = 0; i < n; i++) {
    const guint64 frame = slab_place (from, m->along, i);

    if (frame < own.n && !(own.frames && own.frames[frame]))
      continue;
    if (!why)
      why = frame < own.n ? td_message_packed ("“%.200s” is not complete: %p", name,
                                               td_message_unpack (own.why))
                          : td_message_packed ("“%.200s” holds only %u of them", name, own.n);
    mark_mapped (m, to, i, 1, why);
  }
  return TRUE;
}

static gboolean
check_file (Mappings *m, const char *file_name, const char *set_name, const Slab *from,
            const Slab *to, GError **error)
{
  g_autofree char *path
      = strcmp (file_name, ".") == 0 ? g_strdup (m->own) : td_h5_linked_file (m->folder, file_name);
  const guint64 n = slab_length (to, m->along, m->absent->n);
  g_auto (TdH5Id) file = -1;
  g_auto (TdH5Id) source = -1;
  g_autofree char *why = NULL;

  if (!td_h5_is_regular (path))
    why = td_message_packed ("“%.200s” is missing", file_name);
  else if ((file = td_h5_open (path, NULL)) < 0)
    why = td_message_packed ("“%.200s” is damaged or cut short", file_name);
  else if ((source = td_h5_find_dataset (file, set_name, NULL)) < 0)
    why = td_message_packed ("“%.200s” holds no data set “%.200s”", file_name, set_name);
  if (file >= 0)
    absent_add_file (m->absent, path);
  if (!why)
    return check_source (m, source, file_name, from, to, error);
  mark_mapped (m, to, 0, n, why);
  return TRUE;
}

/* Adds what a mapping covers. Unlimited ones by blocks cover a block for each file that is there.
 */
static void
mappings_cover (Mappings *m, const Slab *to)
{
  guint64 samples = 1;

  for (guint k = 0; k < 3; k++)
    if (k != m->along)
      samples *= slab_length (to, k, G_MAXINT32);
  for (guint64 i = 0; i < slab_length (to, m->along, m->absent->n); i++) {
    const guint64 frame = slab_place (to, m->along, i);

    if (frame >= m->absent->n)
      return;
    m->covered[frame] += samples;
  }
}

static char *
mapping_name (hid_t properties, gsize i,
              ssize_t (*get) (hid_t properties, size_t i, char *name, size_t bytes))
{
  const gssize length = get (properties, i, NULL, 0);
  char *name = length >= 0 && length < 65536 ? g_malloc0 ((gsize) length + 1) : NULL;

  if (name)
    get (properties, i, name, (gsize) length + 1);
  return name;
}

static gboolean
check_mapping (Mappings *m, hid_t dataset, gsize i, GError **error)
{
  g_auto (TdH5Id) from_space = H5Pget_virtual_srcspace (m->properties, i);
  g_auto (TdH5Id) to_space = H5Pget_virtual_vspace (m->properties, i);
  g_autofree char *file_name = mapping_name (m->properties, i, H5Pget_virtual_filename);
  g_autofree char *set_name = mapping_name (m->properties, i, H5Pget_virtual_dsetname);
  hsize_t shape[3] = { 0 };
  Slab from, to;

  if (from_space < 0 || to_space < 0 || !file_name || !set_name || !slab_init (&to, to_space))
    return TRUE; /* nothing is covered, and so all is missing */
  absent_shape_of (dataset, shape);
  to = slab_take_all (&to, shape);
  mappings_cover (m, &to);
  if (!slab_init (&from, from_space)) {
    mark_mapped (m, &to, 0, slab_length (&to, m->along, m->absent->n),
                 "their sources are no images");
    return TRUE;
  }
  if (!strstr (file_name, "%b") && !strstr (set_name, "%b"))
    return check_file (m, file_name, set_name, &from, &to, error);
  /* One file, or data set, a block of frames. */
  for (guint64 block = 0; block < m->absent->n; block++) {
    g_autofree char *file = block_name (file_name, block), *set = block_name (set_name, block);
    Slab one = to;

    one.start[m->along] += block * to.stride[m->along];
    one.count[m->along] = 1;
    if (one.start[m->along] >= m->absent->n || to.stride[m->along] == 0)
      break;
    if (!check_file (m, file, set, &from, &one, error))
      return FALSE;
  }
  return TRUE;
}

static gboolean
find_unmapped (TdH5Absent *absent, hid_t dataset, hid_t properties, guint along,
               const Search *search, GError **error)
{
  g_autofree char *own = td_h5_file_name (dataset), *folder = g_path_get_dirname (own);
  g_autofree guint64 *covered = g_new0 (guint64, absent->n);
  hsize_t shape[3] = { 1, 1, 1 };
  Mappings m = { absent, properties, own, folder, along, search, covered };
  guint64 samples = 1;
  gsize n = 0;

  if (search->depth >= MAX_DEPTH)
    return td_set_error (
        error, TD_ERROR_BAD_FILE,
        "“%s”: its virtual data set takes from others, and these again, without an end", own);
  H5Pget_virtual_count (properties, &n);
  for (gsize i = 0; i < n; i++)
    if (!check_mapping (&m, dataset, i, error))
      return FALSE;
  absent_shape_of (dataset, shape);
  for (guint k = 0; k < 3; k++)
    if (k != along)
      samples *= shape[k];
  for (guint i = 0; i < absent->n; i++)
    if (covered[i] < samples)
      absent_mark (absent, i, 1,
                   covered[i] == 0
                       ? N_ ("nothing is mapped to them")
                       : N_ ("parts of them are mapped to nothing, as gaps between a detector's "
                             "modules are; copy the frames whole, with zeros in the gaps, and "
                             "name the gaps' pixels ({bad-pixels:FILE})"));
  return TRUE;
}

/* ── All ── */

static gboolean
absent_find (TdH5Absent *absent, hid_t dataset, guint along, const Search *search, GError **error)
{
  g_auto (TdH5Id) properties = H5Dget_create_plist (dataset);
  g_autofree char *own = td_h5_file_name (dataset);
  hsize_t shape[3] = { 1, 1, 1 };
  const guint64 n = absent_shape_of (dataset, shape) ? shape[along] : 0;
  gboolean good = properties >= 0 && n <= MAX_FRAMES;

  *absent
      = (TdH5Absent) { .n = good ? (guint) n : 0, .from = g_ptr_array_new_with_free_func (g_free) };
  absent_add_file (absent, own);
  if (good && absent->n > 0)
    switch (H5Pget_layout (properties)) {
    case H5D_VIRTUAL: return find_unmapped (absent, dataset, properties, along, search, error);
    case H5D_CHUNKED: good = find_unwritten_chunks (absent, dataset, properties, along); break;
    case H5D_CONTIGUOUS:
      if (H5Pget_external_count (properties) > 0)
        return find_short_raw (absent, dataset, properties, along, search, error);
      find_short_contiguous (absent, dataset, along);
      break;
    case H5D_COMPACT: break;
    default: good = FALSE; break;
    }
  return good || td_set_error (error, TD_ERROR_BAD_FILE, "“%s”: a data set is damaged", own);
}

gboolean
td_h5_absent_find (TdH5Absent *absent, hid_t dataset, guint along, gboolean allow_external,
                   GError **error)
{
  TD_H5_GUARD;
  const Search search = { allow_external, 0 };

  return absent_find (absent, dataset, along, &search, error);
}
