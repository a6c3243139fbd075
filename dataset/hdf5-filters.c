/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "hdf5-filters.h"

#include "error.h"

#if TD_HAVE_LZF
#include <errno.h>
#include <lzf.h>

gboolean
td_h5_lzf_unpack (const guint8 *from, gsize bytes, guint8 *to, gsize room)
{
  return bytes <= G_MAXUINT && room <= G_MAXUINT
         && lzf_decompress (from, (unsigned) bytes, to, (unsigned) room) == room;
}

/* No LZF stream unpacks to more times its length. */
#define LZF_MOST 128u

/* For what the library reads itself, and for writing. h5py states a chunk's length as the third
   value; without it, room grows until all fits. */
static gsize
hdf5_filters_lzf (unsigned flags, gsize n_values, const unsigned *values, gsize bytes, gsize *size,
                  void **buffer)
{
  const gboolean unpacks = flags & H5Z_FLAG_REVERSE, stated = n_values > 2 && values[2] > 0;
  const gsize first = !unpacks ? bytes : stated ? values[2] : 2 * bytes;
  const gsize most = !unpacks || stated ? first : LZF_MOST * bytes;

  for (gsize room = first; room <= MIN (most, G_MAXUINT); room *= 2) {
    void *to = H5allocate_memory (room, FALSE);

    if (!to)
      return 0;
    errno = 0;
    const gsize done = (unpacks ? lzf_decompress : lzf_compress) (*buffer, (unsigned) bytes, to,
                                                                  (unsigned) room);
    if (done > 0) {
      H5free_memory (*buffer);
      *buffer = to;
      *size = room;
      return done;
    }
    H5free_memory (to);
    if (errno != E2BIG) /* damaged */
      return 0;
  }
  return 0;
}

void
td_h5_filters_init (void)
{
  static const H5Z_class2_t lzf
      = { H5Z_CLASS_T_VERS, TD_H5_FILTER_LZF, 1, 1, "lzf", NULL, NULL, hdf5_filters_lzf };

  H5Zregister (&lzf);
}
#else
gboolean
td_h5_lzf_unpack (const guint8 *from, gsize bytes, guint8 *to, gsize room)
{
  return FALSE;
}

void
td_h5_filters_init (void)
{
}
#endif

/* Debian's and Ubuntu's packages of plugins. */
static const struct {
  H5Z_filter_t filter;
  const char *package;
} plugins[] = {
  { TD_H5_FILTER_LZF, "hdf5-plugin-lzf" },
  { 307, "hdf5-filter-plugin" },   /* bzip2 */
  { 32004, "hdf5-filter-plugin" }, /* LZ4 */
  { 32001, "hdf5-filter-plugin-blosc-serial" },
  { 32013, "hdf5-filter-plugin-zfp-serial" },
};

gboolean
td_h5_filters_check (hid_t dataset, const char *name, GError **error)
{
  TD_H5_GUARD;
  g_auto (TdH5Id) properties = H5Dget_create_plist (dataset);

  for (int i = 0; properties >= 0 && i < H5Pget_nfilters (properties); i++) {
    char filter_name[64] = "";
    unsigned flags = 0, config = 0;
    gsize n_values = 0;
    const H5Z_filter_t filter = H5Pget_filter2 (properties, i, &flags, &n_values, NULL,
                                                sizeof filter_name, filter_name, &config);

    if (filter <= 0 || H5Zfilter_avail (filter) > 0)
      continue;
    for (guint k = 0; k < G_N_ELEMENTS (plugins); k++)
      if (plugins[k].filter == filter)
        return td_set_error (error, TD_ERROR_UNSUPPORTED,
                             "%s is compressed by filter %d (%.40s), which this system's HDF5 "
                             "lacks; install Debian's or Ubuntu's package %s, or repack the file "
                             "with gzip",
                             name, (int) filter, filter_name[0] ? filter_name : "?",
                             plugins[k].package);
    return td_set_error (error, TD_ERROR_UNSUPPORTED,
                         "%s is compressed by filter %d (%.40s), which this system's HDF5 lacks; "
                         "install Python's package hdf5plugin and name its folder in "
                         "HDF5_PLUGIN_PATH, or repack the file with gzip",
                         name, (int) filter, filter_name[0] ? filter_name : "?");
  }
  return TRUE;
}
