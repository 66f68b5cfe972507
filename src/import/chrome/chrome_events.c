#include "import/chrome/chrome_events.h"

#include <string.h>

#include "base/for_each.h"
#include "trace/string_table.h"

enum {
	MAX_TAIL_BYTES = 64 * 1024 * 1024,
	MAX_ID_BYTES = 256,
	MAX_OPEN = 1 << 20,  /* begins of one thread or id that wait for their ends ... */
	MAX_SEARCHED = 1024, /* ... and the last of them, among which an end with a name looks */
};

/* A thread, an async id or an object: its begins are matched with its ends. */
struct owner {
	gchar what; /* 'B', 'b', 'N' */
	guint32 category;
	gint64 pid, tid; /* of the others than threads: tid is the id */
};

/* A begin that has not ended. */
struct begin {
	guint32 name, mate;
	gint64 time_ns;
};

struct reading {
	struct chrome_file *file;
	TachoTimeline *timeline;
	ChromeEventFunc func;
	gpointer data;
	const struct json_chunk *chunk;
	GString *plain;
	GHashTable *open;    /* struct owner -> GArray of struct begin, outer first */
	GPtrArray *owners;   /* the keys of `open`, in the order of the file */
	GArray *last_begins; /* of `last_owner`: most events follow one of their own thread */
	struct owner last_owner;
};

/* --- begins and ends ------------------------------------------------------------------------ */

static guint hash_owner(gconstpointer data)
{
	const struct owner *owner = data;
	guint64 hash = ((guint64)owner->pid * 31 + (guint64)owner->tid) * 31 + owner->category * 7 +
		       (guint8)owner->what;

	return (guint)((hash * G_GUINT64_CONSTANT(0x9e3779b97f4a7c15)) >> 32);
}

static gboolean is_owner(gconstpointer first, gconstpointer second)
{
	const struct owner *a = first, *b = second;

	return a->what == b->what && a->category == b->category && a->pid == b->pid &&
	       a->tid == b->tid;
}

static void free_begins(gpointer begins)
{
	g_array_unref(begins);
}

static struct owner owner_of(const struct chrome_event *event, gchar what)
{
	if (what == 'B')
		return (struct owner){ .what = what, .pid = event->pid, .tid = event->tid };
	return (struct owner){
		.what = what, .category = event->category, .pid = event->pid, .tid = event->id
	};
}

/* The begins of the event's owner; NULL: none so far, and `is_made` not asked for. */
static GArray *find_begins(struct reading *reading, const struct chrome_event *event, gchar what,
			   gboolean is_made)
{
	struct owner owner = owner_of(event, what);
	GArray *begins;

	if (reading->last_begins && is_owner(&owner, &reading->last_owner))
		return reading->last_begins;
	begins = g_hash_table_lookup(reading->open, &owner);
	if (!begins && is_made) {
		gpointer key = g_memdup2(&owner, sizeof(owner));

		begins = g_array_new(FALSE, FALSE, sizeof(struct begin));
		g_hash_table_insert(reading->open, key, begins);
		g_ptr_array_add(reading->owners, key);
	}
	if (begins) {
		reading->last_begins = begins;
		reading->last_owner = owner;
	}
	return begins;
}

/* What phase begins what this one ends or lies in; 0: it does neither. */
static gchar begin_phase(gchar phase)
{
	switch (phase) {
	case 'B':
	case 'E':
		return 'B';
	case 'b':
	case 'n':
	case 'e':
	case 'S':
	case 'T':
	case 'p':
	case 'F':
		return 'b';
	case 'N':
	case 'O':
	case 'D':
		return 'N';
	default:
		return 0;
	}
}

/* (1): which of the begins the event belongs to; G_MAXUINT: none. */
static guint find_begin(const GArray *begins, const struct chrome_event *event)
{
	guint n_left = MAX_SEARCHED;

	if (!begins || !begins->len)
		return G_MAXUINT;
	if (!event->name)
		return begins->len - 1;
	for (guint i = begins->len; i-- > 0 && n_left--;)
		if (g_array_index(begins, struct begin, i).name == event->name)
			return i;
	return G_MAXUINT;
}

static void hand_out(struct reading *reading, struct chrome_event *event)
{
	reading->file->n_events++;
	reading->func(event, reading->data);
}

