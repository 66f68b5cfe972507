/* flight_recorder_import: dumps of PyTorch's Flight Recorder: the newest collectives of each process group of a rank, and how far each has
 * come, as ProcessGroupNCCL (and, later, gloo's) writes them when a collective hangs (TORCH_NCCL_DUMP_ON_TIMEOUT, /tmp/nccl_trace_rank_N).
 *
 * (1) A dump is a pickle or JSON with the same members. A pickle is read as data and made JSON (pickle.h): nothing in it is executed.
 * (2) A file is a rank, which its name tells. An entry is a collective on a track of its group, from when it was started (else made) to when
 *     it was seen to be complete; one that was not is open. Its id is its number in the group, which is the same on all ranks.
 *     A dump does not tell when it was made: what is open lasts up to the last moment in any of the dumps.
 * (3) Marks "process_group" tell the members of groups, "stack" from where an entry was called. */
#include <string.h>

#include "import/c10_dtype.h"
#include "import/import_format.h"
#include "import/read/json_object.h"
#include "import/read/pickle.h"
#include "import/read/small_file.h"
#include "trace/mark_kind.h"
#include "trace/source.h"

enum { MAX_DEPTH = 8, MAX_FRAMES = 3, MAX_ENTRIES = 1 << 24 };

/* An entry, for whoever asks later. */
struct entry {
	gsize at, end; /* in the text */
	guint64 bytes, group, id;
};

struct dump {
	struct foreign_reader reader;
	GByteArray *text; /* JSON, with JSON_PADDING behind it */
	GArray *entries;  /* struct entry */
};

/* All dumps that are read together. */
struct dumps {
	GArray *open; /* guint32: rows of slices */
	gint64 last_ns;
};

/* A dump at work. */
struct reading {
	struct import *import;
	TachoTimeline *timeline;
	struct dump *dump;
	const gchar *path;
	guint32 process, foreign;
	GHashTable *tracks; /* name of a group -> track + 1 */
	struct dumps *all;
	gint64 first_ns, last_ns;
	guint64 n_broken;
};

/* --- what is asked later ----------------------------------------------------------------------- */

static const struct entry *entry_at(struct foreign_reader *reader, guint64 place)
{
	const struct dump *dump = (const struct dump *)reader;

	return place < dump->entries->len ? &g_array_index(dump->entries, struct entry, place)
					  : NULL;
}

static gboolean get_collective(struct foreign_reader *reader, guint64 place,
			       TachoCollectiveArgs *args)
{
	const struct entry *entry = entry_at(reader, place);

	if (entry)
		*args = (TachoCollectiveArgs){ .bytes = entry->bytes, .group = entry->group };
	return entry != NULL;
}

static guint64 get_id(struct foreign_reader *reader, guint64 place)
{
	const struct entry *entry = entry_at(reader, place);

	return entry ? entry->id : 0;
}

static gchar *get_args_json(struct foreign_reader *reader, guint64 place)
{
	const struct entry *entry = entry_at(reader, place);
	const struct dump *dump = (const struct dump *)reader;

	return entry ? g_strndup((const gchar *)dump->text->data + entry->at,
				 entry->end - entry->at)
		     : NULL;
}

static void free_dump(struct foreign_reader *reader)
{
	struct dump *dump = (struct dump *)reader;

	g_byte_array_unref(dump->text);
	g_array_unref(dump->entries);
	g_free(dump);
}

/* --- entries ----------------------------------------------------------------------------------- */

/* Of all inputs: [[3, 4], [5]] elements of ["Float", "Half"]. */
static guint64 input_bytes(const struct json_object *entry)
{
	struct json_scan sizes, types;
	guint64 bytes = 0;

	if (!json_object_find(entry, "input_sizes", &sizes) ||
	    !json_object_find(entry, "input_dtypes", &types) || json_peek(&sizes) != '[' ||
	    json_peek(&types) != '[')
		return 0;
	json_take(&sizes, '[');
	json_take(&types, '[');
	while (json_element(&sizes) && json_element(&types)) {
		struct json_text type;
		guint64 n = 1;

		if (json_peek(&sizes) != '[' || json_peek(&types) != '"' ||
		    !json_string(&types, &type))
			return bytes;
		json_take(&sizes, '[');
		while (json_element(&sizes)) {
			gint64 size = 0;

			if (!json_fixed(&sizes, 0, &size) || size < 0 ||
			    __builtin_mul_overflow(n, (guint64)size, &n))
				return bytes;
		}
		if (__builtin_mul_overflow(n, c10_dtype_bytes(type.bytes, type.n), &n) ||
		    __builtin_add_overflow(bytes, n, &bytes))
			return G_MAXINT64;
	}
	return MIN(bytes, G_MAXINT64);
}

