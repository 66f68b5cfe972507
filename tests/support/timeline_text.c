#include "timeline_text.h"

#include <arpa/inet.h>
#include <string.h>
#include <tacho/correlate.h>

#include "base/for_each.h"

struct text_reader {
	TachoTimeline *timeline;
	guint line;
	gint64 unit_ns;
	guint32 process, track; /* opened last, or TACHO_NONE */
	GHashTable *queues;	/* thread track -> its ASYNC track */
	GHashTable *counters;	/* name id -> its COUNTER track */
	GHashTable *rows;	/* name id -> the last slice of that name, plus 1 */
	gchar **words;
	guint next; /* word */
};

static void fail(const struct text_reader *reader, const gchar *message, const gchar *word)
{
	g_error("timeline text, line %u: %s: '%s'", reader->line, message, word ? word : "");
}

static const gchar *take_word(struct text_reader *reader)
{
	const gchar *word = reader->words[reader->next];

	if (!word)
		fail(reader, "something is missing at the end", NULL);
	reader->next++;
	return word;
}

/* The value when the next word is KEY=VALUE with that key, and NULL otherwise. */
static const gchar *take_key(struct text_reader *reader, const gchar *key)
{
	const gchar *word = reader->words[reader->next];
	gsize length = strlen(key);

	if (!word || !g_str_has_prefix(word, key) || word[length] != '=')
		return NULL;
	reader->next++;
	return word + length + 1;
}

static gboolean take_flag(struct text_reader *reader, const gchar *flag)
{
	if (g_strcmp0(reader->words[reader->next], flag) != 0)
		return FALSE;
	reader->next++;
	return TRUE;
}

static guint64 parse_unsigned(const struct text_reader *reader, const gchar *word)
{
	gchar *end;
	guint64 value = g_ascii_strtoull(word, &end, 0);

	if (end == word || *end)
		fail(reader, "not a number", word);
	return value;
}

static gint64 parse_signed(const struct text_reader *reader, const gchar *word)
{
	gchar *end;
	gint64 value = g_ascii_strtoll(word, &end, 0);

	if (end == word || *end)
		fail(reader, "not a number", word);
	return value;
}

static gdouble parse_number(const struct text_reader *reader, const gchar *word)
{
	gchar *end;
	gdouble value = g_ascii_strtod(word, &end);

	if (end == word || *end)
		fail(reader, "not a number", word);
	return value;
}

/* A decimal number of units, exactly. */
static gint64 parse_time(const struct text_reader *reader, const gchar *word)
{
	const gchar *digit = word + (*word == '-');
	gint64 time_ns = 0, place_ns = reader->unit_ns;

	if (!g_ascii_isdigit(*digit))
		fail(reader, "not a time", word);
	for (; g_ascii_isdigit(*digit); digit++)
		time_ns = time_ns * 10 + (*digit - '0') * reader->unit_ns;
	if (*digit == '.')
		for (digit++; g_ascii_isdigit(*digit); digit++) {
			place_ns /= 10;
			time_ns += (*digit - '0') * place_ns;
		}
	if (*digit)
		fail(reader, "not a time", word);
	return *word == '-' ? -time_ns : time_ns;
}

/* --- processes and tracks ------------------------------------------------------------------- */

static TachoProcess *process_of(const struct text_reader *reader)
{
	if (reader->process == TACHO_NONE)
		fail(reader, "no rank was opened before", reader->words[0]);
	return &g_array_index(reader->timeline->processes, TachoProcess, reader->process);
}

static void read_end(const struct text_reader *reader, TachoProcess *process, const gchar *value)
{
	if (strcmp(value, "running") == 0)
		process->end = TACHO_END_RUNNING;
	else if (strcmp(value, "unknown") == 0)
		process->end = TACHO_END_UNKNOWN;
	else if (g_str_has_prefix(value, "exited:"))
		process->end = TACHO_END_EXITED;
	else if (g_str_has_prefix(value, "killed:"))
		process->end = TACHO_END_KILLED;
	else
		fail(reader, "not an end", value);
	if (strchr(value, ':'))
		process->exit_status = (gint32)parse_signed(reader, strchr(value, ':') + 1);
}

