/* problem_json: problems read from files and written to them (docs/precision-problem.md). */
#include "precision/problem.h"

#include <math.h>
#include <string.h>

#include "base/for_each.h"
#include "base/json_writer.h"
#include "base/text_file.h"
#include "import/read/strict_json.h"
#include "precision/problem_json.h"

#define VERSION	  1
#define MAX_BYTES (256u << 20)
/* Source: a rule: longer than any module's path. If wrong, such a problem is refused. */
#define MAX_NAME_BYTES 4096
#define MAX_NOTES      1024
#define MAX_QUANTITY   1e18
/* What a member of a cost says. */
#define N_QUANTITIES 6

/* Lists of the problem while they grow. */
struct lists {
	GArray *operations, *tensors, *edges, *collectives, *members, *workers;
};

static void operation_clear(gpointer data)
{
	struct precision_operation *operation = data;

	g_free(operation->module);
	g_free(operation->kind);
}

static void worker_clear(gpointer data)
{
	precision_worker_release(data);
}

static void lists_init(struct lists *lists)
{
	lists->operations = g_array_new(FALSE, TRUE, sizeof(struct precision_operation));
	g_array_set_clear_func(lists->operations, operation_clear);
	lists->tensors = g_array_new(FALSE, TRUE, sizeof(struct precision_tensor));
	lists->edges = g_array_new(FALSE, TRUE, sizeof(struct precision_edge));
	lists->collectives = g_array_new(FALSE, TRUE, sizeof(struct precision_collective));
	lists->members = g_array_new(FALSE, TRUE, sizeof(guint32));
	lists->workers = g_array_new(FALSE, TRUE, sizeof(struct precision_worker));
	g_array_set_clear_func(lists->workers, worker_clear);
}

static void lists_release(struct lists *lists)
{
	g_array_unref(lists->operations);
	g_array_unref(lists->tensors);
	g_array_unref(lists->edges);
	g_array_unref(lists->collectives);
	g_array_unref(lists->members);
	g_array_unref(lists->workers);
}

/* --- read --------------------------------------------------------------------------------------- */

/* A format's name as a value. */
static gboolean read_format(StrictJson *json, const gchar *what, enum number_format *ret_format)
{
	g_autofree gchar *name = strict_json_text(json, what, MAX_NAME_BYTES);

	if (!name)
		return FALSE;
	*ret_format = number_format_find(name, strlen(name));
	return *ret_format < N_NUMBER_FORMATS ||
	       strict_json_refuse(json, "%s is no number format", what);
}

/* The next member's name as a format; FALSE: there is none, or an error. */
static gboolean next_format(StrictJson *json, guint *seen, enum number_format *ret_format)
{
	g_autofree gchar *name = strict_json_any_key(json);

	if (!name)
		return FALSE;
	*ret_format = number_format_find(name, strlen(name));
	if (*ret_format == N_NUMBER_FORMATS)
		return strict_json_refuse(json, "there is no number format '%.40s'", name);
	if (*seen & 1u << *ret_format)
		return strict_json_refuse(json, "'%s' stands twice", name);
	*seen |= 1u << *ret_format;
	return TRUE;
}

static gboolean read_quantity(StrictJson *json, const gchar *what, gdouble *ret)
{
	return strict_json_number(json, what, 0, MAX_QUANTITY, ret);
}

static gboolean read_formats(StrictJson *json, const gchar *what, guint8 *formats)
{
	enum number_format of, format;
	guint seen = 0;

	if (!strict_json_enter(json, '{', what))
		return FALSE;
	while (next_format(json, &seen, &of)) {
		if (!read_format(json, what, &format))
			return FALSE;
		formats[of] = (guint8)format;
	}
	return !json->error;
}

static gboolean read_harm(StrictJson *json, struct precision_operation *operation)
{
	enum number_format format;
	guint seen = 0;

	operation->has_harm = TRUE;
	if (!strict_json_enter(json, '{', "'harm'"))
		return FALSE;
	while (next_format(json, &seen, &format)) {
		if (json_peek(&json->scan) == 'n') { /* null */
			json_skip(&json->scan);
			operation->harm[format] = INFINITY;
		} else if (!strict_json_number(json, "a harm", 0, G_MAXDOUBLE,
					       &operation->harm[format])) {
			return FALSE;
		}
	}
	return !json->error;
}

