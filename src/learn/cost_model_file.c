#include "learn/cost_model_file.h"

#include <math.h>

#include "base/for_each.h"
#include "learn/boosted_json.h"
#include "learn/correction.h"
#include "learn/link_cost.h"

#define FORMAT_NAME "tacho-cost-model"

/* Source: a rule: what no figure of this world is over, so that no product of a few of them is infinite. If wrong, a file is refused. */
#define MOST	1e18
#define MOST_NS 1e15 /* eleven days */
#define LEAST	1e-9

static const gchar *const feature_names[N_CALL_FEATURES] = {
#define FEATURE_NAME(enumerator, name) name,
	CALL_FEATURES(FEATURE_NAME)
#undef FEATURE_NAME
};

/* --- written --------------------------------------------------------------------------------------- */

static void write_text(JsonWriter *json, const gchar *key, const gchar *text)
{
	json_writer_string(json_writer_key(json, key), text);
}

static void write_number(JsonWriter *json, const gchar *key, gdouble number)
{
	json_writer_number(json_writer_key(json, key), number);
}

static void write_unsigned(JsonWriter *json, const gchar *key, guint64 number)
{
	json_writer_unsigned(json_writer_key(json, key), number);
}

static void begin_row(JsonWriter *json)
{
	json_writer_line(json);
	json_writer_begin_object(json);
}

static void begin_list(JsonWriter *json, const gchar *key)
{
	json_writer_line(json);
	json_writer_begin_array(json_writer_key(json, key));
}

static void write_sources(const struct cost_model *model, JsonWriter *json)
{
	begin_list(json, "sources");
	FOR_EACH(const struct cost_source, source, model->calls.sources) {
		begin_row(json);
		write_text(json, "name", source->name);
		write_unsigned(json, "calls", source->n_calls);
		json_writer_end_object(json);
	}
	json_writer_end_array(json);
}

static void write_devices(const struct cost_model *model, JsonWriter *json)
{
	begin_list(json, "devices");
	FOR_EACH(const struct cost_device, device, model->calls.devices) {
		begin_row(json);
		write_text(json, "name", device->name);
		json_writer_boolean(json_writer_key(json, "is_stated"), device->is_stated);
		write_number(json, "gb_per_s", device->bytes_per_ns);
		json_writer_begin_object(json_writer_key(json, "giga_ops_per_s"));
		for (guint rate = 0; rate < DEVICE_N_RATES; rate++)
			write_number(json, device_rate_name((enum device_rate)rate),
				     device->ops_per_ns[rate]);
		json_writer_end_object(json);
		json_writer_end_object(json);
	}
	json_writer_end_array(json);
}

static void write_rooflines(const struct cost_model *model, JsonWriter *json)
{
	begin_list(json, "rooflines");
	FOR_EACH(const struct cost_roofline, roofline, model->rooflines) {
		begin_row(json);
		write_text(json, "class", kernel_class_name(roofline->class));
		write_text(json, "type", device_rate_name(roofline->rate));
		if (roofline->device != COST_MAX_DEVICES)
			write_unsigned(json, "device", roofline->device);
		write_number(json, "floor_ns", roofline->floor_ns);
		write_number(json, "operations_share", roofline->ops_share);
		write_number(json, "bytes_share", roofline->bytes_share);
		write_unsigned(json, "calls", roofline->n_calls);
		json_writer_end_object(json);
	}
	json_writer_end_array(json);
}

static void write_errors(const struct cost_class *class, JsonWriter *json)
{
	json_writer_begin_array(json_writer_key(json, "errors"));
	for (guint fold = 0; fold < N_COST_FOLDS; fold++)
		for (guint way = 0; way < N_COST_WAYS; way++) {
			const struct cost_error *error = &class->errors[fold][way];

			if (error->n_calls == 0)
				continue;
			json_writer_begin_object(json);
			write_text(json, "held_out", cost_fold_name((enum cost_fold)fold));
			write_text(json, "by", cost_way_name((enum cost_way)way));
			write_unsigned(json, "calls", error->n_calls);
			write_number(json, "mean_pct", error->mean_pct);
			write_number(json, "median_pct", error->median_pct);
			json_writer_end_object(json);
		}
	json_writer_end_array(json);
}

