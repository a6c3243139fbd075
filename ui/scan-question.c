/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "scan-question.h"

TdScanQuestion *
td_scan_question_new (TdEngine *engine, TdScan *scan, const TdRecipe *recipe)
{
  TdScanQuestion *question = g_new (TdScanQuestion, 1);

  *question = (TdScanQuestion) { td_engine_ref (engine), td_scan_ref (scan), *recipe };
  return question;
}

void
td_scan_question_free (gpointer user)
{
  TdScanQuestion *question = user;

  td_engine_unref (question->engine);
  td_scan_unref (question->scan);
  g_free (question->output);
  g_free (question);
}
