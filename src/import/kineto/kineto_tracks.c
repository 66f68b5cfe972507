/* Strings, processes and tracks, from the numbers of each reader to those of the timeline. */
#include <string.h>

#include "base/for_each.h"
#include "base/order.h"
#include "base/partition_point.h"
#include "import/kineto/kineto_merge.h"

/* A process or track, by the ids of its file. */
struct kineto_key {
	gint64 pid, tid;
	guint32 part, role;
};

/* A track, and how many slices of it some reader saw. */
struct seen_track {
	struct kineto_key key;
	guint64 n_slices;
};

static guint hash_key(gconstpointer data)
{
	const struct kineto_key *key = data;
	guint64 hash =
		((guint64)key->pid * 31 + (guint64)key->tid) * 31 + key->part * 7 + key->role;

	return (guint)((hash * G_GUINT64_CONSTANT(0x9e3779b97f4a7c15)) >> 32);
}

static gboolean is_equal_key(gconstpointer a, gconstpointer b)
{
	return memcmp(a, b, sizeof(struct kineto_key)) == 0;
}

static gint compare_keys(gconstpointer first, gconstpointer second)
{
	const struct kineto_key *a = first, *b = second;

	return ORDER(a->part, b->part) ?: ORDER(a->role, b->role) ?: ORDER(a->pid, b->pid) ?:
	       ORDER(a->tid, b->tid);
}

/* --- strings -------------------------------------------------------------------------------- */

static void intern_sorted(struct kineto_merge *merge, GPtrArray *strings)
{
	g_ptr_array_sort(strings, order_text);
	FOR_EACH_POINTER_AT(const gchar, string, i, strings) {
		if (i && strcmp(string, strings->pdata[i - 1]) == 0)
			continue;
		merge->n_bad_texts += !g_utf8_validate(string, -1, NULL);
		tacho_timeline_intern(merge->timeline, string, -1);
	}
}

static void merge_strings(struct kineto_merge *merge)
{
	g_autoptr(GPtrArray) strings = g_ptr_array_new();

	for (guint r = 0; r < merge->files.readers->len; r++) {
		const struct kineto_reader *reader = kineto_merge_reader(merge, r);

		for (guint32 i = 0; i < kineto_reader_n_strings(reader); i++)
			g_ptr_array_add(strings, (gpointer)kineto_reader_string(reader, i));
	}
	intern_sorted(merge, strings);
	for (guint r = 0; r < merge->files.readers->len; r++) {
		const struct kineto_reader *reader = kineto_merge_reader(merge, r);
		guint32 n = kineto_reader_n_strings(reader);

		merge->numbers[r].strings = g_new(guint32, n);
		for (guint32 i = 0; i < n; i++)
			merge->numbers[r].strings[i] = tacho_timeline_intern(
				merge->timeline, kineto_reader_string(reader, i), -1);
	}
}

/* A pid or tid in the timeline's numbers. */
static gint64 merge_id(const struct kineto_numbers *numbers, gint64 id)
{
	if (id < 0 || !(id & KINETO_TEXT_ID))
		return id;
	return KINETO_TEXT_ID | numbers->strings[id & ~KINETO_TEXT_ID];
}

static const gchar *text_of_id(const struct kineto_merge *merge, gint64 id)
{
	if (id < 0 || !(id & KINETO_TEXT_ID))
		return NULL;
	return tacho_timeline_string(merge->timeline, (guint32)(id & ~KINETO_TEXT_ID));
}

/* --- hosts ---------------------------------------------------------------------------------- */

/* The track that is the first of the part's in `seen`; its devices' streams follow. */
static guint first_of_part(const GArray *seen, guint part)
{
	return ROWS_BEFORE(seen, struct seen_track, row, row->key.part < part);
}

