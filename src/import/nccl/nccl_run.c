#include "import/nccl/nccl_run.h"

#include <string.h>

#include "base/for_each.h"
#include "base/row_buffer.h"
#include "import/read/json_file.h"
#include "trace/mark_kind.h"
#include "trace/source.h"

enum {
	MAX_MEMBERS = 1 << 20,
};

/* A member as it was told, and the process that it became. */
struct member {
	gchar *host;
	gint64 pid, rank, n_ranks;
	guint64 communicator;
	guint file;	 /* that told of it first */
	guint32 process; /* of `processes` */
};

/* (1) */
struct process {
	guint32 first_member;
	guint32 largest;    /* member: of its largest communicator */
	guint32 row;	    /* of the timeline */
	GHashTable *tracks; /* static name -> track + 1 */
};

struct run_mark {
	guint32 member, name, text;
	gint64 time_ns;
};

/* A slice's record and figures. */
struct figure {
	guint64 offset, bytes, communicator;
	guint32 peer; /* as TachoCollectiveArgs has it */
};

/* A file, and the reader of its records. */
struct run_file {
	struct foreign_reader reader;
	struct json_file *file;
	GArray *figures; /* struct figure */
};

struct nccl_run {
	struct import *import;
	GArray *members;	  /* struct member */
	GHashTable *member_index; /* text of what was told -> index + 1 */
	GPtrArray *paths;
	GArray *processes;	  /* struct process */
	struct row_buffer slices; /* struct nccl_slice, by file */
	GArray *file_ends;	  /* guint64: slices up to the end of each file */
	GArray *marks;		  /* struct run_mark */
	GHashTable *by_rank;	  /* communicator and rank in it, as text -> member + 1 */
	gboolean is_out_of_memory;
};

/* --- gathering ------------------------------------------------------------------------------ */

static void clear_member(gpointer data)
{
	g_free(((struct member *)data)->host);
}

static void clear_process(gpointer data)
{
	g_hash_table_unref(((struct process *)data)->tracks);
}

struct nccl_run *nccl_run_new(struct import *import)
{
	struct nccl_run *run = g_new0(struct nccl_run, 1);

	run->import = import;
	run->members = g_array_new(FALSE, FALSE, sizeof(struct member));
	g_array_set_clear_func(run->members, clear_member);
	run->member_index = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	run->paths = g_ptr_array_new_with_free_func(g_free);
	run->processes = g_array_new(FALSE, FALSE, sizeof(struct process));
	g_array_set_clear_func(run->processes, clear_process);
	run->file_ends = g_array_new(FALSE, FALSE, sizeof(guint64));
	run->marks = g_array_new(FALSE, FALSE, sizeof(struct run_mark));
	run->by_rank = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	return run;
}

void nccl_run_free(struct nccl_run *run)
{
	if (!run)
		return;
	g_array_unref(run->members);
	g_hash_table_unref(run->member_index);
	g_ptr_array_unref(run->paths);
	g_array_unref(run->processes);
	row_buffer_release(&run->slices);
	g_array_unref(run->file_ends);
	g_array_unref(run->marks);
	g_hash_table_unref(run->by_rank);
	g_free(run);
}

void nccl_run_begin_file(struct nccl_run *run, const gchar *path)
{
	guint64 end = run->slices.n;

	if (run->paths->len)
		g_array_append_val(run->file_ends, end);
	g_ptr_array_add(run->paths, g_strdup(path));
}

guint32 nccl_run_member(struct nccl_run *run, const struct nccl_who *who)
{
	g_autofree gchar *key = g_strdup_printf("%" G_GINT64_FORMAT " %" G_GUINT64_FORMAT
						" %" G_GINT64_FORMAT " %s",
						who->pid, who->communicator, who->rank, who->host);
	gpointer known = g_hash_table_lookup(run->member_index, key);
	struct member member = {
		.pid = who->pid,
		.rank = who->rank,
		.n_ranks = who->n_ranks,
		.communicator = who->communicator,
		.file = run->paths->len - 1,
	};

	if (known) {
		struct member *found =
			&g_array_index(run->members, struct member, GPOINTER_TO_UINT(known) - 1);

		found->n_ranks = MAX(found->n_ranks, who->n_ranks);
		return GPOINTER_TO_UINT(known) - 1;
	}
	if (run->members->len >= MAX_MEMBERS)
		return run->members->len - 1;
	member.host = g_strdup(who->host);
	g_array_append_val(run->members, member);
	g_hash_table_insert(run->member_index, g_steal_pointer(&key),
			    GUINT_TO_POINTER(run->members->len));
	return run->members->len - 1;
}