static gboolean read_rule(StrictJson *json, struct precision_operation *operation)
{
	static const gchar *const names[] = { "chosen", "promoted", "fixed" };
	g_autofree gchar *name = strict_json_text(json, "'rule'", MAX_NAME_BYTES);

	for (guint i = 0; name && i < G_N_ELEMENTS(names); i++)
		if (strcmp(name, names[i]) == 0) {
			operation->rule = (enum precision_rule)i;
			return TRUE;
		}
	return strict_json_refuse(json, "a rule is none of chosen, promoted and fixed");
}

static gboolean read_small(StrictJson *json, const gchar *what, guint32 most, guint32 *ret)
{
	guint64 count;

	if (!strict_json_count(json, what, 0, most, &count))
		return FALSE;
	*ret = (guint32)count;
	return TRUE;
}

static gboolean read_operation_member(StrictJson *json, gint key,
				      struct precision_operation *operation)
{
	enum number_format format;

	switch (key) {
	case 0:
		operation->module = strict_json_text(json, "'module'", MAX_NAME_BYTES);
		return operation->module != NULL;
	case 1:
		operation->kind = strict_json_text(json, "'kind'", MAX_NAME_BYTES);
		return operation->kind != NULL;
	case 2:
		return read_small(json, "'ordinal'", G_MAXUINT32 - 1, &operation->ordinal);
	case 3:
		return read_rule(json, operation);
	case 4:
		if (!read_format(json, "'recorded'", &format))
			return FALSE;
		operation->recorded = (guint8)format;
		return TRUE;
	case 5:
		return read_small(json, "'depth'", G_MAXUINT32 - 1, &operation->depth);
	case 6:
		return read_small(json, "'hops'", G_MAXUINT32 - 1, &operation->hops);
	case 7:
		return read_formats(json, "'results'", operation->result);
	case 8:
		return read_formats(json, "'gradients'", operation->gradient);
	case 9:
		return read_harm(json, operation);
	default:
		return read_small(json, "'tie'", G_MAXUINT32 - 1, &operation->tie);
	}
}

static gboolean read_operation(StrictJson *json, struct lists *lists)
{
	static const gchar *const keys[] = { "module",	  "kind",  "ordinal", "rule",
					     "recorded",  "depth", "hops",    "results",
					     "gradients", "harm",  "tie",     NULL };
	struct precision_operation *operation;
	guint64 seen = 0;
	gint key;

	if (lists->operations->len == PRECISION_MAX_OPERATIONS)
		return strict_json_refuse(json, "there are more than %u operations",
					  PRECISION_MAX_OPERATIONS);
	g_array_set_size(lists->operations, lists->operations->len + 1);
	operation = &g_array_index(lists->operations, struct precision_operation,
				   lists->operations->len - 1);
	precision_operation_init(operation);
	if (!strict_json_enter(json, '{', "an operation"))
		return FALSE;
	while ((key = strict_json_key(json, keys, &seen)) >= 0)
		if (!read_operation_member(json, key, operation))
			return FALSE;
	return strict_json_leave(json, keys, seen, 0x1f);
}

static gboolean read_reader(StrictJson *json, struct lists *lists)
{
	static const gchar *const keys[] = { "operation", "saved", "fused", NULL };
	struct precision_edge edge = { 0 };
	guint64 seen = 0;
	gint key;

	if (!strict_json_enter(json, '{', "a reader"))
		return FALSE;
	while ((key = strict_json_key(json, keys, &seen)) >= 0)
		if (key == 0   ? !read_small(json, "a reader", PRECISION_MAX_OPERATIONS,
					     &edge.consumer)
		    : key == 1 ? !strict_json_flag(json, "'saved'", &edge.is_saved)
			       : !strict_json_flag(json, "'fused'", &edge.is_free))
			return FALSE;
	if (lists->edges->len == PRECISION_MAX_EDGES)
		return strict_json_refuse(json, "there are more than %u readers",
					  PRECISION_MAX_EDGES);
	g_array_append_val(lists->edges, edge);
	return strict_json_leave(json, keys, seen, 1);
}