static void begin_event(struct reading *reading, struct chrome_event *event, gchar what)
{
	GArray *begins = find_begins(reading, event, what, TRUE);
	struct begin begin = { .name = event->name, .time_ns = event->time_ns };

	hand_out(reading, event);
	begin.mate = event->mate;
	if (begins->len < MAX_OPEN)
		g_array_append_val(begins, begin);
}

static void end_event(struct reading *reading, struct chrome_event *event, gchar what)
{
	GArray *begins = find_begins(reading, event, what, FALSE);
	guint i = find_begin(begins, event);
	const struct begin *begin;

	if (i == G_MAXUINT) {
		reading->file->n_unmatched++;
		return;
	}
	begin = &g_array_index(begins, struct begin, i);
	event->name = begin->name;
	event->mate = begin->mate;
	if (!event->has_time ||
	    __builtin_sub_overflow(event->time_ns, begin->time_ns, &event->duration_ns))
		event->duration_ns = -1;
	g_array_remove_index(begins, i);
	hand_out(reading, event);
}

/* What lies between a begin and its end need not have its name. */
static void inner_event(struct reading *reading, struct chrome_event *event, gchar what)
{
	GArray *begins = find_begins(reading, event, what, FALSE);
	guint i = find_begin(begins, event);

	if (i == G_MAXUINT && begins && begins->len)
		i = begins->len - 1;
	if (i != G_MAXUINT)
		event->mate = g_array_index(begins, struct begin, i).mate;
	hand_out(reading, event);
}

static void match_event(struct reading *reading, struct chrome_event *event)
{
	gchar what = begin_phase(event->phase);

	switch (event->phase) {
	case 'B':
	case 'b':
	case 'S':
	case 'N':
		begin_event(reading, event, what);
		break;
	case 'E':
	case 'e':
	case 'F':
	case 'D':
		end_event(reading, event, what);
		break;
	case 'n':
	case 'T':
	case 'p':
	case 'O':
		inner_event(reading, event, what);
		break;
	default:
		hand_out(reading, event);
	}
}

/* (2), inner ones first. */
static void end_open(struct reading *reading)
{
	struct chrome_file *file = reading->file;

	FOR_EACH_POINTER(const struct owner, owner, reading->owners) {
		GArray *begins = g_hash_table_lookup(reading->open, owner);

		for (guint k = begins->len; k-- > 0;) {
			const struct begin *begin = &g_array_index(begins, struct begin, k);
			struct chrome_event event = {
				.phase = owner->what == 'B'   ? 'E'
					 : owner->what == 'b' ? 'e'
							      : 'D',
				.has_time = TRUE,
				.is_unended = TRUE,
				.pid = owner->pid,
				.tid = owner->what == 'B' ? owner->tid : 0,
				.id = owner->what == 'B' ? 0 : owner->tid,
				.name = begin->name,
				.category = owner->category,
				.time_ns = MAX(file->last_ns, begin->time_ns),
				.mate = begin->mate,
			};

			if (__builtin_sub_overflow(event.time_ns, begin->time_ns,
						   &event.duration_ns))
				event.duration_ns = -1;
			file->n_unended++;
			reading->func(&event, reading->data);
		}
	}
}

/* --- values --------------------------------------------------------------------------------- */

static guint32 intern(struct reading *reading, const struct json_text *text)
{
	struct json_text plain = json_text_plain(text, reading->plain);
	guint32 n_before = string_table_size(reading->timeline->strings), id;

	id = tacho_timeline_intern(reading->timeline, plain.n ? plain.bytes : "", (gssize)plain.n);
	if (string_table_size(reading->timeline->strings) > n_before)
		reading->file->n_bad_texts +=
			!g_utf8_validate(tacho_timeline_string(reading->timeline, id), -1, NULL);
	return id;
}

/* A string; of any other value the text, as it stands. */
static struct json_text take_text(struct json_scan *scan)
{
	struct json_text text = { .bytes = "" };
	const gchar *begin;

	if (json_peek(scan) == '"') {
		json_string(scan, &text);
		return text;
	}
	begin = scan->at;
	json_skip(scan);
	if (scan->status == JSON_OK)
		text = (struct json_text){ .bytes = begin, .n = (gsize)(scan->at - begin) };
	return text;
}

static gboolean is_whole_number(const struct json_text *text)
{
	gsize i = text->n && text->bytes[0] == '-';

	if (i == text->n || text->n > 18) /* nothing that long is one that matters as such */
		return FALSE;
	for (; i < text->n; i++)
		if (!g_ascii_isdigit(text->bytes[i]))
			return FALSE;
	return TRUE;
}