static gboolean read_process_key(struct text_reader *reader, TachoProcess *process)
{
	TachoTimeline *timeline = reader->timeline;
	const gchar *value;

	if ((value = take_key(reader, "host")))
		process->host = tacho_timeline_intern(timeline, value, -1);
	else if ((value = take_key(reader, "pid")))
		process->pid = (guint32)parse_unsigned(reader, value);
	else if ((value = take_key(reader, "ppid")))
		process->ppid = (guint32)parse_unsigned(reader, value);
	else if ((value = take_key(reader, "local")))
		process->local_rank = (gint32)parse_signed(reader, value);
	else if ((value = take_key(reader, "world")))
		process->world_size = (gint32)parse_signed(reader, value);
	else if ((value = take_key(reader, "job")))
		process->job = tacho_timeline_intern(timeline, value, -1);
	else if ((value = take_key(reader, "command")))
		process->command = tacho_timeline_intern(timeline, value, -1);
	else if ((value = take_key(reader, "end")))
		read_end(reader, process, value);
	else if ((value = take_key(reader, "dropped")))
		process->n_dropped = parse_unsigned(reader, value);
	else if ((value = take_key(reader, "cost_ns")))
		process->cost_ns = parse_unsigned(reader, value);
	else
		return FALSE;
	return TRUE;
}

static void add_process(struct text_reader *reader, TachoProcess process)
{
	while (read_process_key(reader, &process))
		;
	process.path = g_strdup_printf("text/%u", process.pid);
	reader->process = reader->timeline->processes->len;
	reader->track = TACHO_NONE;
	reader->timeline->n_dropped += process.n_dropped;
	g_array_append_val(reader->timeline->processes, process);
}

static void read_rank(struct text_reader *reader)
{
	TachoTimeline *timeline = reader->timeline;
	gint32 number = (gint32)parse_signed(reader, take_word(reader));
	TachoProcess process = { .rank = number,
				 .local_rank = number,
				 .world_size = -1,
				 .ppid = 1,
				 .is_main = TRUE,
				 .end = TACHO_END_EXITED };
	TachoRank rank = { .rank = number };

	process.pid = 1000 + (guint32)number;
	process.host = tacho_timeline_intern(timeline, "h0", -1);
	process.command = tacho_timeline_intern(timeline, "train", -1);
	process.rank_index = timeline->ranks->len;
	add_process(reader, process);
	rank.main_process = reader->process;
	rank.host = process_of(reader)->host;
	g_array_append_val(timeline->ranks, rank);
}

static void read_worker(struct text_reader *reader)
{
	TachoProcess process = *process_of(reader);

	process.ppid = process.pid;
	process.pid = (guint32)parse_unsigned(reader, take_word(reader));
	process.is_main = FALSE;
	process.end = TACHO_END_EXITED;
	process.exit_status = 0;
	process.n_dropped = process.cost_ns = 0;
	add_process(reader, process);
}

static guint32 add_track(struct text_reader *reader, TachoTrack track)
{
	process_of(reader); /* there is one */
	track.process = reader->process;
	reader->timeline->n_dropped += track.n_dropped;
	g_array_append_val(reader->timeline->tracks, track);
	return reader->timeline->tracks->len - 1;
}

static gboolean is_name(const gchar *word)
{
	return word && !strchr(word, '=') && strcmp(word, "thread") != 0 &&
	       strcmp(word, "stream") != 0 && strcmp(word, "process") != 0 &&
	       strcmp(word, "sampled") != 0;
}

static void read_thread(struct text_reader *reader, TachoTrackKind kind)
{
	TachoTrack track = { .kind = kind };
	const gchar *value;

	track.tid = (guint32)parse_unsigned(reader, take_word(reader));
	if (is_name(reader->words[reader->next]))
		track.name = tacho_timeline_intern(reader->timeline, take_word(reader), -1);
	for (;;) {
		if ((value = take_key(reader, "parent")))
			track.parent_tid = (guint32)parse_unsigned(reader, value);
		else if ((value = take_key(reader, "dropped")))
			track.n_dropped = parse_unsigned(reader, value);
		else if ((value = take_key(reader, "device")))
			track.device = (gint32)parse_signed(reader, value);
		else
			break;
	}
	process_of(reader)->n_dropped += track.n_dropped;
	reader->track = add_track(reader, track);
}

static void read_device(struct text_reader *reader)
{
	TachoDevice device = { .process = reader->process };

	process_of(reader); /* there is one */
	device.number = (gint32)parse_signed(reader, take_word(reader));
	device.name = tacho_timeline_intern(reader->timeline, take_word(reader), -1);
	g_array_append_val(reader->timeline->devices, device);
}