static void write_classes(const struct cost_model *model, JsonWriter *json)
{
	begin_list(json, "classes");
	for (guint i = 0; i < N_KERNEL_CLASSES; i++) {
		const struct cost_class *class = &model->classes[i];

		if (class->n_calls == 0)
			continue;
		begin_row(json);
		write_text(json, "class", kernel_class_name((enum kernel_class)i));
		write_unsigned(json, "calls", class->n_calls);
		write_unsigned(json, "devices", class->n_devices);
		write_errors(class, json);
		if (class->has_trees) {
			json_writer_key(json, "trees");
			boosted_json_write(&class->trees, feature_names, json);
		}
		json_writer_end_object(json);
	}
	json_writer_end_array(json);
}

/* [0,"aten::mm","[[8,16],[16,4]]","fp32","gemm",1024,896,1,12,3500]: device, operation, shapes, type, class, operations, bytes,
 * kernels, count, ns */
static void write_calls(const struct cost_model *model, JsonWriter *json)
{
	begin_list(json, "calls");
	FOR_EACH(const struct cost_call, call, model->calls.rows) {
		json_writer_line(json);
		json_writer_begin_array(json);
		json_writer_unsigned(json, call->device);
		json_writer_string(json, call->op);
		json_writer_string(json, call->shapes);
		json_writer_string(json, device_rate_name(call->rate));
		json_writer_string(json, kernel_class_name(call->class));
		json_writer_number(json, call->flops);
		json_writer_number(json, call->bytes);
		json_writer_number(json, call->kernels);
		json_writer_unsigned(json, call->count);
		json_writer_number(json, call->time_ns);
		json_writer_end_array(json);
	}
	json_writer_end_array(json);
}

static void write_links(const struct cost_model *model, JsonWriter *json)
{
	begin_list(json, "communication");
	FOR_EACH(const struct link_cost, link, model->links) {
		begin_row(json);
		write_text(json, "host", link->host);
		write_text(json, "backend", link->backend);
		write_text(json, "operation", link_operation_name(link->operation));
		write_unsigned(json, "ranks", link->n_ranks);
		json_writer_boolean(json_writer_key(json, "is_calibrated"), link->is_calibrated);
		write_number(json, "fixed_ns", link->cost.fixed_ns);
		write_number(json, "ns_per_byte", link->cost.ns_per_byte);
		write_number(json, "error_pct", 100 * link->cost.error_share);
		json_writer_begin_array(json_writer_key(json, "points"));
		FOR_EACH(const struct link_point, point, link->points) {
			json_writer_begin_array(json);
			json_writer_unsigned(json, point->bytes);
			json_writer_number(json, point->time_ns);
			json_writer_unsigned(json, point->count);
			json_writer_end_array(json);
		}
		json_writer_end_array(json);
		json_writer_end_object(json);
	}
	json_writer_end_array(json);
}

static void write_corrections(const struct cost_model *model, JsonWriter *json)
{
	begin_list(json, "corrections");
	FOR_EACH(const struct correction, correction, model->corrections) {
		begin_row(json);
		write_text(json, "host", correction->host);
		write_text(json, "device", correction->device);
		write_text(json, "change", correction->change);
		write_number(json, "predicted_gain_pct", correction->predicted_pct);
		write_number(json, "measured_gain_pct", correction->measured_pct);
		write_number(json, "low_gain_pct", correction->low_pct);
		write_number(json, "high_gain_pct", correction->high_pct);
		write_unsigned(json, "pairs", correction->n_pairs);
		json_writer_integer(json_writer_key(json, "unix_s"), correction->unix_s);
		json_writer_end_object(json);
	}
	json_writer_end_array(json);
}

