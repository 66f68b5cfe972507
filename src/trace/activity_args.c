#include "trace/activity_args.h"

#include <math.h>

#include "base/json_append.h"
#include "base/partition_point.h"
#include "trace/source.h"
#include "trace/trace_layout.h"

#define NS_PER_S 1000000000

/* Records [first_place, ...) have ticks of this frequency. */
struct frequency {
	guint64 first_place;
	guint64 hz;
};

struct activity_args {
	struct foreign_reader reader;
	const struct tacho_source *source;
	guint32 index;
	GArray *records;     /* guint64: by place, the record's handle */
	GByteArray *kinds;   /* by place: enum trace_kind */
	GArray *frequencies; /* struct frequency */
};

/* The record at that place, of at least so many bytes; NULL: there is none. */
static const void *borrow(struct foreign_reader *reader, guint64 place, gsize least_bytes,
			  guint8 *ret_kind)
{
	const struct activity_args *args = (const struct activity_args *)reader;
	gsize size_bytes;

	if (place >= args->records->len)
		return NULL;
	*ret_kind = args->kinds->data[place];
	return tacho_source_borrow_record(args->source,
					  g_array_index(args->records, guint64, place), least_bytes,
					  &size_bytes);
}

static const struct record_device_kernel *borrow_kernel(struct foreign_reader *reader,
							guint64 place)
{
	guint8 kind = 0;
	const struct record_device_kernel *kernel = borrow(reader, place, sizeof(*kernel), &kind);

	return kind == TRACE_KIND_DEVICE_KERNEL ? kernel : NULL;
}

static const struct record_copy *borrow_copy(struct foreign_reader *reader, guint64 place)
{
	guint8 kind = 0;
	const struct record_copy *copy = borrow(reader, place, sizeof(*copy), &kind);

	return kind == TRACE_KIND_COPY || kind == TRACE_KIND_FILL ? copy : NULL;
}

static gboolean get_launch_shape(struct foreign_reader *reader, guint64 place,
				 TachoLaunchShape *shape)
{
	const struct record_device_kernel *kernel = borrow_kernel(reader, place);

	if (!kernel || !kernel->grid[0])
		return FALSE;
	*shape = (TachoLaunchShape){
		.registers = kernel->registers,
		.shared_bytes = kernel->shared_bytes,
		.blocks_per_sm = NAN,
		.warps_per_sm = NAN,
		.occupancy_pct = NAN,
	};
	for (guint i = 0; i < 3; i++) {
		shape->grid[i] = kernel->grid[i];
		shape->block[i] = kernel->block[i];
	}
	return TRUE;
}

static gboolean get_copy(struct foreign_reader *reader, guint64 place, TachoCopyArgs *ret_args)
{
	const struct record_copy *copy = borrow_copy(reader, place);

	if (!copy || !copy->bytes)
		return FALSE;
	*ret_args = (TachoCopyArgs){ .bytes = copy->bytes };
	return TRUE;
}

static gboolean get_kernel(struct foreign_reader *reader, guint64 place, TachoKernelArgs *args)
{
	const struct record_copy *copy = borrow_copy(reader, place);

	if (!copy)
		return FALSE;
	*args = (TachoKernelArgs){ .bytes = copy->bytes, .dtype = "", .text = "" };
	return TRUE;
}

/* --- as text ---------------------------------------------------------------------------------- */

static void append_member(GString *json, const gchar *key, guint64 value)
{
	json_append_key(json, key);
	g_string_append_printf(json, "%" G_GUINT64_FORMAT, value);
}

static void append_sizes(GString *json, const gchar *key, const guint32 sizes[3])
{
	json_append_key(json, key);
	g_string_append_printf(json, "[%u, %u, %u]", sizes[0], sizes[1], sizes[2]);
}

static guint64 hz_at(const struct activity_args *args, guint64 place)
{
	const struct frequency *all = (const void *)args->frequencies->data;
	guint n = PARTITION_POINT(i, 0, args->frequencies->len, all[i].first_place <= place);

	return n ? all[n - 1].hz : NS_PER_S;
}

/* How long before its begin the device's work was there, ns; FALSE: it is not told. */
static gboolean find_lead(const struct activity_args *args, guint64 place, guint64 begin,
			  guint64 since, guint64 *ret_ns)
{
	guint64 hz = hz_at(args, place);

	if (!since || since > begin || !hz)
		return FALSE;
	*ret_ns = (guint64)((unsigned __int128)(begin - since) * NS_PER_S / hz);
	return TRUE;
}

