/* chakra_import: Chakra execution traces (MLCommons), as feeders and simulators take them: .et, a row of protocol
 * buffers (chakra_messages.c); "workload_graph" in JSON, and what chakra_jsonizer makes of an .et (chakra_json.c).
 *
 * (1) A file is one process: one rank, which its name tells ("workload.3.et").
 * (2) Nodes have durations, and some traces begins. Without begins, nodes begin as early as their data
 *     dependencies and the thread or stream they are on allow (execution_schedule.h), and a problem says so.
 * (3) docs/formats.md says what becomes of each field. */
#include <string.h>

#include "base/byte_stream.h"
#include "base/for_each.h"
#include "import/execution/chakra_args.h"
#include "import/execution/chakra_json.h"
#include "import/execution/chakra_messages.h"
#include "import/execution/execution_schedule.h"
#include "import/sniff_evidence.h"

/* --- times ---------------------------------------------------------------------------------- */

/* (2) */
static void settle_times(struct execution_trace *trace)
{
	guint32 n_starts = 0, n_durations = 0, n_left;
	gint64 first_ns = G_MAXINT64;

	FOR_EACH(const struct execution_node, node, trace->nodes) {
		n_starts += node->start_ns >= 0;
		n_durations += node->duration_ns > 0;
		if (node->start_ns >= 0)
			first_ns = MIN(first_ns, node->start_ns);
	}
	if (!n_starts && !n_durations) {
		tacho_timeline_add_problem(trace->timeline, TACHO_PROBLEM_NO_TIMES, 1,
					   "%s: the trace has neither begin times nor durations; "
					   "each node is shown as one nanosecond",
					   trace->path);
		for (guint32 i = 0; i < trace->nodes->len; i++)
			execution_trace_node(trace, i)->duration_ns = -1;
		return;
	}
	if (n_starts) {
		FOR_EACH(struct execution_node, node, trace->nodes) {
			node->start_ns = MAX(node->start_ns, first_ns) - first_ns;
			node->duration_ns = MAX(node->duration_ns, 0);
		}
		return;
	}
	n_left = execution_schedule(trace);
	tacho_timeline_add_problem(trace->timeline, TACHO_PROBLEM_COMPUTED_TIMES, 1,
				   "%s: the trace has durations but no begin times; each node "
				   "begins as soon as those it depends on have ended",
				   trace->path);
	if (n_left)
		tacho_timeline_add_problem(trace->timeline, TACHO_PROBLEM_CIRCULAR_DEPENDENCY,
					   n_left,
					   "%s: nodes that depend on each other in a circle, or on "
					   "such nodes; they are placed last",
					   trace->path);
}

/* --- files ---------------------------------------------------------------------------------- */

/* How the file begins: decoded. */
static gboolean begins_with_brace(const gchar *path, GError **error, gboolean *ret_is_json)
{
	g_autoptr(ByteStream) stream = byte_stream_open(path, error);
	gchar head[256];
	gssize n = stream ? byte_stream_read(stream, head, sizeof(head), error) : -1;
	gssize at = 0;

	while (at < n && g_ascii_isspace(head[at]))
		at++;
	/* 0x7b is 123, too: of a first message as long as that there is no space, and its field follows */
	*ret_is_json = at < n && head[at] == '{' &&
		       !(at == 0 && n > 1 && (head[1] == 0x0a || head[1] == 0x12) &&
			 !memchr(head + 1, '"', (gsize)MIN(n - 1, 16)));
	return n >= 0;
}

static gboolean read_file(struct import *import, const gchar *path, gpointer data, GError **error)
{
	struct execution_trace *trace = execution_trace_new(import->timeline, path);
	gboolean is_json, is_read = begins_with_brace(path, error, &is_json);

	(void)data;
	if (is_read)
		is_read = is_json ? chakra_json_read(import, trace, error)
				  : chakra_messages_read(trace, error);
	if (!is_read || !trace->nodes->len) {
		execution_trace_free(trace);
		return is_read;
	}
	execution_trace_sort(trace);
	settle_times(trace);
	execution_trace_place(import, trace, import_base_time(import));
	return TRUE;
}

/* Whether `bytes` are fields of numbers up to `max_number`, as far as there are bytes; of which those in the
 * sets are there as varints or with a length. */
static gboolean is_message(const guint8 *bytes, gsize n, guint max_number, guint32 varints,
			   guint32 lengths)
{
	guint32 seen = 0;
	gsize at = 0;

	while (at < n) {
		guint64 tag, value;
		gsize n_tag = chakra_read_varint(bytes + at, n - at, &tag);
		guint64 number = tag >> 3;

		at += n_tag;
		if (!n_tag || !number || number > max_number)
			return FALSE;
		if (!((tag & 7) == 0 ? varints & 1u << number
				     : (tag & 7) == 2 && lengths & 1u << number))
			return FALSE;
		seen |= 1u << number;
		n_tag = chakra_read_varint(bytes + at, n - at, &value);
		at += n_tag;
		if (!n_tag || ((tag & 7) == 2 && value > n - at))
			return FALSE;
		at += (tag & 7) == 2 ? (gsize)value : 0;
	}
	/* a node has a name, and an id, a type or both: what is 0 is left out */
	return !varints || (seen & 1u << 2 && seen & (1u << 1 | 1u << 3));
}

/* A message of texts and attributes, and one of a node, each behind its length. */
static gboolean sniff_messages(const guint8 *bytes, gsize n)
{
	guint64 size;
	gsize at = chakra_read_varint(bytes, n, &size);

	if (!at || size > n - at || !is_message(bytes + at, (gsize)size, 2, 0, 1u << 1 | 1u << 2))
		return FALSE;
	bytes += at + size;
	n -= at + (gsize)size;
	at = chakra_read_varint(bytes, n, &size);
	/* id, type, times; name, dependencies, tensors, attributes, storage */
	return at && size && size <= n - at &&
	       is_message(bytes + at, (gsize)size, 11,
			  0x3 | 1u << 3 | 1u << 4 | 1u << 5 | 1u << 6 | 1u << 7,
			  1u << 2 | 1u << 4 | 1u << 5 | 1u << 8 | 1u << 9 | 1u << 10 | 1u << 11);
}

static gboolean sniff_chakra(const struct sniff_input *input)
{
	if (input->is_folder)
		return FALSE;
	if (json_head_has(input, "workload_graph", 2, "[{") ||
	    json_head_has(input, "dataDeps", 4, "[") ||
	    json_head_has(input, "durationMicros", 4, "0123456789\"") ||
	    json_head_has_text(input, "type", 4, "COMP_NODE") ||
	    json_head_has_text(input, "type", 4, "COMM_COLL_NODE"))
		return TRUE;
	return sniff_messages((const guint8 *)input->head, input->n_head);
}

const struct import_format import_chakra = {
	.name = "chakra",
	.title = "Chakra execution trace: protocol buffers, JSON, also gzip or zstd",
	.files = "*.et, *.json",
	.sniff = sniff_chakra,
	.read_file = read_file,
};
