/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "job-file.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compute/recipe/field.h"
#include "compute/recipe/json.h"
#include "config.h"
#include "dataset/error.h"
#include "dataset/file-bytes.h"
#include "dataset/json-walk.h"

#define FORMAT "tomodesk-job"
/* What the hash reads of a file's either end, and of how many files. */
#define END_BYTES (64u << 10)
#define MOST_FILES 64

static const char *const mode_names[] = { "slab", "ifdk", "slices" };

const char *
td_cluster_mode_name (TdClusterMode mode)
{
  return mode_names[mode];
}

gboolean
td_cluster_mode_from_name (const char *name, TdClusterMode *mode)
{
  for (guint i = 0; name && i < G_N_ELEMENTS (mode_names); i++)
    if (strcmp (name, mode_names[i]) == 0) {
      *mode = (TdClusterMode) i;
      return TRUE;
    }
  return FALSE;
}

/* ── Life ── */

void
td_job_file_init (TdJobFile *job)
{
  *job = (TdJobFile) { .cluster.view_slice = -1 };
  td_recipe_init (&job->recipe);
}

#define PLACE(member) G_STRUCT_OFFSET (TdJobFile, member)
/* Where the file has each text. */
static const struct {
  const char *path;
  gsize place;
} job_texts[] = {
  { "id", PLACE (id) },
  { "title", PLACE (title) },
  { "program", PLACE (program) },
  { "scan/path", PLACE (scan_path) },
  { "scan/hash", PLACE (scan_hash) },
  { "batch/watch", PLACE (batch.watch) },
  { "output/path", PLACE (output) },
  { "cluster/device", PLACE (cluster.device) },
  { "profile", PLACE (profile) },
  { "submitted", PLACE (submitted) },
};

void
td_job_file_clear (TdJobFile *job)
{
  for (guint i = 0; i < G_N_ELEMENTS (job_texts); i++)
    g_free (G_STRUCT_MEMBER (char *, job, job_texts[i].place));
  g_strfreev (job->batch.scans);
  g_strfreev (job->scan_settings);
  td_job_file_init (job);
}

gboolean
td_job_file_is_batch (const TdJobFile *job)
{
  return job->batch.scans || job->batch.watch;
}

/* ── Writing ── */

static void
job_file_add_scan (const TdJobFile *job, JsonBuilder *builder)
{
  td_json_begin_object (builder, "scan");
  td_json_add_string (builder, "path", job->scan_path);
  td_json_begin_object (builder, "settings");
  for (char **at = job->scan_settings; at && at[0]; at += 2)
    td_json_add_string (builder, at[0], at[1]);
  json_builder_end_object (builder);
  td_json_add_string (builder, "hash", job->scan_hash);
  json_builder_end_object (builder);
}

static void
job_file_add_batch (const TdJobBatch *batch, JsonBuilder *builder)
{
  td_json_begin_object (builder, "batch");
  td_json_add_strings (builder, "scans", batch->scans);
  td_json_add_string (builder, "watch", batch->watch);
  td_json_add_number (builder, "settle_s", batch->settle_s);
  json_builder_end_object (builder);
}

static void
job_file_add_cluster (const TdClusterWish *wish, JsonBuilder *builder)
{
  td_json_begin_object (builder, "cluster");
  td_json_add_string (builder, "mode", td_cluster_mode_name (wish->mode));
  td_json_add_integer (builder, "rows", wish->rows);
  td_json_add_integer (builder, "columns", wish->columns);
  td_json_add_boolean (builder, "ordered", wish->ordered);
  td_json_add_string (builder, "device", wish->device ? wish->device : "auto");
  td_json_add_integer (builder, "memory", wish->memory_bytes);
  json_builder_set_member_name (builder, "view_slice");
  json_builder_add_int_value (builder, wish->view_slice);
  json_builder_end_object (builder);
}

static void
job_file_add_output (const TdJobFile *job, JsonBuilder *builder)
{
  td_json_begin_object (builder, "output");
  td_json_add_string (builder, "path", job->output);
  td_json_add_string (builder, "format", td_volume_format_names[job->recipe.output_format]);
  td_json_add_integer (builder, "bits", job->recipe.output_bits);
  td_json_add_boolean (builder, "overwrite", job->overwrite);
  json_builder_end_object (builder);
}

