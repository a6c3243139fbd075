/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "hdf5-write.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "file-bytes.h"
#include "output.h"

/* Room for everything that is not samples. */
#define METADATA_BYTES ((guint64) 1 << 20)

/* The library loses its footing when the disk fills under it, so the room is taken before. File
 * systems that cannot do that answer with another error, and are tried as they are. In memory it
 * would take as long as the work: whoever writes samples there takes their room. */
static gboolean
take_room (int fd, guint64 bytes)
{
  struct rlimit limit;

  if (td_file_lies_in_memory (fd))
    bytes = METADATA_BYTES;

  if (getrlimit (RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY
      && bytes > limit.rlim_cur) {
    errno = EFBIG;
    return FALSE;
  }
  errno = td_file_allocate (fd, FALLOC_FL_KEEP_SIZE, 0, bytes);
  return errno != ENOSPC && errno != EDQUOT && errno != EFBIG;
}

/* Without locks of the library's own, in a format that HDF5 1.8 reads. @flags: for an empty file,
   or for what is in it. */
static hid_t
hdf5_write_open (const char *path, unsigned flags)
{
  TD_H5_GUARD;
  g_auto (TdH5Id) access = H5Pcreate (H5P_FILE_ACCESS);

  errno = 0;
  H5Pset_file_locking (access, FALSE, TRUE);
  H5Pset_libver_bounds (access, H5F_LIBVER_EARLIEST, H5F_LIBVER_V18);
  return flags == H5F_ACC_TRUNC ? H5Fcreate (path, flags, H5P_DEFAULT, access)
                                : H5Fopen (path, flags, access);
}

hid_t
td_h5_create_sized (const char *path, guint64 bytes)
{
  TD_H5_GUARD;
  int fd = open (path, O_CREAT | O_RDWR | O_CLOEXEC, 0666);
  gboolean room = fd >= 0 && take_room (fd, bytes + METADATA_BYTES);
  int code = errno;
  int *own = NULL;
  hid_t file = -1;

  if (fd >= 0)
    close (fd);
  if (room)
    file = hdf5_write_open (path, H5F_ACC_TRUNC); /* which lets go of the room for a moment */
  else
    errno = code;
  if (file >= 0 && H5Fget_vfd_handle (file, H5P_DEFAULT, (void **) &own) >= 0 && own
      && !take_room (*own, bytes + METADATA_BYTES)) {
    code = errno;
    td_h5_finish (file);
    errno = code;
    return -1;
  }
  return file;
}

hid_t
td_h5_reopen (const char *path)
{
  return hdf5_write_open (path, H5F_ACC_RDWR);
}

gboolean
td_h5_flush (hid_t file)
{
  TD_H5_GUARD;

  errno = 0;
  return H5Fflush (file, H5F_SCOPE_GLOBAL) >= 0;
}

gboolean
td_h5_finish (hid_t file)
{
  TD_H5_GUARD;
  int *fd = NULL;

  errno = 0;
  const gboolean flushed = H5Fflush (file, H5F_SCOPE_GLOBAL) >= 0;
  /* a file that cannot be flushed stays open in the library: it should at least take no room */
  if (!flushed && H5Fget_vfd_handle (file, H5P_DEFAULT, (void **) &fd) >= 0 && fd) {
    int code = errno;

    if (TEMP_FAILURE_RETRY (ftruncate (*fd, 0)) != 0)
      g_debug ("a file that could not be flushed could not be emptied either");
    errno = code;
  }
  return H5Fclose (file) >= 0 && flushed;
}

gboolean
td_h5_set_write_error (GError **error, const char *name)
{
  return td_output_set_error (error, name, errno ? errno : EIO);
}

hid_t
td_h5_add_group (hid_t parent, const char *name, const char *nx_class)
{
  TD_H5_GUARD;

  errno = 0;
  const hid_t group = H5Gcreate2 (parent, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  if (group >= 0 && !td_h5_set_string (group, "NX_class", nx_class)) {
    td_h5_close (group);
    return -1;
  }
  return group;
}

static hid_t
text_type (gsize length)
{
  hid_t type = H5Tcopy (H5T_C_S1);

  H5Tset_size (type, length);
  H5Tset_cset (type, H5T_CSET_UTF8);
  return type;
}

/* @n 0: one value, and no list. */
static gboolean
hdf5_write_add (hid_t group, const char *name, hid_t type, const void *values, gsize n,
                const char *units)
{
  TD_H5_GUARD;
  hsize_t size = n;
  g_auto (TdH5Id) space = n > 0 ? H5Screate_simple (1, &size, NULL) : H5Screate (H5S_SCALAR);
  g_auto (TdH5Id) dataset
      = H5Dcreate2 (group, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);

  errno = 0;
  return dataset >= 0 && H5Dwrite (dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0
         && (!units || td_h5_set_string (dataset, "units", units));
}

gboolean
td_h5_add_string (hid_t group, const char *name, const char *text)
{
  TD_H5_GUARD;
  g_auto (TdH5Id) type = text_type (MAX (strlen (text), 1));

  return hdf5_write_add (group, name, type, text, 0, NULL);
}

gboolean
td_h5_add_doubles (hid_t group, const char *name, const double *values, gsize n, const char *units)
{
  return hdf5_write_add (group, name, H5T_NATIVE_DOUBLE, values, n, units);
}

gboolean
td_h5_add_bytes (hid_t group, const char *name, const guint8 *values, gsize n)
{
  return hdf5_write_add (group, name, H5T_NATIVE_UINT8, values, n, NULL);
}

static gboolean
set_attribute (hid_t object, const char *name, hid_t type, hid_t space, const void *value)
{
  g_auto (TdH5Id) attribute = H5Acreate2 (object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);

  errno = 0;
  return attribute >= 0 && H5Awrite (attribute, type, value) >= 0;
}

gboolean
td_h5_set_string (hid_t object, const char *attribute, const char *text)
{
  TD_H5_GUARD;
  g_auto (TdH5Id) type = text_type (MAX (strlen (text), 1));
  g_auto (TdH5Id) space = H5Screate (H5S_SCALAR);

  return set_attribute (object, attribute, type, space, text);
}

gboolean
td_h5_set_strings (hid_t object, const char *attribute, const char *const *texts, gsize n)
{
  TD_H5_GUARD;
  hsize_t size = n;
  g_auto (TdH5Id) type = text_type (H5T_VARIABLE);
  g_auto (TdH5Id) space = H5Screate_simple (1, &size, NULL);

  return set_attribute (object, attribute, type, space, texts);
}

gboolean
td_h5_set_double (hid_t object, const char *attribute, double value)
{
  TD_H5_GUARD;
  g_auto (TdH5Id) space = H5Screate (H5S_SCALAR);

  return set_attribute (object, attribute, H5T_NATIVE_DOUBLE, space, &value);
}

hid_t
td_h5_add_frames (hid_t group, const char *name, TdSampleType type, gsize depth, gsize rows,
                  gsize columns)
{
  TD_H5_GUARD;
  hsize_t size[3] = { depth, rows, columns };
  g_auto (TdH5Id) space = H5Screate_simple (3, size, NULL);
  g_auto (TdH5Id) properties = H5Pcreate (H5P_DATASET_CREATE);

  errno = 0;
  H5Pset_alloc_time (properties, H5D_ALLOC_TIME_EARLY);
  H5Pset_fill_time (properties, H5D_FILL_TIME_NEVER);
  return H5Dcreate2 (group, name, td_h5_native_type (type), space, H5P_DEFAULT, properties,
                     H5P_DEFAULT);
}

guint64
td_h5_frames_offset (hid_t dataset)
{
  TD_H5_GUARD;
  const haddr_t offset = H5Dget_offset (dataset);

  return offset == HADDR_UNDEF ? 0 : offset;
}

gboolean
td_h5_write_frame (hid_t dataset, TdSampleType type, gsize number, gsize rows, gsize columns,
                   const void *samples)
{
  TD_H5_GUARD;
  hsize_t start[3] = { number, 0, 0 }, size[3] = { 1, rows, columns };
  g_auto (TdH5Id) file_space = H5Dget_space (dataset);
  g_auto (TdH5Id) memory_space = H5Screate_simple (3, size, NULL);

  errno = 0;
  return H5Sselect_hyperslab (file_space, H5S_SELECT_SET, start, NULL, size, NULL) >= 0
         && H5Dwrite (dataset, td_h5_native_type (type), memory_space, file_space, H5P_DEFAULT,
                      samples)
                >= 0;
}
