/* inductor_export: what operations and collectives took, as the Chrome trace that PyTorch Inductor's profile-guided estimation reads
 * (aten_distributed_optimizations.profile_guided_estimations_profile_path).
 *
 * It looks up operations by name, shapes, strides and data type, and collectives by kind, ranks, elements and data type. So each
 * distinct one stands once, with the median of what was recorded.
 *
 * (1) Of a collective, time counts from when its last rank had begun: a kernel's own time has in it what its rank waited for others.
 * (2) Of an operation, what counts is all that was done for it: with devices, their kernels that were launched within it; without, its own time.
 * (3) Strides are those of the trace; where it has none, tensors are taken to lie in order. */
#include <tacho/export.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/for_each.h"
#include "base/json_writer.h"
#include "export/collective_times.h"
#include "export/export_output.h"
#include "export/export_scope.h"
#include "import/read/json_scan.h"
#include "trace/operation.h"

struct inductor_export {
	const TachoTimeline *timeline;
	struct export_scope scope;
	JsonWriter *json;
	GHashTable *times; /* JSON of what is looked up -> GArray of gdouble, us */
	gint64 id;
};

static gint compare_doubles(gconstpointer a, gconstpointer b)
{
	gdouble x = *(const gdouble *)a, y = *(const gdouble *)b;

	return x < y ? -1 : x > y;
}

static gdouble median(GArray *times)
{
	g_array_sort(times, compare_doubles);
	return (g_array_index(times, gdouble, (times->len - 1) / 2) +
		g_array_index(times, gdouble, times->len / 2)) /
	       2;
}

static void add_time(struct inductor_export *export, const gchar *key, gint64 time_ns)
{
	GArray *times = g_hash_table_lookup(export->times, key);
	gdouble us = (gdouble)time_ns * 1e-3;

	if (!times) {
		times = g_array_new(FALSE, FALSE, sizeof(gdouble));
		g_hash_table_insert(export->times, g_strdup(key), times);
	}
	g_array_append_val(times, us);
}

/* A key is a name, "" of collectives, with its length before it, and members of JSON behind it. Returns where they begin. */
#define LENGTH_DIGITS 8
static gsize begin_key(GString *key, const gchar *name)
{
	g_string_printf(key, "%08x%s", (guint)strlen(name), name);
	return key->len;
}

/* The name in a key, to be freed with g_free(), and its members. */
static gchar *split_key(const gchar *key, const gchar **ret_members)
{
	g_autofree gchar *digits = g_strndup(key, LENGTH_DIGITS);
	gsize n = (gsize)g_ascii_strtoull(digits, NULL, 16);

	*ret_members = key + LENGTH_DIGITS + n;
	return g_strndup(key + LENGTH_DIGITS, n);
}

/* --- operations ------------------------------------------------------------------------------------- */

/* As Kineto names them. */
static const gchar *type_name(const gchar *dtype)
{
	static const gchar *const names[][2] = {
		{ "float32", "float" },	    { "float64", "double" },
		{ "float16", "c10::Half" }, { "bfloat16", "c10::BFloat16" },
		{ "int64", "long int" },    { "int32", "int" },
	};

	for (guint i = 0; i < G_N_ELEMENTS(names); i++)
		if (strcmp(dtype, names[i][0]) == 0)
			return names[i][1];
	return dtype;
}

static void append_numbers(GString *text, const gint64 *numbers, guint32 n)
{
	g_string_append_c(text, '[');
	for (guint32 i = 0; i < n; i++)
		g_string_append_printf(text, "%s%" G_GINT64_FORMAT, i ? "," : "", numbers[i]);
	g_string_append_c(text, ']');
}

/* "Input Dims":[[8,16]],"Input Strides":[[16,1]],"Input type":["float"] of what tacho knows; FALSE: it knows no tensors. */
static gboolean describe_tensors(const TachoTimeline *timeline, guint32 slice, GString *text)
{
	g_autoptr(GString) strides = g_string_new(NULL), types = g_string_new(NULL);
	TachoTensor tensor;
	guint32 i;

	g_string_append(text, "\"Input Dims\":[");
	for (i = 0; tacho_slice_input(timeline, slice, i, &tensor); i++) {
		gint64 stride[TACHO_MAX_DIMS], next = 1;

		for (guint32 j = tensor.n_dims; j-- > 0;) {
			stride[j] = next;
			if (!g_uint64_checked_mul((guint64 *)&next, (guint64)next,
						  (guint64)MAX(tensor.shape[j], 1)) ||
			    next < 0)
				return FALSE;
		}
		g_string_append(text, i ? "," : "");
		append_numbers(text, tensor.shape, tensor.n_dims);
		g_string_append(strides, i ? "," : "");
		append_numbers(strides, stride, tensor.n_dims);
		g_string_append_printf(types, "%s\"%s\"", i ? "," : "", type_name(tensor.dtype));
	}
	g_string_append_printf(text, "],\"Input Strides\":[%s],\"Input type\":[%s]", strides->str,
			       types->str);
	return i > 0;
}

