#include "import/kineto/kineto_files.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "base/worker_pool.h"

enum {
	MAX_READERS = 64,
	MAX_TAIL_BYTES = 64 * 1024 * 1024,
};

gint32 kineto_file_rank(const struct kineto_file *file)
{
	return file->facts.rank >= 0 ? file->facts.rank : import_rank_of_name(file->path);
}

struct reading {
	struct kineto_files *files;
	const struct import *import;
	pthread_mutex_t lock;
	/* Under the lock: */
	guint n_opened;
};

static void free_rows(gpointer rows)
{
	kineto_rows_release(rows);
	g_free(rows);
}

static void free_reader(gpointer reader)
{
	kineto_reader_free(reader);
}

static void add_reader(struct reading *reading)
{
	struct kineto_reader *reader = kineto_reader_new();

	if (reading->import->functions)
		kineto_reader_want_functions(reader);
	g_ptr_array_add(reading->files->readers, reader);
}

/* --- pieces to work at ---------------------------------------------------------------------- */

/* Open the next file; under the lock. NULL: all are. */
static struct kineto_file *open_next(struct reading *reading)
{
	while (reading->n_opened < reading->files->n) {
		struct kineto_file *file = &reading->files->files[reading->n_opened++];

		file->chunks = json_chunks_open(file->path, FALSE, chrome_facts_read_head,
						&file->facts, &file->failure);
		file->is_opened = file->chunks != NULL;
		file->is_finished = !file->is_opened;
		if (!file->is_finished)
			return file;
	}
	return NULL;
}

/* A file that is still being read; under the lock. */
static struct kineto_file *find_unfinished(struct reading *reading)
{
	for (guint i = 0; i < reading->n_opened; i++)
		if (!reading->files->files[i].is_finished)
			return &reading->files->files[i];
	return NULL;
}

static void report_progress(struct reading *reading)
{
	gdouble done = 0;

	for (guint i = 0; i < reading->n_opened; i++) {
		const struct kineto_file *file = &reading->files->files[i];

		done += file->is_finished ? 1 : json_chunks_done(file->chunks);
	}
	reading->import->progress(done / reading->files->n, reading->import->progress_data);
}

/* No more of `file` for this core; under the lock. */
static void leave_file(struct kineto_file *file)
{
	file->is_finished = TRUE;
	if (!--file->n_users)
		g_clear_pointer(&file->chunks, json_chunks_close);
}

/* Another file to take pieces from, where `current` has no more; NULL: there is none. */
static struct kineto_file *choose_file(struct reading *reading, struct kineto_file *current)
{
	struct kineto_file *file;

	pthread_mutex_lock(&reading->lock);
	if (current)
		leave_file(current);
	file = open_next(reading);
	if (!file)
		file = find_unfinished(reading);
	if (file)
		file->n_users++;
	if (reading->import->progress)
		report_progress(reading);
	pthread_mutex_unlock(&reading->lock);
	return file;
}

static void note_failure(struct reading *reading, struct kineto_file *file, GError *failure)
{
	if (!failure)
		return;
	pthread_mutex_lock(&reading->lock);
	if (file->failure)
		g_error_free(failure);
	else
		file->failure = failure;
	pthread_mutex_unlock(&reading->lock);
}

/* The next piece for this worker, of *file or another. */
static gboolean take_chunk(struct reading *reading, struct kineto_file **file,
			   struct json_chunk *chunk)
{
	if (!*file)
		*file = choose_file(reading, NULL);
	while (*file) {
		GError *failure = NULL;

		if (json_chunks_next((*file)->chunks, chunk, &failure))
			return TRUE;
		note_failure(reading, *file, failure);
		*file = choose_file(reading, *file);
	}
	return FALSE;
}

/* --- reading -------------------------------------------------------------------------------- */

/* What is behind the array, at `bytes`, which is at `offset` of the file. */
static void read_tail(struct kineto_file *file, const gchar *bytes, gsize n, guint64 offset)
{
	gsize broken_at = 0;

	file->has_end = TRUE;
	file->is_tail_broken = !chrome_facts_read_tail(&file->facts, bytes, n, &broken_at);
	file->tail_offset = offset + broken_at;
}