void cost_model_write_json(const struct cost_model *model, JsonWriter *json)
{
	json_writer_begin_object(json);
	write_text(json, "format", FORMAT_NAME);
	write_unsigned(json, "version", COST_MODEL_VERSION);
	write_sources(model, json);
	write_devices(model, json);
	write_rooflines(model, json);
	write_classes(model, json);
	write_calls(model, json);
	write_links(model, json);
	write_corrections(model, json);
	json_writer_line(json);
	json_writer_end_object(json);
}

/* --- read ------------------------------------------------------------------------------------------ */

static gboolean read_source(struct cost_model *model, struct model_reader *reader)
{
	static const gchar *const keys[] = { "name", "calls", NULL };
	struct cost_source source = { .name = NULL };
	guint seen = 0;
	gint key;

	if (!model_enter(reader, '{', "a source"))
		return FALSE;
	while ((key = model_key(reader, keys, &seen)) >= 0) {
		if (key == 0 && (source.name = model_text(reader, "a source's name")))
			continue;
		if (key != 1 || !model_count(reader, "'calls'", G_MAXUINT32, &source.n_calls))
			break;
	}
	if (!model_has(reader, keys, seen, 3)) {
		g_free(source.name);
		return FALSE;
	}
	g_array_append_val(model->calls.sources, source);
	return TRUE;
}

static gboolean read_rates(struct cost_device *device, struct model_reader *reader)
{
	const gchar *keys[DEVICE_N_RATES + 1] = { NULL };
	guint seen = 0;
	gint key;

	for (guint rate = 0; rate < DEVICE_N_RATES; rate++)
		keys[rate] = device_rate_name((enum device_rate)rate);
	if (!model_enter(reader, '{', "'giga_ops_per_s'"))
		return FALSE;
	while ((key = model_key(reader, keys, &seen)) >= 0)
		if (!model_number(reader, "a rate", 0, MOST, &device->ops_per_ns[key]))
			return FALSE;
	return model_has(reader, keys, seen, (1u << DEVICE_N_RATES) - 1);
}

static gboolean read_device(struct cost_model *model, struct model_reader *reader)
{
	static const gchar *const keys[] = { "name", "is_stated", "gb_per_s", "giga_ops_per_s",
					     NULL };
	struct cost_device device = { .name = NULL };
	gboolean is_good = TRUE;
	guint seen = 0;
	gint key;

	if (!model_enter(reader, '{', "a device"))
		return FALSE;
	while (is_good && (key = model_key(reader, keys, &seen)) >= 0) {
		if (key == 0)
			is_good = (device.name = model_text(reader, "a device's name")) != NULL;
		else if (key == 1)
			is_good = model_truth(reader, "'is_stated'", &device.is_stated);
		else if (key == 2)
			is_good = model_number(reader, "'gb_per_s'", 0, MOST, &device.bytes_per_ns);
		else
			is_good = read_rates(&device, reader);
	}
	if (is_good && model_has(reader, keys, seen, 15) &&
	    (model->calls.devices->len < COST_MAX_DEVICES ||
	     model_refuse(reader, "there are too many devices"))) {
		g_array_append_val(model->calls.devices, device);
		return TRUE;
	}
	g_free(device.name);
	return FALSE;
}

static gboolean read_class(struct model_reader *reader, enum kernel_class *ret_class)
{
	g_autofree gchar *name = model_text(reader, "a class");

	if (!name)
		return FALSE;
	*ret_class = kernel_class_find(name);
	return (*ret_class < N_KERNEL_CLASSES && *ret_class != KERNEL_COLLECTIVE) ||
	       model_refuse(reader, "there is no class '%.40s'", name);
}

static gboolean read_type(struct model_reader *reader, enum device_rate *ret_rate)
{
	g_autofree gchar *name = model_text(reader, "a type of numbers");

	if (!name)
		return FALSE;
	*ret_rate = device_rate_find(name);
	return *ret_rate < DEVICE_N_RATES ||
	       model_refuse(reader, "there is no type of numbers '%.40s'", name);
}