static guint32 track_of(const struct text_reader *reader)
{
	if (reader->track == TACHO_NONE)
		fail(reader, "no thread was opened before", reader->words[0]);
	return reader->track;
}

/* The ASYNC track of the open thread. */
static guint32 queue_of(struct text_reader *reader)
{
	guint32 thread = track_of(reader), queue;
	gpointer found;
	TachoTrack track = { .kind = TACHO_TRACK_ASYNC };

	if (g_hash_table_lookup_extended(reader->queues, GUINT_TO_POINTER(thread), NULL, &found))
		return GPOINTER_TO_UINT(found);
	track.tid = tacho_timeline_track(reader->timeline, thread)->tid;
	track.name = tacho_timeline_intern(reader->timeline, "collectives", -1);
	queue = add_track(reader, track);
	g_hash_table_insert(reader->queues, GUINT_TO_POINTER(thread), GUINT_TO_POINTER(queue));
	return queue;
}

/* The track of a counter of the open process. */
static guint32 counter_of(struct text_reader *reader, const gchar *name)
{
	guint32 id = tacho_timeline_intern(reader->timeline, name, -1);
	gpointer key = GSIZE_TO_POINTER((gsize)reader->process << 32 | id), found;
	TachoTrack track = { .kind = TACHO_TRACK_COUNTER, .name = id };
	guint32 counter;

	if (g_hash_table_lookup_extended(reader->counters, key, NULL, &found))
		return GPOINTER_TO_UINT(found);
	counter = add_track(reader, track);
	g_hash_table_insert(reader->counters, key, GUINT_TO_POINTER(counter));
	return counter;
}

/* --- slices --------------------------------------------------------------------------------- */

struct slice_args {
	GArray *inputs, *outputs; /* TachoTensor */
	TachoOpArgs op;
	TachoKernelArgs kernel;
	TachoCollectiveArgs collective;
	TachoMessageArgs message;
	guint64 id;
	guint32 launch, waits_for; /* rows, or TACHO_NONE */
	guint8 flags;
};

static guint8 dtype_bytes(const gchar *dtype)
{
	static const struct {
		const gchar *name;
		guint8 bytes;
	} sizes[] = { { "float32", 4 }, { "float64", 8 }, { "float16", 2 }, { "bfloat16", 2 },
		      { "int64", 8 },	{ "int32", 4 },	  { "int16", 2 },   { "int8", 1 },
		      { "uint8", 1 },	{ "bool", 1 } };

	for (guint i = 0; i < G_N_ELEMENTS(sizes); i++)
		if (strcmp(dtype, sizes[i].name) == 0)
			return sizes[i].bytes;
	return 0;
}

/* Dims separated by one of `separators`; returns how many. */
static guint32 parse_dims(const struct text_reader *reader, const gchar *text,
			  const gchar *separator, gint64 *dims)
{
	g_auto(GStrv) words = g_strsplit(text, separator, -1);
	guint32 n = g_strv_length(words);

	if (n > TACHO_MAX_DIMS)
		fail(reader, "too many dims", text);
	for (guint32 i = 0; i < n; i++)
		dims[i] = parse_signed(reader, words[i]);
	return n;
}

static void parse_tensor(const struct text_reader *reader, const gchar *value, GArray *tensors)
{
	g_autofree gchar *text = g_strdup(value);
	gchar *place = strchr(text, '@'), *dims = strchr(text, '[');
	TachoTensor tensor = { .device = "cpu", .argument = tensors->len };

	if (place) {
		gchar *offset = strchr(place, '+');

		*place = '\0';
		if (offset) {
			*offset = '\0';
			tensor.offset_bytes = parse_unsigned(reader, offset + 1);
		}
		tensor.storage = parse_unsigned(reader, place + 1);
	}
	if (dims) {
		if (!g_str_has_suffix(dims, "]"))
			fail(reader, "not a tensor", value);
		dims[strlen(dims) - 1] = '\0';
		*dims = '\0';
		tensor.n_dims = parse_dims(reader, dims + 1, ",", tensor.shape);
	}
	tensor.dtype = g_intern_string(text);
	tensor.dtype_bytes = dtype_bytes(text);
	g_array_append_val(tensors, tensor);
}