/* The same as the trace has it, where it tells all three; what stands there is JSON. */
static gboolean copy_tensors(const TachoTimeline *timeline, guint32 slice, GString *text)
{
	static const gchar *const keys[] = { "Input Dims", "Input Strides", "Input type" };
	g_autofree gchar *json = tacho_slice_args_json(timeline, slice), *copy = NULL;
	struct json_scan scan;
	struct json_text key;
	guint n = 0;

	if (!json)
		return FALSE;
	copy = json_scan_copy(&scan, json);
	if (!json_take(&scan, '{'))
		return FALSE;
	while (json_member(&scan, &key)) {
		const gchar *begin;

		json_peek(&scan);
		begin = scan.at;
		json_skip(&scan);
		for (guint i = 0; i < G_N_ELEMENTS(keys) && scan.status == JSON_OK; i++)
			if (json_text_is(&key, keys[i], strlen(keys[i])) && *begin == '[') {
				g_string_append_printf(text, "%s\"%s\":", n ? "," : "", keys[i]);
				g_string_append_len(text, begin, scan.at - begin);
				n++;
			}
	}
	return n == G_N_ELEMENTS(keys);
}

/* What devices did for each slice and what is in it; NULL: there are no devices. */
static gint64 *sum_devices(const TachoTimeline *timeline)
{
	const TachoSlices *slices = &timeline->slices;
	gint64 *sums = NULL;

	for (guint32 i = 0; i < slices->n; i++) {
		if (slices->kind[i] != TACHO_SLICE_KERNEL || slices->launch[i] == TACHO_NONE)
			continue;
		if (!sums)
			sums = g_new0(gint64, slices->n);
		for (guint32 at = slices->launch[i]; at != TACHO_NONE; at = slices->parent[at])
			sums[at] += slices->duration_ns[i];
	}
	return sums;
}

static void add_operations(struct inductor_export *export)
{
	const TachoTimeline *timeline = export->timeline;
	g_autofree gint64 *devices = sum_devices(timeline);
	g_autoptr(GString) key = g_string_new(NULL);

	for (guint32 i = 0; i < timeline->slices.n; i++) {
		gint64 time_ns = devices ? devices[i] : timeline->slices.duration_ns[i];
		gboolean is_described;
		gsize n;

		if (timeline->slices.kind[i] != TACHO_SLICE_OP || time_ns <= 0 ||
		    (timeline->slices.flags[i] & TACHO_SLICE_OPEN) ||
		    !export_scope_has_slice(&export->scope, i))
			continue;
		n = begin_key(key, tacho_slice_name(timeline, i));
		is_described = copy_tensors(timeline, i, key);
		if (!is_described) {
			g_string_truncate(key, n);
			is_described = describe_tensors(timeline, i, key);
		}
		if (is_described)
			add_time(export, key->str, time_ns);
	}
}

/* --- collectives ------------------------------------------------------------------------------------ */

/* As ScalarType names them. */
static const gchar *scalar_name(const gchar *dtype)
{
	static const gchar *const names[][2] = {
		{ "float32", "Float" },	    { "float64", "Double" }, { "float16", "Half" },
		{ "bfloat16", "BFloat16" }, { "int64", "Long" },     { "int32", "Int" },
	};

	for (guint i = 0; i < G_N_ELEMENTS(names); i++)
		if (strcmp(dtype, names[i][0]) == 0)
			return names[i][1];
	return "Float"; /* what gradients are, unless something is said */
}

/* The element type of what it carries; bytes of an element. */
static const gchar *element_of(const TachoTimeline *timeline, guint32 slice, guint64 *ret_bytes)
{
	TachoTensor tensor;

	*ret_bytes = sizeof(gfloat);
	if (!tacho_slice_input(timeline, slice, 0, &tensor) || tensor.dtype_bytes == 0)
		return "Float";
	*ret_bytes = tensor.dtype_bytes;
	return scalar_name(tensor.dtype);
}

static gint compare_ranks(gconstpointer a, gconstpointer b)
{
	gint32 x = *(const gint32 *)a, y = *(const gint32 *)b;

	return x < y ? -1 : x > y;
}

