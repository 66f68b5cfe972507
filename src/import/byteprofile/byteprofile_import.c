/* byteprofile_import: the folders that byteprofile and BytePS write, and dPRO reads: a trial has a folder a worker
 * (host0, traces_1 ...), which has a folder a GPU, called by its local rank; and the files of these alone.
 *
 * (1) What was named may be a trial, a worker or a GPU.
 * (2) Ranks count up over the workers in the order of their names, numbers in them counting as such; where NCCL's
 *     file tells the rank, it is that.
 * (3) A file of no GPU (a server's profile, or one of these files by itself) is a process of its own.
 * (4) Logs of messages and of servers' work may stand beside the workers' folders, or in folders there; or what dPRO made
 *     of them, which is read where they are not there.
 * (5) What stands in the folder of one GPU beside its traces (shapes, names of gradients, the graph) is true of all. */
#include <string.h>

#include "base/byte_stream.h"
#include "base/for_each.h"
#include "import/byteprofile/byteprofile_hops.h"
#include "import/byteprofile/byteprofile_ops.h"
#include "import/byteprofile/byteprofile_tensors.h"
#include "import/byteprofile/byteps_dialect.h"
#include "import/byteprofile/byteps_keys.h"
#include "import/byteprofile/byteps_log.h"
#include "import/byteprofile/byteps_timeline.h"
#include "import/chrome/chrome_trace.h"
#include "import/byteprofile/gml_graph.h"
#include "import/byteprofile/horovod_dialect.h"

enum {
	MAX_GPUS = 1 << 14,
	HEAD_BYTES = 16 * 1024,
};

/* A folder of one GPU. */
struct gpu {
	gchar *path, *worker;
	gint32 rank, local_rank;
};

/* What one of the GPUs tells for all. */
struct trial {
	GArray *tensors; /* as byteprofile_tensors.h says; NULL: not known */
	byteprofile_ops *ops;
	GHashTable *keys; /* as byteps_keys.h says; NULL: not known */
	GArray *workers;  /* guint32: the process of the first GPU of each worker */
	struct gml_graph *graph;
	GArray *hops; /* struct hop_record, one a GPU */
};

/* The files of a GPU's folder, in the order in which they are read: that of operations first, whose process is the
 * one that trains. */
static const gchar *const gpu_files[] = { "trace.json.gz", "trace.json",       "temp.json",
					  "comm.json",	   "comm_detail.json", "io.json" };

/* --- what a file is ------------------------------------------------------------------------- */

static gboolean has_any(const gchar *head, const gchar *const *words)
{
	for (; *words; words++)
		if (strstr(head, *words))
			return TRUE;
	return FALSE;
}

/* BytePS: gradients by partition, stages as parts of names. */
static gboolean is_byteps_comm(const gchar *head)
{
	static const gchar *const words[] = { "\"Comm.byteps.", "\"tid\": \"total\"",
					      "\"tid\":\"total\"", NULL };

	return strstr(head, "\"Comm.") && has_any(head, words);
}

static gboolean is_byteps_server(const gchar *head)
{
	return (strstr(head, "\"push-") || strstr(head, "\"pull-")) && strstr(head, "\"ph\"");
}

static gboolean is_detail(const gchar *head)
{
	return strstr(head, "\"comm_detail_r") && strstr(head, "\"ph\"");
}

static const struct chrome_dialect *dialect_of(const gchar *name, const gchar *head)
{
	if (is_detail(head) || g_str_has_prefix(name, "comm_detail"))
		return &byteprofile_detail_dialect;
	if (is_byteps_server(head))
		return &byteps_server_dialect;
	if (is_byteps_comm(head))
		return &byteps_comm_dialect;
	if (g_str_has_prefix(name, "comm"))
		return &horovod_dialect;
	if (g_str_has_prefix(name, "trace") || g_str_has_prefix(name, "temp"))
		return &byteprofile_compute_dialect;
	return &byteprofile_other_dialect;
}

/* The begin of a file, decoded; NULL: it cannot be read. */
static gchar *read_head(const gchar *path, GError **error)
{
	g_autoptr(ByteStream) stream = byte_stream_open(path, error);
	g_autofree gchar *head = NULL;
	gssize n;

	if (!stream)
		return NULL;
	head = g_malloc(HEAD_BYTES + 1);
	n = byte_stream_read(stream, head, HEAD_BYTES, error);
	if (n < 0)
		return NULL;
	head[n] = '\0';
	return g_steal_pointer(&head);
}