static gboolean read_tensor(StrictJson *json, struct lists *lists)
{
	static const gchar *const keys[] = { "producer", "cast_once", "readers", NULL };
	struct precision_tensor tensor = { .first_edge = lists->edges->len };
	guint64 seen = 0;
	gint key;

	if (lists->tensors->len == PRECISION_MAX_OPERATIONS)
		return strict_json_refuse(json, "there are more than %u tensors",
					  PRECISION_MAX_OPERATIONS);
	if (!strict_json_enter(json, '{', "a tensor"))
		return FALSE;
	while ((key = strict_json_key(json, keys, &seen)) >= 0) {
		if (key == 0 &&
		    !read_small(json, "'producer'", PRECISION_MAX_OPERATIONS, &tensor.producer))
			return FALSE;
		if (key == 1 && !strict_json_flag(json, "'cast_once'", &tensor.is_cast_once))
			return FALSE;
		if (key != 2)
			continue;
		if (!strict_json_enter(json, '[', "'readers'"))
			return FALSE;
		while (strict_json_element(json))
			if (!read_reader(json, lists))
				return FALSE;
	}
	tensor.n_edges = lists->edges->len - tensor.first_edge;
	g_array_append_val(lists->tensors, tensor);
	return strict_json_leave(json, keys, seen, 1 << 0 | 1 << 2);
}

static gboolean read_collective(StrictJson *json, struct lists *lists)
{
	static const gchar *const keys[] = { "after", "operations", NULL };
	struct precision_collective collective = { .first_member = lists->members->len };
	guint64 seen = 0;
	gint key;

	if (lists->collectives->len == PRECISION_MAX_OPERATIONS)
		return strict_json_refuse(json, "there are more than %u collectives",
					  PRECISION_MAX_OPERATIONS);
	if (!strict_json_enter(json, '{', "a collective"))
		return FALSE;
	while ((key = strict_json_key(json, keys, &seen)) >= 0) {
		if (key == 0) {
			if (!read_small(json, "'after'", PRECISION_MAX_OPERATIONS,
					&collective.after))
				return FALSE;
			continue;
		}
		if (!strict_json_enter(json, '[', "'operations'"))
			return FALSE;
		while (strict_json_element(json)) {
			guint32 member;

			if (lists->members->len == PRECISION_MAX_EDGES)
				return strict_json_refuse(json,
							  "collectives have too many operations");
			if (!read_small(json, "an operation", PRECISION_MAX_OPERATIONS, &member))
				return FALSE;
			g_array_append_val(lists->members, member);
		}
	}
	collective.n_members = lists->members->len - collective.first_member;
	g_array_append_val(lists->collectives, collective);
	return strict_json_leave(json, keys, seen, 1 << 0 | 1 << 1);
}

/* {"forward_ns": 1, ...} */
static gboolean read_cost(StrictJson *json, struct precision_cost *cost)
{
	static const gchar *const keys[] = { "forward_ns",    "backward_ns",
					     "spread_ns",     "saved_bytes",
					     "forward_bytes", "backward_bytes",
					     "estimated",     NULL };
	gdouble *const quantities[N_QUANTITIES] = { &cost->forward_ns,	  &cost->backward_ns,
						    &cost->spread_ns,	  &cost->saved_bytes,
						    &cost->forward_bytes, &cost->backward_bytes };
	gboolean is_estimated = FALSE;
	guint64 seen = 0;
	gint key;

	cost->is_allowed = TRUE;
	if (!strict_json_enter(json, '{', "a cost"))
		return FALSE;
	while ((key = strict_json_key(json, keys, &seen)) >= 0)
		if (key < N_QUANTITIES ? !read_quantity(json, keys[key], quantities[key])
				       : !strict_json_flag(json, "'estimated'", &is_estimated))
			return FALSE;
	cost->source = is_estimated ? PRECISION_ESTIMATED : PRECISION_MEASURED;
	return strict_json_leave(json, keys, seen, 0);
}

