/* cost: the public face of cost models. */
#include <tacho/cost.h>

#include <math.h>
#include <string.h>

#include "analyze/recorded_device.h"
#include "analyze/table_columns.h"
#include "base/for_each.h"
#include "base/text_file.h"
#include "learn/correction.h"
#include "learn/cost_model.h"
#include "learn/cost_model_file.h"
#include "learn/fused_cost.h"
#include "learn/link_cost.h"

static const TachoColumn class_columns[] = {
	TEXT_COLUMN("class", "class"),
	TEXT_COLUMN("held_out", "held out"),
	TEXT_COLUMN("by", "by"),
	INTEGER_COLUMN("calls", "calls"),
	NUMBER_COLUMN("mean_error_pct", "mean error %", 1),
	NUMBER_COLUMN("median_error_pct", "median %", 1),
};

static const TachoColumn source_columns[] = {
	TEXT_COLUMN("name", "trained on", .is_flexible = TRUE),
	INTEGER_COLUMN("calls", "calls"),
};

static const TachoColumn device_columns[] = {
	TEXT_COLUMN("device", "device"),
	INTEGER_COLUMN("calls", "distinct calls"),
	NUMBER_COLUMN("gb_per_s", "GB/s", 0),
	NUMBER_COLUMN("fp32_tera_ops_per_s", "fp32 Tops/s", 2),
	NUMBER_COLUMN("fp16_tera_ops_per_s", "fp16 Tops/s", 2),
	TEXT_COLUMN("figures", "figures"),
};

static const TachoColumn link_columns[] = {
	TEXT_COLUMN("host", "host"),
	TEXT_COLUMN("backend", "backend"),
	TEXT_COLUMN("operation", "collective"),
	INTEGER_COLUMN("ranks", "ranks"),
	INTEGER_COLUMN("sizes", "sizes"),
	NUMBER_COLUMN("fixed_us", "fixed us", 1),
	NUMBER_COLUMN("gb_per_s", "GB/s", 3),
	NUMBER_COLUMN("error_pct", "off by %", 1),
	TEXT_COLUMN("origin", "origin"),
};

static const TachoColumn correction_columns[] = {
	TEXT_COLUMN("host", "host"),
	TEXT_COLUMN("device", "device"),
	TEXT_COLUMN("change", "change"),
	INTEGER_COLUMN("plans", "plans"),
	NUMBER_COLUMN("predicted_gain_pct", "predicted %", 1),
	NUMBER_COLUMN("measured_gain_pct", "measured %", 1),
	NUMBER_COLUMN("step_factor", "step times", 4),
	NUMBER_COLUMN("spread_pct", "spread %", 1),
};

static const TachoColumn predicted_columns[] = {
	TEXT_COLUMN("op", "operation", .is_flexible = TRUE),
	TEXT_COLUMN("shapes", "shapes", .is_flexible = TRUE),
	TEXT_COLUMN("type", "type"),
	TEXT_COLUMN("device", "device"),
	TEXT_COLUMN("class", "class"),
	INTEGER_COLUMN("count", "count"),
	NUMBER_COLUMN("measured_us", "measured us", 2),
	NUMBER_COLUMN("time_us", "us", 2),
	TEXT_COLUMN("by", "by"),
	NUMBER_COLUMN("error_pct", "error %", 1),
	JSON_NUMBER("table_us"),
	JSON_NUMBER("roofline_us"),
	JSON_NUMBER("nearest_us"),
	JSON_NUMBER("trees_us"),
};

TachoCostModel *tacho_cost_model_new(void)
{
	TachoCostModel *model = g_new0(TachoCostModel, 1);

	cost_model_init(model);
	return model;
}

void tacho_cost_model_free(TachoCostModel *model)
{
	if (!model)
		return;
	cost_model_release(model);
	g_free(model);
}

