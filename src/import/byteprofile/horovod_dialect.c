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
 *     queued it is the slice of the tensor before it, or the "Sync" in which the ranks agreed on it.
 * (3) Tensors that were copied into the buffer at the same time are one collective, whose inputs they are.
 * (4) Where another file has told of the process of that rank (PyTorch's profiler), it is that process: of Horovod's own there
 *     is none, its threads are the framework's.
 * (5) What the process "Sync" did is called by the tensor; those that begin at once are one, called "Sync". */
#include "import/byteprofile/horovod_dialect.h"

#include <stdlib.h>
#include <string.h>

#include "base/for_each.h"
#include "base/order.h"
#include "base/partition_point.h"
#include "import/byteprofile/byteprofile_hops.h"
#include "import/byteprofile/byteprofile_ops.h"
#include "import/byteprofile/byteprofile_tensors.h"
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

/* A collective of one tensor. */
struct reduction {
	const struct chrome_row *row, *queued_by;
	const struct chrome_row *copy; /* into the buffer; NULL: it goes by itself */
	const gchar *name;	       /* ours */
	const TachoTensor *tensor;     /* as its end tells; NULL: it does not */
};

struct horovod {
	GArray *ticks;	    /* struct tick */
	GArray *tensors;    /* struct tensor, by the end of their collective */
	GHashTable *syncs;  /* number of a tensor, as text -> GPtrArray of its rows, by begin */
	GHashTable *passed; /* rows of "Sync" that others stand for */
	gint64 epoch_us;    /* what times are since; 0: not told */
	gint64 n_ranks;	    /* as ticks say */
};

static void begin(struct chrome_trace *trace)
{
	struct horovod *horovod = g_new0(struct horovod, 1);

	horovod->ticks = g_array_new(FALSE, FALSE, sizeof(struct tick));
	horovod->tensors = g_array_new(FALSE, FALSE, sizeof(struct tensor));
	horovod->syncs = g_hash_table_new_full(g_str_hash, g_str_equal, g_free,
					       (GDestroyNotify)g_ptr_array_unref);
	horovod->passed = g_hash_table_new(NULL, NULL);
	trace->data = horovod;
}

static void end(struct chrome_trace *trace)
{
	struct horovod *horovod = trace->data;

	g_array_unref(horovod->ticks);
	g_array_unref(horovod->tensors);
	g_hash_table_unref(horovod->syncs);
	g_hash_table_unref(horovod->passed);
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

static gboolean is_sync(const struct chrome_trace *trace, const struct chrome_row *row)
{
	return strcmp(chrome_trace_process_name(trace, row->thread), "Sync") == 0;
}

static void note_sync(struct horovod *horovod, const gchar *tensor, struct chrome_row *row)
{
	GPtrArray *rows = g_hash_table_lookup(horovod->syncs, tensor);

	if (!rows) {
		rows = g_ptr_array_new();
		g_hash_table_insert(horovod->syncs, g_strdup(tensor), rows);
	}
	g_ptr_array_add(rows, row);
}

/* (5) */
static void settle_syncs(struct chrome_trace *trace)
{
	struct horovod *horovod = trace->data;
	g_autofree struct chrome_row **order = g_new(struct chrome_row *, trace->rows.n + 1);
	guint32 name = tacho_timeline_intern(trace->timeline, "Sync", -1);
	struct chrome_row *first = NULL;
	gsize n = 0;

	for (gsize i = 0; i < trace->rows.n; i++)
		if (is_sync(trace, chrome_trace_row(trace, i)))
			order[n++] = chrome_trace_row(trace, i);
	qsort(order, n, sizeof(*order), chrome_rows_compare);
	for (gsize i = 0; i < n; i++) {
		struct chrome_row *row = order[i];
		const gchar *tensor = tacho_timeline_string(trace->timeline, row->name);

		if (first && first->start_ns == row->start_ns)
			g_hash_table_add(horovod->passed, row);
		else
			first = row;
		if (g_ascii_isdigit(*tensor))
			note_sync(horovod, tensor, first);
		row->name = name;
	}
}

/* (4): TACHO_NONE: there is none. Where no rank is told, and there is one process only, it is that. */
static guint32 find_process(const struct chrome_trace *trace)
{
	GArray *processes = trace->timeline->processes;
	TachoProcess *only;

	for (guint i = 0; i < processes->len && trace->rank >= 0; i++)
		if (g_array_index(processes, TachoProcess, i).rank == trace->rank)
			return i;
	if (processes->len != 1)
		return TACHO_NONE;
	only = &g_array_index(processes, TachoProcess, 0);
	if (only->rank >= 0)
		return TACHO_NONE;
	only->rank = trace->rank;
	return 0;
}

static void settle(struct chrome_trace *trace)
{
	const struct horovod_context *context = trace->context;
	const struct horovod *horovod = trace->data;

	settle_syncs(trace);
	trace->base_ns = horovod->epoch_us * 1000;
	if (context) {
		trace->rank = context->rank;
		trace->only_process = context->process;
		return;
	}
	if (horovod->n_ranks > 0 && trace->rank < 0)
		trace->rank = 0; /* the coordinator writes it */
	trace->only_process = find_process(trace);
	if (trace->only_process != TACHO_NONE)
		return;
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
	if (is_sync(trace, row)) { /* of its cycle, not of a tensor */
		verdict->kind = TACHO_SLICE_WAIT;
		if (g_hash_table_contains(((struct horovod *)trace->data)->passed, row))
			verdict->place = CHROME_NOWHERE;
	}
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

/* "12_0" of "HorovodAllreduce.12_0": the numbers of gradients before it ends; NULL: they have none, as PyTorch's, which
 * are called by their parameter ("allreduce.0.weight"). */
static const gchar *numbers_of(const struct chrome_trace *trace, const struct chrome_row *row)
{
	const gchar *dot = strchr(chrome_trace_process_name(trace, row->thread), '.');

	gsize n = dot ? strspn(dot + 1, "0123456789+") : 0;

	return n && g_ascii_isdigit(dot[1]) && (!dot[1 + n] || dot[1 + n] == '_') ? dot + 1 : NULL;
}

/* Take what numbers of gradients tell of them ("3+4_0" has two); bytes: 0 where one is not known. */
static void add_numbered(const struct chrome_trace *trace, const gchar *numbers, GArray *inputs,
			 guint64 *bytes)
{
	const struct horovod_context *context = trace->context;
	TachoTensor unknown = { .dtype = "", .device = "" };

	while (g_ascii_isdigit(*numbers)) {
		gchar *end;
		guint64 number = g_ascii_strtoull(numbers, &end, 10);
		const struct byteprofile_tensor *known =
			context ? byteprofile_tensors_find(context->tensors, number) : NULL;
		TachoTensor tensor = known ? known->tensor : unknown;

		if (context && context->ops)
			tensor.storage = byteprofile_ops_gradient(context->ops, number);
		if (!known || __builtin_add_overflow(*bytes, known->bytes, bytes))
			*bytes = 0;
		g_array_append_val(inputs, tensor);
		numbers = *end == '+' ? end + 1 : "";
	}
}

/* What the end of its collective says of a tensor. */
static void add_told(const TachoTensor *tensor, GArray *inputs, guint64 *bytes)
{
	guint64 size = tensor->dtype_bytes;

	for (guint32 i = 0; i < tensor->n_dims; i++)
		if (tensor->shape[i] < 0 ||
		    __builtin_mul_overflow(size, (guint64)tensor->shape[i], &size))
			size = 0;
	if (!size || __builtin_add_overflow(*bytes, size, bytes))
		*bytes = 0;
	g_array_append_vals(inputs, tensor, 1);
}

/* The inputs and bytes of `n` reductions that are one; 0: nothing is known of them. */
static guint64 keep_collective(struct chrome_trace *trace, const struct reduction *reductions,
			       guint n)
{
	g_autoptr(GArray) inputs = g_array_new(FALSE, FALSE, sizeof(TachoTensor));
	TachoCollectiveArgs args = { .packing = TACHO_PACKED_IN_BUFFERS };
	gboolean is_known = TRUE;

	if (strcmp(reductions->name, "allreduce") != 0)
		args.packing = TACHO_PACKED_UNKNOWN;
	for (guint i = 0; i < n; i++) {
		const struct reduction *reduction = &reductions[i];
		const gchar *numbers = numbers_of(trace, reduction->row);
		guint64 bytes = 0;

		if (reduction->tensor)
			add_told(reduction->tensor, inputs, &bytes);
		else if (numbers)
			add_numbered(trace, numbers, inputs, &bytes);
		is_known &= bytes > 0 && !__builtin_add_overflow(args.bytes, bytes, &args.bytes);
	}
	if (!is_known)
		args.bytes = 0;
	args.n_inputs = inputs->len;
	if (!args.n_inputs)
		return 0;
	return tacho_timeline_keep_collective(trace->timeline, &args,
					      (const TachoTensor *)inputs->data);
}

/* "HorovodAllreduce.3+4_0" */
static void note_collective(struct chrome_trace *trace, const struct reduction *reductions, guint n,
			    guint32 slice)
{
	const struct horovod_context *context = trace->context;
	struct hop_collective collective = { .slice = slice };
	g_autoptr(GString) names = g_string_new(NULL);

	if (!context || !context->hops)
		return;
	for (guint i = 0; i < n; i++) {
		const gchar *numbers = numbers_of(trace, reductions[i].row);

		if (!numbers)
			return;
		g_string_append_printf(names, "%s%.*s", names->len ? "+" : "",
				       (int)strspn(numbers, "0123456789+"), numbers);
	}
	collective.tensors = hop_tensors(trace->timeline, names->str);
	if (collective.tensors)
		g_array_append_val(context->hops->collectives, collective);
}

/* The last "Sync" of a tensor that had ended by then; NULL: there is none. */
static const struct chrome_row *find_sync(const struct chrome_trace *trace,
					  const struct chrome_row *row)
{
	const struct horovod *horovod = trace->data;
	const gchar *numbers = numbers_of(trace, row);
	g_autofree gchar *number =
		numbers ? g_strndup(numbers, strspn(numbers, "0123456789")) : g_strdup("");
	const GPtrArray *rows = g_hash_table_lookup(horovod->syncs, number);
	guint n = PARTITION_POINT(i, 0, rows ? rows->len : 0,
				  ((const struct chrome_row *)rows->pdata[i])->start_ns <=
					  row->start_ns);

	return n ? rows->pdata[n - 1] : NULL;
}

static gboolean is_negotiation(const struct chrome_trace *trace, const struct chrome_row *row)
{
	return g_str_has_prefix(tacho_timeline_string(trace->timeline, row->name), "NEGOTIATE_");
}

static gint64 row_end(const struct chrome_row *row)
{
	gint64 end_ns;

	if (__builtin_add_overflow(row->start_ns, MAX(row->duration_ns, 0), &end_ns))
		return row->start_ns;
	return end_ns;
}

/* `n` reductions that are one. */
static void add_collective(struct chrome_trace *trace, const struct reduction *reductions, guint n,
			   guint32 *track)
{
	TachoTimeline *timeline = trace->timeline;
	TachoFlow flow = { .from = TACHO_NONE,
			   .kind = TACHO_FLOW_QUEUE_COLLECTIVE,
			   .is_exact = TRUE };
	gint64 start_ns = G_MAXINT64, end_ns = G_MININT64;
	guint8 flags = 0;

	if (*track == TACHO_NONE)
		*track = import_add_track(trace->import, TACHO_TRACK_ASYNC,
					  chrome_trace_process(trace, reductions->row->thread), 0,
					  "collectives");
	for (guint i = 0; i < n; i++) {
		guint32 slice = reductions[i].row->slice;

		start_ns = MIN(start_ns, timeline->slices.start_ns[slice]);
		end_ns = MAX(end_ns, tacho_slice_end_ns(timeline, slice));
		flags |= timeline->slices.flags[slice];
	}
	flow.to = tacho_timeline_add_slice(timeline, TACHO_SLICE_COLLECTIVE, *track,
					   tacho_timeline_intern(timeline, reductions->name, -1),
					   start_ns, end_ns - start_ns, flags,
					   keep_collective(trace, reductions, n));
	if (reductions->queued_by)
		flow.from = reductions->queued_by->slice;
	if (flow.from != TACHO_NONE)
		g_array_append_val(timeline->flows, flow);
	note_collective(trace, reductions, n, flow.to);
}

/* By the begin of what each is told apart by, and by tensor. */
static gint compare_reductions(gconstpointer first, gconstpointer second)
{
	const struct reduction *a = first, *b = second;
	gint64 a_ns = a->copy ? a->copy->start_ns : a->row->start_ns;
	gint64 b_ns = b->copy ? b->copy->start_ns : b->row->start_ns;

	return ORDER(a_ns, b_ns) ?: ORDER(!a->copy, !b->copy) ?: ORDER(a->row, b->row);
}

/* (3): how many from the first on are one. */
static guint count_fused(const struct reduction *reductions, guint n)
{
	gint64 end_ns;
	guint fused = 1;

	if (!reductions->copy)
		return 1;
	end_ns = row_end(reductions->copy);
	while (fused < n && reductions[fused].copy &&
	       strcmp(reductions[fused].name, reductions->name) == 0 &&
	       (reductions[fused].copy->start_ns < end_ns ||
		reductions[fused].copy->start_ns == reductions->copy->start_ns)) {
		end_ns = MIN(end_ns, row_end(reductions[fused].copy));
		fused++;
	}
	return fused;
}

static GHashTable *index_tensors(const struct horovod *horovod)
{
	GHashTable *tensors = g_hash_table_new(NULL, NULL);

	FOR_EACH(struct tensor, tensor, horovod->tensors)
		g_hash_table_insert(tensors, GSIZE_TO_POINTER((gsize)tensor->row + 1),
				    &tensor->tensor);
	return tensors;
}

/* (2), with the copies into buffers: before a collective that NCCL's name tells, in one that stands over it. */
static GArray *find_reductions(struct chrome_trace *trace)
{
	g_autofree struct chrome_row **order = g_new(struct chrome_row *, trace->rows.n + 1);
	g_autoptr(GHashTable) tensors = index_tensors(trace->data);
	GArray *found = g_array_new(FALSE, FALSE, sizeof(struct reduction));
	const struct chrome_row *outer = NULL, *before = NULL, *copy = NULL;
	guint32 thread = TACHO_NONE;

	for (gsize i = 0; i < trace->rows.n; i++)
		order[i] = chrome_trace_row(trace, i);
	qsort(order, trace->rows.n, sizeof(*order), chrome_rows_compare);
	for (gsize i = 0; i < trace->rows.n; i++) {
		const struct chrome_row *row = order[i];
		const gchar *name = tacho_timeline_string(trace->timeline, row->name);
		gboolean is_copy = strcmp(name, "MEMCPY_IN_FUSION_BUFFER") == 0;
		struct reduction reduction = { .row = row, .name = collective_name(name) };

		if (row->slice == TACHO_NONE)
			continue;
		if (row->thread != thread)
			outer = before = copy = NULL;
		thread = row->thread;
		if (outer && row->start_ns - outer->start_ns < MAX(outer->duration_ns, 0)) {
			if (is_copy)
				g_array_index(found, struct reduction, found->len - 1).copy = row;
			continue;
		}
		if (is_copy)
			copy = row;
		if (reduction.name) {
			reduction.queued_by = find_sync(trace, row);
			if (!reduction.queued_by ||
			    (before && is_negotiation(trace, before) &&
			     before->start_ns > reduction.queued_by->start_ns))
				reduction.queued_by = before;
			reduction.copy = copy;
			reduction.tensor = g_hash_table_lookup(
				tensors,
				GSIZE_TO_POINTER((gsize)(row - chrome_trace_row(trace, 0)) + 1));
			g_array_append_val(found, reduction);
			outer = row;
			copy = NULL;
		}
		before = row;
	}
	return found;
}

static void add_collectives(struct chrome_trace *trace)
{
	g_autoptr(GArray) found = find_reductions(trace);
	guint32 track = TACHO_NONE;

	g_array_sort(found, compare_reductions);
	for (guint i = 0; i < found->len;) {
		const struct reduction *first = &g_array_index(found, struct reduction, i);
		guint n = count_fused(first, found->len - i);

		add_collective(trace, first, n, &track);
		i += n;
	}
}

static void add_ticks(struct chrome_trace *trace)
{
	const struct horovod *horovod = trace->data;
	TachoMark mark = { .name = tacho_timeline_intern(trace->timeline, "ready", -1) };

	FOR_EACH(const struct tick, tick, horovod->ticks) {
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