gboolean
td_job_file_save (const TdJobFile *job, const char *folder, GError **error)
{
  g_autoptr (JsonBuilder) builder = json_builder_new ();
  g_autofree char *recipe = td_recipe_to_json (&job->recipe);
  g_autofree char *path = g_build_filename (folder, "job.json", NULL);
  g_autoptr (GError) reason = NULL;

  json_builder_begin_object (builder);
  td_json_add_string (builder, "format", FORMAT);
  td_json_add_integer (builder, "version", TD_JOB_VERSION);
  td_json_add_string (builder, "id", job->id);
  td_json_add_string (builder, "title", job->title);
  td_json_add_string (builder, "program", job->program ? job->program : "tomodesk " TD_VERSION);
  job_file_add_scan (job, builder);
  if (td_job_file_is_batch (job))
    job_file_add_batch (&job->batch, builder);
  json_builder_set_member_name (builder, "recipe");
  json_builder_add_value (builder, json_from_string (recipe, NULL));
  job_file_add_output (job, builder);
  job_file_add_cluster (&job->cluster, builder);
  td_json_add_string (builder, "profile", job->profile);
  td_json_add_string (builder, "submitted", job->submitted);
  json_builder_end_object (builder);
  if (td_json_save (builder, path, &reason))
    return TRUE;
  return td_set_error (error, TD_ERROR_IO, "The job's file cannot be written: %s", reason->message);
}

/* ── Reading ── */

/* Which member is missing or wrong. */
static gboolean
job_file_refuse (const char *path, const char *member, GError **error)
{
  return td_set_error (error, TD_ERROR_BAD_FILE,
                       "“%s” does not say “%s” as a job's file must; submit the job again", path,
                       member);
}

static gboolean
job_file_check_version (JsonNode *root, const char *path, GError **error)
{
  const char *format = td_json_string (root, "format");
  const double version = td_json_number (root, "version");

  if (!format || strcmp (format, FORMAT) != 0)
    return job_file_refuse (path, "format", error);
  if (version == TD_JOB_VERSION)
    return TRUE;
  return td_set_error (
      error, TD_ERROR_UNSUPPORTED,
      "“%s” is of version %g, and this worker (%s) reads version %d; give the desktop "
      "and the cluster the same release of the program",
      path, version, TD_VERSION, TD_JOB_VERSION);
}

/* A member of another kind would be taken for one that is not there. NULL: none is. */
static const char *
job_file_find_wrong (JsonNode *root)
{
  static const char *const flags[] = { "output/overwrite", "cluster/ordered" };
  static const struct {
    const char *path;
    double least, most;
    gboolean whole;
  } numbers[] = { { "cluster/rows", 0, G_MAXUINT, TRUE },
                  { "cluster/columns", 0, G_MAXUINT, TRUE },
                  { "cluster/memory", 0, 1e18, TRUE },
                  { "cluster/view_slice", -1, G_MAXINT, TRUE },
                  { "batch/settle_s", 0, 1e6, FALSE } };
  gboolean flag;

  for (guint i = 0; i < G_N_ELEMENTS (job_texts); i++)
    if (td_json_at (root, job_texts[i].path) && !td_json_string (root, job_texts[i].path))
      return job_texts[i].path;
  for (guint i = 0; i < G_N_ELEMENTS (flags); i++)
    if (!td_json_flag (root, flags[i], &flag))
      return flags[i];
  for (guint i = 0; i < G_N_ELEMENTS (numbers); i++) {
    const double value = td_json_number (root, numbers[i].path);
    if (td_json_at (root, numbers[i].path)
        && (!(value >= numbers[i].least && value <= numbers[i].most)
            || (numbers[i].whole && value != floor (value))))
      return numbers[i].path;
  }
  return NULL;
}

static gboolean
job_file_read_settings (TdJobFile *job, JsonNode *root, const char *path, GError **error)
{
  JsonNode *node = td_json_at (root, "scan/settings");
  g_autoptr (GStrvBuilder) settings = g_strv_builder_new ();
  JsonObjectIter iter;
  const char *name;

  if (!node)
    return TRUE;
  if (!JSON_NODE_HOLDS_OBJECT (node))
    return job_file_refuse (path, "scan/settings", error);
  json_object_iter_init (&iter, json_node_get_object (node));
  while (json_object_iter_next (&iter, &name, &node)) {
    if (!td_scan_field (name) || !JSON_NODE_HOLDS_VALUE (node)
        || json_node_get_value_type (node) != G_TYPE_STRING)
      return job_file_refuse (path, "scan/settings", error);
    g_strv_builder_add_many (settings, name, json_node_get_string (node), NULL);
  }
  job->scan_settings = g_strv_builder_end (settings);
  return TRUE;
}