/* --- folders -------------------------------------------------------------------------------- */

static gboolean has_file(const gchar *folder, const gchar *name)
{
	g_autofree gchar *path = g_build_filename(folder, name, NULL);

	return g_file_test(path, G_FILE_TEST_IS_REGULAR);
}

/* A trace alone is nothing that is known by it; beside one of these, or in a trial, it is byteprofile's. */
static gboolean is_gpu_folder(const gchar *path, gboolean is_in_trial)
{
	static const gchar *const marks[] = {
		"comm.json", "comm_detail.json",	"nccl_rank_graph.json",
		"dag.gml",   "gradient_name_list.json", "gradient_name2ID.json",
		"io.json"
	};
	gboolean has_trace = has_file(path, "trace.json.gz") || has_file(path, "trace.json") ||
			     has_file(path, "temp.json");

	g_autofree gchar *name = g_path_get_basename(path);

	if (!has_trace && !has_file(path, "comm.json"))
		return FALSE;
	if (is_in_trial && g_ascii_isdigit(*name))
		return TRUE;
	for (guint i = 0; i < G_N_ELEMENTS(marks); i++)
		if (has_file(path, marks[i]))
			return TRUE;
	return FALSE;
}

/* By the numbers in names: host2 before host10. */
static gint compare_names(gconstpointer first, gconstpointer second)
{
	g_autofree gchar *a = g_utf8_collate_key_for_filename(*(gchar *const *)first, -1);
	g_autofree gchar *b = g_utf8_collate_key_for_filename(*(gchar *const *)second, -1);

	return strcmp(a, b);
}

static GPtrArray *list_folders(const gchar *path)
{
	g_autoptr(GDir) entries = g_dir_open(path, 0, NULL);
	GPtrArray *names = g_ptr_array_new_with_free_func(g_free);
	const gchar *name;

	while (entries && names->len < MAX_GPUS && (name = g_dir_read_name(entries))) {
		g_autofree gchar *child = g_build_filename(path, name, NULL);

		if (name[0] != '.' && g_utf8_validate(name, -1, NULL) &&
		    g_file_test(child, G_FILE_TEST_IS_DIR))
			g_ptr_array_add(names, g_strdup(name));
	}
	g_ptr_array_sort(names, compare_names);
	return names;
}

/* Add the GPUs in the folder, `depth` levels down at most; `worker` is the name of the folder above. */
static void find_gpus(GArray *gpus, const gchar *path, const gchar *worker, guint depth,
		      gboolean is_in_trial)
{
	g_autofree gchar *name = g_path_get_basename(path);
	g_autoptr(GPtrArray) children = NULL;

	if (gpus->len >= MAX_GPUS)
		return;
	if (is_gpu_folder(path, is_in_trial)) {
		struct gpu gpu = { .path = g_strdup(path),
				   .worker = g_strdup(worker),
				   .rank = (gint32)gpus->len,
				   .local_rank = -1 };

		if (g_ascii_isdigit(*name))
			gpu.local_rank = (gint32)MIN(g_ascii_strtoull(name, NULL, 10), 65535);
		g_array_append_val(gpus, gpu);
		return;
	}
	children = depth ? list_folders(path) : g_ptr_array_new();
	for (guint i = 0; i < children->len; i++) {
		g_autofree gchar *child = g_build_filename(path, children->pdata[i], NULL);

		find_gpus(gpus, child, name, depth - 1, is_in_trial);
	}
}

static void clear_gpu(gpointer data)
{
	struct gpu *gpu = data;

	g_free(gpu->path);
	g_free(gpu->worker);
}

static GArray *gpus_of(const gchar *path)
{
	g_autofree gchar *parent = g_path_get_dirname(path);
	g_autofree gchar *worker = g_path_get_basename(parent);
	GArray *gpus = g_array_new(FALSE, FALSE, sizeof(struct gpu));

	g_array_set_clear_func(gpus, clear_gpu);
	find_gpus(gpus, path, worker, 2, has_file(path, "key_dict.txt"));
	if (gpus->len) { /* it is a trial: GPUs that have a trace and nothing beside it are of it */
		g_array_set_size(gpus, 0);
		find_gpus(gpus, path, worker, 2, TRUE);
	}
	return gpus;
}

/* --- reading -------------------------------------------------------------------------------- */

