/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A library that is not NVIDIA's driver, found under its name by test-cuda.c. */
int td_not_cuda (void);

int
td_not_cuda (void)
{
  return 1;
}