static gboolean
job_file_read_batch (TdJobFile *job, JsonNode *root, const char *path, GError **error)
{
  JsonArray *scans = td_json_list (root, "batch/scans");
  const double settle_s = td_json_number (root, "batch/settle_s");

  if (!td_json_at (root, "batch"))
    return TRUE;
  job->batch.settle_s = isnan (settle_s) ? 0 : settle_s;
  if (job->batch.watch)
    return TRUE;
  job->batch.scans = td_json_strings (root, "batch/scans");
  return (scans && g_strv_length (job->batch.scans) == json_array_get_length (scans))
         || job_file_refuse (path, "batch/scans", error);
}

static gboolean
job_file_read_cluster (TdClusterWish *wish, JsonNode *root, const char *path, GError **error)
{
  const double memory = td_json_number (root, "cluster/memory");
  const double slice = td_json_number (root, "cluster/view_slice");

  if (!td_cluster_mode_from_name (td_json_string (root, "cluster/mode"), &wish->mode))
    return job_file_refuse (path, "cluster/mode", error);
  wish->rows = td_json_count (root, "cluster/rows");
  wish->columns = td_json_count (root, "cluster/columns");
  wish->ordered = td_json_true (root, "cluster/ordered");
  wish->memory_bytes = isnan (memory) ? 0 : (guint64) memory;
  wish->view_slice = isnan (slice) ? -1 : (gint) slice;
  return TRUE;
}

static gboolean
job_file_read_recipe (TdJobFile *job, JsonNode *root, const char *path, GError **error)
{
  JsonNode *node = td_json_at (root, "recipe");

  if (!node || !JSON_NODE_HOLDS_OBJECT (node))
    return job_file_refuse (path, "recipe", error);
  g_autofree char *text = td_json_text (node, FALSE);
  return td_recipe_from_json (&job->recipe, text, error);
}

gboolean
td_job_file_load (TdJobFile *job, const char *folder, GError **error)
{
  g_autofree char *path = g_build_filename (folder, "job.json", NULL);
  g_autoptr (JsonNode) root = td_json_load (path, error);

  td_job_file_init (job);
  if (!root || !job_file_check_version (root, path, error))
    return FALSE;
  for (guint i = 0; i < G_N_ELEMENTS (job_texts); i++)
    G_STRUCT_MEMBER (char *, job, job_texts[i].place)
        = g_strdup (td_json_string (root, job_texts[i].path));
  job->overwrite = td_json_true (root, "output/overwrite");
  const char *lacks = !job->id || strpbrk (job->id, "/\n")             ? "id"
                      : !job->scan_path && !td_json_at (root, "batch") ? "scan/path"
                      : !job->output || !g_path_is_absolute (job->output)
                          ? "output/path"
                          : job_file_find_wrong (root);
  const gboolean good = lacks ? job_file_refuse (path, lacks, error)
                              : job_file_read_settings (job, root, path, error)
                                    && job_file_read_batch (job, root, path, error)
                                    && job_file_read_recipe (job, root, path, error)
                                    && job_file_read_cluster (&job->cluster, root, path, error);
  if (!good)
    td_job_file_clear (job);
  return good;
}

/* ── The scan ── */

static void
hash_number (GChecksum *sum, guint64 number)
{
  const guint64 stored = GUINT64_TO_LE (number);

  g_checksum_update (sum, (const guchar *) &stored, sizeof stored);
}

/* Regular files of @path, and of what is in it if it is a folder. */
static void
job_file_list (const char *path, guint depth, GPtrArray *files)
{
  struct stat status;

  if (stat (path, &status) != 0)
    return;
  if (S_ISREG (status.st_mode)) {
    g_ptr_array_add (files, g_strdup (path));
    return;
  }
  g_autoptr (GDir) dir = S_ISDIR (status.st_mode) && depth < 3 ? g_dir_open (path, 0, NULL) : NULL;
  const char *name;
  while (dir && (name = g_dir_read_name (dir))) {
    g_autofree char *child = g_build_filename (path, name, NULL);
    job_file_list (child, depth + 1, files);
  }
}