TachoCostModel *tacho_cost_model_open(const gchar *path, GError **error)
{
	gsize n;
	g_autofree gchar *json = text_file_read(path, COST_MODEL_MAX_BYTES, &n, error);
	g_autoptr(TachoCostModel) model = NULL;

	if (!json)
		return NULL;
	model = tacho_cost_model_new();
	if (cost_model_parse(model, json, n, error))
		return g_steal_pointer(&model);
	g_prefix_error(error, "%s: ", path);
	return NULL;
}

void tacho_cost_model_write(const TachoCostModel *model, FILE *out)
{
	g_autoptr(JsonWriter) json = json_writer_new(out);

	cost_model_write_json(model, json);
	json_writer_finish(json);
}

/* --- training -------------------------------------------------------------------------------------- */

void tacho_cost_model_add_run(TachoCostModel *model, const TachoTimeline *timeline,
			      const gchar *source)
{
	cost_calls_add_run(&model->calls, timeline, source);
	link_costs_add_run(model->links, timeline);
}

gboolean tacho_cost_model_add_table(TachoCostModel *model, const gchar *path, GError **error)
{
	return cost_calls_add_table(&model->calls, path, error);
}

void tacho_cost_model_add_known(TachoCostModel *model, const TachoCostModel *other)
{
	FOR_EACH(const struct link_cost, link, other->links) {
		struct link_cost copy = *link;

		copy.host = g_strdup(link->host);
		copy.backend = g_strdup(link->backend);
		copy.points = g_array_copy(link->points);
		link_costs_put(model->links, &copy);
	}
	FOR_EACH(const struct correction, correction, other->corrections) {
		struct correction copy = *correction;

		copy.host = g_strdup(correction->host);
		copy.device = g_strdup(correction->device);
		copy.change = g_strdup(correction->change);
		corrections_add(model->corrections, &copy);
	}
}

TachoCostTraining tacho_cost_training_default(void)
{
	struct boosting how = cost_model_boosting();

	return (TachoCostTraining){ how.n_trees, how.depth, how.min_rows, how.rate };
}

void tacho_cost_model_train(TachoCostModel *model, const TachoCostTraining *how)
{
	struct boosting boosting = cost_model_boosting();

	boosting.n_trees = how->n_trees;
	boosting.depth = how->depth;
	boosting.min_rows = how->min_rows;
	boosting.rate = how->rate;
	cost_calls_finish(&model->calls);
	cost_model_train(model, &boosting);
}

void tacho_cost_model_write_calls(const TachoCostModel *model, FILE *out)
{
	cost_calls_write(&model->calls, out);
}

/* --- what is known --------------------------------------------------------------------------------- */

TachoTable *tacho_cost_model_classes(const TachoCostModel *model)
{
	TachoTable *table = tacho_table_new("classes", class_columns, G_N_ELEMENTS(class_columns));

	for (guint class = 0; class < N_KERNEL_CLASSES; class ++)
		for (guint fold = 0; fold < N_COST_FOLDS; fold++)
			for (guint way = 0; way < N_COST_WAYS; way++) {
				const struct cost_error *error =
					&model->classes[class].errors[fold][way];

				if (error->n_calls == 0)
					continue;
				tacho_table_row(table);
				tacho_table_text(table,
						 kernel_class_name((enum kernel_class) class));
				tacho_table_text(table, cost_fold_name((enum cost_fold)fold));
				tacho_table_text(table, cost_way_name((enum cost_way)way));
				tacho_table_integer(table, error->n_calls);
				tacho_table_number(table, error->mean_pct);
				tacho_table_number(table, error->median_pct);
			}
	return table;
}

TachoTable *tacho_cost_model_sources(const TachoCostModel *model)
{
	TachoTable *table =
		tacho_table_new("sources", source_columns, G_N_ELEMENTS(source_columns));

	FOR_EACH(const struct cost_source, source, model->calls.sources) {
		tacho_table_row(table);
		tacho_table_text(table, source->name);
		tacho_table_integer(table, (gint64)source->n_calls);
	}
	return table;
}

