/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What plans make of cards that are made up: of any memory, any speed and any number. Sizes, slabs
   and shares are kept to the slice, and where they begin to fit, to 256 bytes. Nothing is run. */
#include <math.h>
#include <string.h>

#include "compute/bench/cone-bench.h"
#include "compute/engine/engine-private.h"
#include "compute/engine/fdk/fdk.h"
#include "compute/engine/iterative/iterative.h"
#include "compute/methods/methods.h"
#include "dataset/scan-private.h"
#include "engine-scans.h"
#include "tests/common/devices.h"
#include "tests/common/pins.h"

#define MIB ((guint64) 1 << 20)
#define GRAIN 256 /* bytes; where something begins to fit is not told more closely */

/* ── Cards ── */

static guint64
card_memory_free (TdDevice *device)
{
  return G_MAXUINT64;
}

static const TdDeviceOps card_ops = { .memory_free = card_memory_free };
static TdDevice cards[4];

/* A card that can do everything; every one is a half faster than the one before. */
static void
card_init (guint i, guint64 bytes)
{
  static const char *const ids[] = { "card:0", "card:1", "card:2", "card:3" };
  static const char *const names[] = { "first card", "second card", "third card", "fourth card" };

  cards[i].references = 1;
  cards[i].hardware = &cards[i];
  cards[i].ops = &card_ops;
  cards[i].info = td_test_card (ids[i], names[i], bytes);
}

/* The first @n of them, each with so much memory; the last may have a part of it. */
static GPtrArray *
some_cards (guint n, guint64 bytes, double last)
{
  GPtrArray *devices = g_ptr_array_new ();

  for (guint i = 0; i < n; i++) {
    card_init (i, i + 1 < n ? bytes : (guint64) ((double) bytes * last));
    g_ptr_array_add (devices, &cards[i]);
  }
  return devices;
}

/* Whatever the size of the work. */
static void
set_rate (const char *key, double rate)
{
  for (double work = 1; work < 1e15; work *= 8)
    td_engine_set_rate (engine, key, work, work / rate);
}

static void
set_rates (void)
{
  g_autoptr (GPtrArray) host = td_engine_devices (engine, "host", NULL);
  g_autofree char *filters = td_fdk_filter_rate_key (host->pdata[0]);
  static const char *const methods[] = { "sirt", "fista-tv", "cgls" };

  set_rate (filters, 2e9);
  set_rate (TD_FDK_SUM_RATE_KEY, 1e10);
  for (guint i = 0; i < G_N_ELEMENTS (cards); i++) {
    const double faster = pow (1.5, i);
    card_init (i, MIB);
    g_autofree char *transfer = td_fdk_transfer_rate_key (&cards[i]);
    g_autofree char *filter = td_fdk_filter_rate_key (&cards[i]);
    set_rate (transfer, 1e10 * faster);
    set_rate (filter, 2e10 * faster);
    for (const TdConeFamily *const *family = td_cone_families (); *family; family++) {
      g_autofree char *kernel = td_fdk_device_rate_key (&cards[i], *family);
      set_rate (kernel, 1e11 * faster);
    }
    for (guint m = 0; m < G_N_ELEMENTS (methods); m++) {
      g_autofree char *iterates = g_strdup_printf ("%s %s", methods[m], cards[i].info.name);
      set_rate (iterates, 1e10 * faster);
    }
  }
}

/* ── Scans ── */

