#include "import/kineto/kineto_event.h"

#include <string.h>

/* --- categories ----------------------------------------------------------------------------- */

static const struct {
	const gchar *name;
	enum kineto_kind kind;
} categories[] = {
	{ "cpu_op", KINETO_OP },
	{ "python_function", KINETO_FUNCTION },
	{ "cuda_runtime", KINETO_RUNTIME },
	{ "kernel", KINETO_KERNEL },
	{ "gpu_memcpy", KINETO_MEMCPY },
	{ "gpu_memset", KINETO_MEMSET },
	{ "user_annotation", KINETO_ANNOTATION },
	{ "gpu_user_annotation", KINETO_DEVICE_ANNOTATION },
	{ "cuda_driver", KINETO_RUNTIME },
	{ "cuda_sync", KINETO_SYNC },
	/* other devices */
	{ "hip_runtime", KINETO_RUNTIME },
	{ "xpu_runtime", KINETO_RUNTIME },
	{ "xpu_driver", KINETO_RUNTIME },
	{ "mtia_runtime", KINETO_RUNTIME },
	{ "privateuse1_runtime", KINETO_RUNTIME },
	{ "privateuse1_driver", KINETO_RUNTIME },
	{ "glow_runtime", KINETO_RUNTIME },
	{ "mtia_ccp_events", KINETO_KERNEL },
	{ "mtia_workloadd", KINETO_KERNEL },
	{ "concurrent_kernel", KINETO_KERNEL },
	{ "hpu_op", KINETO_KERNEL },
	/* before 2022 */
	{ "Operator", KINETO_OP },
	{ "Runtime", KINETO_RUNTIME },
	{ "Kernel", KINETO_KERNEL },
	{ "Memcpy", KINETO_MEMCPY },
	{ "Memset", KINETO_MEMSET },
};

static enum kineto_kind slice_kind(const struct json_text *category)
{
	for (guint i = 0; i < G_N_ELEMENTS(categories); i++)
		if (json_text_is(category, categories[i].name, strlen(categories[i].name)))
			return categories[i].kind;
	return KINETO_OTHER_SLICE;
}

/* Whether it is a region that PyTorch itself marks. Before 1.10 regions had the category of operators. */
static gboolean is_known_region(const struct json_text *name)
{
	static const gchar *const prefixes[] = { "ProfilerStep#", "Optimizer.", "enumerate(Data" };

	for (guint i = 0; i < G_N_ELEMENTS(prefixes); i++) {
		gsize n = strlen(prefixes[i]);

		if (name->n > n && memcmp(name->bytes, prefixes[i], n) == 0)
			return TRUE;
	}
	return FALSE;
}

/* Whether it is a collective that processors carry out (torch/csrc/distributed/c10d/ProcessGroupGloo.cpp and its
 * siblings): the region lasts until the work is complete. Those of devices' backends, "nccl:all_reduce", end when
 * a kernel has been queued. */
static gboolean is_host_collective(const struct json_text *name)
{
	static const gchar *const backends[] = { "gloo:", "mpi:", "ucc:" };

	for (guint i = 0; i < G_N_ELEMENTS(backends); i++) {
		gsize n = strlen(backends[i]);

		if (name->n > n && memcmp(name->bytes, backends[i], n) == 0)
			return TRUE;
	}
	return FALSE;
}

static enum kineto_kind complete_kind(const struct kineto_event *event)
{
	enum kineto_kind kind;

	if (!event->has_time)
		return KINETO_UNKNOWN;
	kind = slice_kind(&event->category);
	if ((kind == KINETO_OP || kind == KINETO_ANNOTATION) && is_host_collective(&event->name))
		return KINETO_HOST_COLLECTIVE;
	return kind == KINETO_OP && is_known_region(&event->name) ? KINETO_ANNOTATION : kind;
}

static enum kineto_kind event_kind(const struct kineto_event *event)
{
	switch (event->phase) {
	case 'X':
		return complete_kind(event);
	case 'i':
	case 'I':
	case 'R':
		return event->has_time ? KINETO_INSTANT : KINETO_UNKNOWN;
	case 'C':
		return event->has_time ? KINETO_COUNTER : KINETO_UNKNOWN;
	case 'M':
		return KINETO_METADATA;
	case 's':
	case 't':
	case 'f':
		return KINETO_FLOW;
	default:
		return KINETO_UNKNOWN;
	}
}