TachoTable *tacho_cost_model_devices(const TachoCostModel *model)
{
	TachoTable *table =
		tacho_table_new("devices", device_columns, G_N_ELEMENTS(device_columns));

	FOR_EACH_AT(const struct cost_device, device, i, model->calls.devices) {
		guint n = 0;

		FOR_EACH(const struct cost_call, call, model->calls.rows)
			n += call->device == i;
		tacho_table_row(table);
		tacho_table_text(table, device->name);
		tacho_table_integer(table, n);
		tacho_table_number(table, device->bytes_per_ns);
		tacho_table_number(table, device->ops_per_ns[DEVICE_FP32] / 1e3);
		tacho_table_number(table, device->ops_per_ns[DEVICE_FP16] / 1e3);
		tacho_table_text(table, device->is_stated ? "its maker's" : "the best seen");
	}
	return table;
}

TachoTable *tacho_cost_model_communication(const TachoCostModel *model)
{
	TachoTable *table =
		tacho_table_new("communication", link_columns, G_N_ELEMENTS(link_columns));

	FOR_EACH(const struct link_cost, link, model->links) {
		tacho_table_row(table);
		tacho_table_text(table, link->host);
		tacho_table_text(table, *link->backend ? link->backend : NULL);
		tacho_table_text(table, link_operation_name(link->operation));
		tacho_table_integer(table, link->n_ranks);
		tacho_table_integer(table, link->cost.n_sizes);
		tacho_table_number(table, link->cost.fixed_ns / 1e3);
		tacho_table_number(table,
				   link->cost.ns_per_byte > 0 ? 1 / link->cost.ns_per_byte : NAN);
		tacho_table_number(table, 100 * link->cost.error_share);
		tacho_table_text(table, link->is_calibrated ? "calibrated" : "recorded");
	}
	return table;
}

/* Whether an earlier correction is of the same host, device and change. */
static gboolean was_told(const GArray *corrections, guint index)
{
	const struct correction *own = &g_array_index(corrections, struct correction, index);

	for (guint i = 0; i < index; i++) {
		const struct correction *other = &g_array_index(corrections, struct correction, i);

		if (strcmp(own->host, other->host) == 0 &&
		    strcmp(own->device, other->device) == 0 &&
		    strcmp(own->change, other->change) == 0)
			return TRUE;
	}
	return FALSE;
}

/* A row for all corrections of one host, device and change; the gains are those of the last plan. */
TachoTable *tacho_cost_model_corrections(const TachoCostModel *model)
{
	TachoTable *table = tacho_table_new("corrections", correction_columns,
					    G_N_ELEMENTS(correction_columns));

	FOR_EACH_AT(const struct correction, first, i, model->corrections) {
		const struct correction *last = first;
		struct correction_bias bias;

		if (was_told(model->corrections, i))
			continue;
		FOR_EACH(const struct correction, other, model->corrections)
			if (strcmp(first->host, other->host) == 0 &&
			    strcmp(first->device, other->device) == 0 &&
			    strcmp(first->change, other->change) == 0)
				last = other;
		bias = corrections_bias(model->corrections, first->host, first->device,
					first->change);
		tacho_table_row(table);
		tacho_table_text(table, first->host);
		tacho_table_text(table, first->device);
		tacho_table_text(table, first->change);
		tacho_table_integer(table, bias.n);
		tacho_table_number(table, last->predicted_pct);
		tacho_table_number(table, last->measured_pct);
		tacho_table_number(table, exp(bias.log_mean));
		tacho_table_number(table, 100 * (exp(bias.log_spread) - 1));
	}
	return table;
}

/* --- predicted ------------------------------------------------------------------------------------- */

static gboolean find_way(const gchar *by, enum cost_way *ret_way, GError **error)
{
	*ret_way = N_COST_WAYS;
	if (!by)
		return TRUE;
	for (guint way = 0; way < N_COST_WAYS; way++)
		if (strcmp(cost_way_name((enum cost_way)way), by) == 0) {
			*ret_way = (enum cost_way)way;
			return TRUE;
		}
	g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_INVAL,
		    "there is no way '%s'; there are table, roofline, nearest and trees", by);
	return FALSE;
}