static TdScan *
made_scan (gboolean cone, guint n_columns, guint n_rows, guint n_views, double roll_deg,
           double up_px)
{
  g_autofree double *angles = g_new (double, n_views);
  TdScanFacts facts = { .n_columns = n_columns,
                        .n_rows = n_rows,
                        .n_views = n_views,
                        .sample_type = TD_SAMPLE_UINT16,
                        .transmission_logged = TRUE,
                        .angles_rad = angles,
                        .centre_px = cone ? NAN : (n_columns - 1) / 2.0,
                        .geometry = { .pixel_width_mm = 0.4, .pixel_height_mm = 0.4 } };

  for (guint v = 0; v < n_views; v++)
    angles[v] = (cone ? 2 : 1) * G_PI * v / n_views;
  if (cone) {
    td_cone_bench_geometry (n_columns, n_columns, &facts.geometry);
    facts.geometry.detector_tilt_rad[2] = roll_deg * G_PI / 180;
    facts.geometry.detector_offset_v_px = up_px;
  }
  return td_scan_new_from_memory (&facts, NULL, NULL, NULL, NULL, NULL);
}

/* The host's plan, of which those for cards are copies. */
static TdPlan *
host_plan (TdScan *scan, const char *const *options, guint n_options)
{
  g_autoptr (GError) error = NULL;
  TdRecipe recipe;

  recipe_init (&recipe, "host", NAN);
  for (guint i = 0; i < n_options && options[i]; i++) {
    g_auto (GStrv) parts = g_strsplit (options[i], "=", 2);
    td_recipe_set (&recipe, parts[0], parts[1], &error);
    g_assert_no_error (error);
  }
  TdPlan *plan = td_plan_new (engine, scan, &recipe, NULL, NULL, &error);
  g_assert_no_error (error);
  return plan;
}

/* ── Slabs of a cone beam ── */

/* Each device's slabs, @most of them, and of which rows. */
static char *
cut_text (const TdFdkCut *cut, guint n_devices, guint most)
{
  GString *text = g_string_new (NULL);

  for (guint d = 0; d < n_devices; d++) {
    g_string_append_printf (text, "%s%u:", d ? "; " : "", d);
    for (guint k = cut->own[d]; k < MIN (cut->own[d + 1], cut->own[d] + most); k++)
      g_string_append_printf (text, " %u+%u [%u,%u)", cut->slabs[k].slice0, cut->slabs[k].n_slices,
                              cut->slabs[k].row0, cut->slabs[k].row_end);
  }
  return g_string_free (text, FALSE);
}

/* Where slabs begin and end, of which rows, and in which order. Up to four devices have their
   parts: cards with row caches, those of a rank's part, and the host. */