/* {"fp32": COST, "bf16": COST} for each operation */
static gboolean read_costs(StrictJson *json, const struct lists *lists,
			   struct precision_worker *worker)
{
	guint32 n = 0;

	if (!strict_json_enter(json, '[', "'costs'"))
		return FALSE;
	for (; strict_json_element(json); n++) {
		enum number_format format;
		guint seen = 0;

		if (n == lists->operations->len)
			return strict_json_refuse(json, "there are more costs than operations");
		if (!strict_json_enter(json, '{', "an operation's costs"))
			return FALSE;
		while (next_format(json, &seen, &format))
			if (!read_cost(json, &worker->costs[(gsize)n * N_NUMBER_FORMATS + format]))
				return FALSE;
		if (json->error)
			return FALSE;
	}
	return !json->error && (n == lists->operations->len ||
				strict_json_refuse(json, "there are fewer costs than operations"));
}

/* {"fp32": {"bf16": 12}} */
static gboolean read_casts(StrictJson *json, const gchar *what,
			   gfloat times[N_NUMBER_FORMATS][N_NUMBER_FORMATS])
{
	enum number_format stored, input;
	guint seen = 0;

	if (!strict_json_enter(json, '{', what))
		return FALSE;
	while (next_format(json, &seen, &stored)) {
		guint seen_inputs = 0;

		if (!strict_json_enter(json, '{', what))
			return FALSE;
		while (next_format(json, &seen_inputs, &input)) {
			gdouble ns;

			if (!read_quantity(json, what, &ns))
				return FALSE;
			times[stored][input] = (gfloat)ns;
		}
	}
	return !json->error;
}

static gboolean read_sizes(StrictJson *json, const struct lists *lists,
			   struct precision_worker *worker)
{
	static const gchar *const keys[] = { "elements", "forward_ns", "backward_ns", NULL };
	guint32 n = 0;

	if (!strict_json_enter(json, '[', "'tensors'"))
		return FALSE;
	for (; strict_json_element(json); n++) {
		guint64 seen = 0;
		gint key;

		if (n == lists->tensors->len)
			return strict_json_refuse(json, "a worker has more tensors than the model");
		if (!strict_json_enter(json, '{', "a tensor's sizes"))
			return FALSE;
		while ((key = strict_json_key(json, keys, &seen)) >= 0)
			if (key == 0 ? !read_quantity(json, "'elements'",
						      &worker->tensor_elements[n])
				     : !read_casts(json, keys[key],
						   key == 1 ? worker->casts[n].forward_ns
							    : worker->casts[n].backward_ns))
				return FALSE;
		if (!strict_json_leave(json, keys, seen, 1))
			return FALSE;
	}
	return !json->error &&
	       (n == lists->tensors->len ||
		strict_json_refuse(json, "a worker has fewer tensors than the model"));
}

static gboolean read_transfers(StrictJson *json, const struct lists *lists,
			       struct precision_worker *worker)
{
	guint32 n = 0;

	if (!strict_json_enter(json, '[', "'collectives'"))
		return FALSE;
	for (; strict_json_element(json); n++) {
		enum number_format format;
		guint seen = 0;

		if (n == lists->collectives->len)
			return strict_json_refuse(json,
						  "a worker has more collectives than the job");
		if (!strict_json_enter(json, '{', "a collective's times"))
			return FALSE;
		while (next_format(json, &seen, &format))
			if (!read_quantity(json, "a collective's time",
					   &worker->collective_ns[n][format]))
				return FALSE;
		if (json->error)
			return FALSE;
	}
	return !json->error &&
	       (n == lists->collectives->len ||
		strict_json_refuse(json, "a worker has fewer collectives than the job"));
}

