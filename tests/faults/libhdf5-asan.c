/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where the address sanitizer is on: libhdf5 1.10 copies from behind its own buffers when some
 * object headers are damaged, and forgets memory on its way out of others. That is not ours to
 * mend; what we make of it is what is tested. */
const char *__asan_default_options (void);
const char *__asan_default_suppressions (void);
const char *__lsan_default_suppressions (void);

/* As without it: a damaged size asks for more memory than there is and gets NULL. */
const char *
__asan_default_options (void)
{
  return "allocator_may_return_null=1";
}

const char *
__asan_default_suppressions (void)
{
  return "interceptor_via_lib:libhdf5";
}

const char *
__lsan_default_suppressions (void)
{
  return "leak:libhdf5";
}