static gboolean read_op_key(struct text_reader *reader, struct slice_args *args)
{
	const gchar *value;

	if ((value = take_key(reader, "seq")))
		args->op.sequence = parse_signed(reader, value);
	else if ((value = take_key(reader, "fwd")))
		args->op.forward_thread = parse_unsigned(reader, value);
	else if ((value = take_key(reader, "out")))
		parse_tensor(reader, value, args->outputs);
	else if ((value = take_key(reader, "in")))
		parse_tensor(reader, value, args->inputs);
	else if (take_flag(reader, "backward"))
		args->flags |= TACHO_SLICE_BACKWARD;
	else
		return FALSE;
	return TRUE;
}

static gboolean read_kernel_key(struct text_reader *reader, struct slice_args *args)
{
	const gchar *value;

	if ((value = take_key(reader, "flops")))
		args->kernel.flops = parse_unsigned(reader, value);
	else if ((value = take_key(reader, "bytes")))
		args->kernel.bytes = parse_unsigned(reader, value);
	else if ((value = take_key(reader, "dtype")))
		args->kernel.dtype = g_intern_string(value);
	else if ((value = take_key(reader, "dims")))
		args->kernel.n_dims = parse_dims(reader, value, "x", args->kernel.dims);
	else if ((value = take_key(reader, "text")))
		args->kernel.text = value;
	else
		return FALSE;
	return TRUE;
}

/* Reads a key of a collective, or of an op that asks for a send or a receive. */
static gboolean read_asked_key(struct text_reader *reader, struct slice_args *args)
{
	const gchar *value;

	if ((value = take_key(reader, "bytes")))
		args->collective.bytes = parse_unsigned(reader, value);
	else if ((value = take_key(reader, "group")))
		args->collective.group = parse_unsigned(reader, value);
	else if ((value = take_key(reader, "peer")))
		args->collective.peer = (guint32)parse_unsigned(reader, value) + 1;
	else
		return FALSE;
	return TRUE;
}

static gboolean read_collective_key(struct text_reader *reader, struct slice_args *args)
{
	const gchar *value;

	if (read_asked_key(reader, args))
		return TRUE;
	if ((value = take_key(reader, "packing")))
		args->collective.packing = (guint8)parse_unsigned(reader, value);
	else if ((value = take_key(reader, "end_tid")))
		args->collective.end_tid = (guint32)parse_unsigned(reader, value);
	else if ((value = take_key(reader, "in")))
		parse_tensor(reader, value, args->inputs);
	else
		return FALSE;
	return TRUE;
}

static void parse_endpoint(const struct text_reader *reader, const gchar *value,
			   TachoEndpoint *endpoint)
{
	const gchar *colon = strrchr(value, ':');
	g_autofree gchar *address = colon ? g_strndup(value, (gsize)(colon - value)) : NULL;
	g_autofree gchar *mapped = NULL;

	if (!colon)
		fail(reader, "not an address and a port", value);
	endpoint->port = (guint16)parse_unsigned(reader, colon + 1);
	if (*address == '[' && g_str_has_suffix(address, "]"))
		mapped = g_strndup(address + 1, strlen(address) - 2);
	else
		mapped = g_strconcat("::ffff:", address, NULL);
	if (inet_pton(AF_INET6, mapped, endpoint->address) != 1)
		fail(reader, "not an address", value);
}

static gboolean read_message_key(struct text_reader *reader, struct slice_args *args)
{
	const gchar *value;

	if ((value = take_key(reader, "bytes")))
		args->message.bytes = parse_unsigned(reader, value);
	else if (take_flag(reader, "receive"))
		args->message.is_receive = TRUE;
	else if ((value = take_key(reader, "fd")))
		args->message.fd = (guint32)parse_unsigned(reader, value);
	else if ((value = take_key(reader, "local")))
		parse_endpoint(reader, value, &args->message.local);
	else if ((value = take_key(reader, "peer")))
		parse_endpoint(reader, value, &args->message.peer);
	else
		return FALSE;
	return TRUE;
}

static guint32 find_row(const struct text_reader *reader, const gchar *name)
{
	guint32 id = tacho_timeline_intern(reader->timeline, name, -1);
	gpointer row = g_hash_table_lookup(reader->rows, GUINT_TO_POINTER(id));

	if (!row)
		fail(reader, "no slice of that name above", name);
	return GPOINTER_TO_UINT(row) - 1;
}