static guint index_of(const struct reading *reading, const struct kineto_file *file)
{
	return (guint)(file - reading->files->files);
}

static void keep_rows(struct reading *reading, struct kineto_rows *rows)
{
	pthread_mutex_lock(&reading->lock);
	reading->files->is_out_of_memory |= rows->is_out_of_memory;
	g_ptr_array_add(reading->files->rows, rows);
	if (reading->import->progress)
		report_progress(reading);
	pthread_mutex_unlock(&reading->lock);
}

static void read_chunk(struct reading *reading, struct kineto_reader *reader,
		       struct kineto_file *file, const struct json_chunk *chunk)
{
	struct kineto_rows *rows = g_new0(struct kineto_rows, 1);
	gsize n_used = kineto_reader_read(reader, chunk, index_of(reading, file), FALSE, rows);

	rows->is_whole = n_used == chunk->n ||
			 (chunk->is_last && (rows->elements.is_end || rows->elements.is_cut));
	if (chunk->is_last && rows->elements.is_end)
		read_tail(file, chunk->bytes + n_used, chunk->n - n_used, chunk->offset + n_used);
	keep_rows(reading, rows);
}

static void read_files(guint index, gpointer data)
{
	struct reading *reading = data;
	struct kineto_reader *reader = g_ptr_array_index(reading->files->readers, index);
	struct kineto_file *file = NULL;
	struct json_chunk chunk = { 0 };

	while (take_chunk(reading, &file, &chunk))
		read_chunk(reading, reader, file, &chunk);
	json_chunk_release(&chunk);
}

/* --- reading carefully ---------------------------------------------------------------------- */

/* Read what comes behind the array's end in `chunk`, all of it. */
static void read_long_tail(struct kineto_file *file, struct json_chunk *chunk, gsize n_used)
{
	g_autoptr(GByteArray) tail = g_byte_array_new();
	guint64 offset = chunk->offset + n_used;
	guint8 padding[JSON_PADDING];

	g_byte_array_append(tail, (const guint8 *)chunk->bytes + n_used,
			    (guint)(chunk->n - n_used));
	while (tail->len < MAX_TAIL_BYTES && json_chunks_next(file->chunks, chunk, &file->failure))
		g_byte_array_append(tail, (const guint8 *)chunk->bytes, (guint)chunk->n);
	memset(padding, '"', sizeof(padding));
	g_byte_array_append(tail, padding, sizeof(padding));
	read_tail(file, (const gchar *)tail->data, tail->len - JSON_PADDING, offset);
}

static void read_carefully(struct reading *reading, struct kineto_reader *reader,
			   struct kineto_file *file)
{
	struct json_chunk chunk = { 0 };
	gboolean is_done = FALSE;

	g_clear_error(&file->failure);
	file->has_end = file->is_tail_broken = FALSE;
	file->chunks = json_chunks_open(file->path, TRUE, chrome_facts_read_head, &file->facts,
					&file->failure);
	while (file->chunks && !is_done && json_chunks_next(file->chunks, &chunk, &file->failure)) {
		struct kineto_rows *rows = g_new0(struct kineto_rows, 1);
		gsize n_used =
			kineto_reader_read(reader, &chunk, index_of(reading, file), TRUE, rows);

		is_done = rows->elements.is_end || chunk.is_last || rows->is_out_of_memory;
		keep_rows(reading, rows);
		if (rows->elements.is_end)
			read_long_tail(file, &chunk, n_used);
		else if (!is_done)
			json_chunks_give_back(file->chunks, &chunk, n_used);
	}
	json_chunk_release(&chunk);
	g_clear_pointer(&file->chunks, json_chunks_close);
}

/* The files some piece of which was not read as it should. */
static GArray *find_doubtful(const struct kineto_files *files)
{
	g_autofree gboolean *is_doubtful = g_new0(gboolean, files->n);
	GArray *doubtful = g_array_new(FALSE, FALSE, sizeof(guint));

	for (guint i = 0; i < files->rows->len; i++)
		if (!kineto_files_rows(files, i)->is_whole)
			is_doubtful[kineto_files_rows(files, i)->file] = TRUE;
	for (guint i = 0; i < files->n; i++)
		if (is_doubtful[i])
			g_array_append_val(doubtful, i);
	return doubtful;
}