/* (4) */
static gint64 take_id(struct reading *reading, struct json_scan *scan)
{
	struct json_text text = take_text(scan);

	if (scan->status != JSON_OK)
		return 0;
	if (is_whole_number(&text))
		return g_ascii_strtoll(text.bytes, NULL, 10);
	text.n = MIN(text.n, MAX_ID_BYTES);
	return CHROME_TEXT_ID | intern(reading, &text);
}

static gboolean take_time(struct reading *reading, struct json_scan *scan, gint64 *ret_ns)
{
	const gchar *begin;

	json_peek(scan);
	begin = scan->at;
	if (!json_fixed(scan, 3, ret_ns))
		return FALSE;
	reading->file->has_fraction |= memchr(begin, '.', (gsize)(scan->at - begin)) != NULL;
	return TRUE;
}

static gchar take_letter(struct json_scan *scan)
{
	struct json_text text = take_text(scan);

	return text.n == 1 ? text.bytes[0] : 0;
}

/* "id2": { "local": ... } or { "global": ... } */
static void read_id2(struct reading *reading, struct json_scan *scan, struct chrome_event *event)
{
	struct json_text key;

	if (!json_enter(scan, '{'))
		return;
	while (json_member(scan, &key)) {
		event->id = take_id(reading, scan);
		event->has_id = TRUE;
	}
}

static void read_args(struct reading *reading, struct json_scan *scan, struct chrome_event *event)
{
	gboolean is_object = json_peek(scan) == '{';

	event->args_at = is_object ? scan->at : NULL;
	json_skip(scan);
	event->args_end = scan->at;
	if (is_object)
		event->args_offset =
			reading->chunk->offset + (guint64)(event->args_at - reading->chunk->bytes);
}

/* --- events --------------------------------------------------------------------------------- */

/* What is interned only once the event is known to be whole. */
struct event_texts {
	struct json_text name, category;
};

static void read_member(struct reading *reading, struct json_scan *scan,
			const struct json_text *key, struct chrome_event *event,
			struct event_texts *texts)
{
	if (JSON_TEXT_IS(key, "ph"))
		event->phase = take_letter(scan);
	else if (JSON_TEXT_IS(key, "ts"))
		event->has_time |= take_time(reading, scan, &event->time_ns);
	else if (JSON_TEXT_IS(key, "dur"))
		take_time(reading, scan, &event->duration_ns);
	else if (JSON_TEXT_IS(key, "name"))
		texts->name = take_text(scan);
	else if (JSON_TEXT_IS(key, "cat"))
		texts->category = take_text(scan);
	else if (JSON_TEXT_IS(key, "pid"))
		event->pid = take_id(reading, scan);
	else if (JSON_TEXT_IS(key, "tid"))
		event->tid = take_id(reading, scan);
	else if (JSON_TEXT_IS(key, "args"))
		read_args(reading, scan, event);
	else if (JSON_TEXT_IS(key, "id")) {
		event->id = take_id(reading, scan);
		event->has_id = TRUE;
	} else if (JSON_TEXT_IS(key, "id2"))
		read_id2(reading, scan, event);
	else if (JSON_TEXT_IS(key, "s"))
		event->scope = take_letter(scan);
	else if (JSON_TEXT_IS(key, "bp"))
		event->is_enclosing = take_letter(scan) == 'e';
	else
		json_skip(scan);
}

static void note_times(struct chrome_file *file, const struct chrome_event *event)
{
	gint64 end_ns;

	if (!event->has_time || !event->phase || !strchr("XBEbneSTpFNODiIRPCstf", event->phase))
		return;
	if (event->time_ns > 0)
		file->first_ns = MIN(file->first_ns, event->time_ns);
	if (!__builtin_add_overflow(event->time_ns, MAX(event->duration_ns, 0), &end_ns))
		file->last_ns = MAX(file->last_ns, end_ns);
}