/* The rank that NCCL's file tells ("comm_detail_r5_lr1"); -1: it does not. */
static gint32 find_told_rank(const struct gpu *gpu)
{
	static const gchar mark[] = "\"comm_detail_r";
	g_autofree gchar *path = g_build_filename(gpu->path, "comm_detail.json", NULL);
	g_autofree gchar *head = read_head(path, NULL);
	const gchar *found = head ? strstr(head, mark) : NULL;

	if (!found || !g_ascii_isdigit(found[strlen(mark)]))
		return -1;
	return (gint32)MIN(g_ascii_strtoull(found + strlen(mark), NULL, 10), G_MAXINT16);
}

/* (2): those that no file tells are as far from the last one told as they stand behind it. */
static gint32 tell_ranks(GArray *gpus)
{
	gint32 offset = 0, n_ranks = 0;

	FOR_EACH_AT(struct gpu, gpu, i, gpus) {
		gint32 told = find_told_rank(gpu);

		if (told >= 0)
			offset = told - (gint32)i;
		gpu->rank = MAX((gint32)i + offset, 0);
		n_ranks = MAX(n_ranks, gpu->rank + 1);
	}
	return n_ranks;
}

static guint32 add_gpu(struct import *import, const struct gpu *gpu, gint32 n_ranks)
{
	TachoProcess process = {
		.host = tacho_timeline_intern(import->timeline, gpu->worker, -1),
		.command = tacho_timeline_intern(import->timeline, "byteprofile", -1),
		.rank = gpu->rank,
		.local_rank = gpu->local_rank,
		.world_size = n_ranks,
		.end = TACHO_END_UNKNOWN,
		.path = gpu->path,
	};

	return import_add_process(import, &process, import_new_file(import));
}

static gboolean read_file(struct import *import, const gchar *path,
			  const struct horovod_context *context, struct byteps_job *job,
			  GError **error)
{
	g_autofree gchar *name = g_path_get_basename(path);
	g_autofree gchar *head = read_head(path, error);

	if (!head)
		return FALSE;
	if (!*head) /* of a GPU that sent nothing over the network */
		return TRUE;
	if (job && byteps_log_sniff(head))
		return byteps_log_read(import, path, job, error);
	if (job && byteps_timeline_sniff(head))
		return byteps_timeline_read(import, path, job, error);
	return chrome_trace_read(import, path, dialect_of(name, head), context, error);
}

static void report_failure(struct import *import, const GError *failure)
{
	tacho_timeline_add_problem(import->timeline, TACHO_PROBLEM_UNREADABLE_FILE, 1, "%s",
				   failure->message);
}

static void read_gpu(struct import *import, const struct gpu *gpu, gint32 n_ranks,
		     const struct trial *trial)
{
	struct hop_record hops;
	struct horovod_context context = { .process = add_gpu(import, gpu, n_ranks),
					   .rank = gpu->rank,
					   .tensors = trial->tensors,
					   .ops = trial->ops,
					   .graph = trial->graph,
					   .hops = &hops };

	hop_record_init(&hops, context.process, gpu->rank);
	for (guint i = 0; i < G_N_ELEMENTS(gpu_files); i++) {
		g_autofree gchar *path = g_build_filename(gpu->path, gpu_files[i], NULL);
		g_autoptr(GError) failure = NULL;

		if (g_file_test(path, G_FILE_TEST_IS_REGULAR) &&
		    !read_file(import, path, &context, NULL, &failure))
			report_failure(import, failure);
	}
	g_array_append_val(trial->hops, hops);
}

static void clear_hops(gpointer data)
{
	hop_record_release(data);
}

/* (5): the folders of all GPUs, then those above them. */
static GPtrArray *folders_of(const gchar *path, const GArray *gpus)
{
	GPtrArray *folders = g_ptr_array_new_with_free_func(g_free);

	for (guint i = 0; i < gpus->len; i++)
		g_ptr_array_add(folders, g_strdup(g_array_index(gpus, struct gpu, i).path));
	for (guint i = 0; i < gpus->len; i++)
		g_ptr_array_add(folders,
				g_path_get_dirname(g_array_index(gpus, struct gpu, i).path));
	g_ptr_array_add(folders, g_strdup(path));
	g_ptr_array_add(folders, NULL);
	return folders;
}

static struct gml_graph *find_graph(const gchar *const *folders)
{
	struct gml_graph *graph = NULL;

