/* SPDX-License-Identifier: GPL-3.0-or-later */
/* FFTs on every device against FFTW in double. */
#include "tests/common/devices.h"
#include "tests/common/pins.h"

#include <dlfcn.h>
#include <fftw3.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>

#include "compute/device/host-fft.h"
#include "test-folder.h"

/* Buffers of OpenCL that are there, counted on the way to its library. A library of FFTs keeps some
   in each plan. */
static int cl_buffers, cl_made;

gpointer clCreateBuffer (gpointer context, guint64 flags, gsize size, gpointer host, int *status);
int clReleaseMemObject (gpointer buffer);

gpointer
clCreateBuffer (gpointer context, guint64 flags, gsize size, gpointer host, int *status)
{
  gpointer (*real) (gpointer, guint64, gsize, gpointer, int *);
  *(gpointer *) &real = dlsym (RTLD_NEXT, "clCreateBuffer");
  gpointer buffer = real (context, flags, size, host, status);
  g_atomic_int_add (&cl_buffers, buffer != NULL);
  g_atomic_int_inc (&cl_made);
  return buffer;
}

int
clReleaseMemObject (gpointer buffer)
{
  int (*real) (gpointer);
  *(gpointer *) &real = dlsym (RTLD_NEXT, "clReleaseMemObject");
  g_atomic_int_add (&cl_buffers, -1);
  return real (buffer);
}

/* The same by FFTW in double. */
static void
reference_fft (fftw_complex *data, guint nx, guint ny, guint batch, int sign)
{
  for (guint i = 0; i < batch; i++) {
    fftw_complex *image = data + (gsize) i * nx * ny;
    fftw_plan plan = ny > 1 ? fftw_plan_dft_2d (ny, nx, image, image, sign, FFTW_ESTIMATE)
                            : fftw_plan_dft_1d (nx, image, image, sign, FFTW_ESTIMATE);
    fftw_execute (plan);
    fftw_destroy_plan (plan);
  }
}

static double
relative_error (const float *got, const fftw_complex *expected, gsize n)
{
  double difference = 0, norm = 0;

  for (gsize i = 0; i < n; i++)
    for (guint part = 0; part < 2; part++) {
      double d = got[2 * i + part] - expected[i][part];
      difference += d * d;
      norm += expected[i][part] * expected[i][part];
    }
  return sqrt (difference / norm);
}

static void
check_fft (TdDevice *device, TdQueue *queue, TdFftKind kind, guint nx, guint ny, guint batch)
{
  g_autoptr (GError) error = NULL;
  gsize n = (gsize) nx * ny * batch, bytes = n * 2 * sizeof (float);
  g_autofree float *data = g_new (float, 2 * n), *got = g_new (float, 2 * n);
  g_autofree fftw_complex *expected = g_new (fftw_complex, n);
  TdFft *fft = td_fft_new (device, kind, (guint[]) { nx, ny }, batch, &error);
  if (g_error_matches (error, TD_ERROR, TD_ERROR_UNSUPPORTED)) {
    g_assert_cmpuint (td_fft_good_size (nx), !=, nx);
    return;
  }
  TdBuffer *buffer = td_buffer_new (device, bytes, &error);

  g_assert_no_error (error);
  td_test_random (data, 2 * n, nx + batch);
  for (gsize i = 0; i < 2 * n; i++)
    expected[i / 2][i % 2] = data[i];
  for (guint inverse = 0; inverse < 2; inverse++) {
    reference_fft (expected, nx, ny, batch, inverse ? FFTW_BACKWARD : FFTW_FORWARD);
    if (!inverse)
      td_upload (queue, buffer, 0, data, bytes, &error);
    td_fft_run (queue, fft, buffer, inverse, &error);
    td_download (queue, got, buffer, 0, bytes, &error);
    td_test_finish (queue);
    g_assert_no_error (error);
    g_assert_cmpfloat (relative_error (got, expected, n), <, 1e-6);
  }
  td_fft_free (fft);
  td_buffer_free (buffer);
}

