#include "learn/cost_calls.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <tacho/correlate.h>

#include "analyze/kernel_demands.h"
#include "analyze/op_flops.h"
#include "analyze/recorded_device.h"
#include "base/csv_append.h"
#include "base/for_each.h"
#include "base/order_statistics.h"
#include "import/read/csv_reader.h"
#include "learn/shapes_text.h"

/* Of a device whose maker's figures are not known, what as many of its calls reach stands for what it can do.
 * Source: a rule: the very best is often a mistake of measuring. If wrong, such a device's shares are all larger or all smaller, and
 * no time differs. */
#define BEST_SHARE 0.98
#define MAX_ALIGNMENT                                                                              \
	7 /* Source: a rule: 128 elements are as much as kernels ask for. If wrong, trees do not see finer steps. */

static const struct {
	const gchar *dtype;
	enum device_rate rate;
	guint8 bytes, bits;
} types[] = {
	{ "float32", DEVICE_FP32, 4, 32 }, { "float32", DEVICE_TF32, 4, 19 },
	{ "float16", DEVICE_FP16, 2, 16 }, { "bfloat16", DEVICE_BF16, 2, 15 },
	{ "int8", DEVICE_INT8, 1, 8 },
};

/* --- kept ------------------------------------------------------------------------------------------ */

static void device_clear(gpointer data)
{
	g_free(((struct cost_device *)data)->name);
}

static void source_clear(gpointer data)
{
	g_free(((struct cost_source *)data)->name);
}

/* Strings are of the chunk: equal ones are one. */
static guint call_hash(gconstpointer data)
{
	const struct cost_call *call = data;

	return g_direct_hash(call->op) ^ (g_direct_hash(call->shapes) << 1) ^
	       (call->device << 8 | call->rate);
}

static gboolean is_same_call(gconstpointer a, gconstpointer b)
{
	const struct cost_call *x = a, *y = b;

	return x->op == y->op && x->shapes == y->shapes && x->device == y->device &&
	       x->rate == y->rate;
}

void cost_calls_init(struct cost_calls *calls)
{
	calls->devices = g_array_new(FALSE, TRUE, sizeof(struct cost_device));
	g_array_set_clear_func(calls->devices, device_clear);
	calls->rows = g_array_new(FALSE, TRUE, sizeof(struct cost_call));
	calls->sources = g_array_new(FALSE, TRUE, sizeof(struct cost_source));
	g_array_set_clear_func(calls->sources, source_clear);
	calls->strings = g_string_chunk_new(4096);
	calls->times = g_hash_table_new_full(call_hash, is_same_call, g_free,
					     (GDestroyNotify)g_array_unref);
}

void cost_calls_release(struct cost_calls *calls)
{
	g_clear_pointer(&calls->devices, g_array_unref);
	g_clear_pointer(&calls->rows, g_array_unref);
	g_clear_pointer(&calls->sources, g_array_unref);
	g_clear_pointer(&calls->times, g_hash_table_unref);
	g_clear_pointer(&calls->strings, g_string_chunk_free);
}

const struct cost_device *cost_calls_device_at(const struct cost_calls *calls, guint32 index)
{
	return &g_array_index(calls->devices, struct cost_device, index);
}

guint32 cost_calls_device(struct cost_calls *calls, const gchar *name)
{
	const struct device_peak *peak = device_find(name);
	struct cost_device device = { .is_stated = peak != NULL };

	if (peak)
		name = peak->name;
	FOR_EACH_AT(const struct cost_device, known, i, calls->devices)
		if (strcmp(known->name, name) == 0)
			return i;
	if (calls->devices->len == COST_MAX_DEVICES)
		return COST_MAX_DEVICES;
	for (guint rate = 0; peak && rate < DEVICE_N_RATES; rate++)
		device.ops_per_ns[rate] = device_ops_per_ns(peak, (enum device_rate)rate);
	device.bytes_per_ns = peak ? peak->gb_per_s : 0;
	device.name = g_strdup(name);
	g_array_append_val(calls->devices, device);
	return calls->devices->len - 1;
}

static void add_source(struct cost_calls *calls, const gchar *name, guint64 n_calls)
{
	struct cost_source source = { g_strdup(name), n_calls };

	g_array_append_val(calls->sources, source);
}