static void
test_cuts (void)
{
  static const double shares[][4]
      = { { 1 }, { 0.5, 0.5 }, { 0.3, 0.4, 0.2, 0.1 }, { 0.6, 0, 0.35, 0.05 }, { 0, 1 } };
  static const guint n_devices[] = { 1, 2, 4, 4, 2 };
  static const struct {
    guint slab, least, group;
    guint slice0, n_slices;
    double up_px; /* of the detector */
    gboolean cached, part, tight;
  } cases[] = {
    { 64, 8, 0, 0, 300, 0, TRUE, FALSE, FALSE },    { 100, 16, 0, 0, 300, 0, TRUE, FALSE, FALSE },
    { 37, 5, 0, 0, 300, 0, TRUE, FALSE, FALSE },    { 64, 8, 0, 40, 201, 0, TRUE, FALSE, FALSE },
    { 64, 8, 0, 170, 130, 0, TRUE, FALSE, FALSE },  { 20, 16, 0, 0, 300, -50, TRUE, FALSE, FALSE },
    { 64, 8, 0, 0, 300, 0, TRUE, FALSE, TRUE },     { 64, 8, 0, 0, 300, 0, TRUE, TRUE, FALSE },
    { 37, 5, 16, 7, 290, 0, TRUE, TRUE, FALSE },    { 3, 3, 0, 0, 30, 0, TRUE, TRUE, FALSE },
    { 64, 8, 0, 0, 300, 0, FALSE, FALSE, FALSE },   { 50, 8, 16, 5, 280, 30, FALSE, FALSE, FALSE },
    { 50, 8, 16, 5, 280, -30, FALSE, FALSE, TRUE }, { 300, 8, 0, 0, 300, 0, TRUE, FALSE, FALSE },
    { 128, 128, 0, 0, 300, 0, TRUE, FALSE, FALSE },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (TdScan) scan = made_scan (TRUE, 256, 300, 4, 0, cases[i].up_px);
    g_autoptr (TdPlan) plan = host_plan (scan, NULL, 0);
    g_autoptr (GPtrArray) devices = some_cards (4, MIB, 1);
    const TdConeFamily family = { .name = "made up", .group = cases[i].group };
    const TdConeFamily *families[] = { &family, &family, &family, &family };
    TdFdkInput input = *((const TdFdkPlan *) plan->extra)->input;
    TdFdkPlan fdk = { .input = &input };
    TdPlan made = *plan;

    made.devices = devices;
    made.is_part = cases[i].part;
    input.slice0 = cases[i].slice0;
    input.n_slices = cases[i].n_slices;
    fdk.scheme.families = families;
    fdk.fit = (TdFdkFit) { .cached = cases[i].cached,
                           .slab = cases[i].slab,
                           .least_slab = cases[i].least,
                           .n_slabs = (cases[i].n_slices + cases[i].slab - 1) / cases[i].slab,
                           .slab_rows = cases[i].tight ? 60 : 300 };
    for (guint s = 0; s < G_N_ELEMENTS (shares); s++) {
      TdFdkCut cut = td_fdk_cut (&made, &fdk, n_devices[s], shares[s]);
      g_autofree char *text = cut_text (&cut, n_devices[s], G_MAXUINT);
      guint slices = 0;

      td_test_pin ("%u, %u: %s", i, s, text);
      g_assert_cmpuint (cut.own[n_devices[s]], ==, cut.n_slabs);
      for (guint k = 0; k < cut.n_slabs; k++)
        slices += cut.slabs[k].n_slices;
      g_assert_cmpuint (slices, ==, cases[i].n_slices);
      td_fdk_cut_clear (&cut);
    }
  }
}

/* ── Sizes of a cone beam ── */

static const struct {
  guint n_cards;
  double last; /* of the others' memory */
  guint n_columns, n_rows, n_views;
  double roll_deg;
  const char *options[6];
  guint64 host_mib;
  guint least_slabs;
  gboolean file; /* rows come from one */
} fdk_jobs[] = {
  { 1, 1, 256, 240, 200, 0, { "filter-on=device", "kernel=texture" }, 200, 0, TRUE },
  { 1, 1, 256, 240, 200, 0, { "filter-on=device", "kernel=arithmetic" }, 100, 0, TRUE },
  { 1, 1, 256, 240, 200, 0, { "filter-on=cpu", "kernel=standard" }, 200, 0, FALSE },
  { 1, 1, 256, 240, 201, 0, { "filter-on=cpu" }, 60, 0, FALSE },
  { 1, 1, 200, 160, 200, 4, { "filter-on=device", "kernel=texture" }, 200, 0, TRUE },
  { 1, 1, 200, 160, 200, 0, { "filter-on=device", "rows=30:121", "region=10,20,100,90" }, 200, 0 },
  { 1, 1, 200, 160, 200, 0, { "filter-on=device", "kernel=standard" }, 200, 5, TRUE },
  { 2, 1, 256, 240, 200, 0, { "filter-on=device", "share=volume" }, 200, 0, TRUE },
  { 2, 0.5, 256, 240, 200, 0, { "filter-on=device", "share=projection" }, 200, 0, FALSE },
  { 2, 0.5, 200, 160, 200, 0, { "filter-on=cpu", "share=projection" }, 50, 0, FALSE },
  { 3, 0.7, 200, 160, 200, 0, { NULL }, 200, 0, TRUE },
  { 1, 1, 64, 300, 60, 0, { "filter-on=device", "rows=280:300" }, 200, 0, TRUE }, /* unseen */
  { 4, 1, 200, 160, 210, 2, { "accuracy=draft" }, 200, 0, FALSE },
};