/* As json_elements.h wants it. */
static gboolean read_event(struct json_scan *scan, gpointer data)
{
	struct reading *reading = data;
	struct chrome_event event = { .duration_ns = -1, .mate = TACHO_NONE };
	struct event_texts texts = { { .bytes = "" }, { .bytes = "" } };
	struct json_text key;

	json_peek(scan);
	event.at = scan->at;
	event.offset = reading->chunk->offset + (guint64)(event.at - reading->chunk->bytes);
	if (!json_take(scan, '{'))
		return FALSE;
	while (json_member(scan, &key))
		read_member(reading, scan, &key, &event, &texts);
	if (scan->status != JSON_OK)
		return FALSE;
	event.end = scan->at;
	if (event.end - event.at == 2) /* "{}": before, between and behind events of some */
		return TRUE;
	event.name = intern(reading, &texts.name);
	event.category = intern(reading, &texts.category);
	note_times(reading->file, &event);
	match_event(reading, &event);
	return TRUE;
}

/* --- the file ------------------------------------------------------------------------------- */

/* Whether the file begins with an event instead of what events are in. */
static gboolean begins_with_event(const gchar *bytes, gsize n)
{
	g_autofree gchar *padded = json_padded(bytes, n);
	struct json_scan scan = { .at = padded, .end = padded + n };
	struct json_text key;

	if (n >= 3 && memcmp(padded, "\xef\xbb\xbf", 3) == 0)
		scan.at += 3;
	if (json_peek(&scan) != '{')
		return FALSE;
	json_take(&scan, '{');
	while (json_member(&scan, &key)) {
		if (JSON_TEXT_IS(&key, "traceEvents"))
			return FALSE;
		if (JSON_TEXT_IS(&key, "ph"))
			return TRUE;
		json_skip(&scan);
	}
	return scan.status == JSON_OK; /* an object without either is one of a row of objects */
}

/* As json_chunks.h wants it. */
static gboolean read_head(const gchar *bytes, gsize n, gboolean is_all, gpointer data,
			  gsize *ret_n_head)
{
	struct chrome_file *file = data;

	if (chrome_facts_read_head(bytes, n, is_all, &file->facts, ret_n_head))
		return TRUE;
	if (!begins_with_event(bytes, n))
		return FALSE;
	chrome_facts_release(&file->facts); /* those were members of the first event */
	chrome_facts_init(&file->facts);
	file->is_bare = TRUE;
	*ret_n_head = n >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
	return TRUE;
}

/* What is behind the array's end, which is at `n_used` of the chunk. */
static void read_tail(struct chrome_file *file, JsonChunks *chunks, struct json_chunk *chunk,
		      gsize n_used)
{
	g_autoptr(GByteArray) tail = g_byte_array_new();
	guint64 offset = chunk->offset + n_used;
	guint8 padding[JSON_PADDING];
	gsize broken_at = 0;

	file->has_end = TRUE;
	g_byte_array_append(tail, (const guint8 *)chunk->bytes + n_used,
			    (guint)(chunk->n - n_used));
	while (tail->len < MAX_TAIL_BYTES && json_chunks_next(chunks, chunk, &file->failure))
		g_byte_array_append(tail, (const guint8 *)chunk->bytes, (guint)chunk->n);
	memset(padding, '"', sizeof(padding));
	g_byte_array_append(tail, padding, sizeof(padding));
	if (!chrome_facts_read_tail(&file->facts, (const gchar *)tail->data,
				    tail->len - JSON_PADDING, &broken_at)) {
		file->is_tail_broken = TRUE;
		file->tail_offset = offset + broken_at;
	}
}

static void read_chunks(struct reading *reading, JsonChunks *chunks, struct import *import)
{
	struct chrome_file *file = reading->file;
	struct json_chunk chunk = { 0 };

	while (json_chunks_next(chunks, &chunk, &file->failure)) {
		gsize n_used;

		reading->chunk = &chunk;
		n_used = json_elements_read(&chunk, TRUE, read_event, reading, &file->elements);
		import_tell_progress(import, json_chunks_done(chunks));
		if (file->elements.is_end)
			read_tail(file, chunks, &chunk, n_used);
		if (file->elements.is_end || chunk.is_last)
			break;
		json_chunks_give_back(chunks, &chunk, n_used);
	}
	json_chunk_release(&chunk);
	end_open(reading);
}

