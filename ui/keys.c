/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "keys.h"

gboolean
td_key_arrow (guint key, int *dx, int *dy)
{
  *dx = key == GDK_KEY_Left || key == GDK_KEY_KP_Left     ? -1
        : key == GDK_KEY_Right || key == GDK_KEY_KP_Right ? 1
                                                          : 0;
  *dy = key == GDK_KEY_Up || key == GDK_KEY_KP_Up       ? -1
        : key == GDK_KEY_Down || key == GDK_KEY_KP_Down ? 1
                                                        : 0;
  return *dx != 0 || *dy != 0;
}

int
td_key_zoom (guint key)
{
  if (key == GDK_KEY_plus || key == GDK_KEY_equal || key == GDK_KEY_KP_Add)
    return 1;
  return key == GDK_KEY_minus || key == GDK_KEY_KP_Subtract ? -1 : 0;
}

gboolean
td_key_is_digit (guint key, guint digit)
{
  return key == GDK_KEY_0 + digit || key == GDK_KEY_KP_0 + digit;
}