/* Count a call that took `call->time_ns`. */
static void keep(struct cost_calls *calls, const struct cost_call *call, guint64 count)
{
	GArray *times = g_hash_table_lookup(calls->times, call);
	struct cost_call *row;
	gdouble number;

	if (!times) {
		struct cost_call first = *call;

		if (calls->rows->len == COST_MAX_CALLS)
			return;
		first.count = 0;
		first.kernels = 0;
		g_array_append_val(calls->rows, first);
		times = g_array_new(FALSE, FALSE, sizeof(gdouble));
		number = (gdouble)(calls->rows->len - 1);
		g_array_append_val(times, number); /* the row's number goes first */
		g_hash_table_insert(calls->times, g_memdup2(call, sizeof(*call)), times);
	}
	row = &g_array_index(calls->rows, struct cost_call,
			     (guint)g_array_index(times, gdouble, 0));
	row->count += count;
	row->kernels += call->kernels * (gdouble)count;
	g_array_append_val(times, call->time_ns);
}

/* --- what a call is -------------------------------------------------------------------------------- */

static gfloat log_of(gdouble value)
{
	return value > 0 ? (gfloat)log2(value) : -1.0f;
}

static guint alignment_of(gint64 size)
{
	guint n = 0;

	while (size > 0 && n < MAX_ALIGNMENT && size % 2 == 0) {
		size /= 2;
		n++;
	}
	return n;
}

/* The last dimension, and all before it; -1 each where there is no such tensor. */
static void split_shape(const TachoTensor *tensor, gdouble *ret_width, gdouble *ret_rows)
{
	*ret_width = tensor->n_dims ? (gdouble)tensor->shape[tensor->n_dims - 1] : 1;
	*ret_rows = 1;
	for (guint32 i = 0; i + 1 < tensor->n_dims; i++)
		*ret_rows *= (gdouble)tensor->shape[i];
}

/* Of a product the two factors: what is added (addmm) stands before them, scalars behind. */
static void find_factors(const TachoTensor **tensors, guint32 *n)
{
	guint32 end = *n;

	while (end > 0 && (*tensors)[end - 1].n_dims == 0)
		end--;
	if (end > 2) {
		*tensors += end - 2;
		*n = 2;
	}
}

static void set_shape_features(struct cost_call *call, const TachoTensor *tensors, guint32 n)
{
	gdouble width, rows, batch = 1;
	guint alignment = MAX_ALIGNMENT;

	for (guint i = 0; i < N_CALL_FEATURES; i++)
		call->features[i] = -1;
	if (call->class == KERNEL_GEMM)
		find_factors(&tensors, &n);
	if (n == 0)
		return;
	split_shape(&tensors[0], &width, &rows);
	for (guint32 i = 0; i + 2 < tensors[0].n_dims; i++)
		batch *= (gdouble)tensors[0].shape[i];
	call->features[FEATURE_WIDTH] = log_of(width);
	call->features[FEATURE_ROWS] = log_of(rows);
	call->features[FEATURE_BATCH] = log_of(batch);
	alignment = MIN(alignment, alignment_of((gint64)width));
	if (n > 1 && tensors[1].n_dims > 0) {
		split_shape(&tensors[1], &width, &rows);
		call->features[FEATURE_OTHER_WIDTH] = log_of(width);
		call->features[FEATURE_OTHER_ROWS] = log_of(rows);
		alignment = MIN(alignment, alignment_of((gint64)width));
	}
	call->features[FEATURE_ALIGNMENT] = (gfloat)alignment;
}

static guint bits_of(enum device_rate rate)
{
	for (guint i = 0; i < G_N_ELEMENTS(types); i++)
		if (types[i].rate == rate)
			return types[i].bits;
	return types[0].bits;
}

void cost_call_set_features(struct cost_call *call, const struct cost_device *device)
{
	gdouble ops_per_ns = device->ops_per_ns[call->rate];
	gdouble intensity = call->flops / call->bytes;

	call->features[FEATURE_OPERATIONS] = log_of(call->flops);
	call->features[FEATURE_BYTES] = log_of(call->bytes);
	call->features[FEATURE_INTENSITY] = call->flops > 0 ? log_of(intensity) : -20.0f;
	call->features[FEATURE_TYPE] = (gfloat)bits_of(call->rate);
	call->features[FEATURE_DEVICE_OPERATIONS] = log_of(ops_per_ns);
	call->features[FEATURE_DEVICE_BYTES] = log_of(device->bytes_per_ns);
	call->features[FEATURE_RIDGE] =
		call->flops > 0 && ops_per_ns > 0 && device->bytes_per_ns > 0
			? log_of(intensity * device->bytes_per_ns / ops_per_ns)
			: -20.0f;
}