gboolean chrome_events_read(struct chrome_file *file, const gchar *path, struct import *import,
			    ChromeEventFunc func, gpointer data, GError **error)
{
	struct reading reading = {
		.file = file, .timeline = import->timeline, .func = func, .data = data
	};
	g_autoptr(JsonChunks) chunks = NULL;
	g_autoptr(GError) failure = NULL;

	*file = (struct chrome_file){ .path = path, .first_ns = G_MAXINT64, .last_ns = G_MININT64 };
	chrome_facts_init(&file->facts);
	chunks = json_chunks_open(path, TRUE, read_head, file, &failure);
	if (!chunks && failure) {
		g_propagate_error(error, g_steal_pointer(&failure));
		return FALSE;
	}
	if (!chunks) {
		g_set_error(error, TACHO_IMPORT_ERROR, TACHO_IMPORT_ERROR_FORMAT,
			    "%s: byte %" G_GSIZE_FORMAT
			    ": the JSON is not valid, or has no list of events up to here",
			    path, file->facts.head_offset);
		return FALSE;
	}
	reading.plain = g_string_new(NULL);
	reading.open = g_hash_table_new_full(hash_owner, is_owner, g_free, free_begins);
	reading.owners = g_ptr_array_new();
	read_chunks(&reading, chunks, import);
	g_ptr_array_unref(reading.owners);
	g_hash_table_unref(reading.open);
	g_string_free(reading.plain, TRUE);
	return TRUE;
}

void chrome_file_release(struct chrome_file *file)
{
	chrome_facts_release(&file->facts);
	g_clear_error(&file->failure);
}

void chrome_file_report(const struct chrome_file *file, TachoTimeline *timeline)
{
	if (file->failure && !file->n_events)
		tacho_timeline_add_problem(timeline, TACHO_PROBLEM_UNREADABLE_FILE, 1, "%s",
					   file->failure->message);
	json_elements_report(&file->elements, timeline, file->path, "event",
			     file->n_events ? file->failure : NULL,
			     !file->failure && !file->has_end && file->facts.is_object);
	if (file->is_tail_broken)
		tacho_timeline_add_problem(timeline, TACHO_PROBLEM_TRUNCATED_FILE, 1,
					   "%s: byte %" G_GUINT64_FORMAT
					   ": the JSON behind the events is not valid",
					   file->path, file->tail_offset);
	if (file->n_bad_texts)
		tacho_timeline_add_problem(timeline, TACHO_PROBLEM_BAD_TEXT, file->n_bad_texts,
					   "%s: names that are not UTF-8", file->path);
	if (file->n_unmatched)
		tacho_timeline_add_problem(timeline, TACHO_PROBLEM_UNKNOWN_RECORD,
					   file->n_unmatched,
					   "%s: end events without a begin event", file->path);
}

/* --- members -------------------------------------------------------------------------------- */

/* Find a member of the object [at, end); what is read was found whole before. */
static gboolean find_member(const gchar *at, const gchar *end, const gchar *key,
			    struct json_scan *value)
{
	struct json_scan scan = { .at = at, .end = end, .is_tolerant = TRUE };
	gsize n_key = strlen(key);
	struct json_text found;

	if (!at || !json_take(&scan, '{'))
		return FALSE;
	while (json_member(&scan, &found)) {
		if (json_text_is(&found, key, n_key)) {
			json_peek(&scan);
			*value = scan;
			return TRUE;
		}
		json_skip(&scan);
	}
	return FALSE;
}

gboolean chrome_event_arg(const struct chrome_event *event, const gchar *key,
			  struct json_scan *value)
{
	return find_member(event->args_at, event->args_end, key, value);
}

gboolean chrome_event_member(const struct chrome_event *event, const gchar *key,
			     struct json_scan *value)
{
	return find_member(event->at, event->end, key, value);
}

gboolean chrome_event_arg_integer(const struct chrome_event *event, const gchar *key,
				  gint64 *ret_value)
{
	struct json_scan value;

	return chrome_event_arg(event, key, &value) && json_fixed(&value, 0, ret_value);
}

gboolean chrome_event_arg_text(const struct chrome_event *event, const gchar *key,
			       TachoTimeline *timeline, guint32 *ret_text)
{
	g_autoptr(GString) storage = NULL;
	struct json_scan value;
	struct json_text text;

	if (!chrome_event_arg(event, key, &value))
		return FALSE;
	text = take_text(&value);
	if (value.status != JSON_OK)
		return FALSE;
	storage = g_string_new(NULL);
	text = json_text_plain(&text, storage);
	*ret_text = tacho_timeline_intern(timeline, text.n ? text.bytes : "", (gssize)text.n);
	return TRUE;
}
