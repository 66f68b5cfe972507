/* In a Horovod timeline a tensor is a "process"; what Horovod does with it stands nested on the one thread of that
 * process (docs/formats.md, horovod):
 *
 *     NEGOTIATE_ALLREDUCE |-0-----1--|          until all ranks (ticks) are ready
 *     ALLREDUCE                      |-----------------------------------|
 *     QUEUE, MEMCPY_IN_...           |-----|-----|
 *     NCCL_ALLREDUCE                             |------------------|
 *
 * (1) All tensors are of one process; each is a track of its own.
 * (2) The outermost slice that is called as a collective is one, on a track beside: it may overlap others. What
 *     queued it is the slice of the tensor before it. */
#include "import/horovod_dialect.h"

#include <stdlib.h>
#include <string.h>

#include "import/byteprofile_hops.h"
#include "import/byteprofile_tensors.h"
#include "import/element_type.h"

/* A rank's tick in a negotiation. */
struct tick {
	gint64 time_ns;
	gint64 rank;
	guint32 thread;
};

/* What the end of a collective says of its tensor. */
struct tensor {
	guint32 row;
	TachoTensor tensor;
};

struct horovod {
	GArray *ticks;	 /* struct tick */
	GArray *tensors; /* struct tensor, by the end of their collective */
	gint64 epoch_us; /* what times are since; 0: not told */
	gint64 n_ranks;	 /* as ticks say */
};

static void begin(struct chrome_trace *trace)
{
	struct horovod *horovod = g_new0(struct horovod, 1);

	horovod->ticks = g_array_new(FALSE, FALSE, sizeof(struct tick));
	horovod->tensors = g_array_new(FALSE, FALSE, sizeof(struct tensor));
	trace->data = horovod;
}

static void end(struct chrome_trace *trace)
{
	struct horovod *horovod = trace->data;

	g_array_unref(horovod->ticks);
	g_array_unref(horovod->tensors);
	g_free(horovod);
}

/* --- events --------------------------------------------------------------------------------- */

static gboolean is_number(const gchar *text)
{
	gsize n = strspn(text, "0123456789");

	return n > 0 && n < 8 && text[n] == '\0';
}

/* "[32, 10]" */
static void read_shape(const gchar *text, TachoTensor *tensor)
{
	while (*text && tensor->n_dims < TACHO_MAX_DIMS) {
		gchar *after;
		gint64 size = g_ascii_strtoll(text, &after, 10);

		if (after == text) {
			text++;
			continue;
		}
		tensor->shape[tensor->n_dims++] = size;
		text = after;
	}
}

static void note_tensor(struct chrome_trace *trace, const struct chrome_event *event)
{
	struct horovod *horovod = trace->data;
	struct tensor tensor = { .row = event->mate };
	guint32 dtype, shape;

	if (!chrome_event_arg_text(event, "dtype", trace->timeline, &dtype) ||
	    !chrome_event_arg_text(event, "shape", trace->timeline, &shape))
		return;
	tensor.tensor.device = "";
	tensor.tensor.dtype = element_type_name(tacho_timeline_string(trace->timeline, dtype), -1,
						&tensor.tensor.dtype_bytes);
	read_shape(tacho_timeline_string(trace->timeline, shape), &tensor.tensor);
	g_array_append_val(horovod->tensors, tensor);
}

static gboolean take(struct chrome_trace *trace, struct chrome_event *event)
{
	struct horovod *horovod = trace->data;
	const gchar *name = tacho_timeline_string(trace->timeline, event->name);
	gint64 epoch_us;

	if (event->phase == 'M' &&
	    chrome_event_arg_integer(event, "start_time_since_epoch_in_micros", &epoch_us) &&
	    epoch_us > 0 && epoch_us < TACHO_MAX_TIME_NS / 1000) {
		horovod->epoch_us = epoch_us;
		return TRUE;
	}
	if (event->phase == 'X' && event->has_time && is_number(name)) {
		struct tick tick = { .time_ns = event->time_ns,
				     .rank = g_ascii_strtoll(name, NULL, 10),
				     .thread = chrome_trace_find_thread(trace, event->pid,
									event->tid) };

		horovod->n_ranks = MAX(horovod->n_ranks, tick.rank + 1);
		g_array_append_val(horovod->ticks, tick);
		return TRUE;
	}
	if (event->phase == 'E' && event->args_at)
		note_tensor(trace, event);
	return FALSE;
}

