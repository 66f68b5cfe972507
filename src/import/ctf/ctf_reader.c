#include "import/ctf/ctf_reader.h"

#include <pthread.h>
#include <string.h>

#include "base/json_append.h"
#include "base/order.h"
#include "base/partition_point.h"
#include "import/ctf/ctf_event_args.h"

/* A part, and what comes next in it. */
struct source {
	struct ctf_part *part;
	struct ctf_event event; /* while it has one */
	gboolean has_event, has_ended;
	gboolean is_there; /* its records are there once more, or never will be */
};

struct ctf_reader {
	struct source sources[CTF_MAX_PARTS];
	guint n_sources;

	gint last;	   /* source of the event that was handed out, -1: none was */
	GHashTable *names; /* of classes of events, theirs */
	const gchar *failure;
	GArray *partners; /* struct partner; in the order of begins since somebody asked for one */
	GHashTable *numbers; /* offset of an event -> GString: members of JSON that were added */
	/* Under the lock, when all has been read: */
	pthread_mutex_t lock;
	gboolean is_sorted; /* the partners */
};

/* Two events that are one interval, by their offsets. */
struct partner {
	guint64 begin, end;
};

/* Records begin at multiples of 8: what is left of an event's offset tells which part it is of. */
G_STATIC_ASSERT(CTF_MAX_PARTS <= 8);

static void free_text(gpointer text)
{
	g_string_free(text, TRUE);
}

struct ctf_reader *ctf_reader_new(struct ctf_process *const *processes, guint n)
{
	struct ctf_reader *reader = g_new0(struct ctf_reader, 1);

	g_assert(n <= CTF_MAX_PARTS);
	reader->names = g_hash_table_new(g_str_hash, g_str_equal);
	reader->partners = g_array_new(FALSE, FALSE, sizeof(struct partner));
	reader->numbers = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, free_text);
	reader->last = -1;
	reader->n_sources = n;
	for (guint i = 0; i < n; i++)
		reader->sources[i].part = ctf_part_new(processes[i], reader->names);
	pthread_mutex_init(&reader->lock, NULL);
	return reader;
}

void ctf_reader_free(struct ctf_reader *reader)
{
	if (!reader)
		return;
	g_hash_table_unref(reader->names);
	for (guint i = 0; i < reader->n_sources; i++)
		ctf_part_free(reader->sources[i].part);
	g_array_unref(reader->partners);
	g_hash_table_unref(reader->numbers);
	pthread_mutex_destroy(&reader->lock);
	g_free(reader);
}

const gchar *ctf_reader_failure(const struct ctf_reader *reader)
{
	return reader->failure;
}

gboolean ctf_reader_has_class(const struct ctf_reader *reader, const gchar *name)
{
	return g_hash_table_contains(reader->names, name);
}

/* --- the order of parts --------------------------------------------------------------------- */

/* Have the next event of a source, if it has one. Anything else that comes before is what is returned. */
static enum ctf_next advance(struct ctf_reader *reader, struct source *source,
			     struct ctf_discarded *discarded)
{
	enum ctf_next next = ctf_part_next(source->part, &source->event, discarded);

	source->has_event = next == CTF_NEXT_EVENT;
	source->has_ended = next == CTF_NEXT_END;
	if (next == CTF_NEXT_FAILURE)
		reader->failure = ctf_part_failure(source->part);
	return next;
}

static gboolean is_earlier(const struct ctf_event *a, const struct ctf_event *b)
{
	return a->time_ns < b->time_ns ||
	       (a->time_ns == b->time_ns && a->stream->order < b->stream->order);
}

/* All sources have their next event, or none any more; -1: no source has any. */
static gint find_earliest(const struct ctf_reader *reader)
{
	gint earliest = -1;

	for (guint i = 0; i < reader->n_sources; i++)
		if (reader->sources[i].has_event &&
		    (earliest < 0 ||
		     is_earlier(&reader->sources[i].event, &reader->sources[earliest].event)))
			earliest = (gint)i;
	return earliest;
}