static gboolean read_worker_member(StrictJson *json, const gchar *const *keys, gint key,
				   const struct lists *lists, struct precision_worker *worker)
{
	gdouble *const quantities[] = { &worker->before_ns, &worker->between_ns, &worker->after_ns,
					&worker->fixed_bytes, &worker->max_bytes };

	switch (key) {
	case 0:
		worker->name = strict_json_text(json, "'name'", MAX_NAME_BYTES);
		return worker->name != NULL;
	case 1:
		return read_small(json, "'ranks'", G_MAXUINT32 - 1, &worker->n_ranks);
	case 2:
		return strict_json_number(json, "'share'", 0, 1, &worker->share);
	case 8:
		return read_costs(json, lists, worker);
	case 9:
		return read_sizes(json, lists, worker);
	case 10:
		return read_transfers(json, lists, worker);
	default:
		return read_quantity(json, keys[key], quantities[key - 3]);
	}
}

static gboolean read_worker(StrictJson *json, struct lists *lists)
{
	static const gchar *const keys[] = { "name",	   "ranks",    "share",	      "before_ns",
					     "between_ns", "after_ns", "fixed_bytes", "max_bytes",
					     "costs",	   "tensors",  "collectives", NULL };
	guint64 rows =
		((guint64)lists->workers->len + 1) * (lists->operations->len + lists->tensors->len);
	struct precision_worker *worker;
	guint64 seen = 0, wanted = 0x107;
	gint key;

	if (lists->workers->len == PRECISION_MAX_WORKERS || rows > PRECISION_MAX_ROWS)
		return strict_json_refuse(json, "there are more workers than tacho plans for");
	g_array_set_size(lists->workers, lists->workers->len + 1);
	worker = &g_array_index(lists->workers, struct precision_worker, lists->workers->len - 1);
	if (!precision_worker_init(worker, lists->operations->len, lists->tensors->len,
				   lists->collectives->len))
		return strict_json_refuse(json, "there is not enough memory for its costs");
	if (!strict_json_enter(json, '{', "a worker"))
		return FALSE;
	while ((key = strict_json_key(json, keys, &seen)) >= 0)
		if (!read_worker_member(json, keys, key, lists, worker))
			return FALSE;
	wanted |= (lists->tensors->len ? 1 << 9 : 0) | (lists->collectives->len ? 1 << 10 : 0);
	return strict_json_leave(json, keys, seen, wanted);
}

static gboolean read_list(StrictJson *json, const gchar *what, struct lists *lists,
			  gboolean (*read_row)(StrictJson *, struct lists *))
{
	if (!strict_json_enter(json, '[', what))
		return FALSE;
	while (strict_json_element(json))
		if (!read_row(json, lists))
			return FALSE;
	return !json->error;
}

static gboolean read_notes(StrictJson *json, GPtrArray *notes)
{
	if (!strict_json_enter(json, '[', "'notes'"))
		return FALSE;
	while (strict_json_element(json)) {
		gchar *note = strict_json_text(json, "a note", MAX_NAME_BYTES);

		if (!note)
			return FALSE;
		g_ptr_array_add(notes, note);
		if (notes->len > MAX_NOTES)
			return strict_json_refuse(json, "there are more than %d notes", MAX_NOTES);
	}
	return !json->error;
}

static gboolean read_member(StrictJson *json, gint key, guint64 seen, struct lists *lists,
			    TachoPrecisionProblem *problem)
{
	/* the version stands first, so that a later one's members are not held against it */
	if (!(seen & 1))
		return strict_json_refuse(json, "'tacho_precision_problem' does not stand first");
	if (seen & 1 << 6 && key >= 3 && key <= 5)
		return strict_json_refuse(json, "'workers' stands before another list");
	switch (key) {
	case 0:
		return strict_json_version(json, "tacho_precision_problem", VERSION,
					   TACHO_PRECISION_ERROR_VERSION);
	case 1:
		return strict_json_number(json, "'error'", 0, 1, &problem->error);
	case 2:
		return strict_json_number(json, "'coverage'", 0, 1, &problem->coverage);
	case 3:
		return read_list(json, "'operations'", lists, read_operation);
	case 4:
		return read_list(json, "'tensors'", lists, read_tensor);
	case 5:
		return read_list(json, "'collectives'", lists, read_collective);
	case 6:
		return read_list(json, "'workers'", lists, read_worker);
	default:
		return read_notes(json, problem->notes);
	}
}