/* --- slices --------------------------------------------------------------------------------- */

static void settle(struct chrome_trace *trace)
{
	const struct horovod_context *context = trace->context;
	const struct horovod *horovod = trace->data;

	trace->base_ns = horovod->epoch_us * 1000;
	if (context) {
		trace->rank = context->rank;
		trace->only_process = context->process;
		return;
	}
	if (horovod->n_ranks > 0 && trace->rank < 0)
		trace->rank = 0; /* the coordinator writes it */
	trace->only_process = import_add_process(
		trace->import,
		&(TachoProcess){ .host = trace->host,
				 .command = tacho_timeline_intern(trace->timeline, "horovod", -1),
				 .rank = trace->rank,
				 .local_rank = -1,
				 .world_size = horovod->n_ranks > 0 ? (gint32)horovod->n_ranks : -1,
				 .end = TACHO_END_UNKNOWN,
				 .path = (gchar *)trace->file.path },
		trace->number);
}

static void judge(struct chrome_trace *trace, const struct chrome_row *row,
		  struct chrome_verdict *verdict)
{
	static const gchar *const waits[] = { "NEGOTIATE_", "QUEUE", "WAIT_FOR_", "SCHEDULE" };
	const gchar *name = tacho_timeline_string(trace->timeline, row->name);

	for (guint i = 0; i < G_N_ELEMENTS(waits); i++)
		if (g_str_has_prefix(name, waits[i]))
			verdict->kind = TACHO_SLICE_WAIT;
	/* of its cycle, not of a tensor */
	if (strcmp(chrome_trace_process_name(trace, row->thread), "Sync") == 0)
		verdict->kind = TACHO_SLICE_WAIT;
}

/* --- collectives ---------------------------------------------------------------------------- */

/* What collective a slice's name says it is, in lower case; NULL: none. */
static const gchar *collective_name(const gchar *name)
{
	static const struct {
		const gchar *horovod, *ours;
	} names[] = {
		{ "ALLREDUCE", "allreduce" },
		{ "ADASUM", "allreduce" },
		{ "ALLGATHER", "allgather" },
		{ "BROADCAST", "broadcast" },
		{ "BCAST", "broadcast" },
		{ "ALLTOALL", "alltoall" },
		{ "REDUCESCATTER", "reducescatter" },
		{ "BARRIER", "barrier" },
		{ "ALLGATHERV", "allgather" },
		{ "ALLTOALLV", "alltoall" },
	};
	const gchar *library = strchr(name, '_');

	if (library && !g_str_has_prefix(name, "NEGOTIATE_") && strlen(name) < 32)
		name = library + 1;
	for (guint i = 0; i < G_N_ELEMENTS(names); i++)
		if (strcmp(name, names[i].horovod) == 0)
			return names[i].ours;
	return NULL;
}

/* "HorovodAllreduce.12_0" and "HorovodAllreduce.3+4_0" are of gradients that the context knows by number. */
static guint64 numbered_bytes(const struct chrome_trace *trace, const struct chrome_row *row)
{
	const struct horovod_context *context = trace->context;
	const gchar *name = strchr(chrome_trace_process_name(trace, row->thread), '.');

	if (!context || !context->tensors || !name)
		return 0;
	return byteprofile_tensors_sum(context->tensors, name + 1, strcspn(name + 1, "_."));
}

static guint64 keep_collective(struct chrome_trace *trace, const struct chrome_row *row,
			       GHashTable *tensors)
{
	const struct tensor *known = g_hash_table_lookup(
		tensors, GSIZE_TO_POINTER((gsize)(row - chrome_trace_row(trace, 0)) + 1));
	TachoCollectiveArgs args = { .n_inputs = known ? 1 : 0 };

	if (!known) {
		args.bytes = numbered_bytes(trace, row);
		return args.bytes ? tacho_timeline_keep_collective(trace->timeline, &args, NULL)
				  : 0;
	}
	args.bytes = known->tensor.dtype_bytes;
	for (guint32 i = 0; i < known->tensor.n_dims; i++)
		if (known->tensor.shape[i] < 0 ||
		    __builtin_mul_overflow(args.bytes, (guint64)known->tensor.shape[i],
					   &args.bytes))
			args.bytes = 0;
	return tacho_timeline_keep_collective(trace->timeline, &args, &known->tensor);
}