static void drop_rows(struct kineto_files *files, guint file)
{
	for (guint i = files->rows->len; i-- > 0;)
		if (kineto_files_rows(files, i)->file == file)
			g_ptr_array_remove_index_fast(files->rows, i);
}

struct rereading {
	struct reading *reading;
	GArray *doubtful; /* guint: files */
};

static void reread_file(guint index, gpointer data)
{
	struct rereading *rereading = data;
	struct kineto_files *files = rereading->reading->files;

	read_carefully(rereading->reading,
		       g_ptr_array_index(files->readers, files->n_quick + index),
		       &files->files[g_array_index(rereading->doubtful, guint, index)]);
}

static void reread_doubtful(struct reading *reading)
{
	struct kineto_files *files = reading->files;
	g_autoptr(GArray) doubtful = find_doubtful(files);
	struct rereading rereading = { reading, doubtful };

	for (guint i = 0; i < doubtful->len; i++) {
		guint file = g_array_index(doubtful, guint, i);

		drop_rows(files, file);
		files->files[file].is_reread = TRUE;
		add_reader(reading);
	}
	worker_pool_run(doubtful->len, reread_file, &rereading);
}

/* --- order ---------------------------------------------------------------------------------- */

static gint compare_rows(gconstpointer first, gconstpointer second)
{
	const struct kineto_rows *a = *(struct kineto_rows *const *)first;
	const struct kineto_rows *b = *(struct kineto_rows *const *)second;

	return ORDER(a->file, b->file) ?: ORDER(a->chunk, b->chunk);
}

/* --- files of one rank ---------------------------------------------------------------------- */

/* From the first to the last of what a file measured, and whose. */
struct span {
	guint file;
	gint64 first_ns, last_ns; /* of the day; first above last: nothing was measured */
	gint64 pid;		  /* of its first operation, -1: none */
};

static void widen_span(struct span *span, const struct kineto_rows *rows, gint64 base_ns)
{
	const struct kineto_row *slices = rows->slices.rows;
	guint n_tracks;
	const struct kineto_track *tracks = kineto_reader_tracks(rows->reader, &n_tracks);

	for (gsize i = 0; i < rows->slices.n; i++) {
		const struct kineto_row *row = &slices[i];
		gint64 start_ns, end_ns;

		if (row->kind == TACHO_SLICE_EVENT || row->start_ns <= 0 ||
		    __builtin_add_overflow(row->start_ns, base_ns, &start_ns) ||
		    __builtin_add_overflow(start_ns, MAX(row->duration_ns, 0), &end_ns))
			continue;
		span->first_ns = MIN(span->first_ns, start_ns);
		span->last_ns = MAX(span->last_ns, end_ns);
		if (row->kind == TACHO_SLICE_OP && span->pid < 0 && row->track < n_tracks)
			span->pid = tracks[row->track].pid;
	}
}

static gint compare_spans(gconstpointer first, gconstpointer second)
{
	const struct span *a = first, *b = second;

	return ORDER(a->first_ns, b->first_ns) ?: ORDER(a->file, b->file);
}

static gboolean are_of_one_rank(const struct kineto_files *files, const struct span *a,
				const struct span *b)
{
	const struct kineto_file *first = &files->files[a->file], *second = &files->files[b->file];
	gint32 rank = kineto_file_rank(first);

	if (rank != kineto_file_rank(second))
		return FALSE;
	return rank >= 0 || (a->pid > 0 && a->pid == b->pid && !(a->pid & KINETO_TEXT_ID) &&
			     g_strcmp0(first->facts.host, second->facts.host) == 0);
}