static gboolean read_slice_key(struct text_reader *reader, TachoSliceKind kind,
			       struct slice_args *args)
{
	const gchar *value;

	if (take_flag(reader, "repaired")) {
		args->flags |= TACHO_SLICE_REPAIRED;
		return TRUE;
	}
	if ((value = take_key(reader, "launch"))) {
		args->launch = find_row(reader, value);
		return TRUE;
	}
	if ((value = take_key(reader, "waits_for"))) {
		args->waits_for = find_row(reader, value);
		return TRUE;
	}
	switch (kind) {
	case TACHO_SLICE_OP:
		if (take_flag(reader, "send"))
			args->collective.way = TACHO_WAY_SEND;
		else if (take_flag(reader, "recv"))
			args->collective.way = TACHO_WAY_RECEIVE;
		else if (args->collective.way)
			return read_asked_key(reader, args);
		else
			return read_op_key(reader, args);
		return TRUE;
	case TACHO_SLICE_KERNEL:
	case TACHO_SLICE_MEMCPY:
	case TACHO_SLICE_MEMSET:
		return read_kernel_key(reader, args);
	case TACHO_SLICE_COLLECTIVE:
		return read_collective_key(reader, args);
	case TACHO_SLICE_MESSAGE:
		return read_message_key(reader, args);
	default:
		value = take_key(reader, "id");
		if (value)
			args->id = parse_unsigned(reader, value);
		return value != NULL;
	}
}

static guint64 keep_args(struct text_reader *reader, TachoSliceKind kind, struct slice_args *args)
{
	switch (kind) {
	case TACHO_SLICE_OP:
		if (args->collective.way)
			return tacho_timeline_keep_collective(reader->timeline, &args->collective,
							      NULL);
		args->op.n_inputs = args->inputs->len;
		args->op.n_outputs = args->outputs->len;
		g_array_append_vals(args->inputs, args->outputs->data, args->outputs->len);
		return tacho_timeline_keep_op(reader->timeline, &args->op,
					      (const TachoTensor *)args->inputs->data);
	case TACHO_SLICE_KERNEL:
	case TACHO_SLICE_MEMCPY:
	case TACHO_SLICE_MEMSET:
		return tacho_timeline_keep_kernel(reader->timeline, &args->kernel);
	case TACHO_SLICE_COLLECTIVE:
		args->collective.n_inputs = args->inputs->len;
		return tacho_timeline_keep_collective(reader->timeline, &args->collective,
						      (const TachoTensor *)args->inputs->data);
	case TACHO_SLICE_MESSAGE:
		return tacho_timeline_keep_message(reader->timeline, &args->message);
	default:
		return args->id ? tacho_timeline_keep_id(reader->timeline, args->id) : 0;
	}
}

/* BEGIN..END, or BEGIN.. of a slice that is open. */
static void parse_interval(const struct text_reader *reader, const gchar *word, gint64 *begin_ns,
			   gint64 *duration_ns, guint8 *flags)
{
	const gchar *dots = strstr(word, "..");
	g_autofree gchar *begin = NULL;

	if (!dots)
		fail(reader, "not BEGIN..END", word);
	begin = g_strndup(word, (gsize)(dots - word));
	*begin_ns = parse_time(reader, begin);
	*duration_ns = 0;
	if (dots[2])
		*duration_ns = parse_time(reader, dots + 2) - *begin_ns;
	else
		*flags |= TACHO_SLICE_OPEN;
}

