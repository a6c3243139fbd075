/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The address sanitizer sees faults of libhdf5 1.10. When some object headers are damaged, it
 * copies from behind its own buffers; when others are, it forgets memory. We cannot mend that
 * library. The tests judge what we make of its answers. */
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