/* Those of which no output is told write as much as the first input. */
static gboolean is_like_its_input(enum kernel_class class)
{
	return class == KERNEL_SOFTMAX || class == KERNEL_LAYER_NORM ||
	       class == KERNEL_BATCH_NORM || class == KERNEL_ELEMENTWISE || class == KERNEL_MOVE;
}

gboolean cost_calls_set_texts(struct cost_calls *calls, const gchar *op, const gchar *shapes,
			      struct cost_call *call)
{
	TachoTensor tensors[SHAPES_MAX_TENSORS];
	guint32 n;

	if (!*op || !shapes_text_read(shapes, tensors, &n))
		return FALSE;
	call->op = g_string_chunk_insert_const(calls->strings, op);
	call->shapes = g_string_chunk_insert_const(calls->strings, shapes);
	set_shape_features(call, tensors, n);
	return TRUE;
}

/* What the operation of the slice computes. FALSE: it has no formula. */
static gboolean read_call(struct cost_calls *calls, struct op_works *works, guint32 slice,
			  enum kernel_class class, enum device_rate rate, struct cost_call *call)
{
	const TachoTimeline *timeline = works->timeline;
	const struct op_work *work = op_works_of(works, slice);
	g_autoptr(GString) text = g_string_new(NULL);
	TachoTensor first;

	if (!work || class == KERNEL_COLLECTIVE || class == KERNEL_GATHER ||
	    !tacho_slice_input(timeline, slice, 0, &first))
		return FALSE;
	shapes_text_append(text, timeline, slice);
	call->class = class;
	call->rate = rate < DEVICE_N_RATES ? rate : DEVICE_FP32;
	call->flops = work->flops;
	call->bytes = work->bytes;
	if (is_like_its_input(class) && op_output_bytes(timeline, slice) <= 0)
		call->bytes += tensor_elements(&first) * first.dtype_bytes;
	return cost_calls_set_texts(calls, tacho_slice_name(timeline, slice), text->str, call) &&
	       isfinite(call->flops) && isfinite(call->bytes) && call->bytes > 0;
}

/* --- of recordings --------------------------------------------------------------------------------- */

/* What kernels of one operation took together. */
struct launched {
	gint64 time_ns;
	guint32 n_kernels, first_kernel;
};

/* The device that a kernel's rank was recorded on. */
static guint32 device_of_rank(struct cost_calls *calls, const TachoTimeline *timeline,
			      guint32 slice)
{
	guint32 rank_index = tacho_slice_process(timeline, slice)->rank_index;
	const gchar *name = recorded_device_name(timeline, rank_index);

	return cost_calls_device(calls, name ? name : "unknown");
}

static GHashTable *find_launched(const TachoTimeline *timeline, struct kernel_demands *demands,
				 GArray *order)
{
	GHashTable *launched = g_hash_table_new_full(NULL, NULL, NULL, g_free);
	const TachoSlices *slices = &timeline->slices;

	for (guint32 i = 0; i < slices->n; i++) {
		guint32 op;
		struct launched *all;

		if (slices->kind[i] != TACHO_SLICE_KERNEL || slices->duration_ns[i] <= 0 ||
		    tacho_timeline_track(timeline, slices->track[i])->kind != TACHO_TRACK_STREAM)
			continue;
		kernel_demands_of(demands, i, &op);
		if (op == TACHO_NONE)
			continue;
		all = g_hash_table_lookup(launched, GUINT_TO_POINTER(op));
		if (!all) {
			all = g_new0(struct launched, 1);
			all->first_kernel = i;
			g_hash_table_insert(launched, GUINT_TO_POINTER(op), all);
			g_array_append_val(order, op);
		}
		all->time_ns += slices->duration_ns[i];
		all->n_kernels++;
	}
	return launched;
}