/* Returns the row. */
static guint32 read_slice(struct text_reader *reader, TachoSliceKind kind)
{
	g_autoptr(GArray) inputs = g_array_new(FALSE, TRUE, sizeof(TachoTensor));
	g_autoptr(GArray) outputs = g_array_new(FALSE, TRUE, sizeof(TachoTensor));
	struct slice_args args = {
		.inputs = inputs,
		.outputs = outputs,
		.op.sequence = -1,
		.launch = TACHO_NONE,
		.waits_for = TACHO_NONE,
	};
	guint32 name, track, row;
	gint64 begin_ns, duration_ns;

	args.kernel.dtype = "float32";
	name = tacho_timeline_intern(reader->timeline, take_word(reader), -1);
	parse_interval(reader, take_word(reader), &begin_ns, &duration_ns, &args.flags);
	while (read_slice_key(reader, kind, &args))
		;
	track = track_of(reader);
	if (kind == TACHO_SLICE_COLLECTIVE &&
	    tacho_timeline_track(reader->timeline, track)->kind != TACHO_TRACK_STREAM)
		track = queue_of(reader);
	row = tacho_timeline_add_slice(reader->timeline, kind, track, name, begin_ns, duration_ns,
				       args.flags, keep_args(reader, kind, &args));
	if (args.launch != TACHO_NONE)
		tacho_timeline_set_launch(reader->timeline, row, args.launch);
	if (args.waits_for != TACHO_NONE) {
		TachoFlow flow = { args.waits_for, row, TACHO_FLOW_EVENT_WAIT, 1 };

		g_array_append_val(reader->timeline->flows, flow);
	}
	g_hash_table_insert(reader->rows, GUINT_TO_POINTER(name), GUINT_TO_POINTER(row + 1));
	return row;
}

static TachoHopWay take_way(struct text_reader *reader)
{
	static const gchar *const ways[] = { "ring", "tree", "server" };
	const gchar *word = take_word(reader);

	for (guint i = 0; i < G_N_ELEMENTS(ways); i++)
		if (strcmp(word, ways[i]) == 0)
			return (TachoHopWay)i;
	fail(reader, "not a way of hops", word);
	return TACHO_HOP_RING;
}

static gboolean read_hop_key(struct text_reader *reader, TachoHop *hop)
{
	const gchar *value;

	if ((value = take_key(reader, "peer")))
		hop->peer = (gint32)parse_signed(reader, value);
	else if ((value = take_key(reader, "step")))
		hop->step = (guint32)parse_unsigned(reader, value);
	else if ((value = take_key(reader, "channel")))
		hop->channel = (guint32)parse_unsigned(reader, value);
	else if ((value = take_key(reader, "loop")))
		hop->loop = (guint32)parse_unsigned(reader, value);
	else if ((value = take_key(reader, "part")))
		hop->part = (guint32)parse_unsigned(reader, value);
	else if ((value = take_key(reader, "fed_by")))
		hop->fed_by = (gint32)parse_signed(reader, value);
	else if ((value = take_key(reader, "fed_step")))
		hop->fed_step = (guint32)parse_unsigned(reader, value);
	else if ((value = take_key(reader, "bytes")))
		hop->bytes = parse_unsigned(reader, value);
	else if (take_flag(reader, "receive"))
		hop->is_receive = TRUE;
	else
		return FALSE;
	return TRUE;
}

static void read_hop(struct text_reader *reader)
{
	TachoHop hop = { .slice = TACHO_NONE, .peer = -1, .fed_by = -1 };

	const gchar *collective;

	hop.way = take_way(reader);
	collective = take_word(reader);
	hop.collective = strcmp(collective, "-") == 0 ? TACHO_NONE : find_row(reader, collective);
	while (read_hop_key(reader, &hop))
		;
	if (take_flag(reader, "event"))
		hop.slice = read_slice(reader, TACHO_SLICE_EVENT);
	g_array_append_val(reader->timeline->hops, hop);
}

/* Open slices last as long as there is any sign of their process. */
static void end_open_slices(TachoTimeline *timeline)
{
	TachoSlices *slices = &timeline->slices;
	g_autofree gint64 *end_ns = g_new0(gint64, timeline->processes->len);

#define SEE(track_, time_ns)                                                                       \
	do {                                                                                       \
		gint64 *end = &end_ns[tacho_timeline_track(timeline, track_)->process];            \
		*end = MAX(*end, time_ns);                                                         \
	} while (0)
	for (guint32 row = 0; row < slices->n; row++)
		SEE(slices->track[row], tacho_slice_end_ns(timeline, row));
	for (guint i = 0; i < timeline->memory->len; i++) {
		const TachoMemoryEvent *event =
			&g_array_index(timeline->memory, TachoMemoryEvent, i);
		SEE(event->track, event->time_ns);
	}
	for (guint i = 0; i < timeline->marks->len; i++) {
		const TachoMark *mark = &g_array_index(timeline->marks, TachoMark, i);
		SEE(mark->track, mark->time_ns);
	}
#undef SEE
	for (guint32 row = 0; row < slices->n; row++)
		if (slices->flags[row] & TACHO_SLICE_OPEN)
			slices->duration_ns[row] =
				end_ns[tacho_timeline_track(timeline, slices->track[row])
					       ->process] -
				slices->start_ns[row];
}