/* By more than a hundredth of the shorter: what a cycle began may end in the next. */
static gboolean do_overlap(const struct span *a, const struct span *b)
{
	gint64 shared_ns = MIN(a->last_ns, b->last_ns) - MAX(a->first_ns, b->first_ns);
	gint64 shorter_ns = MIN(a->last_ns - a->first_ns, b->last_ns - b->first_ns);

	if (a->first_ns > a->last_ns || b->first_ns > b->last_ns)
		return TRUE; /* nothing to go on with */
	return shared_ns > shorter_ns / 100;
}

/* Find who comes before `spans[index]` in its rank. Those before it in time have been settled. */
static void settle_owner(struct kineto_files *files, const struct span *spans, guint index)
{
	struct kineto_file *file = &files->files[spans[index].file];
	guint owner = spans[index].file;

	for (guint i = 0; i < index; i++) {
		const struct kineto_file *before = &files->files[spans[i].file];

		if (before->is_duplicate || !are_of_one_rank(files, &spans[i], &spans[index]))
			continue;
		if (!do_overlap(&spans[i], &spans[index])) {
			owner = before->owner;
			continue;
		}
		if (kineto_file_rank(file) < 0)
			return; /* a process of the same number elsewhere */
		file->is_duplicate = TRUE;
		drop_rows(files, spans[index].file);
		return;
	}
	file->owner = owner;
}

/* Whether two files tell the same rank, or tell none: only then the times matter. */
static gboolean may_share_ranks(const struct kineto_files *files)
{
	g_autoptr(GHashTable) ranks = g_hash_table_new(NULL, NULL);

	for (guint i = 0; i < files->n; i++)
		if (files->files[i].is_opened &&
		    !g_hash_table_add(ranks, GINT_TO_POINTER(kineto_file_rank(&files->files[i]))))
			return TRUE;
	return FALSE;
}

static void settle_owners(struct kineto_files *files)
{
	g_autofree struct span *spans = g_new0(struct span, files->n + 1);
	guint n = 0;

	for (guint i = 0; i < files->n; i++) {
		files->files[i].owner = i;
		spans[i] = (struct span){
			.file = i, .first_ns = G_MAXINT64, .last_ns = G_MININT64, .pid = -1
		};
	}
	if (!may_share_ranks(files))
		return;
	for (guint i = 0; i < files->rows->len; i++) {
		const struct kineto_rows *rows = kineto_files_rows(files, i);

		widen_span(&spans[rows->file], rows, files->files[rows->file].facts.base_ns);
	}
	for (guint i = 0; i < files->n; i++)
		if (files->files[i].is_opened)
			spans[n++] = spans[i];
	qsort(spans, n, sizeof(*spans), compare_spans);
	for (guint i = 0; i < n; i++)
		settle_owner(files, spans, i);
	g_ptr_array_sort(files->rows, compare_rows); /* dropping does not keep the order */
}

/* --- all of it ------------------------------------------------------------------------------ */

void kineto_files_read(struct kineto_files *files, const gchar *const *paths, guint n_paths,
		       const struct import *import)
{
	struct reading reading = { .files = files, .import = import };

	files->files = g_new0(struct kineto_file, n_paths);
	files->n = n_paths;
	files->rows = g_ptr_array_new_with_free_func(free_rows);
	files->readers = g_ptr_array_new_with_free_func(free_reader);
	for (guint i = 0; i < n_paths; i++) {
		files->files[i].path = paths[i];
		chrome_facts_init(&files->files[i].facts);
	}
	files->n_quick = MIN(worker_pool_n_workers(), MAX_READERS);
	for (guint i = 0; i < files->n_quick; i++)
		add_reader(&reading);
	pthread_mutex_init(&reading.lock, NULL);
	worker_pool_run(files->readers->len, read_files, &reading);
	reread_doubtful(&reading);
	pthread_mutex_destroy(&reading.lock);
	g_ptr_array_sort(files->rows, compare_rows);
	settle_owners(files);
}

void kineto_files_release(struct kineto_files *files)
{
	for (guint i = 0; i < files->n; i++) {
		chrome_facts_release(&files->files[i].facts);
		g_clear_error(&files->files[i].failure);
	}
	g_free(files->files);
	g_ptr_array_unref(files->rows);
	g_ptr_array_unref(files->readers);
}