void nccl_run_add(struct nccl_run *run, const struct nccl_slice *slice)
{
	struct nccl_slice *row = row_buffer_add(&run->slices, sizeof(*row));

	if (row)
		*row = *slice;
	else
		run->is_out_of_memory = TRUE;
}

void nccl_run_add_mark(struct nccl_run *run, guint32 member, gint64 time_ns, guint32 name,
		       guint32 text)
{
	struct run_mark mark = { member, name, text, time_ns };

	g_array_append_val(run->marks, mark);
}

/* --- names and sizes ------------------------------------------------------------------------ */

guint64 nccl_input_bytes(const gchar *collective, guint64 count_bytes, gint64 n_ranks)
{
	guint64 bytes;

	if (strcmp(collective, "reducescatter") != 0 || n_ranks <= 0)
		return count_bytes;
	return __builtin_mul_overflow(count_bytes, (guint64)n_ranks, &bytes) ? 0 : bytes;
}

guint32 nccl_collective_name(TachoTimeline *timeline, const gchar *name, gsize n)
{
	g_autofree gchar *lower = g_ascii_strdown(name, (gssize)MIN(n, 64));
	const gchar *plain = g_str_has_prefix(lower, "nccl") ? lower + strlen("nccl") : lower;

	return tacho_timeline_intern(timeline, *plain ? plain : "collective", -1);
}

/* --- processes ------------------------------------------------------------------------------ */

static struct member *member_at(const struct nccl_run *run, guint32 i)
{
	return &g_array_index(run->members, struct member, i);
}

/* Whether some communicator has several members in the process of that host and pid: (1). */
static GHashTable *find_shared_processes(const struct nccl_run *run)
{
	GHashTable *shared = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);

	FOR_EACH(const struct member, member, run->members) {
		gchar *place =
			g_strdup_printf("%" G_GINT64_FORMAT " %s", member->pid, member->host);
		gchar *of_communicator =
			g_strdup_printf("%" G_GUINT64_FORMAT " %s", member->communicator, place);

		if (!g_hash_table_add(seen, of_communicator))
			g_hash_table_add(shared, place);
		else
			g_free(place);
	}
	return shared;
}

static void add_process(struct nccl_run *run, guint32 member, gchar *key, GHashTable *index)
{
	struct process process = { .first_member = member, .largest = member };

	process.tracks = g_hash_table_new(g_str_hash, g_str_equal);
	g_array_append_val(run->processes, process);
	g_hash_table_insert(index, key, GUINT_TO_POINTER(run->processes->len));
	member_at(run, member)->process = run->processes->len - 1;
}

/* (1) and, of (2), the largest communicators */
static void find_processes(struct nccl_run *run)
{
	g_autoptr(GHashTable) shared = find_shared_processes(run);
	g_autoptr(GHashTable) index = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);

	FOR_EACH_AT(struct member, member, i, run->members) {
		g_autofree gchar *place =
			g_strdup_printf("%" G_GINT64_FORMAT " %s", member->pid, member->host);
		gchar *key = g_hash_table_contains(shared, place)
				     ? g_strdup_printf("%s %" G_GINT64_FORMAT, place, member->rank)
				     : g_strdup(place);
		gpointer known = g_hash_table_lookup(index, key);
		struct process *process;

		if (!known) {
			add_process(run, i, key, index);
			continue;
		}
		g_free(key);
		member->process = GPOINTER_TO_UINT(known) - 1;
		process = &g_array_index(run->processes, struct process, member->process);
		if (member->n_ranks > member_at(run, process->largest)->n_ranks)
			process->largest = i;
	}
}

static gint32 small(gint64 value)
{
	return value >= 0 && value < G_MAXINT32 ? (gint32)value : -1;
}

static void make_processes(struct nccl_run *run)
{
	TachoTimeline *timeline = run->import->timeline;
	g_autofree guint *numbers = g_new(guint, run->paths->len + 1);

	for (guint i = 0; i < run->paths->len; i++)
		numbers[i] = import_new_file(run->import);
	FOR_EACH(struct process, process, run->processes) {
		const struct member *first = member_at(run, process->first_member);
		const struct member *largest = member_at(run, process->largest);
		TachoProcess row = {
			.rank = small(largest->rank),
			.local_rank = -1,
			.world_size = largest->n_ranks > 0 ? small(largest->n_ranks) : -1,
			.end = TACHO_END_UNKNOWN,
			.path = run->paths->pdata[first->file],
		};

		row.host =
			tacho_timeline_intern(timeline, *first->host ? first->host : "unknown", -1);
		row.pid = first->pid >= 0 && first->pid <= G_MAXUINT32 ? (guint32)first->pid : 0;
		process->row = import_add_process(run->import, &row, numbers[first->file]);
		if (row.world_size > 0)
			timeline->expected_ranks = MAX(timeline->expected_ranks, row.world_size);
	}
}