/* --- moments -------------------------------------------------------------------------------- */

static void read_memory(struct text_reader *reader, gint sign)
{
	TachoMemoryEvent event = { .track = track_of(reader), .slice = TACHO_NONE };
	const gchar *value;

	event.time_ns = parse_time(reader, take_word(reader));
	for (;;) {
		if ((value = take_key(reader, "address")))
			event.address = parse_unsigned(reader, value);
		else if ((value = take_key(reader, "bytes")))
			event.bytes = sign * parse_signed(reader, value);
		else if ((value = take_key(reader, "device")))
			event.device = (guint32)parse_unsigned(reader, value) + 1;
		else if (take_flag(reader, "driver"))
			event.layer = TACHO_MEMORY_OF_DRIVER;
		else
			break;
	}
	g_array_append_val(reader->timeline->memory, event);
}

static void read_mark(struct text_reader *reader)
{
	TachoMark mark = { .track = track_of(reader) };
	const gchar *value;

	mark.name = tacho_timeline_intern(reader->timeline, take_word(reader), -1);
	mark.time_ns = parse_time(reader, take_word(reader));
	for (;;) {
		if ((value = take_key(reader, "first")))
			mark.first = parse_signed(reader, value);
		else if ((value = take_key(reader, "second")))
			mark.second = parse_signed(reader, value);
		else if ((value = take_key(reader, "text")))
			mark.text = tacho_timeline_intern(reader->timeline, value, -1);
		else
			break;
	}
	g_array_append_val(reader->timeline->marks, mark);
}

static void read_sample(struct text_reader *reader)
{
	TachoSample sample = { 0 };

	process_of(reader); /* there is one */
	sample.track = counter_of(reader, take_word(reader));
	sample.time_ns = parse_time(reader, take_word(reader));
	sample.value = parse_number(reader, take_word(reader));
	g_array_append_val(reader->timeline->samples, sample);
}

static void read_problem(struct text_reader *reader)
{
	TachoProblemKind kind = tacho_problem_of_name(take_word(reader));
	guint64 count = parse_unsigned(reader, take_word(reader));

	tacho_timeline_add_problem(reader->timeline, kind, count, "%s", take_word(reader));
}

/* --- lines ---------------------------------------------------------------------------------- */

static void read_unit(struct text_reader *reader)
{
	const gchar *unit = take_word(reader);

	if (strcmp(unit, "ns") == 0)
		reader->unit_ns = 1;
	else if (strcmp(unit, "us") == 0)
		reader->unit_ns = 1000;
	else if (strcmp(unit, "ms") == 0)
		reader->unit_ns = 1000000;
	else
		fail(reader, "not a unit", unit);
}

static gboolean read_slice_line(struct text_reader *reader, const gchar *verb)
{
	for (TachoSliceKind kind = 0; kind < TACHO_N_SLICE_KINDS; kind++)
		if (strcmp(verb, tacho_slice_kind_name(kind)) == 0) {
			read_slice(reader, kind);
			return TRUE;
		}
	return FALSE;
}

static void read_part(struct text_reader *reader)
{
	const gchar *verb = take_word(reader);

	if (strcmp(verb, "rank") == 0)
		read_rank(reader);
	else if (strcmp(verb, "process") == 0)
		read_worker(reader);
	else if (strcmp(verb, "thread") == 0)
		read_thread(reader, TACHO_TRACK_THREAD);
	else if (strcmp(verb, "stream") == 0)
		read_thread(reader, TACHO_TRACK_STREAM);
	else if (strcmp(verb, "sampled") == 0)
		read_thread(reader, TACHO_TRACK_SAMPLED);
	else if (strcmp(verb, "device") == 0)
		read_device(reader);
	else if (strcmp(verb, "alloc") == 0)
		read_memory(reader, 1);
	else if (strcmp(verb, "free") == 0)
		read_memory(reader, -1);
	else if (strcmp(verb, "mark") == 0)
		read_mark(reader);
	else if (strcmp(verb, "sample") == 0)
		read_sample(reader);
	else if (strcmp(verb, "hop") == 0)
		read_hop(reader);
	else if (strcmp(verb, "problem") == 0)
		read_problem(reader);
	else if (strcmp(verb, "unit") == 0)
		read_unit(reader);
	else if (strcmp(verb, "origin") == 0)
		reader->timeline->origin_unix_ns = parse_signed(reader, take_word(reader));
	else if (strcmp(verb, "world") == 0)
		reader->timeline->expected_ranks = (gint32)parse_signed(reader, take_word(reader));
	else if (!read_slice_line(reader, verb))
		fail(reader, "not a kind of line", verb);
}

