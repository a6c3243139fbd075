/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "methods.h"

#include "compute/engine/fbp/fbp.h"
#include "compute/engine/fdk/fdk.h"
#include "compute/engine/iterative/iterative.h"

const TdMethod *const td_methods[] = {
  &td_method_fbp,           &td_method_fdk,
  &td_method_fourier,       &td_method_sirt_parallel,
  &td_method_sirt_cone,     &td_method_fista_tv_parallel,
  &td_method_fista_tv_cone, &td_method_cgls_parallel,
  &td_method_cgls_cone,     NULL,
};