/* Add the part's devices to `devices`; false: one of them is there already. */
static gboolean add_devices(const GArray *seen, guint part, GHashTable *devices)
{
	gboolean are_new = TRUE;
	gint64 last = -1;

	for (guint i = first_of_part(seen, part); i < seen->len; i++) {
		const struct kineto_key *key = &g_array_index(seen, struct seen_track, i).key;

		if (key->part != part)
			break;
		if (key->role != KINETO_ON_STREAM || key->pid == last)
			continue;
		last = key->pid;
		are_new &= g_hash_table_add(devices, g_memdup2(&last, sizeof(last)));
	}
	return are_new;
}

static gint compare_ranks(gconstpointer first, gconstpointer second, gpointer data)
{
	const struct kineto_merge *merge = data;
	guint a = *(const guint *)first, b = *(const guint *)second;
	gint32 rank_a = kineto_file_rank(merge->parts[a].file);
	gint32 rank_b = kineto_file_rank(merge->parts[b].file);

	return ORDER(rank_a, rank_b) ?: ORDER(a, b);
}

/* Whether devices have the numbers that they have on their host. A process that was given one device of several
 * (CUDA_VISIBLE_DEVICES, launchers that do so for each rank) calls it number 0. */
static gboolean are_numbers_of_hosts(const struct kineto_merge *merge, const GArray *seen)
{
	for (guint i = 0; i < merge->files.n; i++)
		if (merge->files.files[i].facts.n_devices > 1)
			return TRUE;
	for (guint i = 0; i < seen->len; i++) {
		const struct kineto_key *key = &g_array_index(seen, struct seen_track, i).key;

		if (key->role == KINETO_ON_STREAM && key->pid > 0)
			return TRUE;
	}
	return FALSE;
}

/* Most files do not tell their host. Ranks that use a device of the same number are on different ones, if all could see
 * the others' devices, and launchers fill one host after the other: in the order of ranks, a device that comes again
 * begins the next host. That is a guess (host_guess.c of correlate). */
static void name_hosts(struct kineto_merge *merge, const GArray *seen)
{
	g_autofree guint *order = g_new(guint, merge->files.n);
	g_autoptr(GHashTable) devices =
		g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
	g_autofree gchar *name = g_strdup("unknown");
	TachoClockScope guessed = are_numbers_of_hosts(merge, seen) ? TACHO_CLOCK_OF_OTHER_HOST
								    : TACHO_CLOCK_OF_SOME_HOST;
	guint n_hosts = 1;

	for (guint i = 0; i < merge->files.n; i++)
		order[i] = i;
	g_qsort_with_data(order, (gint)merge->files.n, sizeof(*order), compare_ranks, merge);
	for (guint i = 0; i < merge->files.n; i++) {
		struct kineto_part *part = &merge->parts[order[i]];

		if (part->file->owner != order[i])
			continue; /* its devices are the owner's */
		part->clock_scope = part->file->facts.host ? TACHO_CLOCK_OF_HOST : guessed;
		if (!part->file->facts.host && !add_devices(seen, order[i], devices)) {
			g_hash_table_remove_all(devices);
			add_devices(seen, order[i], devices);
			g_free(name);
			name = g_strdup_printf("unknown-%u", ++n_hosts);
		}
		part->host = tacho_timeline_intern(
			merge->timeline, part->file->facts.host ? part->file->facts.host : name,
			-1);
	}
}

/* --- processes ------------------------------------------------------------------------------ */

static guint32 add_process(struct kineto_merge *merge, const struct kineto_part *part, gint64 pid)
{
	const struct chrome_facts *facts = &part->file->facts;
	TachoProcess process = {
		.host = part->host,
		.clock_scope = part->clock_scope,
		.rank = kineto_file_rank(part->file),
		.local_rank = -1,
		.world_size = facts->world_size,
		.end = TACHO_END_UNKNOWN,
		.path = (gchar *)part->file->path,
	};

	if (pid >= 0 && pid <= G_MAXUINT32)
		process.pid = (guint32)pid;
	return import_add_process(merge->import, &process, part->number);
}

static guint32 find_process(struct kineto_merge *merge, guint part, gint64 pid)
{
	struct kineto_key key = { .pid = pid, .part = part };
	gpointer known = g_hash_table_lookup(merge->processes, &key);
	guint32 row;

	if (known)
		return GPOINTER_TO_UINT(known) - 1;
	row = add_process(merge, &merge->parts[part], pid);
	g_hash_table_insert(merge->processes, g_memdup2(&key, sizeof(key)),
			    GUINT_TO_POINTER(row + 1));
	return row;
}