static guint64 add_device_calls(struct cost_calls *calls, const TachoTimeline *timeline)
{
	struct kernel_demands demands;
	g_autoptr(GArray) order = g_array_new(FALSE, FALSE, sizeof(guint32));
	g_autoptr(GHashTable) launched = NULL;
	guint64 n = 0;

	kernel_demands_init(&demands, timeline);
	launched = find_launched(timeline, &demands, order);
	FOR_EACH(const guint32, op, order) {
		const struct launched *all = g_hash_table_lookup(launched, GUINT_TO_POINTER(*op));
		struct kernel_demand demand = kernel_demands_of(&demands, all->first_kernel, NULL);
		struct cost_call call = { .time_ns = (gdouble)all->time_ns,
					  .kernels = all->n_kernels };

		call.device = device_of_rank(calls, timeline, all->first_kernel);
		if (call.device == COST_MAX_DEVICES ||
		    !read_call(calls, &demands.works, *op, demand.class, demand.rate, &call))
			continue;
		keep(calls, &call, 1);
		n++;
	}
	kernel_demands_release(&demands);
	return n;
}

/* What an operation of a host is. */
enum host_op { HOST_OP_NONE, HOST_OP_KNOWN, HOST_OP_ARITHMETIC };

/* Of each slice what it is, and the most that anything in it is. */
struct host_ops {
	guint8 *kind, *inner; /* enum host_op */
	guint8 *is_covered;   /* it is a part of an arithmetic one that is a call */
};

static enum host_op host_op_of(const TachoTimeline *timeline, struct op_works *works, guint32 slice)
{
	enum kernel_class class;

	if (timeline->slices.kind[slice] != TACHO_SLICE_OP || !op_works_of(works, slice))
		return HOST_OP_NONE;
	class = kernel_class_of_operation(timeline, timeline->slices.name[slice]);
	/* views and the like: what a host takes for them is not of their shapes */
	if (class == KERNEL_OTHER)
		return HOST_OP_NONE;
	return kernel_class_is_arithmetic(class) ? HOST_OP_ARITHMETIC : HOST_OP_KNOWN;
}

static void host_ops_init(struct host_ops *ops, const TachoTimeline *timeline,
			  struct op_works *works)
{
	const TachoSlices *slices = &timeline->slices;
	guint n = MAX(slices->n, 1u);

	ops->kind = g_new0(guint8, n);
	ops->inner = g_new0(guint8, n);
	ops->is_covered = g_new0(guint8, n);
	/* parents stand before their children */
	for (guint32 i = slices->n; i-- > 0;) {
		guint32 parent = slices->parent[i];

		ops->kind[i] = (guint8)host_op_of(timeline, works, i);
		if (parent != TACHO_NONE)
			ops->inner[parent] =
				MAX(ops->inner[parent], MAX(ops->kind[i], ops->inner[i]));
	}
	for (guint32 i = 0; i < slices->n; i++) {
		guint32 parent = slices->parent[i];

		if (parent != TACHO_NONE)
			ops->is_covered[i] = ops->is_covered[parent] ||
					     (ops->kind[parent] == HOST_OP_ARITHMETIC &&
					      ops->inner[parent] != HOST_OP_ARITHMETIC);
	}
}

/* The innermost that computes, with what it copies on the way; of all else the innermost. */
static gboolean host_ops_is_call(const struct host_ops *ops, guint32 slice)
{
	if (ops->kind[slice] == HOST_OP_ARITHMETIC)
		return ops->inner[slice] != HOST_OP_ARITHMETIC;
	return ops->kind[slice] == HOST_OP_KNOWN && ops->inner[slice] == HOST_OP_NONE &&
	       !ops->is_covered[slice];
}

static gboolean add_host_call(struct cost_calls *calls, const TachoTimeline *timeline,
			      struct op_works *works, guint32 slice)
{
	const gchar *host =
		tacho_timeline_string(timeline, tacho_slice_process(timeline, slice)->host);
	g_autofree gchar *name = g_strdup_printf("cpu of %s", host);
	struct cost_call call = { .device = cost_calls_device(calls, name),
				  .time_ns = (gdouble)timeline->slices.duration_ns[slice] };