/* ["0", "default_pg"], or "0" in old dumps; the caller's. */
static gchar *group_name(const struct json_object *entry)
{
	struct json_scan value;
	struct json_text text;

	if (json_object_find(entry, "process_group", &value)) {
		if (json_peek(&value) == '[' && json_take(&value, '[') && json_element(&value) &&
		    json_peek(&value) == '"' && json_string(&value, &text))
			return json_text_dup(&text);
		if (json_peek(&value) == '"' && json_string(&value, &text))
			return json_text_dup(&text);
	}
	return g_strdup_printf("%" G_GINT64_FORMAT, json_object_fixed(entry, "pg_id", 0, 0));
}

/* An address for the group, the same for the same name: groups are told apart by it within a process. */
static guint64 group_address(const gchar *name)
{
	return (guint64)g_str_hash(name) + 1;
}

static guint32 track_of(struct reading *reading, const gchar *group)
{
	guint32 track = GPOINTER_TO_UINT(g_hash_table_lookup(reading->tracks, group));
	g_autofree gchar *name = NULL;

	if (track)
		return track - 1;
	name = g_strdup_printf("group %s", group);
	track = import_add_track(reading->import, TACHO_TRACK_ASYNC, reading->process, 0, name);
	g_hash_table_insert(reading->tracks, g_strdup(group), GUINT_TO_POINTER(track + 1));
	return track;
}

/* The innermost frames, "step (train.py:30) < main (train.py:60)". */
static gchar *tell_frames(const struct json_object *entry)
{
	GString *text = g_string_new(NULL);
	struct json_scan frames;
	guint n = 0;

	if (!json_object_find(entry, "frames", &frames) || json_peek(&frames) != '[')
		return g_string_free(text, FALSE);
	json_take(&frames, '[');
	while (json_element(&frames) && n < MAX_FRAMES) {
		struct json_object frame = { .at = frames.at };
		g_autofree gchar *name = NULL, *file = NULL, *base = NULL;

		json_skip(&frames);
		frame.end = frames.at;
		name = json_object_text(&frame, "name");
		file = json_object_text(&frame, "filename");
		if (!name || !file)
			continue;
		base = g_path_get_basename(file);
		g_string_append_printf(text, "%s%s (%s:%" G_GINT64_FORMAT ")", n++ ? " < " : "",
				       name, base, json_object_fixed(&frame, "line", 0, 0));
	}
	return g_string_free(text, FALSE);
}

static void add_mark(struct reading *reading, guint32 track, gint64 time_ns, const gchar *name,
		     gint64 first, const gchar *text)
{
	TachoMark mark = { .time_ns = time_ns, .track = track, .first = first };

	mark.name = tacho_timeline_intern(reading->timeline, name, -1);
	mark.text = tacho_timeline_intern(reading->timeline, text, -1);
	g_array_append_val(reading->timeline->marks, mark);
}

/* When it began, and when it ended; an end of 0: it has not. False: it has no times. */
static gboolean read_times(const struct json_object *entry, gint64 *ret_begin_ns,
			   gint64 *ret_end_ns)
{
	gint64 made_ns = json_object_fixed(entry, "time_created_ns", 0, 0);
	g_autofree gchar *state = json_object_text(entry, "state");
	gboolean is_complete = state && strcmp(state, "completed") == 0;

	*ret_begin_ns = json_object_fixed(entry, "time_discovered_started_ns", 0, 0);
	*ret_end_ns = json_object_fixed(entry, "time_discovered_completed_ns", 0, 0);
	if (*ret_begin_ns < made_ns || *ret_begin_ns <= 0)
		*ret_begin_ns = made_ns;
	if (is_complete && *ret_end_ns < *ret_begin_ns)
		*ret_end_ns = *ret_begin_ns; /* seen to be complete, nobody wrote when */
	if (!is_complete)
		*ret_end_ns = 0;
	return *ret_begin_ns > 0 && *ret_begin_ns < G_MAXINT64 / 4 && *ret_end_ns < G_MAXINT64 / 4;
}