static guint32 find_track(struct nccl_run *run, guint32 member, const gchar *name)
{
	struct process *process =
		&g_array_index(run->processes, struct process, member_at(run, member)->process);
	gpointer known = g_hash_table_lookup(process->tracks, name);
	guint32 track;

	if (known)
		return GPOINTER_TO_UINT(known) - 1;
	track = import_add_track(run->import, TACHO_TRACK_ASYNC, process->row, 0, name);
	g_hash_table_insert(process->tracks, (gpointer)name, GUINT_TO_POINTER(track + 1));
	return track;
}

/* --- groups --------------------------------------------------------------------------------- */

/* Ranks of the job that are in the communicator, where all of it were seen: "ranks=0,1 ", else "". */
static gchar *ranks_of(const struct nccl_run *run, GArray *members)
{
	GString *text = g_string_new(NULL);
	gint64 n_ranks = 0;

	for (guint i = 0; i < members->len; i++) {
		const struct member *member = member_at(run, g_array_index(members, guint32, i));
		const struct process *process =
			&g_array_index(run->processes, struct process, member->process);

		n_ranks = MAX(n_ranks, member->n_ranks);
		g_string_append_printf(text, "%s%" G_GINT64_FORMAT,
				       i ? "," : "ranks=", member_at(run, process->largest)->rank);
	}
	if (n_ranks != members->len)
		g_string_truncate(text, 0);
	else
		g_string_append_c(text, ' ');
	return g_string_free(text, FALSE);
}

static void mark_groups(struct nccl_run *run, gint64 first_ns)
{
	TachoTimeline *timeline = run->import->timeline;
	g_autoptr(GHashTable) by_communicator = g_hash_table_new_full(
		g_int64_hash, g_int64_equal, g_free, (GDestroyNotify)g_array_unref);
	guint32 name = tacho_timeline_intern(timeline, mark_kind_name(MARK_PROCESS_GROUP), -1);

	for (guint32 i = 0; i < run->members->len; i++) {
		gint64 id = (gint64)member_at(run, i)->communicator;
		GArray *members = g_hash_table_lookup(by_communicator, &id);

		if (!members) {
			members = g_array_new(FALSE, FALSE, sizeof(guint32));
			g_hash_table_insert(by_communicator, g_memdup2(&id, sizeof(id)), members);
		}
		g_array_append_val(members, i);
	}
	for (guint32 i = 0; i < run->members->len; i++) {
		gint64 id = (gint64)member_at(run, i)->communicator;
		g_autofree gchar *ranks = ranks_of(run, g_hash_table_lookup(by_communicator, &id));
		g_autofree gchar *text =
			g_strdup_printf("%sname=%" G_GINT64_MODIFIER "x", ranks, (guint64)id);
		TachoMark mark = { .time_ns = first_ns, .first = id, .name = name };

		mark.track = find_track(run, i, "communicators");
		mark.text = tacho_timeline_intern(timeline, text, -1);
		g_array_append_val(timeline->marks, mark);
	}
}

/* --- figures -------------------------------------------------------------------------------- */

static const struct figure *find_figure(const struct foreign_reader *reader, guint64 place)
{
	const struct run_file *file = (const struct run_file *)reader;

	return place < file->figures->len ? &g_array_index(file->figures, struct figure, place)
					  : NULL;
}

static gboolean get_collective(struct foreign_reader *reader, guint64 place,
			       TachoCollectiveArgs *args)
{
	const struct figure *figure = find_figure(reader, place);

	if (!figure)
		return FALSE;
	*args = (TachoCollectiveArgs){ .bytes = figure->bytes,
				       .group = figure->communicator,
				       .peer = figure->peer };
	return TRUE;
}

static gchar *get_args_json(struct foreign_reader *reader, guint64 place)
{
	const struct figure *figure = find_figure(reader, place);

	return figure ? json_file_copy(((struct run_file *)reader)->file, figure->offset) : NULL;
}