	if (call.time_ns <= 0 || timeline->slices.flags[slice] & TACHO_SLICE_OPEN ||
	    call.device == COST_MAX_DEVICES ||
	    !read_call(calls, works, slice,
		       kernel_class_of_operation(timeline, timeline->slices.name[slice]),
		       op_works_of(works, slice)->rate, &call))
		return FALSE;
	keep(calls, &call, 1);
	return TRUE;
}

static guint64 add_host_calls(struct cost_calls *calls, const TachoTimeline *timeline)
{
	struct op_works works;
	struct host_ops ops;
	guint64 n = 0;

	op_works_init(&works, timeline);
	host_ops_init(&ops, timeline, &works);
	for (guint32 i = 0; i < timeline->slices.n; i++)
		n += host_ops_is_call(&ops, i) && add_host_call(calls, timeline, &works, i);
	g_free(ops.kind);
	g_free(ops.inner);
	g_free(ops.is_covered);
	op_works_release(&works);
	return n;
}

static gboolean has_kernels(const TachoTimeline *timeline)
{
	FOR_EACH(const TachoTrack, track, timeline->tracks)
		if (track->kind == TACHO_TRACK_STREAM && track->n_slices > 0)
			return TRUE;
	return FALSE;
}

void cost_calls_add_run(struct cost_calls *calls, const TachoTimeline *timeline,
			const gchar *source)
{
	add_source(calls, source,
		   has_kernels(timeline) ? add_device_calls(calls, timeline)
					 : add_host_calls(calls, timeline));
}

/* --- asked for ------------------------------------------------------------------------------------- */

/* A timeline with nothing but the operation. */
static TachoTimeline *timeline_of_op(const gchar *op, TachoTensor *tensors, guint32 n)
{
	TachoTimeline *timeline = tacho_timeline_new();
	TachoRank rank = { 0 };
	TachoProcess process = { .is_main = TRUE };
	TachoTrack track = { .kind = TACHO_TRACK_THREAD };
	TachoOpArgs args = { .sequence = -1, .n_inputs = n };

	g_array_append_val(timeline->ranks, rank);
	g_array_append_val(timeline->processes, process);
	g_array_append_val(timeline->tracks, track);
	tacho_timeline_add_slice(timeline, TACHO_SLICE_OP, 0,
				 tacho_timeline_intern(timeline, op, -1), 0, 1, 0,
				 tacho_timeline_keep_op(timeline, &args, tensors));
	return timeline;
}

gboolean cost_calls_ask(struct cost_calls *calls, const gchar *op, const gchar *shapes,
			const gchar *type, guint32 device, struct cost_call *ret_call,
			GError **error)
{
	TachoTensor tensors[SHAPES_MAX_TENSORS];
	g_autoptr(TachoTimeline) timeline = NULL;
	struct cost_call call = { .device = device };
	struct op_works works;
	enum kernel_class class;
	gboolean is_known;
	guint32 n, row = 0;

	if (!shapes_text_read(shapes, tensors, &n)) {
		g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_INVAL,
			    "'%.100s' are no shapes: write them as in [[8,16],[16,4]]", shapes);
		return FALSE;
	}
	while (row < G_N_ELEMENTS(types) && strcmp(device_rate_name(types[row].rate), type) != 0 &&
	       strcmp(types[row].dtype, type) != 0)
		row++;
	if (row == G_N_ELEMENTS(types)) {
		g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_INVAL,
			    "'%.40s' is no type of numbers; there are fp32, tf32, fp16, bf16, int8",
			    type);
		return FALSE;
	}
	for (guint32 i = 0; i < n; i++) {
		tensors[i].dtype = types[row].dtype;
		tensors[i].dtype_bytes = types[row].bytes;
		tensors[i].device = "cpu";
		tensors[i].argument = i;
	}
	timeline = timeline_of_op(op, tensors, n);
	class = kernel_class_of_operation(timeline, timeline->slices.name[0]);
	op_works_init(&works, timeline);
	is_known = read_call(calls, &works, 0, class, types[row].rate, &call);
	op_works_release(&works);
	if (!is_known) {
		g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_INVAL,
			    "what '%.100s' computes is not known for the shapes %.100s", op,
			    shapes);
		return FALSE;
	}
	if (device < calls->devices->len)
		cost_call_set_features(&call, cost_calls_device_at(calls, device));
	*ret_call = call;
	return TRUE;
}

