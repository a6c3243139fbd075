/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "method.h"

#include "dataset/error.h"

const TdMethod *
td_method_choose (const TdMethod *const *methods, const TdScanFacts *facts, const TdRecipe *recipe,
                  GError **error)
{
  const char *reason = NULL;

  for (guint i = 0; methods[i]; i++) {
    if (recipe->method == TD_METHOD_AUTO ? methods[i]->by_name : recipe->method != methods[i]->kind)
      continue;
    reason = methods[i]->unsupported ? methods[i]->unsupported (facts, recipe) : NULL;
    if (!reason)
      return methods[i];
  }
  if (reason)
    td_set_error_plain (error, TD_ERROR_INVALID, reason);
  else
    td_set_error (error, TD_ERROR_INVALID,
                  "The method \"%s\" is not in this version; take {method=fbp}",
                  td_method_names[recipe->method]);
  return NULL;
}

const char *
td_method_undivided (const TdMethod *const *methods, const TdScanFacts *facts,
                     const TdRecipe *recipe)
{
  const TdMethod *method = td_method_choose (methods, facts, recipe, NULL);

  return method && method->undivided ? method->undivided (facts, recipe) : NULL;
}