/* A device of the model, or one whose maker's figures are known. */
static gboolean find_device(TachoCostModel *model, const gchar *name, guint32 *ret_device,
			    GError **error)
{
	guint n_before = model->calls.devices->len;
	g_autoptr(GString) names = NULL;

	*ret_device = cost_calls_device(&model->calls, name);
	if (*ret_device < n_before || (*ret_device != COST_MAX_DEVICES &&
				       cost_calls_device_at(&model->calls, *ret_device)->is_stated))
		return TRUE;
	if (*ret_device != COST_MAX_DEVICES)
		g_array_set_size(model->calls.devices, n_before);
	names = g_string_new(NULL);
	for (guint i = 0; i < n_before; i++)
		g_string_append_printf(names, "%s%s", i ? ", " : "",
				       cost_calls_device_at(&model->calls, i)->name);
	g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_INVAL,
		    "'%s' is neither a device of the model (%s) nor one whose figures are known",
		    name, names->len ? names->str : "it has none");
	return FALSE;
}

/* What is told of one question. */
struct answer {
	gdouble ns, by_way_ns[N_COST_WAYS];
	enum cost_way way;
};

static gboolean answer_call(const TachoCostModel *model, const struct cost_call *call,
			    enum cost_way wanted, struct answer *ret_answer, GError **error)
{
	for (guint way = 0; way < N_COST_WAYS; way++)
		ret_answer->by_way_ns[way] = cost_model_ns(model, call, (enum cost_way)way);
	ret_answer->way = wanted == N_COST_WAYS
				  ? cost_model_choose(model, call, ret_answer->by_way_ns)
				  : wanted;
	if (ret_answer->way < N_COST_WAYS && isfinite(ret_answer->by_way_ns[ret_answer->way])) {
		ret_answer->ns = ret_answer->by_way_ns[ret_answer->way];
		return TRUE;
	}
	g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_INVAL,
		    "%s on %s is of the class %s, of which the model knows %s", call->op,
		    cost_calls_device_at(&model->calls, call->device)->name,
		    kernel_class_name(call->class),
		    wanted == N_COST_WAYS ? "nothing" : "nothing by that way");
	return FALSE;
}

static void write_answer(TachoTable *table, const TachoCostModel *model,
			 const struct cost_call *call, const gchar *op, const gchar *shapes,
			 gdouble measured_ns, const struct answer *answer)
{
	struct cost_error error = cost_model_error(model, call, answer->way);

	tacho_table_row(table);
	tacho_table_text(table, op);
	tacho_table_text(table, shapes);
	tacho_table_text(table, device_rate_name(call->rate));
	tacho_table_text(table, cost_calls_device_at(&model->calls, call->device)->name);
	tacho_table_text(table, kernel_class_name(call->class));
	tacho_table_integer(table, (gint64)MAX(call->count, 1u));
	tacho_table_number(table, measured_ns > 0 ? measured_ns / 1e3 : NAN);
	tacho_table_number(table, answer->ns / 1e3);
	tacho_table_text(table, cost_way_name(answer->way));
	tacho_table_number(table, error.n_calls > 0 ? error.mean_pct : NAN);
	for (guint way = 0; way < N_COST_WAYS; way++)
		tacho_table_number(table, answer->by_way_ns[way] / 1e3);
}

static TachoTable *new_predicted(void)
{
	return tacho_table_new("predicted", predicted_columns, G_N_ELEMENTS(predicted_columns));
}

/* Each of its operations by itself, and then what they save together. */
static gboolean ask_fused(TachoCostModel *model, gchar **ops, gchar **shapes, const gchar *type,
			  guint32 device, enum cost_way way, struct cost_call *ret_call,
			  struct answer *ret_answer, GError **error)
{
	guint n = g_strv_length(ops);
	g_autofree struct cost_call *calls = g_new0(struct cost_call, n);
	gdouble sum_ns = 0;