static void use_entry(struct reading *reading, const struct json_object *object)
{
	g_autofree gchar *group = group_name(object), *frames = tell_frames(object);
	g_autofree gchar *name = json_object_text(object, "profiling_name");
	const gchar *text = (const gchar *)reading->dump->text->data;
	gboolean is_sent = json_object_fixed(object, "p2p_seq_id", 0, 0) > 0 &&
			   json_object_fixed(object, "collective_seq_id", 0, 0) == 0;
	struct entry entry = {
		.at = (gsize)(object->at - text),
		.end = (gsize)(object->end - text),
		.bytes = input_bytes(object),
		.group = group_address(group),
		.id = (guint64)MAX(json_object_fixed(object,
						     is_sent ? "p2p_seq_id" : "collective_seq_id",
						     0, json_object_fixed(object, "seq_id", 0, 0)),
				   0),
	};
	gint64 begin_ns, end_ns;
	guint32 track, row;

	if (!name || !read_times(object, &begin_ns, &end_ns) ||
	    reading->dump->entries->len >= MAX_ENTRIES) {
		reading->n_broken++;
		return;
	}
	track = track_of(reading, group);
	reading->first_ns = MIN(reading->first_ns, begin_ns);
	reading->last_ns = MAX(reading->last_ns, MAX(begin_ns, end_ns));
	row = tacho_timeline_add_slice(
		reading->timeline, TACHO_SLICE_COLLECTIVE, track,
		tacho_timeline_intern(reading->timeline, name, -1), begin_ns,
		end_ns ? end_ns - begin_ns : 0, end_ns ? 0 : TACHO_SLICE_OPEN,
		tacho_source_foreign_handle(reading->foreign, reading->dump->entries->len));
	if (!end_ns)
		g_array_append_val(reading->all->open, row);
	reading->all->last_ns = MAX(reading->all->last_ns, reading->last_ns);
	g_array_append_val(reading->dump->entries, entry);
	if (*frames)
		add_mark(reading, track, begin_ns, "stack", (gint64)entry.id, frames);
}

static void use_entries(struct reading *reading, const struct json_object *root)
{
	struct json_scan entries;

	if (!json_object_find(root, "entries", &entries) || json_peek(&entries) != '[')
		return;
	json_take(&entries, '[');
	while (json_element(&entries)) {
		struct json_object entry = { 0 };

		if (json_peek(&entries) == '{')
			entry.at = entries.at;
		json_skip(&entries);
		if (entries.status != JSON_OK)
			break;
		entry.end = entries.at;
		if (entry.at)
			use_entry(reading, &entry);
		else
			reading->n_broken++;
	}
	if (entries.status != JSON_OK)
		tacho_timeline_add_problem(
			reading->timeline, TACHO_PROBLEM_TRUNCATED_FILE, 1,
			"%s, byte %zu: the entries end here", reading->path,
			(gsize)(entries.at - (const gchar *)reading->dump->text->data));
}

/* "pg_config": {"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1]"}} */
static void use_groups(struct reading *reading, const struct json_object *root)
{
	struct json_object groups = json_object_member(root, "pg_config");
	struct json_scan scan = { .at = groups.at, .end = groups.end, .is_tolerant = TRUE };
	struct json_text key;

	if (!groups.at || !json_take(&scan, '{'))
		return;
	while (json_member(&scan, &key)) {
		struct json_object group = { .at = json_peek(&scan) == '{' ? scan.at : NULL };
		g_autofree gchar *name = json_text_dup(&key), *ranks = NULL, *text = NULL;
		struct json_scan value;

		json_skip(&scan);
		group.end = scan.at;
		if (scan.status != JSON_OK || !g_hash_table_contains(reading->tracks, name) ||
		    !json_object_find(&group, "ranks", &value))
			continue;
		if (json_peek(&value) == '"') {
			ranks = json_object_text(&group, "ranks");
		} else {
			const gchar *begin = value.at;

			json_skip(&value);
			ranks = g_strndup(begin, (gsize)(value.at - begin));
		}
		g_strdelimit(ranks, "[] ", ',');
		text = g_strdup_printf("ranks=%s backend=nccl", ranks);
		add_mark(reading, track_of(reading, name), reading->first_ns,
			 mark_kind_name(MARK_PROCESS_GROUP), (gint64)group_address(name), text);
	}
}

/* --- files ------------------------------------------------------------------------------------- */

static GByteArray *pad(gchar *text)
{
	GByteArray *bytes = g_byte_array_new_take((guint8 *)text, strlen(text));
	static const guint8 padding[JSON_PADDING] = { [0 ... JSON_PADDING - 1] = '"' };

	g_byte_array_append(bytes, padding, sizeof(padding));
	return bytes;
}