static gint
compare_names (gconstpointer a, gconstpointer b)
{
  g_autofree char *one = g_path_get_basename (*(char *const *) a);
  g_autofree char *other = g_path_get_basename (*(char *const *) b);
  const gint by_name = strcmp (one, other);

  return by_name ? by_name : strcmp (*(char *const *) a, *(char *const *) b);
}

static gboolean
hash_file (GChecksum *sum, const char *path, gboolean ends, GError **error)
{
  g_autofree char *name = g_path_get_basename (path);
  g_autofree guchar *bytes = g_malloc (END_BYTES);
  const int file = open (path, O_RDONLY | O_CLOEXEC);
  struct stat status;
  int failed = file < 0 || fstat (file, &status) != 0 ? errno : 0;

  g_checksum_update (sum, (const guchar *) name, (gssize) strlen (name) + 1);
  hash_number (sum, failed ? 0 : (guint64) status.st_size);
  for (guint end = 0; ends && !failed && end < 2; end++) {
    const gsize n = MIN ((guint64) status.st_size, END_BYTES);
    failed = td_file_read (file, bytes, n, end ? (guint64) status.st_size - n : 0);
    g_checksum_update (sum, bytes, (gssize) n);
  }
  if (file >= 0)
    close (file);
  return !failed
         || td_set_error (error, TD_ERROR_IO, "“%s” cannot be read: %s", path, g_strerror (failed));
}

char *
td_job_scan_hash (const TdScan *scan, GError **error)
{
  const TdScanFacts *facts = td_scan_facts (scan);
  g_autoptr (GChecksum) sum = g_checksum_new (G_CHECKSUM_SHA256);
  g_autoptr (GPtrArray) files = g_ptr_array_new_with_free_func (g_free);
  const guint sizes[] = { facts->n_columns, facts->n_rows,  facts->n_views,
                          facts->n_flats,   facts->n_darks, facts->sample_type };

  for (guint i = 0; i < G_N_ELEMENTS (sizes); i++)
    hash_number (sum, sizes[i]);
  job_file_list (facts->path, 0, files);
  g_ptr_array_sort (files, compare_names);
  for (guint i = 0; i < files->len; i++) {
    const guint64 most = MIN (files->len, MOST_FILES);
    const gboolean ends = i * most / files->len != (i + 1) * most / files->len;
    if (!hash_file (sum, files->pdata[i], ends, error))
      return NULL;
  }
  return g_strconcat ("sha256:", g_checksum_get_string (sum), NULL);
}

gboolean
td_job_file_options (const TdJobFile *job, TdScanOptions *options, GError **error)
{
  *options = (TdScanOptions) { 0 };
  for (char **at = job->scan_settings; at && at[0]; at += 2)
    if (!td_scan_options_set (options, at[0], at[1], error))
      return FALSE;
  return TRUE;
}

TdScan *
td_job_file_open_scan (const TdJobFile *job, GCancellable *cancellable, GError **error)
{
  TdScanOptions options;

  if (!td_job_file_options (job, &options, error))
    return NULL;
  if (td_job_file_is_batch (job))
    return td_set_error_null (
        error, TD_ERROR_UNSUPPORTED,
        "the job %s is a batch, which “tomodesk-cli run” carries out and a worker does "
        "not; submit its scans one by one",
        job->id);
  g_autoptr (TdScan) scan = td_scan_open (job->scan_path, &options, cancellable, error);
  if (!scan)
    return NULL;
  g_autofree char *hash = job->scan_hash ? td_job_scan_hash (scan, error) : NULL;
  if (job->scan_hash && !hash)
    return NULL;
  if (hash && strcmp (hash, job->scan_hash) != 0)
    return td_set_error_null (
        error, TD_ERROR_BAD_FILE,
        "“%s” is not the scan that the job was submitted for: its files have changed, or "
        "another scan lies there; submit the job again",
        job->scan_path);
  return g_steal_pointer (&scan);
}

/* ── The flag ── */

gboolean
td_job_is_cancelled (const char *folder)
{
  g_autofree char *path = g_build_filename (folder, "cancel", NULL);

  return access (path, F_OK) == 0;
}