static gboolean read_device_place(const struct cost_model *model, struct model_reader *reader,
				  guint32 *ret_device)
{
	guint64 place;

	if (!model_count(reader, "a device's place", COST_MAX_DEVICES, &place))
		return FALSE;
	*ret_device = (guint32)place;
	return place < model->calls.devices->len ||
	       model_refuse(reader, "there is no device %" G_GUINT64_FORMAT, place);
}

static gboolean read_roofline(struct cost_model *model, struct model_reader *reader)
{
	static const gchar *const keys[] = {
		"class",       "type",	"device", "floor_ns", "operations_share",
		"bytes_share", "calls", NULL
	};
	struct cost_roofline roofline = { .device = COST_MAX_DEVICES };
	guint64 n_calls = 0;
	gboolean is_good = TRUE;
	guint seen = 0;
	gint key;

	if (!model_enter(reader, '{', "a roofline"))
		return FALSE;
	while (is_good && (key = model_key(reader, keys, &seen)) >= 0) {
		if (key == 0)
			is_good = read_class(reader, &roofline.class);
		else if (key == 1)
			is_good = read_type(reader, &roofline.rate);
		else if (key == 2)
			is_good = read_device_place(model, reader, &roofline.device);
		else if (key == 3)
			is_good =
				model_number(reader, "'floor_ns'", 0, MOST_NS, &roofline.floor_ns);
		else if (key == 4)
			is_good = model_number(reader, "'operations_share'", 0, 1e6,
					       &roofline.ops_share);
		else if (key == 5)
			is_good = model_number(reader, "'bytes_share'", LEAST, 1e6,
					       &roofline.bytes_share);
		else
			is_good = model_count(reader, "'calls'", G_MAXUINT32, &n_calls);
	}
	if (!is_good || !model_has(reader, keys, seen, 0x7b))
		return FALSE;
	if (roofline.ops_share > 0 && roofline.ops_share < LEAST)
		return model_refuse(reader, "'operations_share' is 0, or it is %g or more", LEAST);
	roofline.n_calls = (guint)n_calls;
	g_array_append_val(model->rooflines, roofline);
	return TRUE;
}

static gboolean read_way(struct model_reader *reader, guint *ret_way)
{
	g_autofree gchar *name = model_text(reader, "'by'");

	for (*ret_way = 0; name && *ret_way < N_COST_WAYS; ++*ret_way)
		if (strcmp(name, cost_way_name((enum cost_way) * ret_way)) == 0)
			return TRUE;
	return name && model_refuse(reader, "there is no way '%.40s'", name);
}

static gboolean read_fold(struct model_reader *reader, guint *ret_fold)
{
	g_autofree gchar *name = model_text(reader, "'held_out'");

	for (*ret_fold = 0; name && *ret_fold < N_COST_FOLDS; ++*ret_fold)
		if (strcmp(name, cost_fold_name((enum cost_fold) * ret_fold)) == 0)
			return TRUE;
	return name && model_refuse(reader, "nothing is held out by '%.40s'", name);
}

static gboolean read_error(struct cost_class *class, struct model_reader *reader)
{
	static const gchar *const keys[] = { "held_out", "by",	       "calls",
					     "mean_pct", "median_pct", NULL };
	struct cost_error error = { 0 };
	guint seen = 0, fold = 0, way = 0;
	guint64 n_calls = 0;
	gboolean is_good = TRUE;
	gint key;

	if (!model_enter(reader, '{', "an error"))
		return FALSE;
	while (is_good && (key = model_key(reader, keys, &seen)) >= 0) {
		if (key == 0)
			is_good = read_fold(reader, &fold);
		else if (key == 1)
			is_good = read_way(reader, &way);
		else if (key == 2)
			is_good = model_count(reader, "'calls'", G_MAXUINT32, &n_calls);
		else
			is_good = model_number(reader, keys[key], 0, MOST,
					       key == 3 ? &error.mean_pct : &error.median_pct);
	}
	if (!is_good || !model_has(reader, keys, seen, 31))
		return FALSE;
	error.n_calls = (guint)n_calls;
	class->errors[fold][way] = error;
	return TRUE;
}