static gboolean read_problem(StrictJson *json, struct lists *lists, TachoPrecisionProblem *problem)
{
	static const gchar *const keys[] = { "tacho_precision_problem",
					     "error",
					     "coverage",
					     "operations",
					     "tensors",
					     "collectives",
					     "workers",
					     "notes",
					     NULL };
	guint64 seen = 0;
	gint key;

	if (!strict_json_enter(json, '{', "the problem"))
		return FALSE;
	while ((key = strict_json_key(json, keys, &seen)) >= 0)
		if (!read_member(json, key, seen, lists, problem))
			return FALSE;
	return strict_json_leave(json, keys, seen, 1 << 0 | 1 << 3 | 1 << 6);
}

/* The lists become the problem's. */
static void take_lists(struct lists *lists, TachoPrecisionProblem *problem)
{
	problem->n_operations = lists->operations->len;
	problem->n_tensors = lists->tensors->len;
	problem->n_edges = lists->edges->len;
	problem->n_collectives = lists->collectives->len;
	problem->n_members = lists->members->len;
	problem->n_workers = lists->workers->len;
	problem->operations = g_array_steal(lists->operations, NULL);
	problem->tensors = g_array_steal(lists->tensors, NULL);
	problem->edges = g_array_steal(lists->edges, NULL);
	problem->collectives = g_array_steal(lists->collectives, NULL);
	problem->members = g_array_steal(lists->members, NULL);
	problem->workers = g_array_steal(lists->workers, NULL);
}

TachoPrecisionProblem *precision_problem_parse(const gchar *text, gsize n, GError **error)
{
	g_autoptr(TachoPrecisionProblem) problem = g_new0(TachoPrecisionProblem, 1);
	g_auto(StrictJson) json = { .begin = NULL };
	struct lists lists;
	gboolean is_read;

	problem->notes = g_ptr_array_new_with_free_func(g_free);
	problem->coverage = 1;
	strict_json_init(&json, text, n, "the problem", TACHO_PRECISION_ERROR,
			 TACHO_PRECISION_ERROR_FORMAT);
	lists_init(&lists);
	read_problem(&json, &lists, problem);
	is_read = strict_json_finish(&json, error);
	if (is_read)
		take_lists(&lists, problem);
	lists_release(&lists);
	return is_read && precision_problem_check(problem, error) ? g_steal_pointer(&problem)
								  : NULL;
}

TachoPrecisionProblem *tacho_precision_problem_read(const gchar *path, GError **error)
{
	gsize n;
	g_autofree gchar *text = text_file_read(path, MAX_BYTES, &n, error);
	TachoPrecisionProblem *problem = text ? precision_problem_parse(text, n, error) : NULL;

	if (text && !problem)
		g_prefix_error(error, "%s: ", path);
	return problem;
}

/* --- written ------------------------------------------------------------------------------------ */

static void write_quantity(JsonWriter *json, const gchar *key, gdouble value)
{
	if (value != 0)
		json_writer_number(json_writer_key(json, key), value);
}

static void write_formats(JsonWriter *json, const gchar *key, const guint8 *formats)
{
	json_writer_begin_object(json_writer_key(json, key));
	for (guint i = 0; i < N_NUMBER_FORMATS; i++)
		json_writer_string(json_writer_key(json, number_format_name((enum number_format)i)),
				   number_format_name((enum number_format)formats[i]));
	json_writer_end_object(json);
}

