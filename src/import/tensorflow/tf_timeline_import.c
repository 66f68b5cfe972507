/* tf_timeline_import: Chrome traces that TensorFlow made of its StepStats (timeline.Timeline, "timeline.json").
 *
 * (1) A "pid" is a device: its name, less " Compute", says which; what StepStats have become is what they become
 *     here (tf_tracks.h), too. A lane ("tid") is nothing that ran: lanes are made anew.
 * (2) An event is a run of the node that its args name; its name is the type.
 * (3) All files are one run, a step each, in the order of time.
 * (4) A tensor is an object from when its node began ('N') to its last use ('D'), with a description as text ('O'):
 *     memory handed out and given back. What is never used again is given back at its end. */
#include <string.h>

#include "base/for_each.h"
#include "import/chrome/chrome_events.h"
#include "import/import_format.h"
#include "import/sniff_evidence.h"
#include "import/tensorflow/tf_ops.h"
#include "import/tensorflow/tf_tracks.h"

enum {
	MAX_INPUTS = 4096,
	MAX_NODES = 1 << 22,
};

/* A run, until all names of devices are known. */
struct pending {
	gint64 pid, start_ns, duration_ns;
	guint32 run, name;
};

struct tensor {
	guint32 name;
	gint64 begin_ns, end_ns;
	guint64 address;
	gint64 bytes; /* TF_NOT_TOLD: none were described */
	guint32 memory_device;
};

struct timeline_reading {
	struct import *import;
	struct tf_ops *ops;
	struct tf_tracks *tracks;
	/* The file that is being read: */
	guint32 file;
	GHashTable *devices; /* gint64 pid -> name's string */
	GArray *pending;     /* struct pending */
	GArray *tensors;     /* struct tensor */
	guint64 n_unknown;
};

/* --- events --------------------------------------------------------------------------------- */

static void read_inputs(struct timeline_reading *reading, const struct chrome_event *event,
			guint32 node)
{
	TachoTimeline *timeline = reading->import->timeline;
	struct tf_ops *ops = reading->ops;
	struct tf_rows inputs = { .first = ops->inputs->len };
	guint32 text;

	if (tf_ops_node(ops, node)->inputs.n)
		return;
	for (guint i = 0; i < MAX_INPUTS; i++) {
		g_autofree gchar *key = g_strdup_printf("input%u", i);
		const gchar *name;
		struct tf_input input;

		if (!chrome_event_arg_text(event, key, timeline, &text))
			break;
		name = tacho_timeline_string(timeline, text);
		if (*name == '^') /* no data comes this way */
			continue;
		input = tf_ops_input(ops, name, strlen(name));
		g_array_append_val(ops->inputs, input);
		inputs.n++;
	}
	tf_ops_node(ops, node)->inputs = inputs;
}

static void read_run(struct timeline_reading *reading, const struct chrome_event *event)
{
	TachoTimeline *timeline = reading->import->timeline;
	struct tf_run run = { .file = reading->file,
			      .place = event->args_offset,
			      .allocated_bytes = TF_NOT_TOLD,
			      .peak_bytes = TF_NOT_TOLD,
			      .residual_bytes = TF_NOT_TOLD,
			      .output_bytes = TF_NOT_TOLD };
	struct pending pending = { .pid = event->pid,
				   .start_ns = event->time_ns,
				   .duration_ns = MAX(event->duration_ns, 0),
				   .run = reading->ops->runs->len };
	guint32 name = event->name, type = event->name;
	const gchar *text;

	if (reading->ops->nodes->len >= MAX_NODES) {
		reading->n_unknown++;
		return;
	}
	chrome_event_arg_text(event, "name", timeline, &name);
	chrome_event_arg_text(event, "op", timeline, &type);
	text = tacho_timeline_string(timeline, name);
	run.node = tf_ops_input(reading->ops, text, strlen(text)).node;
	if (!tf_ops_node(reading->ops, run.node)->type)
		tf_ops_node(reading->ops, run.node)->type = type;
	read_inputs(reading, event, run.node);
	pending.name = event->name;
	g_array_append_val(reading->ops->runs, run);
	g_array_append_val(reading->pending, pending);
}

/* "/job:localhost/replica:0/task:0/cpu:0 Compute" */
static void read_name(struct timeline_reading *reading, const struct chrome_event *event)
{
	static const gchar compute[] = " Compute";
	TachoTimeline *timeline = reading->import->timeline;
	const gchar *name;
	guint32 text;
	gint64 pid = event->pid;

	if (strcmp(tacho_timeline_string(timeline, event->name), "process_name") != 0 ||
	    !chrome_event_arg_text(event, "name", timeline, &text))
		return;
	name = tacho_timeline_string(timeline, text);
	if (!g_str_has_suffix(name, compute))
		return;
	text = tacho_timeline_intern(timeline, name, (gssize)(strlen(name) - strlen(compute)));
	g_hash_table_replace(reading->devices, g_memdup2(&pid, sizeof(pid)),
			     GUINT_TO_POINTER(text));
}

