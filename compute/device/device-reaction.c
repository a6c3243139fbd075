/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "device-reaction.h"

#include "dataset/error.h"

TdReaction
td_device_reaction (const GError *error)
{
  if (!error || error->domain != TD_ERROR)
    return TD_REACTION_GIVE_UP;
  switch ((TdErrorCode) error->code) {
  case TD_ERROR_DEVICE_MEMORY: return TD_REACTION_RETRY_SMALLER;
  case TD_ERROR_DEVICE_BUILD: return TD_REACTION_ANOTHER_KERNEL;
  case TD_ERROR_DEVICE_TIMEOUT: return TD_REACTION_SMALLER_LAUNCHES;
  /* A wrong call or a wrong result says nothing about the other devices. */
  case TD_ERROR_DEVICE_BUG:
  case TD_ERROR_DEVICE_LOST: return TD_REACTION_RETIRE;
  default: return TD_REACTION_GIVE_UP;
  }
}

gboolean
td_device_may_retry (const GError *error)
{
  return td_device_reaction (error) < TD_REACTION_RETIRE;
}

gboolean
td_device_others_can (const GError *error)
{
  return td_device_reaction (error) != TD_REACTION_GIVE_UP;
}