static void
pin_fdk (guint i, const TdPlan *plan, guint64 mib)
{
  const TdFdkPlan *fdk = plan->extra;
  const TdFdkFit *fit = &fdk->fit;
  const char *families[4] = { "", "", "", "" };
  g_autofree char *cut = cut_text (&fdk->cut, plan->devices->len, 8);

  for (guint d = 0; d < plan->devices->len; d++)
    families[d] = fdk->scheme.families[d]->name;
  td_test_pin ("%u with %u: rows %u+%u, %s, %s, %s%s; %s %s %s %s", i, (guint) mib,
               fdk->input->row0, fdk->input->n_rows,
               fit->cached    ? "cached"
               : fit->on_disk ? "on disk"
                              : "kept",
               fdk->scheme.filter_on_device ? "filtered there" : "filtered here",
               fdk->scheme.share == TD_SHARE_VOLUME ? "volume" : "projections",
               fit->bands ? ", bands" : "", families[0], families[1], families[2], families[3]);
  td_test_pin (
      "%u slabs of %u, at least %u, of %u rows, %u volumes; %u batches of %u, %u together, "
      "at most %u",
      fit->n_slabs, fit->slab, fit->least_slab, fit->slab_rows, fit->volumes, fit->n_batches,
      fit->batch, fit->symmetric_views, fit->most_views);
  td_test_pin ("%u chunks of %u from %u, %u cached, block %u, %u downloads of %u, ring %u, filter "
               "%u, card %u",
               fit->n_chunks, fit->filter_rows, fit->chunk_rows, fit->cached_chunks,
               fit->block_rows, fit->n_downloads, fit->download_slices, (guint) fit->ring_bytes,
               (guint) fit->filter_bytes, (guint) fit->device_bytes);
  td_test_pin ("of the host %u", (guint) fit->host_bytes);
  td_test_pin ("%s", cut);
  for (TdMessage **note = plan->facts.notes; note && *note; note++)
    if (g_str_has_prefix (td_message_id (*note), "The devices share the")) {
      g_autofree char *text = td_message_text (*note, NULL);
      g_auto (GStrv) parts = g_strsplit (text, " s", -1); /* times are not compared */
      g_autofree char *costs = g_strjoinv (" …s", parts);
      td_test_pin ("%s", costs);
    }
}

/* With less and less memory on the cards, by steps. */
static void
test_fdk (gconstpointer data)
{
  const guint i = GPOINTER_TO_UINT (data);
  g_autoptr (TdScan) scan = made_scan (TRUE, fdk_jobs[i].n_columns, fdk_jobs[i].n_rows,
                                       fdk_jobs[i].n_views, fdk_jobs[i].roll_deg, 0);
  static const char *const none[] = { NULL };
  g_autoptr (TdPlan) plan = host_plan (scan, none, 0);
  guint planned = 0, refused = 0;
  guint64 before[2] = { 0 };

  for (double mib = 300; mib > 1 && refused < 2; mib /= 1.8) {
    g_autoptr (GPtrArray) devices
        = some_cards (fdk_jobs[i].n_cards, (guint64) (mib * MIB), fdk_jobs[i].last);
    g_autoptr (GError) error = NULL;
    TdPlan made = *plan;

    for (guint k = 0; k < 6 && fdk_jobs[i].options[k]; k++) {
      g_auto (GStrv) parts = g_strsplit (fdk_jobs[i].options[k], "=", 2);
      td_recipe_set (&made.recipe, parts[0], parts[1], &error);
      g_assert_no_error (error);
    }
    made.asked = made.recipe;
    made.recipe.memory_limit_bytes = fdk_jobs[i].host_mib * MIB;
    made.facts.notes = NULL;
    made.facts.first_slice = made.recipe.row_first;
    made.facts.n_slices = made.recipe.row_end - made.recipe.row_first;
    made.devices = devices;
    made.least_slabs = fdk_jobs[i].least_slabs;
    made.is_part = fdk_jobs[i].least_slabs > 0;
    made.extra = NULL;
    scan->facts.in_memory = !fdk_jobs[i].file;
    if (td_fdk_plan (&made, NULL, &error)) {
      g_assert_cmpuint (refused, ==, 0);
      const TdFdkFit *fit = &((const TdFdkPlan *) made.extra)->fit;
      if (fit->device_bytes != before[0] || fit->host_bytes != before[1])
        pin_fdk (i, &made, (guint64) mib);
      before[0] = fit->device_bytes;
      before[1] = fit->host_bytes;
      planned++;
    } else {
      td_test_pin ("%s", error->message);
      g_assert_error (error, TD_ERROR, TD_ERROR_TOO_LARGE);
      refused++;
    }
    td_messages_free (made.facts.notes);
    made.free_extra (made.extra);
  }
  g_assert_cmpuint (planned, >, 4);
}