/* "[0, 1, 2]" */
static gchar *ranks_of(const TachoTimeline *timeline, const TachoCollective *collective)
{
	g_autoptr(GArray) ranks = g_array_new(FALSE, FALSE, sizeof(gint32));
	g_autoptr(GString) text = g_string_new("[");

	for (guint32 i = 0; i < collective->n_members; i++) {
		gint32 rank =
			tacho_slice_process(timeline, g_array_index(timeline->members, guint32,
								    collective->first_member + i))
				->rank;

		g_array_append_val(ranks, rank);
	}
	g_array_sort(ranks, compare_ranks);
	for (guint i = 0; i < ranks->len; i++)
		g_string_append_printf(text, "%s%d", i ? ", " : "",
				       g_array_index(ranks, gint32, i));
	g_string_append_c(text, ']');
	return g_string_free(g_steal_pointer(&text), FALSE);
}

static const gchar *name_of(enum collective_operation operation)
{
	switch (operation) {
	case OPERATION_ALL_REDUCE:
		return "allreduce";
	case OPERATION_ALL_GATHER:
		return "_allgather_base";
	case OPERATION_REDUCE_SCATTER:
		return "_reduce_scatter_base";
	case OPERATION_ALL_TO_ALL:
		return "all_to_all";
	default:
		return NULL; /* the estimation asks for no others */
	}
}

static void add_collective(struct inductor_export *export, const TachoCollective *collective)
{
	const TachoTimeline *timeline = export->timeline;
	guint32 first = g_array_index(timeline->members, guint32, collective->first_member);
	enum collective_operation operation = collective_operation_of(timeline, first);
	g_autoptr(GString) key = g_string_new(NULL);
	g_autofree gchar *ranks = NULL;
	gint64 busy_ns = collective_busy_ns(timeline, collective);
	guint64 element_bytes, n_in, n_out;
	const gchar *dtype = element_of(timeline, first, &element_bytes);

	if (!name_of(operation) || busy_ns <= 0 || collective->bytes < element_bytes ||
	    collective->n_members < collective->n_expected ||
	    !export_scope_has_slice(&export->scope, first))
		return;
	ranks = ranks_of(timeline, collective);
	n_in = n_out = collective->bytes / element_bytes;
	if (operation == OPERATION_ALL_GATHER)
		n_out = n_in * collective->n_members;
	if (operation == OPERATION_REDUCE_SCATTER)
		n_out = n_in / collective->n_members;
	begin_key(key, "");
	g_string_append_printf(
		key,
		"\"Collective name\":\"%s\",\"Process Group Name\":\"%u\",\"Process Group "
		"Ranks\":\"%s\",\"Group size\":%u,\"In msg nelems\":%" G_GUINT64_FORMAT
		",\"Out msg nelems\":%" G_GUINT64_FORMAT ",\"dtype\":\"%s\"",
		name_of(operation), collective->group, ranks, collective->n_members, n_in, n_out,
		dtype);
	add_time(export, key->str, busy_ns);
}

/* --- the file --------------------------------------------------------------------------------------- */

/* Lists of numbers, lists and texts, as deep as tensors' shapes need; anything else becomes null. */
#define MAX_DEPTH 8
static void copy_value(struct json_scan *scan, JsonWriter *json, guint depth)
{
	struct json_text text;
	gdouble number;
	gchar first = json_peek(scan);

	if (first == '[' && depth < MAX_DEPTH && json_take(scan, '[')) {
		json_writer_begin_array(json);
		while (json_element(scan))
			copy_value(scan, json, depth + 1);
		json_writer_end_array(json);
		return;
	}
	if (first == '"' && json_string(scan, &text)) {
		g_autofree gchar *plain = json_text_dup(&text);

		json_writer_string(json, plain);
		return;
	}
	if (first != '[' && first != '{' && json_number(scan, &number)) {
		json_writer_number(json, number);
		return;
	}
	if (first == '[' || first == '{')
		json_skip(scan);
	json_writer_null(json);
}

/* Members of a foreign trace, or made here. */
static void write_members(JsonWriter *json, const gchar *members)
{
	g_autofree gchar *object = g_strconcat("{", members, "}", NULL), *copy = NULL;
	struct json_scan scan;
	struct json_text key;

	copy = json_scan_copy(&scan, object);
	if (!json_take(&scan, '{'))
		return;
	while (json_member(&scan, &key)) {
		g_autofree gchar *name = json_text_dup(&key);

		json_writer_key(json, name);
		copy_value(&scan, json, 0);
	}
}