/* --- values --------------------------------------------------------------------------------- */

/* A string; of any other value the text, as it stands. */
static void read_text(struct json_scan *scan, struct json_text *text)
{
	const gchar *begin;

	if (json_peek(scan) == '"') {
		json_string(scan, text);
		return;
	}
	begin = scan->at;
	json_skip(scan);
	*text = (struct json_text){ .bytes = begin, .n = (gsize)(scan->at - begin) };
}

static void read_integer(struct json_scan *scan, gint64 *value)
{
	gint64 read;

	if (json_fixed(scan, 0, &read))
		*value = read;
}

static void read_id(struct json_scan *scan, struct kineto_id *id)
{
	static const gchar stream[] = "stream ";
	struct json_text text;

	id->is_text = FALSE;
	if (json_peek(scan) != '"') {
		read_integer(scan, &id->number);
		return;
	}
	if (!json_string(scan, &text))
		return;
	id->text = text;
	id->is_text = TRUE;
	if (text.n > strlen(stream) && memcmp(text.bytes, stream, strlen(stream)) == 0) {
		text.bytes += strlen(stream);
		text.n -= strlen(stream);
	}
	/* numbers in quotes, and the "stream 7" of old traces, are numbers */
	if (text.n == 0 || text.n > 18)
		return;
	for (gsize i = 0; i < text.n; i++)
		if (!g_ascii_isdigit(text.bytes[i]))
			return;
	id->is_text = FALSE;
	id->number = g_ascii_strtoll(text.bytes, NULL, 10);
}

static gboolean read_time(struct json_scan *scan, gint64 *ret_ns, gboolean *has_fraction)
{
	const gchar *begin;
	gint64 time_ns;

	json_peek(scan);
	begin = scan->at;
	if (!json_fixed(scan, 3, &time_ns))
		return FALSE;
	*ret_ns = time_ns;
	*has_fraction |= memchr(begin, '.', (gsize)(scan->at - begin)) != NULL;
	return TRUE;
}

/* An array as text, and how many elements it has. */
static void read_array(struct json_scan *scan, struct json_text *text, guint32 *ret_n)
{
	const gchar *begin;
	guint32 n = 0;

	if (json_peek(scan) != '[') {
		json_skip(scan);
		return;
	}
	begin = scan->at++;
	while (json_element(scan)) {
		json_skip(scan);
		n++;
	}
	*text = (struct json_text){ .bytes = begin, .n = (gsize)(scan->at - begin) };
	*ret_n = n;
}

/* --- args ----------------------------------------------------------------------------------- */

static void read_arg(struct json_scan *scan, const struct json_text *key,
		     struct kineto_event *event)
{
	guint32 n_types;