/* ── Rows of an iterative volume ── */

static const struct {
  gboolean cone;
  guint n_cards, n_host; /* beside the cards, the host */
  double last;
  const char *options[4];
  guint64 host_mib, max_alloc_mib;
  guint kind;       /* of the devices: 0 cards, 1 processors of OpenCL */
  guint64 card_kib; /* while the host's memory varies */
} iterative_jobs[] = {
  { TRUE, 1, 0, 1, { "method=sirt", "subsets=10" }, 200, 0, 0, 1400 },
  { TRUE, 1, 0, 1, { "method=sirt", "subsets=10" }, 80, 0, 0, 2600 },
  { TRUE, 1, 0, 1, { "method=sirt", "subsets=3", "iterations=1" }, 200, 1, 0, 1500 },
  { TRUE, 1, 0, 1, { "method=cgls" }, 200, 0, 0, 3000 },
  { TRUE, 1, 0, 1, { "method=fista-tv" }, 110, 2, 0, 5000 },
  { TRUE, 2, 0, 0.5, { "method=sirt", "subsets=10" }, 200, 0, 0, 1000 },
  { TRUE, 3, 0, 0.3, { "method=fista-tv", "region=3,4,20,30", "rows=5:17" }, 200, 0, 0, 900 },
  { TRUE, 2, 1, 1, { "method=sirt", "subsets=4" }, 95, 0, 0, 1200 },
  { TRUE, 2, 0, 1, { "method=cgls" }, 120, 0, 1, 2500 },
  { FALSE, 1, 0, 1, { "method=sirt", "subsets=6" }, 200, 0, 0, 400 },
  { FALSE, 2, 0, 0.4, { "method=cgls" }, 200, 0, 0, 500 },
  { FALSE, 2, 0, 1, { "method=fista-tv", "subsets=5" }, 90, 1, 1, 900 },
};

/* Who has which rows, how many views at a time, and what is kept; or why not. */
static char *
cut_of_rows (const TdPlan *plan, GPtrArray *devices, gboolean in_file)
{
  GString *text = g_string_new (NULL);
  TdIterativeCut cut = { 0 };
  TdMessage *reason = NULL;

  if (td_iterative_cut (plan, devices, in_file, &cut, &reason)) {
    for (guint i = 0; i < cut.n; i++) {
      g_assert_cmpuint (cut.members[i].first, ==,
                        i ? cut.members[i - 1].first + cut.members[i - 1].n : 0);
      g_string_append_printf (text, "%s%u of %s", i ? ", " : "", cut.members[i].n,
                              td_device_info (cut.members[i].device)->id);
    }
    g_string_append_printf (text, "; %u views%s%s; %" G_GUINT64_FORMAT, cut.batch_views,
                            cut.in_file ? ", filed" : "", cut.kept_subsets ? ", weights" : "",
                            td_iterative_host_bytes (plan, &cut));
  } else {
    g_autofree char *says = td_message_text (reason, NULL);
    g_string_append (text, says);
  }
  td_iterative_cut_clear (&cut);
  g_clear_pointer (&reason, td_message_unref);
  return g_string_free (text, FALSE);
}