/* --- tables ---------------------------------------------------------------------------------------- */

enum table_column {
	COLUMN_DEVICE,
	COLUMN_OP,
	COLUMN_SHAPES,
	COLUMN_TYPE,
	COLUMN_TIME, /* all up to here must be there */
	COLUMN_KERNELS,
	COLUMN_COUNT,
	COLUMN_CLASS,
	COLUMN_OPERATIONS,
	COLUMN_BYTES,
	N_COLUMNS
};

static const gchar *const column_names[N_COLUMNS] = { "device",	    "op",      "shapes", "type",
						      "time_us",    "kernels", "count",	 "class",
						      "operations", "bytes" };

/* The number in the column; `otherwise` where the table or the row has none; NAN: it is no number. */
static gdouble number_in(const struct csv_reader *reader, gint column, gdouble otherwise)
{
	const gchar *text = column >= 0 ? csv_reader_text(reader, column) : NULL;
	gchar *end;
	gdouble number;

	if (!text || !*text)
		return otherwise;
	number = g_ascii_strtod(text, &end);
	return *end || !isfinite(number) ? NAN : number;
}

/* What the row itself says of what is computed. FALSE: it is not told. */
static gboolean read_work(const struct csv_reader *reader, const gint *columns,
			  struct cost_call *call)
{
	const gchar *class =
		columns[COLUMN_CLASS] >= 0 ? csv_reader_text(reader, columns[COLUMN_CLASS]) : NULL;

	call->flops = number_in(reader, columns[COLUMN_OPERATIONS], NAN);
	call->bytes = number_in(reader, columns[COLUMN_BYTES], NAN);
	call->class = class ? kernel_class_find(class) : N_KERNEL_CLASSES;
	return call->class < N_KERNEL_CLASSES && call->class != KERNEL_COLLECTIVE &&
	       call->flops >= 0 && call->flops < 1e18 && call->bytes >= 1 && call->bytes < 1e18;
}

static gboolean read_row(struct cost_calls *calls, const struct csv_reader *reader,
			 const gint *columns, GError **error)
{
	struct cost_call call, told = { 0 };
	const gchar *texts[N_COLUMNS];
	gdouble time_us = number_in(reader, columns[COLUMN_TIME], NAN);
	gdouble kernels = number_in(reader, columns[COLUMN_KERNELS], 1);
	gdouble count = number_in(reader, columns[COLUMN_COUNT], 1);
	guint32 device;

	for (guint i = COLUMN_DEVICE; i <= COLUMN_TYPE; i++) {
		texts[i] = csv_reader_text(reader, columns[i]);
		if (!texts[i] || !*texts[i]) {
			g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_INVAL, "'%s' is empty",
				    column_names[i]);
			return FALSE;
		}
	}
	if (!(time_us > 0 && time_us < 1e12) || !(kernels >= 0 && kernels < 1e6) ||
	    !(count >= 1 && count < 1e12)) {
		g_set_error_literal(error, G_FILE_ERROR, G_FILE_ERROR_INVAL,
				    "'time_us', 'kernels' or 'count' is no number that can be");
		return FALSE;
	}
	device = cost_calls_device(calls, texts[COLUMN_DEVICE]);
	if (device == COST_MAX_DEVICES || calls->rows->len == COST_MAX_CALLS) {
		g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_INVAL,
			    "there are more than %u devices, or %u calls", COST_MAX_DEVICES,
			    COST_MAX_CALLS);
		return FALSE;
	}
	told.rate = device_rate_find(texts[COLUMN_TYPE]);
	if (told.rate < DEVICE_N_RATES && read_work(reader, columns, &told) &&
	    cost_calls_set_texts(calls, texts[COLUMN_OP], texts[COLUMN_SHAPES], &told))
		call = told;
	else if (!cost_calls_ask(calls, texts[COLUMN_OP], texts[COLUMN_SHAPES], texts[COLUMN_TYPE],
				 COST_MAX_DEVICES, &call, error))
		return FALSE;
	call.device = device;
	call.time_ns = time_us * 1e3;
	call.kernels = kernels;
	keep(calls, &call, (guint64)count);
	return TRUE;
}

