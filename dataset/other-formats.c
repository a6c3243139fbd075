/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "scan-private.h"

#include <string.h>

/* The first, of HDF5's endings, is told of a file alone: a folder's may be sound, and no scan. */
static const struct {
  const char *endings, *what, *remedy;
} formats[] = {
  { "", N_ ("its name is an HDF5 file's, but it is none"),
    N_ ("it is empty, damaged or of another format; copy or export it again") },
  { ".edf ", N_ ("ESRF's EDF images"), N_ ("“nxtomomill edf2nx” makes an NXtomo file of them") },
  { ".png .bmp .gif .pgm .webp ", N_ ("images that may hold projections"),
    N_ ("save them as TIFF with all their bits, for instance by ImageJ") },
  { ".jpg .jpeg .jp2 ", N_ ("JPEG images, which have lost what tomography needs"),
    N_ ("export the projections anew, as TIFF") },
  { ".dcm .dicom .ima ", N_ ("DICOM images"),
    N_ ("if they are projections, save them as TIFF, for instance by ImageJ; a scanner's slices "
        "are reconstructed already") },
  { ".vol .vgi .vgl .rek .pcr .isq .aim .nsihdr .xtekvolume .vff .am ",
    N_ ("a volume, which is reconstructed already"), N_ ("open the folder of its projections") },
  { ".pca .nsipro ", N_ ("a scanner's own description of a scan"),
    N_ ("open the folder of its images, and state its distances ({sod-mm}, {sdd-mm}), its pixels "
        "({pixel-mm}) and its angles ({angles:FILE|FIRST:LAST})") },
  { ".xtekhelixct ", N_ ("Nikon's description of a helical scan"),
    N_ ("helical scans cannot be reconstructed; open a scan whose sample stays at one height") },
  { ".xrm .txrm .txm ", N_ ("a file of ZEISS Xradia"),
    N_ ("export its projections as TIFF, or make an HDF5 file of it with DXchange") },
  { ".his .seq .viv .hnd .hnc .xim .img .spe .raw .bin .dat .rsq .cxd ",
    N_ ("a detector's own file"),
    N_ ("export it as TIFF, or state the size of its raw frames ({raw})") },
  { ".mrc .st .ali .mha .mhd .nrrd .nii .fits .fit .cbf ", N_ ("images of another kind than TIFF"),
    N_ ("save them as a TIFF stack, for instance by ImageJ") },
  { ".npy .npz .mat ", N_ ("an array of NumPy or MATLAB"),
    N_ ("save it as a TIFF stack or as an HDF5 file") },
  { ".zip .gz .tar .7z .rar .bz2 .xz ", N_ ("an archive"),
    N_ ("unpack it and open what it holds") },
};

/* Its place in the table, from @first on; -1: none. */
static int
other_format_find (const char *name, guint first)
{
  const char *dot = strrchr (name, '.');
  g_autofree char *low = g_ascii_strdown (dot ? dot : "", -1),
                  *ending = g_strconcat (low, " ", NULL);

  if (first == 0 && td_scan_named_hdf5 (name))
    return 0;
  for (guint i = first; dot && !strchr (low, ' ') && i < G_N_ELEMENTS (formats); i++)
    if (strstr (formats[i].endings, ending))
      return (int) i;
  return -1;
}

gboolean
td_other_format_is (const char *name)
{
  return other_format_find (name, 1) >= 0;
}

TdMessage *
td_other_format_file (const char *path)
{
  const int i = other_format_find (path, 0);

  return i < 0 ? NULL
               : td_message_new (N_ ("“%s” cannot be read (%p): %p"), path,
                                 td_message_new_plain (formats[i].what),
                                 td_message_new_plain (formats[i].remedy));
}

TdMessage *
td_other_format_folder (const char *path, const char *name)
{
  const int i = other_format_find (name, 1);

  return i < 0 ? NULL
               : td_message_new (N_ ("“%s” holds no TIFF images; “%s” cannot be read (%p): %p"),
                                 path, name, td_message_new_plain (formats[i].what),
                                 td_message_new_plain (formats[i].remedy));
}