/* What varies: the cards' memory, or the host's. */
static void
set_memory (TdPlan *plan, GPtrArray *devices, guint job, gboolean of_host, guint64 bytes)
{
  const guint64 each = of_host ? iterative_jobs[job].card_kib << 10 : bytes;

  plan->recipe.memory_limit_bytes = of_host ? bytes : iterative_jobs[job].host_mib * MIB;
  for (guint i = 0; i < iterative_jobs[job].n_cards; i++) {
    TdDeviceInfo *info = &((TdDevice *) devices->pdata[i])->info;

    info->memory_bytes = i + 1 < iterative_jobs[job].n_cards
                             ? each
                             : (guint64) ((double) each * iterative_jobs[job].last);
    info->max_alloc_bytes = iterative_jobs[job].max_alloc_mib * MIB;
    info->kind = iterative_jobs[job].kind ? TD_DEVICE_CPU : TD_DEVICE_GPU;
  }
}

/* The weights of how many subsets are kept, from much memory to little. */
static void
pin_kept (guint job, TdPlan *plan, GPtrArray *devices)
{
  g_autoptr (GString) text = g_string_new (NULL);

  for (guint64 memory = 48 * MIB; memory >= 4 * MIB; memory -= 4 * MIB) {
    TdIterativeCut cut = { 0 };

    set_memory (plan, devices, job, FALSE, memory);
    if (td_iterative_cut (plan, devices, FALSE, &cut, NULL))
      g_string_append_printf (text, " %u", cut.kept_subsets);
    td_iterative_cut_clear (&cut);
  }
  td_test_pin ("%u keeps%s", job, text->str);
}

/* From much memory to none: how the volume is cut, and the least with which it is cut so. */
static void
test_iterative (gconstpointer data)
{
  const guint job = GPOINTER_TO_UINT (data);
  g_autoptr (TdScan) scan = made_scan (iterative_jobs[job].cone, 64, 48, 60, 0, 0);
  g_autoptr (TdPlan) plan = host_plan (scan, iterative_jobs[job].options, 4);
  g_autoptr (GPtrArray) devices = some_cards (iterative_jobs[job].n_cards, MIB, 1);
  g_autoptr (GPtrArray) host = td_engine_devices (engine, "host", NULL);
  const gboolean can_store = td_iterative_can_store (plan->extra);

  for (guint i = 0; i < iterative_jobs[job].n_host; i++)
    g_ptr_array_add (devices, host->pdata[0]);
  for (guint axis = 0; axis < (can_store && job < 4 ? 3 : 2); axis++) {
    const gboolean of_host = axis == 1, in_file = axis == 2;
    guint64 high = (of_host ? 80 : 48) * MIB / GRAIN;

    for (guint state = 0; state < 4; state++) {
      guint64 low = of_host ? 64 * MIB / GRAIN : 0;

      set_memory (plan, devices, job, of_host, high * GRAIN);
      g_autofree char *here = cut_of_rows (plan, devices, in_file);
      if (strstr (here, " free") || strstr (here, "may be used")) { /* it does not fit */
        td_test_pin ("%u: %s", job, here);
        break;
      }
      for (guint64 most = high; low < most;) {
        const guint64 middle = low + (most - low) / 2;
        set_memory (plan, devices, job, of_host, middle * GRAIN);
        g_autofree char *there = cut_of_rows (plan, devices, in_file);
        if (g_str_equal (there, here))
          most = middle;
        else
          low = middle + 1;
      }
      td_test_pin ("%u%s%s from %" G_GUINT64_FORMAT ": %s", job, of_host ? " on the host" : "",
                   in_file ? " filed" : "", low, here);
      high = state == 1 && !of_host ? low * 2 / 3 : MAX (low, 1) - 1;
    }
  }
  pin_kept (job, plan, devices);
}

/* Who has the projections of several devices. Where that is the host, a card that holds everything
   alone is named, since it may be faster. */
