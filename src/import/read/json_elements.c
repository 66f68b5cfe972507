#include "import/read/json_elements.h"

enum {
	MAX_BROKEN_ELEMENT = 64 * 1024 * 1024, /* an element this long is none */
};

struct reading {
	const struct json_chunk *chunk;
	JsonElement element;
	gpointer data;
	struct json_elements *found;
};

static guint64 offset_of(const struct reading *reading, const gchar *at)
{
	return reading->chunk->offset + (guint64)(at - reading->chunk->bytes);
}

static void note_broken(struct reading *reading, const gchar *at)
{
	if (reading->found->n_broken++ == 0)
		reading->found->broken_offset = offset_of(reading, at);
}

static void note_cut(struct reading *reading, const gchar *begin)
{
	reading->found->is_cut = TRUE;
	reading->found->cut_offset = offset_of(reading, begin);
}

/* An element that cannot be read as it should: (1). False: it is not complete, and begins at scan->at. */
static gboolean mend_element(struct reading *reading, struct json_scan *scan, const gchar *begin)
{
	const struct json_chunk *chunk = reading->chunk;
	struct json_scan tolerant = { .at = begin, .end = scan->end, .is_tolerant = TRUE };
	const gchar *broken_at = scan->at;
	gsize next;

	if (*begin == '{' && reading->element(&tolerant, reading->data)) {
		reading->found->n_repaired += tolerant.n_repaired;
		scan->at = tolerant.at;
		scan->status = JSON_OK;
		return TRUE;
	}
	if ((tolerant.status == JSON_ENDS_EARLY || scan->status == JSON_ENDS_EARLY) &&
	    !chunk->is_last && scan->end - begin < MAX_BROKEN_ELEMENT) {
		scan->at = begin;
		return FALSE;
	}
	next = json_chunks_find_next(chunk->bytes, chunk->n, (gsize)(begin - chunk->bytes));
	if (next == chunk->n && chunk->is_last && scan->status == JSON_ENDS_EARLY)
		note_cut(reading, begin);
	else
		note_broken(reading, broken_at);
	scan->at = chunk->bytes + next;
	scan->status = JSON_OK;
	return TRUE;
}

gsize json_elements_read(const struct json_chunk *chunk, gboolean is_careful, JsonElement element,
			 gpointer data, struct json_elements *found)
{
	struct reading reading = { chunk, element, data, found };
	struct json_scan scan = { .at = chunk->bytes, .end = chunk->bytes + chunk->n };
	gchar c;

	while ((c = json_peek(&scan))) {
		const gchar *begin = scan.at;

		if (c == ',') {
			scan.at++;
			continue;
		}
		if (c == ']') {
			scan.at++;
			found->is_end = TRUE;
			break;
		}
		if (element(&scan, data))
			continue;
		if (!is_careful) {
			if (chunk->is_last && scan.status == JSON_ENDS_EARLY)
				note_cut(&reading, begin);
			scan.at = begin;
			break;
		}
		if (!mend_element(&reading, &scan, begin))
			break;
	}
	return (gsize)(scan.at - chunk->bytes);
}

/* --- what is wrong -------------------------------------------------------------------------- */

static void report_end(const struct json_elements *found, TachoTimeline *timeline,
		       const gchar *path, const gchar *what, const GError *failure,
		       gboolean has_to_end)
{
	if (failure)
		tacho_timeline_add_problem(timeline, TACHO_PROBLEM_TRUNCATED_FILE, 1, "%s",
					   failure->message);
	else if (found->is_cut)
		tacho_timeline_add_problem(timeline, TACHO_PROBLEM_TRUNCATED_FILE, 1,
					   "%s: byte %" G_GUINT64_FORMAT
					   ": the file ends inside this %s",
					   path, found->cut_offset, what);
	else if (has_to_end && !found->is_end && !found->n_broken)
		/* an end may be in what was passed over */
		tacho_timeline_add_problem(timeline, TACHO_PROBLEM_TRUNCATED_FILE, 1,
					   "%s: the file ends inside its list of %ss", path, what);
}

void json_elements_report(const struct json_elements *found, TachoTimeline *timeline,
			  const gchar *path, const gchar *what, const GError *failure,
			  gboolean has_to_end)
{
	report_end(found, timeline, path, what, failure, has_to_end);
	if (found->n_broken)
		tacho_timeline_add_problem(
			timeline, TACHO_PROBLEM_CORRUPT_RECORD, found->n_broken,
			"%s: byte %" G_GUINT64_FORMAT
			": the JSON is not valid; the %ss around this place are left out",
			path, found->broken_offset, what);
	if (found->n_repaired)
		tacho_timeline_add_problem(timeline, TACHO_PROBLEM_BAD_TEXT, found->n_repaired,
					   "%s: texts with quotes that are not escaped", path);
}