	for (; *folders && !graph; folders++) {
		g_autofree gchar *path = g_build_filename(*folders, "dag.gml", NULL);

		if (g_file_test(path, G_FILE_TEST_IS_REGULAR))
			graph = gml_graph_read(path);
	}
	return graph;
}

/* Files beside the workers' folders, and in folders there that are no worker's. */
static void find_beside(GPtrArray *paths, const gchar *path, guint depth)
{
	g_autoptr(GDir) entries = g_dir_open(path, 0, NULL);
	g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
	const gchar *name;

	while (entries && names->len < MAX_GPUS && (name = g_dir_read_name(entries)))
		if (name[0] != '.' && g_utf8_validate(name, -1, NULL))
			g_ptr_array_add(names, g_strdup(name));
	g_ptr_array_sort(names, compare_names);
	for (guint i = 0; i < names->len && paths->len < MAX_GPUS; i++) {
		g_autofree gchar *child = g_build_filename(path, names->pdata[i], NULL);

		if (g_file_test(child, G_FILE_TEST_IS_REGULAR)) {
			g_ptr_array_add(paths, g_steal_pointer(&child));
		} else if (depth && g_file_test(child, G_FILE_TEST_IS_DIR)) {
			g_autoptr(GArray) gpus = gpus_of(child);

			if (!gpus->len)
				find_beside(paths, child, depth - 1);
		}
	}
}

/* What a file beside the workers' folders is; what is derived from logs comes behind them, and servers behind workers. */
enum beside {
	BESIDE_NOTHING,
	BESIDE_MESSAGES,
	BESIDE_DERIVED_MESSAGES,
	BESIDE_WORK,
	BESIDE_DERIVED_WORK
};

static enum beside beside_of(const gchar *path)
{
	g_autofree gchar *head = read_head(path, NULL);

	if (!head)
		return BESIDE_NOTHING;
	if (byteps_log_sniff(head))
		return byteps_log_is_of_server(head) ? BESIDE_WORK : BESIDE_MESSAGES;
	if (byteps_timeline_sniff(head))
		return byteps_timeline_is_of_servers(head) ? BESIDE_DERIVED_WORK
							   : BESIDE_DERIVED_MESSAGES;
	return is_byteps_server(head) ? BESIDE_WORK : BESIDE_NOTHING;
}

/* (4) */
static void read_beside(struct import *import, const gchar *path, const struct trial *trial)
{
	g_autoptr(GPtrArray) paths = g_ptr_array_new_with_free_func(g_free);
	g_autoptr(GHashTable) servers = g_hash_table_new(NULL, NULL);
	struct byteps_job job = { .keys = trial->keys,
				  .tensors = trial->tensors,
				  .ops = trial->ops,
				  .workers = trial->workers,
				  .servers = servers };
	struct horovod_context context = { .process = TACHO_NONE, .keys = trial->keys };
	guint n_read[BESIDE_DERIVED_WORK + 1] = { 0 };

	find_beside(paths, path, 1);
	for (enum beside kind = BESIDE_MESSAGES; kind <= BESIDE_DERIVED_WORK; kind++) {
		gboolean is_derived =
			kind == BESIDE_DERIVED_MESSAGES || kind == BESIDE_DERIVED_WORK;

		for (guint i = 0; i < paths->len; i++) {
			g_autoptr(GError) failure = NULL;

			if (beside_of(paths->pdata[i]) != kind || (is_derived && n_read[kind - 1]))
				continue;
			n_read[kind]++;
			if (!read_file(import, paths->pdata[i], &context, &job, &failure))
				report_failure(import, failure);
		}
	}
}

/* The processes of the first GPUs of workers: those of a worker follow each other. */
static GArray *find_workers(const GArray *gpus, guint32 first_process)
{
	GArray *workers = g_array_new(FALSE, FALSE, sizeof(guint32));

	for (guint32 i = 0; i < gpus->len; i++) {
		guint32 process = first_process + i;

		if (i == 0 || strcmp(g_array_index(gpus, struct gpu, i).worker,
				     g_array_index(gpus, struct gpu, i - 1).worker) != 0)
			g_array_append_val(workers, process);
	}
	return workers;
}

