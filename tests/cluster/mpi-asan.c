/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The address sanitizer tells what MPI leaves to the process's end, from libraries that are gone by
 * then, so that no suppression names them. And the worker's library is linked beside the one that
 * tests share, so that some globals are there twice. What is read and written is looked at. */
const char *__asan_default_options (void);
int __lsan_is_turned_off (void);

const char *
__asan_default_options (void)
{
  return "detect_odr_violation=0";
}

int
__lsan_is_turned_off (void)
{
  return 1;
}