static GByteArray *read_text(const gchar *path, GError **error)
{
	GByteArray *bytes = small_file_read(path);

	if (bytes && bytes->len > JSON_PADDING && bytes->data[0] == 0x80) {
		g_autoptr(Pickle) pickle = pickle_open(path, error);
		gchar *text =
			pickle ? pickle_to_json(pickle, pickle_root(pickle), MAX_DEPTH) : NULL;

		g_byte_array_unref(bytes);
		if (pickle && !text)
			g_set_error(error, TACHO_IMPORT_ERROR, TACHO_IMPORT_ERROR_FORMAT,
				    "%s: byte 0: this pickle holds no values", path);
		return text ? pad(text) : NULL;
	}
	if (!bytes)
		g_set_error(error, TACHO_IMPORT_ERROR, TACHO_IMPORT_ERROR_IO,
			    "%s: the file cannot be read", path);
	return bytes;
}

static void read_dump(struct reading *reading)
{
	struct json_scan scan = small_file_scan(reading->dump->text);
	struct json_object root = { .at = json_peek(&scan) == '{' ? scan.at : NULL,
				    .end = scan.end };
	TachoProcess *process;

	use_entries(reading, &root);
	use_groups(reading, &root);
	process = &g_array_index(reading->timeline->processes, TachoProcess, reading->process);
	process->start_ns = reading->first_ns == G_MAXINT64 ? 0 : reading->first_ns;
	process->end_ns = reading->last_ns;
	if (reading->n_broken)
		tacho_timeline_add_problem(reading->timeline, TACHO_PROBLEM_UNKNOWN_RECORD,
					   reading->n_broken,
					   "%s: entries without a name or a time", reading->path);
}

static gboolean read_file(struct import *import, const gchar *path, gpointer data, GError **error)
{
	g_autoptr(GHashTable) tracks = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	struct reading reading = { .import = import,
				   .timeline = import->timeline,
				   .path = path,
				   .all = data,
				   .tracks = tracks,
				   .first_ns = G_MAXINT64 };
	TachoProcess process = {
		.rank = import_rank_of_name(path),
		.local_rank = -1,
		.world_size = -1,
		.end = TACHO_END_UNKNOWN,
		.path = (gchar *)path,
	};
	GByteArray *text = read_text(path, error);

	if (!text)
		return FALSE;
	reading.dump = g_new0(struct dump, 1);
	reading.dump->reader = (struct foreign_reader){ .collective = get_collective,
							.id = get_id,
							.args_json = get_args_json,
							.free = free_dump };
	reading.dump->text = text;
	reading.dump->entries = g_array_new(FALSE, FALSE, sizeof(struct entry));
	reading.foreign =
		tacho_source_take_foreign(import->timeline->source, &reading.dump->reader);
	process.host = tacho_timeline_intern(import->timeline, "unknown", -1);
	reading.process = import_add_process(import, &process, import_new_file(import));
	read_dump(&reading);
	return TRUE;
}

static gboolean read_flight_recorder(struct import *import, const gchar *const *paths,
				     guint n_paths, GError **error)
{
	g_autoptr(GArray) open = g_array_new(FALSE, FALSE, sizeof(guint32));
	struct dumps dumps = { .open = open };
	TachoSlices *slices = &import->timeline->slices;

	if (!import_each_path(import, paths, n_paths, read_file, &dumps, error))
		return FALSE;
	for (guint i = 0; i < open->len; i++) {
		guint32 row = g_array_index(open, guint32, i);

		slices->duration_ns[row] = MAX(dumps.last_ns - slices->start_ns[row], 0);
	}
	return TRUE;
}

static gboolean has(const struct sniff_input *input, const gchar *word)
{
	return memmem(input->head, input->n_head, word, strlen(word)) != NULL;
}

/* What its entries, or its table of groups, have, and nothing else does. */
static gboolean sniff_flight_recorder(const struct sniff_input *input)
{
	const guint8 *head = (const guint8 *)input->head;
	gboolean is_pickle = input->n_head > 16 && head[0] == 0x80 && head[1] >= 2 && head[1] <= 5;

	return !input->is_folder && (is_pickle || *input->head == '{') &&
	       ((has(input, "profiling_name") && has(input, "time_created_ns")) ||
		(has(input, "pg_config") && has(input, "pg_status")));
}

const struct import_format import_flight_recorder = {
	.name = "flight_recorder",
	.title = "PyTorch Flight Recorder dump (pickle, read as data, or JSON)",
	.files = "nccl_trace_rank_N",
	.sniff = sniff_flight_recorder,
	.read = read_flight_recorder,
};