gboolean cost_calls_add_table(struct cost_calls *calls, const gchar *path, GError **error)
{
	g_autoptr(csv_reader) reader = csv_reader_open(path, error);
	gint columns[N_COLUMNS];
	guint64 n = 0;

	if (!reader)
		return FALSE;
	for (guint i = 0; i < N_COLUMNS; i++) {
		columns[i] = csv_reader_column(reader, column_names[i]);
		if (columns[i] < 0 && i <= COLUMN_TIME) {
			g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_INVAL,
				    "%s: there is no column '%s'", path, column_names[i]);
			return FALSE;
		}
	}
	for (; csv_reader_next(reader); n++)
		if (!read_row(calls, reader, columns, error)) {
			g_prefix_error(error, "%s: row %" G_GUINT64_FORMAT ": ", path, n + 1);
			return FALSE;
		}
	if (csv_reader_problem(reader)) {
		g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_INVAL, "%s: %s", path,
			    csv_reader_problem(reader));
		return FALSE;
	}
	add_source(calls, path, n);
	return TRUE;
}

static void append_field(GString *line, const gchar *text)
{
	csv_append_text(line, text, strlen(text));
}

void cost_calls_write(const struct cost_calls *calls, FILE *out)
{
	fputs("device,op,shapes,type,time_us,kernels,count,class,operations,bytes\n", out);
	FOR_EACH(const struct cost_call, call, calls->rows) {
		g_autoptr(GString) line = g_string_new(NULL);

		append_field(line, cost_calls_device_at(calls, call->device)->name);
		g_string_append_c(line, ',');
		append_field(line, call->op);
		g_string_append_c(line, ',');
		append_field(line, call->shapes);
		fprintf(out, "%s,%s,%.9g,%.6g,%" G_GUINT64_FORMAT ",%s,%.17g,%.17g\n", line->str,
			device_rate_name(call->rate), call->time_ns / 1e3, call->kernels,
			call->count, kernel_class_name(call->class), call->flops, call->bytes);
	}
}

/* --- finished -------------------------------------------------------------------------------------- */

static gint compare_doubles(gconstpointer a, gconstpointer b)
{
	gdouble x = *(const gdouble *)a, y = *(const gdouble *)b;

	return x < y ? -1 : x > y;
}

static gdouble nearly_best(GArray *values)
{
	g_array_sort(values, compare_doubles);
	return g_array_index(values, gdouble, (guint)(BEST_SHARE * (values->len - 1)));
}

/* The figures of a device whose maker's are not known: what nearly the best of its calls reach. */
static void find_figures(struct cost_calls *calls, guint32 index)
{
	struct cost_device *device = &g_array_index(calls->devices, struct cost_device, index);
	g_autoptr(GArray) ops = g_array_new(FALSE, FALSE, sizeof(gdouble));
	g_autoptr(GArray) bytes = g_array_new(FALSE, FALSE, sizeof(gdouble));

	FOR_EACH(const struct cost_call, call, calls->rows) {
		gdouble ops_per_ns = call->flops / call->time_ns;
		gdouble bytes_per_ns = call->bytes / call->time_ns;

		if (call->device != index)
			continue;
		g_array_append_val(ops, ops_per_ns);
		g_array_append_val(bytes, bytes_per_ns);
	}
	if (ops->len == 0)
		return;
	device->bytes_per_ns = nearly_best(bytes);
	for (guint rate = 0; rate < DEVICE_N_RATES; rate++)
		device->ops_per_ns[rate] = MAX(nearly_best(ops), device->bytes_per_ns * 1e-3);
}

void cost_calls_finish(struct cost_calls *calls)
{
	FOR_EACH(struct cost_call, call, calls->rows) {
		GArray *times = g_hash_table_lookup(calls->times, call);

		g_array_remove_index(times, 0); /* the row's number */
		call->time_ns = median_of_doubles(times);
		call->kernels /= (gdouble)MAX(call->count, 1u);
	}
	g_hash_table_remove_all(calls->times);
	FOR_EACH_AT(const struct cost_device, device, i, calls->devices)
		if (!device->is_stated)
			find_figures(calls, i);
	FOR_EACH(struct cost_call, call, calls->rows)
		cost_call_set_features(call, cost_calls_device_at(calls, call->device));
}