static gboolean read_errors(struct cost_class *class, struct model_reader *reader)
{
	if (!model_enter(reader, '[', "'errors'"))
		return FALSE;
	while (model_element(reader))
		if (!read_error(class, reader))
			return FALSE;
	return !reader->error;
}

static gboolean read_learned_class(struct cost_model *model, struct model_reader *reader)
{
	static const gchar *const keys[] = { "class", "calls", "devices", "errors", "trees", NULL };
	struct cost_class *class = NULL;
	enum kernel_class number;
	guint64 n_calls = 0, n_devices = 0;
	gboolean is_good = TRUE;
	guint seen = 0;
	gint key;

	if (!model_enter(reader, '{', "a class"))
		return FALSE;
	while (is_good && (key = model_key(reader, keys, &seen)) >= 0) {
		if (key > 0 && !class)
			return model_refuse(reader, "'class' does not stand first");
		if (key == 0) {
			if (!read_class(reader, &number))
				return FALSE;
			class = &model->classes[number];
			if (class->n_calls > 0 || class->has_trees)
				return model_refuse(reader, "a class stands twice");
		} else if (key == 1) {
			is_good = model_count(reader, "'calls'", COST_MAX_CALLS, &n_calls);
			class->n_calls = (guint)n_calls;
		} else if (key == 2) {
			is_good = model_count(reader, "'devices'", COST_MAX_DEVICES, &n_devices);
			class->n_devices = (guint)n_devices;
		} else if (key == 3) {
			is_good = read_errors(class, reader);
		} else {
			is_good = class->has_trees =
				boosted_json_read(&class->trees, feature_names, reader);
		}
	}
	return is_good && model_has(reader, keys, seen, 15);
}

/* Features are made of the shapes anew: so they are what this program makes of them. */
static gboolean take_call(struct cost_model *model, struct cost_call *call, const gchar *op,
			  const gchar *shapes, struct model_reader *reader)
{
	if (!cost_calls_set_texts(&model->calls, op, shapes, call))
		return model_refuse(reader, "'%.60s' are no shapes", shapes);
	cost_call_set_features(call, cost_calls_device_at(&model->calls, call->device));
	g_array_append_val(model->calls.rows, *call);
	return TRUE;
}

static gboolean read_call(struct cost_model *model, struct model_reader *reader)
{
	struct cost_call call = { 0 };
	g_autofree gchar *op = NULL, *shapes = NULL;
	gboolean is_good = TRUE;
	guint n = 0;

	if (!model_enter(reader, '[', "a call"))
		return FALSE;
	if (model->calls.rows->len == COST_MAX_CALLS)
		return model_refuse(reader, "there are more than %u calls", COST_MAX_CALLS);
	for (; is_good && model_element(reader); n++)
		switch (n) {
		case 0:
			is_good = read_device_place(model, reader, &call.device);
			break;
		case 1:
			is_good = (op = model_text(reader, "an operation")) != NULL;
			break;
		case 2:
			is_good = (shapes = model_text(reader, "shapes")) != NULL;
			break;
		case 3:
			is_good = read_type(reader, &call.rate);
			break;
		case 4:
			is_good = read_class(reader, &call.class);
			break;
		case 5:
			is_good = model_number(reader, "operations", 0, MOST, &call.flops);
			break;
		case 6:
			is_good = model_number(reader, "bytes", LEAST, MOST, &call.bytes);
			break;
		case 7:
			is_good = model_number(reader, "kernels", 0, MOST, &call.kernels);
			break;
		case 8:
			is_good = model_count(reader, "a count", G_MAXUINT32, &call.count);
			break;
		case 9:
			is_good = model_number(reader, "a time", LEAST, MOST_NS, &call.time_ns);
			break;
		default:
			return model_refuse(reader, "a call has more than ten values");
		}
	if (!is_good || reader->error)
		return FALSE;
	if (n < 10)
		return model_refuse(reader, "a call has fewer than ten values");
	return take_call(model, &call, op, shapes, reader);
}