static void begin_event(struct inductor_export *export, const gchar *category, const gchar *name,
			gint64 at_us, gdouble us)
{
	JsonWriter *json = export->json;

	json_writer_line(json);
	json_writer_begin_object(json);
	json_writer_string(json_writer_key(json, "ph"), "X");
	json_writer_string(json_writer_key(json, "cat"), category);
	json_writer_string(json_writer_key(json, "name"), name);
	json_writer_integer(json_writer_key(json, "pid"), 0);
	json_writer_integer(json_writer_key(json, "tid"), 0);
	json_writer_integer(json_writer_key(json, "ts"), at_us);
	json_writer_number(json_writer_key(json, "dur"), us);
	json_writer_begin_object(json_writer_key(json, "args"));
}

static void end_event(struct inductor_export *export)
{
	json_writer_end_object(export->json);
	json_writer_end_object(export->json);
}

static void write_operation(struct inductor_export *export, const gchar *name, const gchar *members,
			    gdouble us)
{
	begin_event(export, "cpu_op", name, export->id, us);
	json_writer_integer(json_writer_key(export->json, "External id"), export->id);
	write_members(export->json, members);
	end_event(export);
	begin_event(export, "kernel", name, export->id, us);
	json_writer_integer(json_writer_key(export->json, "External id"), export->id);
	end_event(export);
}

static gint compare_keys(gconstpointer a, gconstpointer b)
{
	return strcmp(a, b);
}

static void write_events(struct inductor_export *export)
{
	g_autoptr(GList) keys = g_list_sort(g_hash_table_get_keys(export->times), compare_keys);

	for (const GList *key = keys; key; key = key->next, export->id++) {
		const gchar *members;
		g_autofree gchar *name = split_key(key->data, &members);
		gdouble us = median(g_hash_table_lookup(export->times, key->data));

		if (*name) {
			write_operation(export, name, members, us);
			continue;
		}
		begin_event(export, "kernel", "collective", export->id, us);
		write_members(export->json, members);
		end_event(export);
	}
}

/* Whose ranks the groups have, by the number that tacho gave them. */
static void write_groups(struct inductor_export *export)
{
	g_autoptr(GHashTable) seen = g_hash_table_new(NULL, NULL);
	JsonWriter *json = export->json;

	json_writer_begin_object(json_writer_key(json, "distributedInfo"));
	json_writer_integer(json_writer_key(json, "rank"), 0);
	json_writer_unsigned(json_writer_key(json, "world_size"), export->timeline->ranks->len);
	json_writer_begin_array(json_writer_key(json, "pg_config"));
	FOR_EACH(const TachoCollective, collective, export->timeline->collectives) {
		g_autofree gchar *name = g_strdup_printf("%u", collective->group);
		g_autofree gchar *ranks = NULL, *members = NULL;

		if (collective->n_members < collective->n_expected ||
		    !g_hash_table_add(seen, GUINT_TO_POINTER(collective->group)))
			continue;
		ranks = ranks_of(export->timeline, collective);
		members = g_strdup_printf("\"pg_name\":\"%s\",\"ranks\":%s", name, ranks);
		json_writer_begin_object(json);
		write_members(json, members);
		json_writer_end_object(json);
	}
	json_writer_end_array(json);
	json_writer_end_object(json);
}

static gboolean write_file(struct inductor_export *export, FILE *out)
{
	JsonWriter *json = export->json = json_writer_new(out);
	gboolean is_written;

	json_writer_begin_object(json);
	json_writer_integer(json_writer_key(json, "schemaVersion"), 1);
	write_groups(export);
	json_writer_line(json);
	json_writer_begin_array(json_writer_key(json, "traceEvents"));
	write_events(export);
	json_writer_end_array(json);
	json_writer_end_object(json);
	is_written = json_writer_finish(json);
	json_writer_free(json);
	return is_written;
}

gboolean tacho_export_inductor(const TachoTimeline *timeline, const TachoExportOptions *options,
			       FILE *out, GError **error)
{
	struct inductor_export export = { .timeline = timeline, .id = 1 };
	gboolean is_there;

	if (!export_scope_init(&export.scope, timeline, options, error))
		return FALSE;
	export.times = g_hash_table_new_full(g_str_hash, g_str_equal, g_free,
					     (GDestroyNotify)g_array_unref);
	add_operations(&export);
	FOR_EACH(const TachoCollective, collective, timeline->collectives)
		add_collective(&export, collective);
	export_scope_release(&export.scope);
	is_there = g_hash_table_size(export.times) > 0;
	if (is_there)
		write_file(&export, out);
	else
		g_set_error_literal(error, TACHO_EXPORT_ERROR, TACHO_EXPORT_ERROR_NOT_THERE,
				    "neither operations with shapes nor whole collectives were "
				    "recorded");
	g_hash_table_unref(export.times);
	return is_there && export_output_finish(out, options, error);
}