/* --- tensors -------------------------------------------------------------------------------- */

/* The number behind `word` in the text of the event; 0: there is none. */
static guint64 number_behind(const struct chrome_event *event, const gchar *word)
{
	const gchar *found = memmem(event->at, (gsize)(event->end - event->at), word, strlen(word));
	guint64 number = 0;

	if (!found)
		return 0;
	for (found += strlen(word); found < event->end && *found == ' '; found++)
		;
	for (; found < event->end && g_ascii_isdigit(*found); found++)
		number = number * 10 + (guint64)(*found - '0');
	return number;
}

/* The memory of the host, 0, or of a device, its number plus 1. */
static guint32 memory_device(const struct chrome_event *event)
{
	static const gchar word[] = "allocator_name: ";
	const gchar *found = memmem(event->at, (gsize)(event->end - event->at), word, strlen(word));
	g_autofree gchar *name = NULL;

	if (!found)
		return 0;
	found += strlen(word);
	name = g_ascii_strdown(found, MIN((gssize)(event->end - found), 32));
	if (!strstr(name, "gpu") && !g_str_has_prefix(name, "device"))
		return 0;
	name[strcspn(name, "\\\"")] = '\0';
	for (const gchar *at = name; *at; at++)
		if (g_ascii_isdigit(*at))
			return (guint32)MIN(g_ascii_strtoull(at, NULL, 10), 1 << 20) + 1;
	return 1;
}

static void read_tensor(struct timeline_reading *reading, struct chrome_event *event)
{
	struct tensor tensor = { .name = event->name,
				 .begin_ns = event->time_ns,
				 .end_ns = G_MAXINT64,
				 .bytes = TF_NOT_TOLD };
	struct tensor *known =
		event->mate < reading->tensors->len
			? &g_array_index(reading->tensors, struct tensor, event->mate)
			: NULL;

	if (event->phase == 'N') {
		event->mate = reading->tensors->len;
		g_array_append_val(reading->tensors, tensor);
	} else if (known && event->phase == 'D') {
		known->end_ns = event->is_unended ? G_MAXINT64 : event->time_ns;
	} else if (known) {
		known->address = number_behind(event, "ptr:");
		known->bytes = (gint64)MIN(MAX(number_behind(event, "requested_bytes:"),
					       number_behind(event, "allocated_bytes:")),
					   (guint64)G_MAXINT64);
		known->memory_device = memory_device(event);
	}
}

static void read_counter(struct timeline_reading *reading, const struct chrome_event *event)
{
	const gchar *allocator = tacho_timeline_string(reading->import->timeline, event->name);
	gint64 bytes;

	if (chrome_event_arg_integer(event, allocator, &bytes))
		tf_tracks_add_sample(reading->tracks, tf_tracks_device(reading->tracks, ""),
				     event->name, event->time_ns, bytes);
}

static void read_event(struct chrome_event *event, gpointer data)
{
	struct timeline_reading *reading = data;

	switch (event->phase) {
	case 'M':
		read_name(reading, event);
		break;
	case 'X':
		read_run(reading, event);
		break;
	case 'C':
		read_counter(reading, event);
		break;
	case 'N':
	case 'O':
	case 'D':
		read_tensor(reading, event);
		break;
	case 's': /* arrows from output to input, which the inputs tell */
	case 't':
	case 'f':
		break;
	default:
		reading->n_unknown++;
	}
}

/* --- a file --------------------------------------------------------------------------------- */

static void add_runs(struct timeline_reading *reading, gint64 step)
{
	TachoTimeline *timeline = reading->import->timeline;
	gint64 first_ns = G_MAXINT64, last_ns = G_MININT64;

	FOR_EACH(const struct pending, pending, reading->pending) {
		guint32 name =
			GPOINTER_TO_UINT(g_hash_table_lookup(reading->devices, &pending->pid));
		guint32 device =
			tf_tracks_device(reading->tracks, tacho_timeline_string(timeline, name));
		struct tf_run *run = tf_ops_run(reading->ops, pending->run);
		gint64 end_ns;

		run->is_device = tf_tracks_is_accelerator(reading->tracks, device);
		tf_tracks_add(reading->tracks, device, 0, pending->run,
			      run->is_device ? pending->name
					     : tf_ops_node(reading->ops, run->node)->name,
			      pending->start_ns, pending->duration_ns);
		if (__builtin_add_overflow(pending->start_ns, pending->duration_ns, &end_ns))
			continue;
		first_ns = MIN(first_ns, pending->start_ns);
		last_ns = MAX(last_ns, end_ns);
	}
	if (first_ns < last_ns)
		tf_tracks_add_step(reading->tracks, step, first_ns, last_ns);
}