static gboolean read_point(struct link_cost *link, struct model_reader *reader)
{
	struct link_point point = { 0, 0, 0 };
	guint n = 0;

	if (!model_enter(reader, '[', "a point"))
		return FALSE;
	if (link->points->len == LINK_MAX_POINTS)
		return model_refuse(reader, "there are more than %u points", LINK_MAX_POINTS);
	for (; model_element(reader); n++)
		if (!(n == 0   ? model_count(reader, "bytes", 1ull << 50, &point.bytes)
		      : n == 1 ? model_number(reader, "a time", LEAST, MOST_NS, &point.time_ns)
		      : n == 2 ? model_count(reader, "a count", G_MAXUINT32, &point.count)
			       : model_refuse(reader, "a point has more than three values")))
			return FALSE;
	if (n < 3 || point.bytes == 0)
		return model_refuse(reader, "a point is not written as [bytes, ns, count]");
	g_array_append_val(link->points, point);
	return TRUE;
}

static gboolean read_points(struct link_cost *link, struct model_reader *reader)
{
	if (!model_enter(reader, '[', "'points'"))
		return FALSE;
	while (model_element(reader))
		if (!read_point(link, reader))
			return FALSE;
	return !reader->error;
}

static gboolean read_operation(struct model_reader *reader,
			       enum collective_operation *ret_operation)
{
	g_autofree gchar *name = model_text(reader, "an operation");

	if (!name)
		return FALSE;
	*ret_operation = link_operation_find(name);
	return *ret_operation != OPERATION_UNTOLD ||
	       model_refuse(reader, "there is no collective '%.40s'", name);
}

static gboolean read_link_member(struct link_cost *link, gint key, struct model_reader *reader)
{
	guint64 n_ranks = 0;
	gdouble unused;

	switch (key) {
	case 0:
		return (link->host = model_text(reader, "a host")) != NULL;
	case 1:
		return (link->backend = model_text(reader, "a backend")) != NULL;
	case 2:
		return read_operation(reader, &link->operation);
	case 3:
		if (!model_count(reader, "'ranks'", 1u << 20, &n_ranks))
			return FALSE;
		link->n_ranks = (guint32)n_ranks;
		return n_ranks >= 2 || model_refuse(reader, "'ranks' is less than 2");
	case 4:
		return model_truth(reader, "'is_calibrated'", &link->is_calibrated);
	case 5:
	case 6:
	case 7: /* the line is fitted to the points anew */
		return model_number(reader, "a figure of a line", 0, MOST, &unused);
	default:
		return read_points(link, reader);
	}
}

static gboolean read_link(struct cost_model *model, struct model_reader *reader)
{
	static const gchar *const keys[] = { "host",	    "backend",	     "operation",
					     "ranks",	    "is_calibrated", "fixed_ns",
					     "ns_per_byte", "error_pct",     "points",
					     NULL };
	struct link_cost link = { .points = g_array_new(FALSE, FALSE, sizeof(struct link_point)) };
	guint seen = 0;
	gint key;

	if (model_enter(reader, '{', "communication"))
		while ((key = model_key(reader, keys, &seen)) >= 0)
			if (!read_link_member(&link, key, reader))
				break;
	if (reader->error || !model_has(reader, keys, seen, 0x11f) ||
	    (model->links->len >= LINK_MAX_COSTS &&
	     !model_refuse(reader, "there is too much communication"))) {
		link_cost_release(&link);
		return FALSE;
	}
	link_costs_put(model->links, &link);
	return TRUE;
}

static gboolean read_correction_member(struct correction *correction, gint key,
				       struct model_reader *reader)
{
	gdouble *const numbers[] = { &correction->predicted_pct, &correction->measured_pct,
				     &correction->low_pct, &correction->high_pct };
	gchar **const texts[] = { &correction->host, &correction->device, &correction->change };
	guint64 unix_s = 0;