static void write_operation(JsonWriter *json, const struct precision_operation *operation)
{
	static const gchar *const rules[] = { "chosen", "promoted", "fixed" };

	json_writer_line(json);
	json_writer_begin_object(json);
	json_writer_string(json_writer_key(json, "module"), operation->module);
	json_writer_string(json_writer_key(json, "kind"), operation->kind);
	json_writer_unsigned(json_writer_key(json, "ordinal"), operation->ordinal);
	json_writer_string(json_writer_key(json, "rule"), rules[operation->rule]);
	json_writer_string(json_writer_key(json, "recorded"),
			   number_format_name((enum number_format)operation->recorded));
	json_writer_unsigned(json_writer_key(json, "depth"), operation->depth);
	json_writer_unsigned(json_writer_key(json, "hops"), operation->hops);
	write_formats(json, "results", operation->result);
	write_formats(json, "gradients", operation->gradient);
	if (operation->has_harm) {
		json_writer_begin_object(json_writer_key(json, "harm"));
		for (guint i = 0; i < N_NUMBER_FORMATS; i++) /* INFINITY becomes null */
			json_writer_number(
				json_writer_key(json, number_format_name((enum number_format)i)),
				operation->harm[i]);
		json_writer_end_object(json);
	}
	if (operation->tie != G_MAXUINT32)
		json_writer_unsigned(json_writer_key(json, "tie"), operation->tie);
	json_writer_end_object(json);
}

static void write_tensor(JsonWriter *json, const TachoPrecisionProblem *problem, guint32 number)
{
	const struct precision_tensor *tensor = &problem->tensors[number];

	json_writer_line(json);
	json_writer_begin_object(json);
	json_writer_unsigned(json_writer_key(json, "producer"), tensor->producer);
	json_writer_boolean(json_writer_key(json, "cast_once"), tensor->is_cast_once);
	json_writer_begin_array(json_writer_key(json, "readers"));
	for (guint32 i = 0; i < tensor->n_edges; i++) {
		const struct precision_edge *edge = &problem->edges[tensor->first_edge + i];

		json_writer_begin_object(json);
		json_writer_unsigned(json_writer_key(json, "operation"), edge->consumer);
		json_writer_boolean(json_writer_key(json, "saved"), edge->is_saved);
		json_writer_boolean(json_writer_key(json, "fused"), edge->is_free);
		json_writer_end_object(json);
	}
	json_writer_end_array(json);
	json_writer_end_object(json);
}

static void write_collective(JsonWriter *json, const TachoPrecisionProblem *problem, guint32 number)
{
	const struct precision_collective *collective = &problem->collectives[number];

	json_writer_line(json);
	json_writer_begin_object(json);
	json_writer_unsigned(json_writer_key(json, "after"), collective->after);
	json_writer_begin_array(json_writer_key(json, "operations"));
	for (guint32 i = 0; i < collective->n_members; i++)
		json_writer_unsigned(json, problem->members[collective->first_member + i]);
	json_writer_end_array(json);
	json_writer_end_object(json);
}

static void write_costs(JsonWriter *json, const struct precision_cost *costs)
{
	json_writer_line(json);
	json_writer_begin_object(json);
	for (guint i = 0; i < N_NUMBER_FORMATS; i++) {
		if (!costs[i].is_allowed)
			continue;
		json_writer_begin_object(
			json_writer_key(json, number_format_name((enum number_format)i)));
		write_quantity(json, "forward_ns", costs[i].forward_ns);
		write_quantity(json, "backward_ns", costs[i].backward_ns);
		write_quantity(json, "spread_ns", costs[i].spread_ns);
		write_quantity(json, "saved_bytes", costs[i].saved_bytes);
		write_quantity(json, "forward_bytes", costs[i].forward_bytes);
		write_quantity(json, "backward_bytes", costs[i].backward_bytes);
		if (costs[i].source == PRECISION_ESTIMATED)
			json_writer_boolean(json_writer_key(json, "estimated"), TRUE);
		json_writer_end_object(json);
	}
	json_writer_end_object(json);
}

static void write_casts(JsonWriter *json, const gchar *key,
			const gfloat times[N_NUMBER_FORMATS][N_NUMBER_FORMATS])
{
	json_writer_begin_object(json_writer_key(json, key));
	for (guint i = 0; i < N_NUMBER_FORMATS; i++) {
		gboolean has_any = FALSE;

		for (guint j = 0; j < N_NUMBER_FORMATS; j++)
			has_any = has_any || times[i][j] != 0;
		if (!has_any)
			continue;
		json_writer_begin_object(
			json_writer_key(json, number_format_name((enum number_format)i)));
		for (guint j = 0; j < N_NUMBER_FORMATS; j++)
			write_quantity(json, number_format_name((enum number_format)j),
				       (gdouble)times[i][j]);
		json_writer_end_object(json);
	}
	json_writer_end_object(json);
}