static void
test_fft (gconstpointer id)
{
  TdDevice *device = td_test_open (id);
  g_autoptr (GError) error = NULL;
  TdQueue *queue = td_queue_new (device, &error);
  const int before = g_atomic_int_get (&cl_buffers), made = g_atomic_int_get (&cl_made);

  check_fft (device, queue, TD_FFT_C2C_1D, 2, 1, 1);
  check_fft (device, queue, TD_FFT_C2C_1D, 64, 1, 7);
  check_fft (device, queue, TD_FFT_C2C_1D, 2048, 1, 33);
  check_fft (device, queue, TD_FFT_C2C_1D, 45, 1, 5);
  check_fft (device, queue, TD_FFT_C2C_1D, 4320, 1, 3);
  check_fft (device, queue, TD_FFT_C2C_1D, 1009, 1, 3);
  check_fft (device, queue, TD_FFT_C2C_2D, 48, 20, 3);
  check_fft (device, queue, TD_FFT_C2C_2D, 34, 67, 2);
  check_fft (device, queue, TD_FFT_C2C_2D, 128, 128, 1);
  if (!g_getenv ("TOMODESK_OPENCL_FFT")) /* FFTW's: a column less than two strips of them */
    check_fft (device, queue, TD_FFT_C2C_2D, 15, 9, 3);
  g_assert_true (uselocale ((locale_t) 0) == LC_GLOBAL_LOCALE);
  g_assert_cmpint (g_atomic_int_get (&cl_buffers), ==, before);
  /* The library that is named is the one that is used: it has buffers beside the nine of the data.
   */
  if (g_strcmp0 (g_getenv ("TOMODESK_OPENCL_FFT"), "vkfft") == 0
      && g_atomic_int_get (&cl_made) > made)
    g_assert_cmpint (g_atomic_int_get (&cl_made) - made, >, 9);
  td_queue_free (queue);
  td_test_close (device);
}

/* Sizes that no device takes, and buffers that a transform would pass the end of. */
static void
test_limits (gconstpointer id)
{
  static const struct {
    guint n[2], batch;
    TdErrorCode code;
  } sizes[] = {
    { { 2, 0 }, 0, TD_ERROR_DEVICE_BUG },
    { { 0, 8 }, 4, TD_ERROR_DEVICE_BUG },
    { { 2, 1 << 15 }, 1 << 15, TD_ERROR_TOO_LARGE },
    { { 1u << 31, 2 }, 1, TD_ERROR_TOO_LARGE },
    { { G_MAXUINT, G_MAXUINT }, G_MAXUINT, TD_ERROR_TOO_LARGE },
  };
  TdDevice *device = td_test_open (id);
  TdQueue *queue = td_queue_new (device, NULL);

  for (guint i = 0; i < G_N_ELEMENTS (sizes); i++) {
    g_autoptr (GError) error = NULL;
    const TdFftKind kind = sizes[i].n[1] ? TD_FFT_C2C_2D : TD_FFT_C2C_1D;
    g_assert_null (td_fft_new (device, kind, sizes[i].n, sizes[i].batch, &error));
    g_assert_error (error, TD_ERROR, (gint) sizes[i].code);
    td_test_pin_refused (error);
  }
  for (TdFftKind kind = TD_FFT_C2C_1D; kind <= TD_FFT_C2C_2D; kind++) {
    const guint n[2] = { 8, 16 }, elements = 3 * (kind == TD_FFT_C2C_2D ? 8 * 16 : 8);
    TdFft *fft = td_fft_new (device, kind, n, 3, NULL);
    TdBuffer *buffer = td_buffer_new (device, 8 * elements, NULL);
    TdBuffer *small = td_buffer_new (device, 8 * elements - 1, NULL);
    g_autoptr (GError) error = NULL;
    g_assert_true (td_fft_run (queue, fft, buffer, FALSE, NULL));
    g_assert_false (td_fft_run (queue, fft, small, FALSE, &error));
    g_assert_error (error, TD_ERROR, TD_ERROR_DEVICE_BUG);
    td_test_pin_refused (error);
    td_test_finish (queue);
    td_fft_free (fft);
    td_buffer_free (buffer);
    td_buffer_free (small);
  }
  td_queue_free (queue);
  td_test_close (device);
}

