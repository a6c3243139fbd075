/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "colour-map.h"

#define NODES 33

static const guint32 viridis[NODES] = {
  0x440154, 0x470d60, 0x48186a, 0x482374, 0x472d7b, 0x453781, 0x424086, 0x3e4989, 0x3b528b,
  0x375b8d, 0x33638d, 0x2f6b8e, 0x2c728e, 0x297a8e, 0x26828e, 0x23898e, 0x21918c, 0x1f988b,
  0x1fa088, 0x22a785, 0x28ae80, 0x32b67a, 0x3fbc73, 0x4ec36b, 0x5ec962, 0x70cf57, 0x84d44b,
  0x98d83e, 0xaddc30, 0xc2df23, 0xd8e219, 0xece51b, 0xfde725,
};

static const guint32 magma[NODES] = {
  0x000004, 0x030312, 0x0a0822, 0x130d34, 0x1d1147, 0x29115a, 0x36106b, 0x440f76, 0x51127c,
  0x5d177f, 0x6a1c81, 0x762181, 0x832681, 0x902a81, 0x9c2e7f, 0xaa337d, 0xb73779, 0xc43c75,
  0xd0416f, 0xdc4869, 0xe75263, 0xef5d5e, 0xf56b5c, 0xf9795d, 0xfc8961, 0xfd9869, 0xfea772,
  0xfeb67c, 0xfec488, 0xfed395, 0xfde2a3, 0xfcf0b2, 0xfcfdbf,
};

static const guint32 inferno[NODES] = {
  0x000004, 0x040312, 0x0b0724, 0x150b37, 0x210c4a, 0x2f0a5b, 0x3d0965, 0x4a0c6b, 0x57106e,
  0x64156e, 0x71196e, 0x7d1e6d, 0x8a226a, 0x972766, 0xa32c61, 0xb0315b, 0xbc3754, 0xc73e4c,
  0xd24644, 0xdb503b, 0xe45a31, 0xeb6628, 0xf1731d, 0xf68013, 0xf98e09, 0xfb9d07, 0xfcac11,
  0xfbbc21, 0xf9cb35, 0xf5db4c, 0xf2ea69, 0xf3f68a, 0xfcffa4,
};

static const guint32 cividis[NODES] = {
  0x00224e, 0x00285b, 0x002e6a, 0x053371, 0x1a386f, 0x273e6e, 0x32436d, 0x3b496c, 0x434e6c,
  0x4b546c, 0x535a6d, 0x5a5f6e, 0x61656f, 0x686a71, 0x6f7073, 0x767676, 0x7d7c78, 0x848279,
  0x8c8878, 0x938e78, 0x9b9476, 0xa39a74, 0xaba072, 0xb4a76f, 0xbcae6c, 0xc4b468, 0xcdbb63,
  0xd5c25e, 0xdec958, 0xe7d150, 0xf0d846, 0xf9e03a, 0xfee838,
};

static const guint32 turbo[NODES] = {
  0x30123b, 0x392a73, 0x4040a2, 0x4456c7, 0x466be3, 0x4680f6, 0x4294ff, 0x37a8fa, 0x28bceb,
  0x1ccdd8, 0x18ddc2, 0x1fe9af, 0x32f298, 0x4ef97d, 0x6dfe62, 0x8bff4b, 0xa4fc3c, 0xb9f635,
  0xcdec34, 0xdfdf37, 0xeecf3a, 0xf8be39, 0xfdac34, 0xfe962b, 0xfb7e21, 0xf46617, 0xeb500e,
  0xdf3f08, 0xd02f05, 0xbe2102, 0xa91601, 0x920b01, 0x7a0403,
};

static const guint32 diverging[NODES] = {
  0x053061, 0x0e4179, 0x175290, 0x1f63a8, 0x2a71b2, 0x3480b9, 0x3f8ec0, 0x529dc8, 0x6bacd1,
  0x84bcd9, 0x9bc9e0, 0xaed3e6, 0xc2ddec, 0xd4e6f1, 0xe0ecf3, 0xecf2f5, 0xf7f6f6, 0xf9eee7,
  0xfbe5d8, 0xfddcc9, 0xfbccb4, 0xf8bb9e, 0xf5aa89, 0xee9677, 0xe48066, 0xdb6b55, 0xd05548,
  0xc53e3d, 0xba2832, 0xab162a, 0x930e26, 0x7c0722, 0x67001f,
};

static const struct {
  const char *name;
  const guint32 *nodes; /* NULL: grey */
} maps[TD_COLOUR_COUNT] = {
  [TD_COLOUR_GREY] = { "grey", NULL },          [TD_COLOUR_INVERSE] = { "inverse", NULL },
  [TD_COLOUR_VIRIDIS] = { "viridis", viridis }, [TD_COLOUR_MAGMA] = { "magma", magma },
  [TD_COLOUR_INFERNO] = { "inferno", inferno }, [TD_COLOUR_CIVIDIS] = { "cividis", cividis },
  [TD_COLOUR_TURBO] = { "turbo", turbo },       [TD_COLOUR_DIVERGING] = { "diverging", diverging },
};

static guint8 tables[TD_COLOUR_COUNT][TD_COLOUR_ENTRIES][4];

static guint8
colour_map_channel (const guint32 *nodes, guint entry, guint shift)
{
  double at = (double) entry * (NODES - 1) / (TD_COLOUR_ENTRIES - 1);
  guint i = MIN ((guint) at, NODES - 2);
  double a = (nodes[i] >> shift) & 0xff, b = (nodes[i + 1] >> shift) & 0xff;

  return (guint8) (a + (at - i) * (b - a) + 0.5);
}

static void
fill_tables (void)
{
  for (guint m = 0; m < TD_COLOUR_COUNT; m++)
    for (guint e = 0; e < TD_COLOUR_ENTRIES; e++) {
      for (guint c = 0; c < 3; c++)
        tables[m][e][c] = maps[m].nodes ? colour_map_channel (maps[m].nodes, e, 16 - 8 * c)
                                        : (guint8) (m == TD_COLOUR_INVERSE ? 255 - e : e);
      tables[m][e][3] = 255;
    }
}

const char *
td_colour_map_name (TdColourMap map)
{
  return maps[map].name;
}

gboolean
td_colour_map_parse (const char *name, TdColourMap *map)
{
  for (guint m = 0; m < TD_COLOUR_COUNT; m++)
    if (g_strcmp0 (name, maps[m].name) == 0) {
      *map = m;
      return TRUE;
    }
  return FALSE;
}

const guint8 *
td_colour_map_table (TdColourMap map)
{
  static gsize filled;

  if (g_once_init_enter (&filled)) {
    fill_tables ();
    g_once_init_leave (&filled, 1);
  }
  return &tables[map][0][0];
}