static void
test_leads (void)
{
  static const struct {
    guint n_cards, n_host;
    double last; /* of the last card's memory */
    guint64 mib;
    const char *lead, *slower; /* NULL: nobody is named */
  } cases[] = {
    { 2, 0, 1, 48, "on card:0", NULL },
    { 4, 0, 0.01, 48, "on card:0", NULL },
    { 1, 0, 1, 48, NULL, NULL }, /* who has no others */
    { 1, 1, 1, 48, "in the host's memory", "card:0" },
    { 2, 1, 100, 1, "in the host's memory", "card:1" }, /* the second alone holds it */
    { 2, 1, 1, 1, "in the host's memory", NULL },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (TdScan) scan = made_scan (TRUE, 64, 48, 60, 0, 0);
    const char *const options[] = { "method=sirt", "subsets=10" };
    g_autoptr (TdPlan) plan = host_plan (scan, options, 2);
    g_autoptr (GPtrArray) devices
        = some_cards (cases[i].n_cards, cases[i].mib * MIB, cases[i].last);
    g_autoptr (GPtrArray) host = td_engine_devices (engine, "host", NULL);
    g_autoptr (GError) error = NULL;
    TdPlan made = *plan;

    for (guint h = 0; h < cases[i].n_host; h++)
      g_ptr_array_add (devices, host->pdata[0]);
    made.devices = devices;
    made.facts.notes = NULL;
    made.extra = NULL;
    td_iterative_plan (&made, NULL, &error);
    g_assert_no_error (error);
    g_autofree char *notes = td_messages_join (made.facts.notes, "\n", NULL);
    g_autofree char *lead = g_strdup_printf ("stay %s and go to the devices", cases[i].lead);
    g_autofree char *slower = g_strdup_printf ("%s has room for everything", cases[i].slower);
    g_test_message ("%s", notes);
    g_assert_cmpint (strstr (notes, lead) != NULL, ==, cases[i].lead != NULL);
    g_assert_cmpint (strstr (notes, slower) != NULL, ==, cases[i].slower != NULL);
    g_assert_cmpint (strstr (notes, "has room") != NULL, ==, cases[i].slower != NULL);
    td_messages_free (made.facts.notes);
    made.free_extra (made.extra);
  }
}

/* ── Copies ── */

/* Where turned frames wait, and whether the scan is read once: by what memory is left, to the byte.
 */
static void
test_copies (void)
{
  static const char *const starts[] = { "start=zero", "start=filtered" };

  for (guint i = 0; i < 16; i++) {
    const gboolean cone = i & 1, turned = i & 2, there = i & 4, filtered = i >> 3 & 1;
    g_autoptr (TdScan) scan = made_scan (cone, 40, 30, 24, turned ? 90 : 0, 0);
    const char *const options[] = { "method=sirt", "rows=5:17", starts[filtered], NULL };
    g_autoptr (TdPlan) plan = host_plan (scan, options, 3);
    TdIterativePlan *self = plan->extra;
    const gboolean turns = cone && turned;
    /* Rows of a turned detector are the other's columns. */
    const guint64 frames = 4ull * 24 * self->n_rows * (turns ? 30 : 40);
    const guint64 start = td_iterative_start_bytes (self);

    g_assert_cmpint (self->turned, ==, turns);
    g_assert_cmpint (start > 0, ==, filtered);
    scan->facts.in_memory = there;
    for (guint k = 0; k < 4; k++) {
      const guint fewer = k / 2, enough = k % 2;
      const TdConeSpool spool = !turns || there || !fewer ? TD_CONE_SPOOL_NONE
                                : enough                  ? TD_CONE_SPOOL_MEMORY
                                                          : TD_CONE_SPOOL_FILE;

      self->spool = TD_CONE_SPOOL_NONE;
      self->chunk_rows = self->n_rows - fewer;
      td_iterative_plan_spool (plan, self, frames + start - 1 + enough);
      g_assert_cmpint (self->spool, ==, spool);
      g_assert_cmpuint (td_iterative_spool_bytes (self), ==,
                        spool == TD_CONE_SPOOL_MEMORY ? frames : 0);
    }
    for (guint k = 0; k < 4; k++) {
      const guint waits = turns && !there ? k / 2 : 0, enough = k % 2;
      /* Of the rows that are read, as they were measured; of turned frames all. */
      const guint rows = turns ? 30 : self->n_rows;
      const guint64 copy = 2ull * 24 * 40 * rows;
      const gboolean once = filtered && !there && enough;

      self->spool = waits ? TD_CONE_SPOOL_MEMORY : TD_CONE_SPOOL_NONE;
      self->filtered_bytes = waits ? frames - 5 : 70000;
      td_iterative_plan_copy (plan, self, copy + start + (waits ? frames : 70000) - 1 + enough);
      g_assert_cmpuint (self->copied.count, ==, rows);
      g_assert_cmpint (self->reads_once, ==, once);
      g_assert_cmpuint (td_iterative_copy_bytes (plan, self), ==, once ? copy : 0);
    }
  }
}