static void read_trial(struct import *import, const gchar *path)
{
	g_autoptr(GArray) gpus = gpus_of(path);
	g_autoptr(GPtrArray) folders = folders_of(path, gpus);
	struct trial trial = { 0 };
	gint32 n_ranks = tell_ranks(gpus);

	trial.workers = find_workers(gpus, import->timeline->processes->len);
	trial.keys = byteps_keys_read((const gchar *const *)folders->pdata);
	trial.tensors = byteprofile_tensors_read((const gchar *const *)folders->pdata);
	trial.ops = byteprofile_ops_read(import->timeline, (const gchar *const *)folders->pdata);
	trial.graph = find_graph((const gchar *const *)folders->pdata);
	trial.hops = g_array_new(FALSE, FALSE, sizeof(struct hop_record));
	g_array_set_clear_func(trial.hops, clear_hops);
	for (guint i = 0; i < gpus->len; i++) {
		import_begin_path(import, i, gpus->len);
		read_gpu(import, &g_array_index(gpus, struct gpu, i), n_ranks, &trial);
	}
	read_beside(import, path, &trial);
	byteprofile_hops_link(import->timeline, trial.hops, (const gchar *const *)folders->pdata);
	g_array_unref(trial.hops);
	import->timeline->expected_ranks = MAX(import->timeline->expected_ranks, n_ranks);
	g_clear_pointer(&trial.tensors, g_array_unref);
	g_clear_pointer(&trial.keys, g_hash_table_unref);
	g_array_unref(trial.workers);
	byteprofile_ops_free(trial.ops);
	gml_graph_free(trial.graph);
}

static gboolean is_of_server(const gchar *path)
{
	g_autofree gchar *head = read_head(path, NULL);

	return head && ((byteps_log_sniff(head) && byteps_log_is_of_server(head)) ||
			(byteps_timeline_sniff(head) && byteps_timeline_is_of_servers(head)));
}

/* The folder of a file or, where it is of logs alone, the one above may tell what keys mean. */
static GHashTable *keys_beside(const gchar *path)
{
	g_autofree gchar *folder = g_path_get_dirname(path);
	g_autofree gchar *above = g_path_get_dirname(folder);
	const gchar *folders[] = { folder, above, NULL };

	return byteps_keys_read(folders);
}

static gboolean read_byteprofile(struct import *import, const gchar *const *paths, guint n_paths,
				 GError **error)
{
	g_autoptr(GHashTable) servers = g_hash_table_new(NULL, NULL);
	g_autoptr(GHashTable) keys = n_paths ? keys_beside(paths[0]) : NULL;
	g_autofree gboolean *is_server = g_new0(gboolean, n_paths + 1);
	struct byteps_job job = { .servers = servers, .keys = keys };
	GError *first = NULL;
	guint n_read = 0;

	for (guint i = 0; i < n_paths; i++)
		is_server[i] = !g_file_test(paths[i], G_FILE_TEST_IS_DIR) && is_of_server(paths[i]);
	for (guint n = 0; n < 2 * n_paths; n++) { /* logs of servers come last */
		guint i = n % n_paths;
		GError *failure = NULL;

		if (is_server[i] != (n >= n_paths))
			continue;
		import_begin_path(import, i, n_paths);
		if (g_file_test(paths[i], G_FILE_TEST_IS_DIR)) {
			read_trial(import, paths[i]);
			n_read++;
		} else if (read_file(import, paths[i], NULL, &job, &failure)) { /* (3) */
			n_read++;
		} else {
			report_failure(import, failure);
			if (!first)
				g_propagate_error(&first, failure);
			else
				g_error_free(failure);
		}
	}
	byteps_job_check(import, &job);
	if (n_read)
		g_clear_error(&first);
	else if (first)
		g_propagate_error(error, first);
	return n_read > 0;
}

static gboolean sniff_byteprofile(const struct sniff_input *input)
{
	g_autoptr(GArray) gpus = NULL;

	if (!input->is_folder)
		return byteps_log_sniff(input->head) ||
		       ((byteps_timeline_sniff(input->head) || is_byteps_comm(input->head) ||
			 is_byteps_server(input->head) || is_detail(input->head)) &&
			chrome_trace_sniff(input));
	gpus = gpus_of(input->path);
	return gpus->len > 0;
}

const struct import_format import_byteprofile = {
	.name = "byteprofile",
	.title = "folders of byteprofile and BytePS, as dPRO reads them",
	.files = "a folder; comm.json, comm_detail.json, profiles and logs of BytePS",
	.sniff = sniff_byteprofile,
	.read = read_byteprofile,
};