	switch (key->n) {
	case 4:
		if (JSON_TEXT_IS(key, "Addr"))
			read_integer(scan, &event->address);
		else if (JSON_TEXT_IS(key, "name"))
			read_text(scan, &event->label);
		break;
	case 5:
		if (JSON_TEXT_IS(key, "bytes") || JSON_TEXT_IS(key, "Bytes"))
			read_integer(scan, &event->bytes);
		else if (JSON_TEXT_IS(key, "dtype"))
			read_text(scan, &event->dtype);
		break;
	case 8:
		if (JSON_TEXT_IS(key, "Src Rank"))
			read_integer(scan, &event->source_rank);
		else if (JSON_TEXT_IS(key, "Dst Rank"))
			read_integer(scan, &event->destination_rank);
		break;
	case 9:
		if (JSON_TEXT_IS(key, "Device Id"))
			read_integer(scan, &event->device_id);
		break;
	case 10:
		if (JSON_TEXT_IS(key, "Input Dims"))
			read_array(scan, &event->input_dims, &event->n_inputs);
		else if (JSON_TEXT_IS(key, "Input type"))
			read_array(scan, &event->input_types, &n_types);
		break;
	case 11:
		if (JSON_TEXT_IS(key, "correlation"))
			read_integer(scan, &event->correlation);
		else if (JSON_TEXT_IS(key, "External id") || JSON_TEXT_IS(key, "external id"))
			read_integer(scan, &event->external_id);
		else if (JSON_TEXT_IS(key, "Device Type"))
			read_integer(scan, &event->device_type);
		break;
	case 13:
		if (JSON_TEXT_IS(key, "Fwd thread id"))
			read_integer(scan, &event->forward_thread);
		else if (JSON_TEXT_IS(key, "In msg nelems"))
			read_integer(scan, &event->n_in_elements);
		else if (JSON_TEXT_IS(key, "graph node id"))
			read_integer(scan, &event->graph_node);
		break;
	case 14:
		if (JSON_TEXT_IS(key, "Total Reserved"))
			read_integer(scan, &event->total_reserved);
		else if (JSON_TEXT_IS(key, "wait_on_stream"))
			read_integer(scan, &event->event_stream);
		break;
	case 15:
		if (JSON_TEXT_IS(key, "Sequence number"))
			read_integer(scan, &event->sequence);
		else if (JSON_TEXT_IS(key, "Collective name"))
			read_text(scan, &event->collective);
		else if (JSON_TEXT_IS(key, "Concrete Inputs"))
			read_array(scan, &event->concrete_inputs, &n_types);
		else if (JSON_TEXT_IS(key, "Total Allocated"))
			read_integer(scan, &event->total_allocated);
		break;
	case 18:
		if (JSON_TEXT_IS(key, "Process Group Name"))
			read_text(scan, &event->group_name);
		else if (JSON_TEXT_IS(key, "Record function id"))
			read_integer(scan, &event->record_function);
		break;
	case 19:
		if (JSON_TEXT_IS(key, "Process Group Ranks"))
			read_text(scan, &event->group_ranks);
		break;
	case 33:
		if (JSON_TEXT_IS(key, "wait_on_cuda_event_record_corr_id"))
			read_integer(scan, &event->event_record);
		break;
	default:
		break;
	}
}

static void read_args(struct json_scan *scan, struct kineto_event *event)
{
	struct json_text key;

	if (json_peek(scan) != '{') {
		json_skip(scan);
		return;
	}
	event->args_at = scan->at++;
	while (json_member(scan, &key)) {
		const gchar *value = scan->at;

		read_arg(scan, &key, event);
		if (scan->at == value && scan->status == JSON_OK) /* nobody wanted it */
			json_skip(scan);
	}
	event->args_end = scan->at;
}

/* --- events --------------------------------------------------------------------------------- */

static void read_phase(struct json_scan *scan, struct kineto_event *event)
{
	struct json_text text = { 0 };

	read_text(scan, &text);
	if (text.n == 1)
		event->phase = text.bytes[0];
}

static void read_event_member(struct json_scan *scan, const struct json_text *key,
			      struct kineto_event *event)
{
	if (JSON_TEXT_IS(key, "ph"))
		read_phase(scan, event);
	else if (JSON_TEXT_IS(key, "ts"))
		event->has_time |= read_time(scan, &event->time_ns, &event->has_fraction);
	else if (JSON_TEXT_IS(key, "cat"))
		read_text(scan, &event->category);
	else if (JSON_TEXT_IS(key, "pid"))
		read_id(scan, &event->pid);
	else if (JSON_TEXT_IS(key, "tid"))
		read_id(scan, &event->tid);
	else if (JSON_TEXT_IS(key, "dur"))
		event->has_duration |= read_time(scan, &event->duration_ns, &event->has_fraction);
	else if (JSON_TEXT_IS(key, "name"))
		read_text(scan, &event->name);
	else if (JSON_TEXT_IS(key, "args"))
		read_args(scan, event);
	else
		json_skip(scan);
}

gboolean kineto_event_read(struct json_scan *scan, struct kineto_event *event)
{
	struct json_text key;

	memset(event, 0, sizeof(*event));
	event->correlation = event->external_id = event->sequence = event->forward_thread = -1;
	event->record_function = -1;
	event->n_in_elements = event->event_record = event->event_stream = -1;
	event->source_rank = event->destination_rank = -1;
	event->bytes = G_MININT64;
	event->total_allocated = event->total_reserved = -1;
	event->device_id = event->device_type = -1;
	if (!json_take(scan, '{'))
		return FALSE;
	while (json_member(scan, &key))
		read_event_member(scan, &key, event);
	event->kind = event_kind(event);
	return scan->status == JSON_OK;
}