	if (g_strv_length(shapes) != n) {
		g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_INVAL,
			    "there are %u operations and %u shapes: each operation has its own, "
			    "between ';'",
			    n, g_strv_length(shapes));
		return FALSE;
	}
	for (guint i = 0; i < n; i++) {
		if (!cost_calls_ask(&model->calls, ops[i], shapes[i], type, device, &calls[i],
				    error))
			return FALSE;
		calls[i].kernels = 1;
		if (!answer_call(model, &calls[i], way, ret_answer, error))
			return FALSE;
		sum_ns += ret_answer->ns;
	}
	*ret_call = calls[0];
	if (n > 1) {
		*ret_call = fused_cost_call(model, calls, n);
		ret_answer->ns = fused_cost_ns(model, calls, n, sum_ns);
		for (guint i = 0; i < N_COST_WAYS; i++)
			ret_answer->by_way_ns[i] = NAN;
	}
	return TRUE;
}

TachoTable *tacho_cost_predict(TachoCostModel *model, const TachoCostQuestion *question,
			       GError **error)
{
	g_auto(GStrv) ops = g_strsplit(question->op, "+", -1);
	g_auto(GStrv) shapes = g_strsplit(question->shapes, ";", -1);
	enum cost_way way;
	struct cost_call call;
	struct answer answer;
	guint32 device;
	TachoTable *table;

	if (!find_way(question->by, &way, error) ||
	    !find_device(model, question->device, &device, error) ||
	    !ask_fused(model, ops, shapes, question->type, device, way, &call, &answer, error))
		return NULL;
	table = new_predicted();
	write_answer(table, model, &call, question->op, question->shapes, 0, &answer);
	return table;
}

/* The rows of a model of a table or run, each as `to` would take it. `to` COST_MAX_DEVICES: on its own device. */
static TachoTable *predict_rows(TachoCostModel *model, const struct cost_calls *asked, guint32 to,
				enum cost_way way, GError **error)
{
	g_autoptr(TachoTable) table = new_predicted();
	guint n_unknown = 0;

	FOR_EACH(const struct cost_call, row, asked->rows) {
		struct cost_call call = *row;
		struct answer answer, before;
		guint32 own;

		if (!find_device(model, cost_calls_device_at(asked, row->device)->name, &own, NULL))
			own = COST_MAX_DEVICES;
		call.device = to == COST_MAX_DEVICES ? own : to;
		if (call.device == COST_MAX_DEVICES) {
			find_device(model, cost_calls_device_at(asked, row->device)->name, &own,
				    error);
			return NULL;
		}
		/* strings of the model's, so that its rows can be found */
		call.op = g_string_chunk_insert_const(model->calls.strings, row->op);
		call.shapes = g_string_chunk_insert_const(model->calls.strings, row->shapes);
		cost_call_set_features(&call, cost_calls_device_at(&model->calls, call.device));
		if (!answer_call(model, &call, way, &answer, NULL)) {
			n_unknown++;
			continue;
		}
		if (own != call.device && own != COST_MAX_DEVICES) {
			struct cost_call there = call;

			there.device = own;
			cost_call_set_features(&there, cost_calls_device_at(&model->calls, own));
			if (answer_call(model, &there,
					answer.way == COST_BY_TABLE ? N_COST_WAYS : answer.way,
					&before, NULL))
				answer.ns *= row->time_ns / before.ns;
		}
		write_answer(table, model, &call, row->op, row->shapes, row->time_ns, &answer);
	}
	if (n_unknown > 0)
		tacho_table_note(table,
				 "%u operations are of classes of which the model knows nothing",
				 n_unknown);
	return g_steal_pointer(&table);
}

TachoTable *tacho_cost_predict_table(TachoCostModel *model, const gchar *path, const gchar *by,
				     GError **error)
{
	struct cost_calls asked;
	enum cost_way way;
	TachoTable *table = NULL;

	cost_calls_init(&asked);
	if (find_way(by, &way, error) && cost_calls_add_table(&asked, path, error)) {
		cost_calls_finish(&asked);
		table = predict_rows(model, &asked, COST_MAX_DEVICES, way, error);
	}
	cost_calls_release(&asked);
	return table;
}