enum ctf_next ctf_reader_next(struct ctf_reader *reader, struct ctf_event *event,
			      struct ctf_discarded *discarded)
{
	/* what was handed out before is no longer wanted */
	if (reader->last >= 0)
		reader->sources[reader->last].has_event = FALSE;
	for (guint i = 0; i < reader->n_sources; i++) {
		struct source *source = &reader->sources[i];

		if (!source->has_event && !source->has_ended) {
			enum ctf_next next = advance(reader, source, discarded);

			reader->last = -1;
			if (next == CTF_NEXT_DISCARDED || next == CTF_NEXT_FAILURE)
				return next;
		}
	}
	reader->last = find_earliest(reader);
	if (reader->last < 0)
		return CTF_NEXT_END;
	*event = reader->sources[reader->last].event;
	event->offset |= (guint64)reader->last;
	return CTF_NEXT_EVENT;
}

/* --- pairs ---------------------------------------------------------------------------------- */

void ctf_reader_set_partner(struct ctf_reader *reader, guint64 begin, guint64 end)
{
	struct partner partner = { .begin = begin, .end = end };

	g_array_append_val(reader->partners, partner);
}

/* By the begin; of several ends the last one first. */
static gint compare_partners(gconstpointer first, gconstpointer second)
{
	const struct partner *a = first, *b = second;

	return ORDER(a->begin, b->begin) ?: ORDER(b->end, a->end);
}

/* The offset of what ended the event at `begin`. False: nothing did. */
static gboolean find_partner(struct ctf_reader *reader, guint64 begin, guint64 *ret_end)
{
	struct partner wanted = { .begin = begin, .end = G_MAXUINT64 };
	const struct partner *found;
	guint n = ROWS_BEFORE(reader->partners, struct partner, row,
			      compare_partners(row, &wanted) < 0);

	if (n == reader->partners->len)
		return FALSE;
	found = &g_array_index(reader->partners, struct partner, n);
	*ret_end = found->end;
	return found->begin == begin;
}

/* --- args ----------------------------------------------------------------------------------- */

/* The part that has the event at `offset`, all of it there; NULL: there is none. */
static struct ctf_part *part_of(struct ctf_reader *reader, guint64 offset)
{
	struct source *source = &reader->sources[offset % CTF_MAX_PARTS];

	if (offset % CTF_MAX_PARTS >= reader->n_sources)
		return NULL;
	pthread_mutex_lock(&reader->lock);
	if (!source->is_there)
		ctf_part_open_all(source->part);
	source->is_there = TRUE;
	pthread_mutex_unlock(&reader->lock);
	return source->part;
}

static gboolean find_event(struct ctf_reader *reader, guint64 offset, struct ctf_event *event,
			   struct ctf_part **ret_part)
{
	*ret_part = part_of(reader, offset);
	return *ret_part && ctf_part_event_at(*ret_part, offset - offset % CTF_MAX_PARTS, event);
}

static void sort_partners(struct ctf_reader *reader)
{
	pthread_mutex_lock(&reader->lock);
	if (!reader->is_sorted)
		g_array_sort(reader->partners, compare_partners);
	reader->is_sorted = TRUE;
	pthread_mutex_unlock(&reader->lock);
}

void ctf_reader_add_number(struct ctf_reader *reader, guint64 offset, const gchar *key,
			   gdouble value)
{
	gint64 place = (gint64)offset;
	GString *members = g_hash_table_lookup(reader->numbers, &place);

	if (!members) {
		members = g_string_new(NULL);
		g_hash_table_insert(reader->numbers, g_memdup2(&place, sizeof(place)), members);
	}
	g_string_append_c(members, ',');
	json_append_string(members, key, strlen(key));
	g_string_append_c(members, ':');
	json_append_number(members, value);
}

/* The object with what was added to it; takes over `json`. */
static gchar *with_numbers(const struct ctf_reader *reader, guint64 offset, gchar *json)
{
	gint64 place = (gint64)offset;
	const GString *members = g_hash_table_lookup(reader->numbers, &place);
	gchar *whole;

	if (!members || !g_str_has_suffix(json, "}"))
		return json;
	json[strlen(json) - 1] = '\0';
	whole = g_strconcat(json, members->str, "}", NULL);
	g_free(json);
	return whole;
}

gchar *ctf_reader_args_json(struct ctf_reader *reader, guint64 offset)
{
	struct ctf_event event, end;
	struct ctf_part *part, *end_part;
	guint64 partner;

	sort_partners(reader);
	if (!find_event(reader, offset, &event, &part))
		return NULL;
	if (find_partner(reader, offset, &partner) && find_event(reader, partner, &end, &end_part))
		return with_numbers(reader, offset, ctf_event_args_json(part, &event, &end));
	return with_numbers(reader, offset, ctf_event_args_json(part, &event, NULL));
}