static void append_lead(GString *json, const struct activity_args *args, guint64 place,
			const gchar *key, guint64 begin, guint64 since)
{
	guint64 ns;

	if (find_lead(args, place, begin, since, &ns))
		append_member(json, key, ns);
}

static gboolean get_lead(struct foreign_reader *reader, guint64 place, TachoDeviceLead *lead)
{
	const struct activity_args *args = (const struct activity_args *)reader;
	const struct record_activity *activity;
	guint64 queued_ns, submitted_ns;
	gboolean is_queued, is_submitted;
	guint8 kind;

	activity = borrow(reader, place, sizeof(*activity), &kind);
	if (!activity)
		return FALSE;
	is_queued = find_lead(args, place, activity->begin, activity->queued, &queued_ns);
	is_submitted = find_lead(args, place, activity->begin, activity->submitted, &submitted_ns);
	lead->queued_ns = is_queued ? (gdouble)queued_ns : NAN;
	lead->submitted_ns = is_submitted ? (gdouble)submitted_ns : NAN;
	return is_queued || is_submitted;
}

static void append_kernel(GString *json, const struct record_device_kernel *kernel)
{
	if (kernel->grid[0]) {
		append_sizes(json, "grid", kernel->grid);
		append_sizes(json, "block", kernel->block);
	}
	if (kernel->registers)
		append_member(json, "registers per thread", kernel->registers);
	if (kernel->shared_bytes)
		append_member(json, "shared memory", kernel->shared_bytes);
}

static void append_copy(GString *json, const struct record_copy *copy)
{
	if (copy->bytes)
		append_member(json, "bytes", copy->bytes);
	if (copy->peer >= 0 && copy->direction == TRACE_PEER_TO_PEER)
		append_member(json, "peer device", (guint64)copy->peer);
}

/* In the words of PyTorch's profiler, so that a run that comes back from an export is understood as one of its traces. */
static gchar *get_args_json(struct foreign_reader *reader, guint64 place)
{
	const struct activity_args *args = (const struct activity_args *)reader;
	const struct record_device_kernel *kernel = borrow_kernel(reader, place);
	const struct record_copy *copy = borrow_copy(reader, place);
	guint8 kind;
	const struct record_activity *activity = borrow(reader, place, sizeof(*activity), &kind);
	GString *json;

	if (!activity)
		return NULL;
	json = g_string_new("{");
	json_append_key(json, "device");
	g_string_append_printf(json, "%d", activity->device);
	if (activity->queue != TRACE_NO_QUEUE)
		append_member(json, "stream", activity->queue);
	if (activity->correlation)
		append_member(json, "correlation", activity->correlation);
	append_lead(json, args, place, "queued before ns", activity->begin, activity->queued);
	append_lead(json, args, place, "submitted before ns", activity->begin, activity->submitted);
	if (activity->graph_node)
		append_member(json, "graph node id", activity->graph_node);
	if (kernel)
		append_kernel(json, kernel);
	if (copy)
		append_copy(json, copy);
	g_string_append_c(json, '}');
	return g_string_free(json, FALSE);
}

/* --- the reader ------------------------------------------------------------------------------- */

static void free_args(struct foreign_reader *reader)
{
	struct activity_args *args = (struct activity_args *)reader;

	g_array_unref(args->records);
	g_byte_array_unref(args->kinds);
	g_array_unref(args->frequencies);
	g_free(args);
}

struct activity_args *activity_args_new(TachoTimeline *timeline)
{
	struct activity_args *args = g_new0(struct activity_args, 1);
	guint32 index;

	args->reader = (struct foreign_reader){
		.kernel = get_kernel,
		.launch_shape = get_launch_shape,
		.copy = get_copy,
		.lead = get_lead,
		.args_json = get_args_json,
		.free = free_args,
	};
	args->source = timeline->source;
	args->records = g_array_new(FALSE, FALSE, sizeof(guint64));
	args->kinds = g_byte_array_new();
	args->frequencies = g_array_new(FALSE, FALSE, sizeof(struct frequency));
	index = tacho_source_take_foreign(timeline->source, &args->reader);
	if (index >= SOURCE_MAX_FOREIGN)
		return NULL;
	args->index = index;
	return args;
}

void activity_args_set_frequency(struct activity_args *args, guint64 frequency_hz)
{
	struct frequency frequency = { args->records->len, frequency_hz };

	g_array_append_val(args->frequencies, frequency);
}

guint64 activity_args_add(struct activity_args *args, guint64 record, guint8 kind)
{
	g_array_append_val(args->records, record);
	g_byte_array_append(args->kinds, &kind, 1);
	return tacho_source_foreign_handle(args->index, args->records->len - 1);
}