	if (key < 3)
		return (*texts[key] = model_text(reader, "a text of a correction")) != NULL;
	if (key < 7)
		return model_number(reader, "a gain", -1e6, 99.999, numbers[key - 3]);
	if (key == 7)
		return model_count(reader, "'pairs'", 1u << 20, &correction->n_pairs);
	if (!model_count(reader, "'unix_s'", 1ull << 40, &unix_s))
		return FALSE;
	correction->unix_s = (gint64)unix_s;
	return TRUE;
}

static gboolean read_correction(struct cost_model *model, struct model_reader *reader)
{
	static const gchar *const keys[] = { "host",
					     "device",
					     "change",
					     "predicted_gain_pct",
					     "measured_gain_pct",
					     "low_gain_pct",
					     "high_gain_pct",
					     "pairs",
					     "unix_s",
					     NULL };
	struct correction correction = { .host = NULL };
	guint seen = 0;
	gint key;

	if (model_enter(reader, '{', "a correction"))
		while ((key = model_key(reader, keys, &seen)) >= 0)
			if (!read_correction_member(&correction, key, reader))
				break;
	if (reader->error || !model_has(reader, keys, seen, 0x1ff)) {
		g_free(correction.host);
		g_free(correction.device);
		g_free(correction.change);
		return FALSE;
	}
	corrections_add(model->corrections, &correction);
	return TRUE;
}

typedef gboolean ReadRow(struct cost_model *model, struct model_reader *reader);

static gboolean read_rows(struct cost_model *model, struct model_reader *reader, const gchar *key,
			  ReadRow *read_row)
{
	if (!model_enter(reader, '[', key))
		return FALSE;
	while (model_element(reader))
		if (!read_row(model, reader))
			return FALSE;
	return !reader->error;
}

static gboolean read_head(struct model_reader *reader, gint key)
{
	g_autofree gchar *text = NULL;
	guint64 version = 0;

	if (key == 0) {
		text = model_text(reader, "'format'");
		return text && (strcmp(text, FORMAT_NAME) == 0 ||
				model_refuse(reader, "this is no cost model"));
	}
	if (!model_count(reader, "'version'", 1u << 20, &version))
		return FALSE;
	return version == COST_MODEL_VERSION ||
	       model_refuse(reader,
			    "the model is of version %" G_GUINT64_FORMAT
			    ", and this program knows version %d",
			    version, COST_MODEL_VERSION);
}

static void read_model(struct cost_model *model, struct model_reader *reader)
{
	static const gchar *const keys[] = { "format",	    "version", "sources", "devices",
					     "rooflines",   "classes", "calls",	  "communication",
					     "corrections", NULL };
	static ReadRow *const rows[] = { read_source,	     read_device, read_roofline,
					 read_learned_class, read_call,	  read_link,
					 read_correction };
	guint seen = 0;
	gint key;

	if (!model_enter(reader, '{', "a cost model"))
		return;
	while ((key = model_key(reader, keys, &seen)) >= 0) {
		if (key >= 2 && (seen & 3) != 3) {
			model_refuse(reader, "this is no cost model: 'format' and 'version' do not "
					     "stand first");
			return;
		}
		if (!(key < 2 ? read_head(reader, key)
			      : read_rows(model, reader, keys[key], rows[key - 2])))
			return;
	}
	if (model_has(reader, keys, seen, 3) && json_peek(&reader->scan))
		model_refuse(reader, "something stands behind the model");
}

gboolean cost_model_parse(struct cost_model *model, const gchar *json, gsize n, GError **error)
{
	g_autofree gchar *copy = g_malloc(n + JSON_PADDING);
	struct model_reader reader = { .scan = { .at = copy, .end = copy + n }, .begin = copy };

	memcpy(copy, json, n);
	memset(copy + n, '"', JSON_PADDING);
	read_model(model, &reader);
	if (!reader.error)
		return TRUE;
	g_propagate_error(error, reader.error);
	return FALSE;
}