static void free_file(struct foreign_reader *reader)
{
	struct run_file *file = (struct run_file *)reader;

	json_file_free(file->file);
	g_array_unref(file->figures);
	g_free(file);
}

static struct foreign_reader *new_file(const gchar *path, GArray *figures)
{
	struct run_file *file = g_new0(struct run_file, 1);

	file->reader = (struct foreign_reader){ .collective = get_collective,
						.args_json = get_args_json,
						.free = free_file };
	file->file = json_file_new(path);
	file->figures = figures;
	return &file->reader;
}

/* --- peers ---------------------------------------------------------------------------------- */

static gchar *rank_key(guint64 communicator, gint64 rank)
{
	return g_strdup_printf("%" G_GUINT64_FORMAT " %" G_GINT64_FORMAT, communicator, rank);
}

static void index_ranks(struct nccl_run *run)
{
	FOR_EACH_AT(const struct member, member, i, run->members)
		g_hash_table_insert(run->by_rank, rank_key(member->communicator, member->rank),
				    GUINT_TO_POINTER(i + 1));
}

/* The rank of the job that the slice's peer has, and 1 more; 0: it was not told, or is not in the run. */
static guint32 find_peer(const struct nccl_run *run, const struct nccl_slice *slice)
{
	g_autofree gchar *key =
		rank_key(member_at(run, slice->member)->communicator, (gint64)slice->peer - 1);
	gpointer known = g_hash_table_lookup(run->by_rank, key);
	const struct process *process;

	if (!known)
		return 0;
	process = &g_array_index(run->processes, struct process,
				 member_at(run, GPOINTER_TO_UINT(known) - 1)->process);
	return nccl_peer(member_at(run, process->largest)->rank);
}

/* --- the timeline --------------------------------------------------------------------------- */

static void add_slices(struct nccl_run *run, guint file, guint64 first, guint64 end)
{
	TachoTimeline *timeline = run->import->timeline;
	GArray *figures = g_array_new(FALSE, FALSE, sizeof(struct figure));
	guint32 foreign;

	for (guint64 i = first; i < end; i++) {
		const struct nccl_slice *slice = (const struct nccl_slice *)run->slices.rows + i;
		struct figure figure = { slice->offset, slice->bytes,
					 member_at(run, slice->member)->communicator,
					 slice->peer ? find_peer(run, slice) : 0 };

		g_array_append_val(figures, figure);
	}
	foreign = tacho_source_take_foreign(timeline->source,
					    new_file(run->paths->pdata[file], figures));
	for (guint64 i = first; i < end; i++) {
		const struct nccl_slice *slice = (const struct nccl_slice *)run->slices.rows + i;
		gboolean is_impossible = slice->duration_ns < 0;

		tacho_timeline_add_slice(timeline, slice->kind,
					 find_track(run, slice->member, slice->track), slice->name,
					 slice->start_ns, MAX(slice->duration_ns, 0),
					 is_impossible ? TACHO_SLICE_REPAIRED : 0,
					 tacho_source_foreign_handle(foreign, i - first));
	}
}

static gint64 find_first(const struct nccl_run *run)
{
	gint64 first_ns = G_MAXINT64;

	for (gsize i = 0; i < run->slices.n; i++)
		first_ns = MIN(first_ns, ((const struct nccl_slice *)run->slices.rows)[i].start_ns);
	return first_ns == G_MAXINT64 ? 0 : first_ns;
}

void nccl_run_finish(struct nccl_run *run)
{
	guint64 begin = 0, end = run->slices.n;

	if (!run->members->len)
		return;
	if (run->is_out_of_memory)
		tacho_timeline_add_problem(run->import->timeline, TACHO_PROBLEM_TRUNCATED_FILE, 1,
					   "there is not enough memory for all records of NCCL");
	g_array_append_val(run->file_ends, end);
	find_processes(run);
	make_processes(run);
	index_ranks(run);
	mark_groups(run, find_first(run));
	for (guint i = 0; i < run->paths->len; i++) {
		guint64 file_end = g_array_index(run->file_ends, guint64, i);

		add_slices(run, i, begin, file_end);
		begin = file_end;
	}
	FOR_EACH(const struct run_mark, mark, run->marks) {
		TachoMark row = { .time_ns = mark->time_ns,
				  .name = mark->name,
				  .text = mark->text };

		row.track = find_track(run, mark->member, "states");
		g_array_append_val(run->import->timeline->marks, row);
	}
}