/* The same of FDK on a card: the least of the host's memory with which turned frames wait in it, or
   elsewhere. */
static void
test_turned (void)
{
  for (guint i = 0; i < 2; i++) {
    g_autoptr (TdScan) scan = made_scan (TRUE, 90, 70, 64, 90, 0);
    g_autoptr (TdPlan) plan = host_plan (scan, NULL, 0);
    g_autoptr (GPtrArray) devices = some_cards (1, 40 * MIB, 1);
    guint64 high = 16 * MIB / GRAIN;
    TdPlan made = *plan;

    scan->facts.in_memory = FALSE;
    made.devices = devices;
    made.recipe.filter_on = i ? TD_FILTER_ON_CPU : TD_FILTER_ON_DEVICE;
    for (guint state = 0; state < 3; state++) {
      TdConeSpool here = 0;
      guint64 low = 0;

      for (guint64 most = high, at = high; low < most;) {
        made.facts.notes = NULL;
        made.extra = NULL;
        made.recipe.memory_limit_bytes = at * GRAIN;
        const gboolean good = td_fdk_plan (&made, NULL, NULL);
        const TdConeSpool spool = good ? ((const TdFdkPlan *) made.extra)->scheme.spool : 99;
        td_messages_free (made.facts.notes);
        made.free_extra (made.extra);
        if (at == high)
          here = spool;
        else if (spool == here)
          most = at;
        else
          low = at + 1;
        if (low >= most)
          break;
        at = low + (most - low) / 2;
      }
      td_test_pin ("%u: %u from %" G_GUINT64_FORMAT, i, here, low);
      if (here == 99)
        break;
      high = MAX (low, 1) - 1;
    }
  }
}

int
main (int argc, char **argv)
{
  /* Hundreds of rates are set, and each would be written to a disk, which may be busy. */
  g_setenv ("XDG_CACHE_HOME", "/dev/null", TRUE);
  g_test_init (&argc, &argv, NULL);
  engine = td_engine_new (td_methods);
  set_rates ();
  g_test_add_func ("/plan-cards/cuts", test_cuts);
  for (guint i = 0; i < G_N_ELEMENTS (fdk_jobs); i++) {
    g_autofree char *path = g_strdup_printf ("/plan-cards/fdk/%02u", i);
    g_test_add_data_func (path, GUINT_TO_POINTER (i), test_fdk);
  }
  g_test_add_func ("/plan-cards/copies", test_copies);
  g_test_add_func ("/plan-cards/turned", test_turned);
  g_test_add_func ("/plan-cards/leads", test_leads);
  for (guint i = 0; i < G_N_ELEMENTS (iterative_jobs); i++) {
    g_autofree char *path = g_strdup_printf ("/plan-cards/iterative/%02u", i);
    g_test_add_data_func (path, GUINT_TO_POINTER (i), test_iterative);
  }
  const int status = g_test_run ();
  td_engine_unref (engine);
  return status;
}