static void write_worker(JsonWriter *json, const TachoPrecisionProblem *problem,
			 const struct precision_worker *worker)
{
	json_writer_line(json);
	json_writer_begin_object(json);
	json_writer_string(json_writer_key(json, "name"), worker->name);
	json_writer_unsigned(json_writer_key(json, "ranks"), worker->n_ranks);
	json_writer_number(json_writer_key(json, "share"), worker->share);
	write_quantity(json, "before_ns", worker->before_ns);
	write_quantity(json, "between_ns", worker->between_ns);
	write_quantity(json, "after_ns", worker->after_ns);
	write_quantity(json, "fixed_bytes", worker->fixed_bytes);
	write_quantity(json, "max_bytes", worker->max_bytes);
	json_writer_line(json);
	json_writer_begin_array(json_writer_key(json, "costs"));
	for (guint32 i = 0; i < problem->n_operations; i++)
		write_costs(json, &worker->costs[(gsize)i * N_NUMBER_FORMATS]);
	json_writer_end_array(json);
	json_writer_line(json);
	json_writer_begin_array(json_writer_key(json, "tensors"));
	for (guint32 i = 0; i < problem->n_tensors; i++) {
		json_writer_line(json);
		json_writer_begin_object(json);
		json_writer_number(json_writer_key(json, "elements"), worker->tensor_elements[i]);
		write_casts(json, "forward_ns", worker->casts[i].forward_ns);
		write_casts(json, "backward_ns", worker->casts[i].backward_ns);
		json_writer_end_object(json);
	}
	json_writer_end_array(json);
	json_writer_line(json);
	json_writer_begin_array(json_writer_key(json, "collectives"));
	for (guint32 i = 0; i < problem->n_collectives; i++) {
		json_writer_line(json);
		json_writer_begin_object(json);
		for (guint j = 0; j < N_NUMBER_FORMATS; j++)
			write_quantity(json, number_format_name((enum number_format)j),
				       worker->collective_ns[i][j]);
		json_writer_end_object(json);
	}
	json_writer_end_array(json);
	json_writer_end_object(json);
}

gboolean tacho_precision_problem_write(const TachoPrecisionProblem *problem, FILE *out)
{
	g_autoptr(JsonWriter) json = json_writer_new(out);

	json_writer_begin_object(json);
	json_writer_unsigned(json_writer_key(json, "tacho_precision_problem"), VERSION);
	json_writer_number(json_writer_key(json, "error"), problem->error);
	json_writer_number(json_writer_key(json, "coverage"), problem->coverage);
	json_writer_line(json);
	json_writer_begin_array(json_writer_key(json, "operations"));
	for (guint32 i = 0; i < problem->n_operations; i++)
		write_operation(json, &problem->operations[i]);
	json_writer_end_array(json);
	json_writer_line(json);
	json_writer_begin_array(json_writer_key(json, "tensors"));
	for (guint32 i = 0; i < problem->n_tensors; i++)
		write_tensor(json, problem, i);
	json_writer_end_array(json);
	json_writer_line(json);
	json_writer_begin_array(json_writer_key(json, "collectives"));
	for (guint32 i = 0; i < problem->n_collectives; i++)
		write_collective(json, problem, i);
	json_writer_end_array(json);
	json_writer_line(json);
	json_writer_begin_array(json_writer_key(json, "workers"));
	for (guint32 i = 0; i < problem->n_workers; i++)
		write_worker(json, problem, &problem->workers[i]);
	json_writer_end_array(json);
	json_writer_line(json);
	json_writer_begin_array(json_writer_key(json, "notes"));
	FOR_EACH_POINTER_AT(const gchar, note, i, problem->notes)
		json_writer_string(json, note);
	json_writer_end_array(json);
	json_writer_line(json);
	json_writer_end_object(json);
	return json_writer_finish(json);
}