guint32 kineto_tracks_main_process(struct kineto_merge *merge, guint part)
{
	guint32 *main_process;

	part = merge->files.files[part].owner;
	main_process = &merge->parts[part].main_process;

	if (*main_process == TACHO_NONE)
		*main_process = find_process(merge, part, 0);
	return *main_process;
}

/* The host process with most slices of each file; of several with as many the one with the least pid.
 * Pid 0 is nobody's: Kineto writes it for threads that it knows nothing of but Python's functions. */
static void choose_main_processes(struct kineto_merge *merge, const GArray *seen)
{
	g_autofree guint64 *most = g_new0(guint64, merge->files.n);
	guint64 n_slices = 0;

	FOR_EACH_AT(const struct seen_track, track, i, seen) {
		const struct seen_track *before = track - (i > 0);
		guint part = track->key.part;

		if (track->key.role != KINETO_ON_THREAD || track->key.pid == 0)
			continue;
		if (before->key.part != part || before->key.role != track->key.role ||
		    before->key.pid != track->key.pid)
			n_slices = 0;
		n_slices += track->n_slices;
		if (n_slices <= most[part])
			continue;
		most[part] = n_slices;
		merge->parts[part].main_process = find_process(merge, part, track->key.pid);
	}
}

/* --- tracks --------------------------------------------------------------------------------- */

static gchar *name_of_track(const struct kineto_merge *merge, const struct kineto_key *key)
{
	const gchar *text = key->role == KINETO_COUNTED
				    ? tacho_timeline_string(merge->timeline, (guint32)key->tid)
				    : text_of_id(merge, key->tid);

	if (text)
		return g_strdup(text);
	if (key->role == KINETO_ON_STREAM)
		return key->tid < 0 ? g_strdup_printf("device %" G_GINT64_FORMAT, key->pid)
				    : g_strdup_printf("stream %" G_GINT64_FORMAT, key->tid);
	return g_strdup("");
}

static void add_track(struct kineto_merge *merge, const struct kineto_key *key)
{
	static const TachoTrackKind kinds[] = {
		[KINETO_ON_THREAD] = TACHO_TRACK_THREAD,
		[KINETO_ON_STREAM] = TACHO_TRACK_STREAM,
		[KINETO_ASIDE] = TACHO_TRACK_ASYNC,
		[KINETO_COUNTED] = TACHO_TRACK_COUNTER,
	};
	g_autofree gchar *name = name_of_track(merge, key);
	gboolean is_number = key->role != KINETO_COUNTED && !text_of_id(merge, key->tid);
	guint32 process = key->role == KINETO_ON_THREAD && key->pid != 0
				  ? find_process(merge, key->part, key->pid)
				  : kineto_tracks_main_process(merge, key->part);
	guint32 row = import_add_track(merge->import, kinds[key->role], process,
				       is_number ? (guint32)key->tid : 0, name);

	if (key->role == KINETO_ON_STREAM)
		g_array_index(merge->timeline->tracks, TachoTrack, row).device =
			(gint32)CLAMP(key->pid, G_MININT32, G_MAXINT32);
	g_hash_table_insert(merge->tracks, g_memdup2(key, sizeof(*key)), GUINT_TO_POINTER(row + 1));
}

/* A reader's track by the ids of its file. */
static struct kineto_key key_of(const struct kineto_merge *merge, guint reader,
				const struct kineto_track *track)
{
	const struct kineto_numbers *numbers = &merge->numbers[reader];
	struct kineto_key key = { .part = merge->files.files[track->file].owner,
				  .role = track->role };

	key.pid = merge_id(numbers, track->pid);
	key.tid = track->role == KINETO_COUNTED ? (gint64)numbers->strings[track->tid]
						: merge_id(numbers, track->tid);
	return key;
}