static void
test_good_size (void)
{
  g_assert_cmpuint (td_fft_good_size (0), ==, 2);
  g_assert_cmpuint (td_fft_good_size (1), ==, 2);
  g_assert_cmpuint (td_fft_good_size (7), ==, 8);
  g_assert_cmpuint (td_fft_good_size (2047), ==, 2048);
  g_assert_cmpuint (td_fft_good_size (2049), ==, 2160);
  g_assert_cmpuint (td_fft_good_size (25), ==, 30);
  /* The next even product of twos, threes and fives, whatever is asked for. */
  for (guint n = 0; n < 3000; n++) {
    guint least = G_MAXUINT;
    for (guint two = 2; two < 8192; two *= 2)
      for (guint three = two; three < 8192; three *= 3)
        for (guint five = three; five < 8192; five *= 5)
          least = five >= n ? MIN (least, five) : least;
    g_assert_cmpuint (td_fft_good_size (n), ==, least);
  }
}

/* Of even lines, each by itself: the cosines that it is made of. */
static void
test_even (void)
{
  static const guint periods[] = { 1, 2, 3, 8, 15, 30 };

  for (guint i = 0; i < G_N_ELEMENTS (periods); i++)
    for (guint count = 1; count <= 3; count++) {
      const guint period = periods[i], n = period / 2 + 1;
      g_autofree float *random = g_new (float, n *count);
      g_autofree double *values = g_new (double, n *count);
      td_test_random (random, n * count, i + 10 * count);
      for (guint k = 0; k < n * count; k++)
        values[k] = random[k];
      g_assert_true (td_fftw_even (values, period, count));
      for (guint k = 0; k < n * count; k++) {
        double sum = 0;
        for (guint x = 0; x < period; x++)
          sum += random[k / n * n + MIN (x, period - x)] * cos (2 * G_PI * x * (k % n) / period);
        g_assert_cmpfloat (fabs (values[k] - sum), <, 1e-9);
      }
    }
}

/* A plan that took long is remembered as well: else the next process has another one, and other
   last bits. */
static void
test_remembered (void)
{
  const guint n = 1 << 15; /* 0.3 s */
  g_autoptr (TestFolder) folder = test_folder_new ();
  fftwf_complex *from = fftwf_alloc_complex (n), *to = fftwf_alloc_complex (n);

  td_fftw_keep_wisdom_in (folder->path);
  fftwf_plan plan = td_fftw_plan (n);
  g_assert_nonnull (plan);
  g_autofree char *file = td_fftw_wisdom_file (folder->path);
  g_autofree char *text = NULL;
  g_assert_true (g_file_get_contents (file, &text, NULL, NULL));
  g_autofree char *lock = g_strconcat (file, ".lock", NULL);
  GStatBuf status;
  g_assert_cmpint (g_stat (lock, &status), ==, 0);
  g_assert_cmpint (status.st_mode & 07777 & ~0600, ==, 0); /* and its owner may open it again */
  g_assert_cmpint (status.st_mode & 0600, ==, 0600);
  fftwf_forget_wisdom ();
  g_assert_true (fftwf_import_wisdom_from_string (text));
  fftwf_plan again
      = fftwf_plan_dft_1d ((int) n, from, to, FFTW_FORWARD, FFTW_MEASURE | FFTW_WISDOM_ONLY);
  g_assert_nonnull (again);
  char *one = fftwf_sprint_plan (plan), *other = fftwf_sprint_plan (again);
  g_assert_cmpstr (one, ==, other);
  free (one);
  free (other);
  td_fftw_plan_free (again);
  td_fftw_plan_free (plan);
  td_fftw_keep_wisdom_in (NULL);
  fftwf_free (from);
  fftwf_free (to);
}

int
main (int argc, char **argv)
{
  static const TdDeviceTest tests[] = {
    { "fft", test_fft },
    { "limits", test_limits },
  };

  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/device-fft/good-size", test_good_size);
  g_test_add_func ("/device-fft/remembered", test_remembered);
  g_test_add_func ("/device-fft/even", test_even);
  td_test_each_device ("device-fft", tests, G_N_ELEMENTS (tests));
  return g_test_run ();
}