/* "HorovodAllreduce.3+4_0" */
static void note_collective(struct chrome_trace *trace, const struct chrome_row *row, guint32 slice)
{
	const struct horovod_context *context = trace->context;
	const gchar *name = strchr(chrome_trace_process_name(trace, row->thread), '.');
	struct hop_collective collective = { .slice = slice };

	if (!context || !context->hops || !name)
		return;
	collective.tensors = hop_tensors(trace->timeline, name + 1);
	if (collective.tensors)
		g_array_append_val(context->hops->collectives, collective);
}

static void add_collective(struct chrome_trace *trace, const struct chrome_row *row,
			   const struct chrome_row *queued_by, GHashTable *tensors, guint32 *track)
{
	TachoTimeline *timeline = trace->timeline;
	const gchar *name = collective_name(tacho_timeline_string(timeline, row->name));
	TachoFlow flow = { .from = queued_by ? queued_by->slice : TACHO_NONE,
			   .kind = TACHO_FLOW_QUEUE_COLLECTIVE,
			   .is_exact = TRUE };

	if (*track == TACHO_NONE)
		*track = import_add_track(trace->import, TACHO_TRACK_ASYNC,
					  chrome_trace_process(trace, row->thread), 0,
					  "collectives");
	flow.to = tacho_timeline_add_slice(
		timeline, TACHO_SLICE_COLLECTIVE, *track, tacho_timeline_intern(timeline, name, -1),
		timeline->slices.start_ns[row->slice], timeline->slices.duration_ns[row->slice],
		timeline->slices.flags[row->slice], keep_collective(trace, row, tensors));
	if (flow.from != TACHO_NONE)
		g_array_append_val(timeline->flows, flow);
	note_collective(trace, row, flow.to);
}

/* (2) */
static void add_collectives(struct chrome_trace *trace)
{
	const struct horovod *horovod = trace->data;
	g_autofree struct chrome_row **order = g_new(struct chrome_row *, trace->rows.n + 1);
	g_autoptr(GHashTable) tensors = g_hash_table_new(NULL, NULL);
	const struct chrome_row *outer = NULL, *before = NULL;
	guint32 track = TACHO_NONE;

	for (guint i = 0; i < horovod->tensors->len; i++) {
		struct tensor *tensor = &g_array_index(horovod->tensors, struct tensor, i);

		g_hash_table_insert(tensors, GSIZE_TO_POINTER((gsize)tensor->row + 1), tensor);
	}
	for (gsize i = 0; i < trace->rows.n; i++)
		order[i] = chrome_trace_row(trace, i);
	qsort(order, trace->rows.n, sizeof(*order), chrome_rows_compare);
	for (gsize i = 0; i < trace->rows.n; i++) {
		const struct chrome_row *row = order[i];
		gboolean is_inner = outer && outer->thread == row->thread &&
				    row->start_ns - outer->start_ns < MAX(outer->duration_ns, 0);

		if (before && before->thread != row->thread)
			before = NULL;
		if (is_inner)
			continue;
		if (collective_name(tacho_timeline_string(trace->timeline, row->name))) {
			outer = row;
			add_collective(trace, row, before, tensors, &track);
		}
		before = row;
	}
}

static void add_ticks(struct chrome_trace *trace)
{
	const struct horovod *horovod = trace->data;
	TachoMark mark = { .name = tacho_timeline_intern(trace->timeline, "ready", -1) };

	for (guint i = 0; i < horovod->ticks->len; i++) {
		const struct tick *tick = &g_array_index(horovod->ticks, struct tick, i);

		if (__builtin_add_overflow(tick->time_ns, trace->base_ns, &mark.time_ns))
			continue;
		mark.first = tick->rank;
		mark.track = chrome_trace_aside(trace, tick->thread);
		mark.text = chrome_trace_process_name_id(trace, tick->thread);
		g_array_append_val(trace->timeline->marks, mark);
	}
}

static void finish(struct chrome_trace *trace)
{
	const struct horovod *horovod = trace->data;

	add_collectives(trace);
	add_ticks(trace);
	if (!trace->context && horovod->n_ranks > 0 && horovod->n_ranks < G_MAXINT32)
		trace->timeline->expected_ranks = (gint32)horovod->n_ranks;
}

const struct chrome_dialect horovod_dialect = {
	.begin = begin,
	.end = end,
	.take = take,
	.settle = settle,
	.judge = judge,
	.finish = finish,
};
