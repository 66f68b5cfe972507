#include "import/execution/execution_json.h"

#include <string.h>

#include "import/read/json_elements.h"

struct reading {
	const struct execution_json *json;
	const struct json_chunk *chunk; /* at work */
	struct json_elements elements;
	gsize head_offset;
	gboolean is_bare;
	GError *failure;
};

/* What stands before the nodes. */
static gboolean read_head(const gchar *bytes, gsize n, gboolean is_all, gpointer data,
			  gsize *ret_n_head)
{
	struct reading *reading = data;
	const struct execution_json *json = reading->json;
	g_autofree gchar *padded = g_malloc(n + JSON_PADDING);
	struct json_scan scan = { .at = padded, .end = padded + n };
	gboolean is_found = FALSE;
	struct json_text key;

	(void)is_all;
	memcpy(padded, bytes, n);
	memset(padded + n, '"', JSON_PADDING);
	if (n >= 3 && memcmp(padded, "\xef\xbb\xbf", 3) == 0) /* a byte order mark */
		scan.at += 3;
	json_take(&scan, '{');
	while (!is_found && json_member(&scan, &key)) {
		if (json_text_is(&key, json->list, strlen(json->list)))
			is_found = json_take(&scan, '[');
		else if (json->read_header)
			json->read_header(&scan, &key, json->data);
		else
			json_skip(&scan);
	}
	*ret_n_head = reading->head_offset = (gsize)(scan.at - padded);
	reading->is_bare = !is_found && json->may_be_bare && scan.status == JSON_OK;
	if (reading->is_bare)
		*ret_n_head = 0;
	return is_found || reading->is_bare;
}

static gboolean read_element(struct json_scan *scan, gpointer data)
{
	const struct reading *reading = data;
	guint64 place = reading->chunk->offset + (guint64)(scan->at - reading->chunk->bytes);

	return reading->json->read_node(scan, place, reading->json->data);
}

static void report(struct reading *reading)
{
	const struct execution_trace *trace = reading->json->trace;

	json_elements_report(&reading->elements, trace->timeline, trace->path, "node",
			     reading->failure, !reading->is_bare);
	if (trace->n_unknown)
		tacho_timeline_add_problem(trace->timeline, TACHO_PROBLEM_UNKNOWN_RECORD,
					   trace->n_unknown, "%s: nodes without an id",
					   trace->path);
}

gboolean execution_json_read(const struct execution_json *json, GError **error)
{
	struct reading reading = { .json = json };
	const gchar *path = json->trace->path;
	GError *failure = NULL;
	g_autoptr(JsonChunks) chunks = json_chunks_open(path, TRUE, read_head, &reading, &failure);
	struct json_chunk chunk = { 0 };

	if (failure) {
		g_propagate_error(error, failure);
		return FALSE;
	}
	if (!chunks) {
		g_set_error(error, TACHO_IMPORT_ERROR, TACHO_IMPORT_ERROR_FORMAT,
			    "%s: byte %" G_GSIZE_FORMAT
			    ": the JSON is not valid, or has no list of nodes up to here",
			    path, reading.head_offset);
		return FALSE;
	}
	reading.chunk = &chunk;
	while (!reading.elements.is_end && json_chunks_next(chunks, &chunk, &reading.failure)) {
		gsize n_used =
			json_elements_read(&chunk, TRUE, read_element, &reading, &reading.elements);

		if (chunk.is_last)
			break;
		json_chunks_give_back(chunks, &chunk, n_used);
		import_tell_progress(json->import, json_chunks_done(chunks));
	}
	json_chunk_release(&chunk);
	report(&reading);
	g_clear_error(&reading.failure);
	return TRUE;
}
