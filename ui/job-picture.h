/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gtk/gtk.h>

#include "job-item.h"

/* Shows a small picture of the job's middle slice, which stays in the job's folder, as soon as it
   is read. Nothing is shown where there is none. Main thread. */
void td_job_picture_load (GtkPicture *picture, TdJobItem *item);