/* All tracks that any reader saw, sorted; some more than once. */
static GArray *gather_tracks(const struct kineto_merge *merge)
{
	GArray *seen = g_array_new(FALSE, FALSE, sizeof(struct seen_track));

	for (guint r = 0; r < merge->files.readers->len; r++) {
		guint n;
		const struct kineto_track *tracks =
			kineto_reader_tracks(kineto_merge_reader(merge, r), &n);

		for (guint i = 0; i < n; i++) {
			struct seen_track track = { key_of(merge, r, &tracks[i]),
						    tracks[i].n_slices };

			if (kineto_files_counts(&merge->files, r, tracks[i].file))
				g_array_append_val(seen, track);
		}
	}
	g_array_sort(seen, compare_keys); /* a key is what a seen_track begins with */
	return seen;
}

static guint32 find_track(const struct kineto_merge *merge, const struct kineto_key *key)
{
	return GPOINTER_TO_UINT(g_hash_table_lookup(merge->tracks, key)) - 1;
}

static void merge_tracks(struct kineto_merge *merge)
{
	g_autoptr(GArray) seen = gather_tracks(merge);

	name_hosts(merge, seen);
	choose_main_processes(merge, seen);
	for (guint i = 0; i < seen->len; i++) {
		const struct kineto_key *key = &g_array_index(seen, struct seen_track, i).key;

		if (!g_hash_table_contains(merge->tracks, key))
			add_track(merge, key);
	}
	for (guint r = 0; r < merge->files.readers->len; r++) {
		guint n;
		const struct kineto_track *tracks =
			kineto_reader_tracks(kineto_merge_reader(merge, r), &n);

		merge->numbers[r].tracks = g_new(guint32, n + 1);
		for (guint i = 0; i < n; i++) {
			struct kineto_key key = key_of(merge, r, &tracks[i]);

			merge->numbers[r].tracks[i] = find_track(merge, &key);
		}
	}
}

/* --- names ---------------------------------------------------------------------------------- */

static void name_tracks(struct kineto_merge *merge, struct kineto_key key, guint32 text)
{
	static const enum kineto_role roles[] = { KINETO_ON_THREAD, KINETO_ON_STREAM,
						  KINETO_ASIDE };

	for (guint i = 0; i < G_N_ELEMENTS(roles); i++) {
		guint32 track;

		key.role = roles[i];
		track = find_track(merge, &key);
		if (track != TACHO_NONE)
			g_array_index(merge->timeline->tracks, TachoTrack, track).name = text;
	}
}

static void merge_label(struct kineto_merge *merge, guint part,
			const struct kineto_numbers *numbers, const struct kineto_label *label)
{
	struct kineto_key key = { .part = merge->files.files[part].owner,
				  .pid = merge_id(numbers, label->pid) };
	guint32 text = numbers->strings[label->text];
	guint32 process;

	if (!text)
		return;
	if (label->kind == KINETO_THREAD_NAME) {
		key.tid = merge_id(numbers, label->tid);
		name_tracks(merge, key, text);
		return;
	}
	process = GPOINTER_TO_UINT(g_hash_table_lookup(merge->processes, &key)) - 1;
	if (process != TACHO_NONE)
		g_array_index(merge->timeline->processes, TachoProcess, process).command = text;
}

static void merge_labels(struct kineto_merge *merge)
{
	for (guint i = 0; i < merge->files.rows->len; i++) {
		const struct kineto_rows *rows = kineto_files_rows(&merge->files, i);
		const struct kineto_numbers *numbers = kineto_merge_numbers(merge, rows);
		const struct kineto_label *labels = rows->labels.rows;

		for (gsize k = 0; k < rows->labels.n; k++)
			merge_label(merge, rows->file, numbers, &labels[k]);
	}
}

void kineto_tracks_merge(struct kineto_merge *merge)
{
	merge->processes = g_hash_table_new_full(hash_key, is_equal_key, g_free, NULL);
	merge->tracks = g_hash_table_new_full(hash_key, is_equal_key, g_free, NULL);
	merge_strings(merge);
	merge_tracks(merge);
	merge_labels(merge);
}