static void read_line(struct text_reader *reader, const gchar *line)
{
	g_autoptr(GError) error = NULL;
	g_auto(GStrv) words = NULL;

	if (!g_shell_parse_argv(line, NULL, &words, &error)) {
		if (!g_error_matches(error, G_SHELL_ERROR, G_SHELL_ERROR_EMPTY_STRING))
			fail(reader, error->message, line);
		return;
	}
	reader->words = words;
	reader->next = 0;
	while (words[reader->next])
		read_part(reader);
	reader->words = NULL;
}

/* Where TACHO_KEEP_TIMELINES names a folder: a file there for each text, for tests/data/timelines. */
static void keep_text(const gchar *text)
{
	const gchar *folder = g_getenv("TACHO_KEEP_TIMELINES");
	g_autofree gchar *name = NULL, *path = NULL;

	if (!folder)
		return;
	name = g_strdup_printf("%08x.txt", g_str_hash(text));
	path = g_build_filename(folder, name, NULL);
	g_file_set_contents(path, text, -1, NULL);
}

TachoTimeline *timeline_from_text(const gchar *text)
{
	g_autoptr(GHashTable) queues = g_hash_table_new(NULL, NULL);
	g_autoptr(GHashTable) counters = g_hash_table_new(NULL, NULL);
	g_autoptr(GHashTable) rows = g_hash_table_new(NULL, NULL);
	struct text_reader reader = { .timeline = tacho_timeline_new(), .unit_ns = 1000000 };

	keep_text(text);
	reader.process = reader.track = TACHO_NONE;
	reader.queues = queues;
	reader.counters = counters;
	reader.rows = rows;
	/* Not g_strsplit(): below the sanitizers its strstr() measures all that is left for each line. */
	for (const gchar *line = text, *end; line; line = end ? end + 1 : NULL) {
		g_autofree gchar *one = NULL;

		end = strchr(line, '\n');
		one = end ? g_strndup(line, (gsize)(end - line)) : g_strdup(line);
		reader.line++;
		read_line(&reader, one);
	}
	end_open_slices(reader.timeline);
	g_free(tacho_timeline_finish(reader.timeline));
	return reader.timeline;
}

guint32 timeline_find(const TachoTimeline *timeline, const gchar *name, guint nth)
{
	guint n_seen = 0;

	for (guint32 row = 0; row < timeline->slices.n; row++)
		if (strcmp(tacho_slice_name(timeline, row), name) == 0 && n_seen++ == nth)
			return row;
	g_error("no slice '%s' number %u", name, nth);
	return TACHO_NONE;
}

TachoTimeline *correlated(const gchar *text)
{
	TachoTimeline *timeline = timeline_from_text(text);

	tacho_correlate(timeline);
	return timeline;
}

void timeline_assert_slice(const TachoTimeline *timeline, const gchar *name, guint nth,
			   const gchar *kind, gint64 start_ns, gint64 duration_ns)
{
	guint32 slice = timeline_find(timeline, name, nth);

	g_assert_cmpstr(tacho_slice_kind_name(timeline->slices.kind[slice]), ==, kind);
	g_assert_cmpint(timeline->slices.start_ns[slice], ==, start_ns);
	g_assert_cmpint(timeline->slices.duration_ns[slice], ==, duration_ns);
}

const TachoMark *timeline_find_mark(const TachoTimeline *timeline, const gchar *name)
{
	FOR_EACH(const TachoMark, mark, timeline->marks)
		if (strcmp(tacho_timeline_string(timeline, mark->name), name) == 0)
			return mark;
	g_error("no mark %s", name);
	return NULL;
}

guint64 timeline_count_problems(const TachoTimeline *timeline, TachoProblemKind kind)
{
	guint64 count = 0;

	FOR_EACH(const TachoProblem, problem, timeline->problems)
		if (problem->kind == kind)
			count += problem->count;
	return count;
}