TachoTable *tacho_cost_predict_run(TachoCostModel *model, const TachoTimeline *timeline,
				   const gchar *device, const gchar *by, GError **error)
{
	struct cost_calls asked;
	enum cost_way way;
	guint32 to = COST_MAX_DEVICES;
	TachoTable *table = NULL;

	cost_calls_init(&asked);
	if (find_way(by, &way, error) && (!device || find_device(model, device, &to, error))) {
		cost_calls_add_run(&asked, timeline, "");
		cost_calls_finish(&asked);
		table = predict_rows(model, &asked, to, way, error);
	}
	cost_calls_release(&asked);
	return table;
}

/* --- communication --------------------------------------------------------------------------------- */

gboolean tacho_cost_model_add_collective(TachoCostModel *model, const gchar *host,
					 const gchar *backend, const gchar *operation,
					 guint n_ranks, const guint64 *bytes,
					 const gdouble *time_us, const guint64 *counts, guint n,
					 GError **error)
{
	struct link_cost link = { .host = g_strdup(host),
				  .backend = g_strdup(backend),
				  .operation = link_operation_find(operation),
				  .n_ranks = n_ranks,
				  .is_calibrated = TRUE,
				  .points = g_array_new(FALSE, FALSE, sizeof(struct link_point)) };
	gboolean is_good = link.operation != OPERATION_UNTOLD && n_ranks >= 2 && n > 0 &&
			   n <= LINK_MAX_POINTS && model->links->len < LINK_MAX_COSTS;

	for (guint i = 0; is_good && i < n; i++) {
		struct link_point point = { bytes[i], time_us[i] * 1e3, counts[i] };

		is_good = point.bytes > 0 && point.time_ns > 0 && point.time_ns < 1e15;
		g_array_append_val(link.points, point);
	}
	if (is_good) {
		link_costs_put(model->links, &link);
		return TRUE;
	}
	link_cost_release(&link);
	g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_INVAL,
		    "what was measured of '%.40s' has figures that cannot be", operation);
	return FALSE;
}

/* --- corrections ----------------------------------------------------------------------------------- */

void tacho_cost_place(const TachoTimeline *timeline, const gchar **ret_host,
		      const gchar **ret_device)
{
	gboolean has_ranks = timeline->ranks->len > 0;
	const gchar *device = has_ranks ? recorded_device_name(timeline, 0) : NULL;

	*ret_host =
		has_ranks ? tacho_timeline_string(timeline, tacho_timeline_rank(timeline, 0)->host)
			  : "";
	*ret_device = device ? device : "cpu";
}

static gboolean is_gain(gdouble gain_pct)
{
	return isfinite(gain_pct) && gain_pct < 99.9 && gain_pct > -1e5;
}

gboolean tacho_cost_model_add_difference(TachoCostModel *model,
					 const TachoCostDifference *difference)
{
	struct correction correction = { .predicted_pct = difference->predicted_gain_pct,
					 .measured_pct = difference->measured_gain_pct,
					 .low_pct = difference->low_gain_pct,
					 .high_pct = difference->high_gain_pct,
					 .n_pairs = difference->n_pairs,
					 .unix_s = difference->unix_s };

	if (!is_gain(correction.predicted_pct) || !is_gain(correction.measured_pct) ||
	    !is_gain(correction.low_pct) || !is_gain(correction.high_pct))
		return FALSE;
	correction.host = g_strdup(difference->host);
	correction.device = g_strdup(difference->device);
	correction.change = g_strdup(difference->change);
	corrections_add(model->corrections, &correction);
	return TRUE;
}

guint tacho_cost_model_bias(const TachoCostModel *model, const gchar *host, const gchar *device,
			    const gchar *change, gdouble *ret_factor, gdouble *ret_log_spread)
{
	struct correction_bias bias = corrections_bias(model->corrections, host, device, change);

	*ret_factor = exp(bias.log_mean);
	*ret_log_spread = bias.log_spread;
	return bias.n;
}

gchar *tacho_cost_default_path(void)
{
	return g_build_filename(g_get_user_state_dir(), "tacho", "cost.json", NULL);
}