/* The run of a node on an executor, of this file; TACHO_NONE: it has none. */
static GHashTable *index_runs(struct timeline_reading *reading)
{
	GHashTable *runs = g_hash_table_new(NULL, NULL); /* node's name -> run + 1 */

	for (guint i = 0; i < reading->pending->len; i++) {
		guint32 row = g_array_index(reading->pending, struct pending, i).run;
		const struct tf_run *run = tf_ops_run(reading->ops, row);

		if (!run->is_device)
			g_hash_table_insert(
				runs, GUINT_TO_POINTER(tf_ops_node(reading->ops, run->node)->name),
				GUINT_TO_POINTER(row + 1));
	}
	return runs;
}

static void add_tensors(struct timeline_reading *reading)
{
	g_autoptr(GHashTable) runs = index_runs(reading);

	FOR_EACH(const struct tensor, tensor, reading->tensors) {
		guint32 run = GPOINTER_TO_UINT(
				      g_hash_table_lookup(runs, GUINT_TO_POINTER(tensor->name))) -
			      1;

		if (run == TACHO_NONE || tensor->bytes <= 0)
			continue;
		tf_tracks_add_memory(reading->tracks, run, tensor->begin_ns, tensor->address,
				     tensor->bytes, tensor->memory_device);
		if (tensor->end_ns != G_MAXINT64)
			tf_tracks_add_memory(reading->tracks, run, tensor->end_ns, tensor->address,
					     -tensor->bytes, tensor->memory_device);
	}
}

static gboolean read_file(struct import *import, const gchar *path, gpointer data, GError **error)
{
	struct timeline_reading *reading = data;
	TachoTimeline *timeline = import->timeline;
	struct chrome_file file = { 0 };
	gboolean is_read;

	reading->file = tf_ops_add_file(reading->ops, path);
	reading->devices = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
	reading->pending = g_array_new(FALSE, FALSE, sizeof(struct pending));
	reading->tensors = g_array_new(FALSE, FALSE, sizeof(struct tensor));
	reading->n_unknown = 0;
	is_read = chrome_events_read(&file, path, import, read_event, reading, error);
	if (is_read) {
		add_runs(reading, import->n_done); /* a file a step */
		add_tensors(reading);
		chrome_file_report(&file, timeline);
		if (reading->n_unknown)
			tacho_timeline_add_problem(timeline, TACHO_PROBLEM_UNKNOWN_RECORD,
						   reading->n_unknown,
						   "%s: events of an unknown phase", path);
	}
	chrome_file_release(&file);
	g_hash_table_unref(reading->devices);
	g_array_unref(reading->pending);
	g_array_unref(reading->tensors);
	return is_read;
}

static gboolean place(struct timeline_reading *reading, const gchar *path, GError **error)
{
	TachoTimeline *timeline = reading->import->timeline;
	guint32 foreign;

	tf_ops_place_gradients(reading->ops);
	tf_ops_find_outputs(reading->ops);
	tf_tracks_number_steps(reading->tracks);
	timeline->resolution_ns = MAX(timeline->resolution_ns, 1000);
	foreign = tacho_source_take_foreign(timeline->source, &reading->ops->reader);
	if (foreign == SOURCE_MAX_FOREIGN || tf_tracks_place(reading->tracks, foreign, path))
		return TRUE;
	g_set_error_literal(error, TACHO_IMPORT_ERROR, TACHO_IMPORT_ERROR_MEMORY,
			    "there is not enough memory for the timeline's events");
	return FALSE;
}

static gboolean read_tf_timeline(struct import *import, const gchar *const *paths, guint n_paths,
				 GError **error)
{
	struct timeline_reading reading = { .import = import };
	gboolean is_read;

	reading.ops = tf_ops_new(import->timeline, NULL);
	reading.tracks = tf_tracks_new(import, reading.ops);
	is_read = import_each_path(import, paths, n_paths, read_file, &reading, error);
	if (is_read && reading.ops->runs->len)
		is_read = place(&reading, paths[0], error);
	else
		reading.ops->reader.free(&reading.ops->reader);
	tf_tracks_free(reading.tracks);
	return is_read;
}

/* Names of processes that are devices, as only TensorFlow has them. */
static gboolean sniff_tf_timeline(const struct sniff_input *input)
{
	return json_head_has(input, "traceEvents", 1, "[") &&
	       strstr(input->head, "\"Allocators\"") && strstr(input->head, " Compute\"") &&
	       strstr(input->head, " Tensors\"");
}

const struct import_format import_tf_timeline = {
	.name = "tf_timeline",
	.title = "TensorFlow's timelines of a step (timeline.Timeline)",
	.files = "timeline*.json, *.ctf.json",
	.sniff = sniff_tf_timeline,
	.read = read_tf_timeline,
};
