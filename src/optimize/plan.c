#include "optimize/plan.h"

#include <math.h>
#include <string.h>

#include "base/for_each.h"
#include "base/json_writer.h"
#include "base/order.h"
#include "base/text_file.h"
#include "import/element_type.h"
#include "import/read/strict_json.h"

/* Source: a rule: longer names than any module or operation has; what is longer is refused. */
#define MAX_NAME_BYTES 4096

static const struct {
	const gchar *name;
	enum plan_form form;
	guint64 most;
	const gchar *what_if;
	enum plan_hand hand;
} kinds[PLAN_N_CHANGE_KINDS] = {
#define PLAN_CHANGE(enumerator, name, form, most, what_if, hand)                                   \
	{ name, PLAN_FORM_##form, most, what_if, PLAN_BY_##hand },
#include "optimize/plan_changes.def"
#undef PLAN_CHANGE
};

/* What operations can compute with; src/precision/number_formats.def says what they are. */
static const gchar *const number_formats[] = {
	"fp64", "fp32", "tf32", "bf16", "fp16", "int8", "fp8"
};

G_DEFINE_QUARK(tacho - plan - error - quark, tacho_plan_error)

/* --- in memory ---------------------------------------------------------------------------------- */

static void precision_clear(gpointer data)
{
	struct plan_precision *precision = data;

	g_free(precision->module);
	g_free(precision->kind);
}

static GArray *new_precisions(void)
{
	GArray *precisions = g_array_new(FALSE, TRUE, sizeof(struct plan_precision));

	g_array_set_clear_func(precisions, precision_clear);
	return precisions;
}

static void change_clear(gpointer data)
{
	struct plan_change *change = data;

	g_clear_pointer(&change->order, g_array_unref);
	g_clear_pointer(&change->n_of, g_array_unref);
	g_clear_pointer(&change->names, g_ptr_array_unref);
	g_clear_pointer(&change->word, g_free);
	g_clear_pointer(&change->sizes, g_array_unref);
	g_clear_pointer(&change->precisions, g_array_unref);
}

TachoPlan *plan_new(guint32 n_ranks)
{
	TachoPlan *plan = g_new0(TachoPlan, 1);

	plan->n_ranks = n_ranks;
	plan->gradients = g_array_new(FALSE, FALSE, sizeof(struct plan_gradient));
	plan->changes = g_array_new(FALSE, TRUE, sizeof(struct plan_change));
	g_array_set_clear_func(plan->changes, change_clear);
	return plan;
}

static GArray *copy_precisions(const GArray *precisions)
{
	GArray *copy = new_precisions();

	FOR_EACH(const struct plan_precision, precision, precisions) {
		struct plan_precision other = *precision;

		other.module = g_strdup(precision->module);
		other.kind = g_strdup(precision->kind);
		g_array_append_val(copy, other);
	}
	return copy;
}

static GPtrArray *copy_names(const GPtrArray *names)
{
	GPtrArray *copy = g_ptr_array_new_with_free_func(g_free);

	for (guint i = 0; i < names->len; i++)
		g_ptr_array_add(copy, g_strdup(names->pdata[i]));
	return copy;
}

TachoPlan *plan_copy(const TachoPlan *plan)
{
	TachoPlan *copy = plan_new(plan->n_ranks);
	GArray *gradients = copy->gradients, *changes = copy->changes;

	*copy = *plan;
	copy->gradients = gradients;
	copy->changes = changes;
	g_array_append_vals(gradients, plan->gradients->data, plan->gradients->len);
	FOR_EACH(const struct plan_change, change, plan->changes) {
		struct plan_change other = *change;

		other.word = g_strdup(change->word);
		if (change->order)
			other.order = g_array_copy(change->order);
		if (change->n_of)
			other.n_of = g_array_copy(change->n_of);
		if (change->sizes)
			other.sizes = g_array_copy(change->sizes);
		if (change->names)
			other.names = copy_names(change->names);
		if (change->precisions)
			other.precisions = copy_precisions(change->precisions);
		g_array_append_val(changes, other);
	}
	return copy;
}

void tacho_plan_free(TachoPlan *plan)
{
	if (!plan)
		return;
	g_array_unref(plan->gradients);
	g_array_unref(plan->changes);
	g_free(plan);
}

void plan_add_count(TachoPlan *plan, enum plan_change_kind kind, guint64 count)
{
	struct plan_change change = { .kind = kind, .count = count };

	g_array_append_val(plan->changes, change);
}

void plan_add_word(TachoPlan *plan, enum plan_change_kind kind, const gchar *word)
{
	struct plan_change change = { .kind = kind, .word = g_strdup(word) };

	g_array_append_val(plan->changes, change);
}

struct plan_change *plan_add_names(TachoPlan *plan, enum plan_change_kind kind)
{
	struct plan_change change = { .kind = kind,
				      .names = g_ptr_array_new_with_free_func(g_free) };

	if (kinds[kind].form == PLAN_FORM_CLUSTERS)
		change.n_of = g_array_new(FALSE, FALSE, sizeof(guint32));
	g_array_append_val(plan->changes, change);
	return &g_array_index(plan->changes, struct plan_change, plan->changes->len - 1);
}

/* Our own text for a format; NULL: there is none. */
static const gchar *format_of(const gchar *name)
{
	for (guint i = 0; i < G_N_ELEMENTS(number_formats); i++)
		if (strcmp(number_formats[i], name) == 0)
			return number_formats[i];
	return NULL;
}

gboolean plan_add_precision(TachoPlan *plan, const struct plan_precision *precision)
{
	struct plan_change *change = (struct plan_change *)plan_find(plan, PLAN_PRECISION);
	struct plan_precision own = *precision;

	own.format = format_of(precision->format);
	if (!own.format || (*own.module && !plan_name_is_good(own.module)) ||
	    !plan_name_is_good(own.kind))
		return FALSE;
	if (!change) {
		plan_add_count(plan, PLAN_PRECISION, 0);
		change = &g_array_index(plan->changes, struct plan_change, plan->changes->len - 1);
		change->precisions = new_precisions();
	}
	own.module = g_strdup(precision->module);
	own.kind = g_strdup(precision->kind);
	g_array_append_val(change->precisions, own);
	return TRUE;
}

guint plan_powersgd_rank(const gchar *word)
{
	guint64 rank;

	if (!g_str_has_prefix(word, "powersgd:") ||
	    !g_ascii_string_to_unsigned(word + strlen("powersgd:"), 10, 1, PLAN_MAX_POWERSGD, &rank,
					NULL))
		return 0;
	return (guint)rank;
}

gboolean plan_name_is_good(const gchar *name)
{
	gsize n = strlen(name);

	if (n == 0 || n > MAX_NAME_BYTES || !g_utf8_validate(name, (gssize)n, NULL))
		return FALSE;
	for (gsize i = 0; i < n; i++)
		if (g_ascii_iscntrl(name[i]))
			return FALSE;
	return TRUE;
}

void plan_add_buckets(TachoPlan *plan, const guint32 *ends, guint32 n_buckets)
{
	struct plan_change change = { .kind = PLAN_BUCKETS,
				      .order = g_array_new(FALSE, FALSE, sizeof(guint32)),
				      .n_of = g_array_new(FALSE, FALSE, sizeof(guint32)) };
	guint32 gradient = 0;

	for (guint32 i = 0; i < n_buckets; i++) {
		guint32 n = ends[i] - gradient;

		g_array_append_val(change.n_of, n);
		for (; gradient < ends[i]; gradient++)
			g_array_append_val(change.order, gradient);
	}
	g_array_append_val(plan->changes, change);
}

const struct plan_change *plan_find(const TachoPlan *plan, enum plan_change_kind kind)
{
	FOR_EACH(const struct plan_change, change, plan->changes)
		if (change->kind == kind)
			return change;
	return NULL;
}

const gchar *plan_change_name(enum plan_change_kind kind)
{
	return kinds[kind].name;
}

/* Modules by their whole paths, as a recording names them: "Net.layer1.0 (Conv2d)". */
static void append_modules(GString *text, const GPtrArray *names)
{
	g_string_append(text, "^[^.]+\\.(");
	for (guint i = 0; i < names->len; i++) {
		g_autofree gchar *name = g_regex_escape_string(names->pdata[i], -1);

		g_string_append_printf(text, "%s%s", i ? "|" : "", name);
	}
	g_string_append(text, ")( \\(|$)");
}

static gboolean append_buckets(GString *text, const struct plan_change *change)
{
	for (guint i = 0; i < change->order->len; i++)
		if (g_array_index(change->order, guint32, i) != i)
			return FALSE;
	for (guint i = 0; i < change->n_of->len; i++)
		g_string_append_printf(text, "%s%u", i ? "," : "",
				       g_array_index(change->n_of, guint32, i));
	return TRUE;
}

/* fuse:op~^(a|b)$;fuse:op~^(c|d)$ */
static void append_clusters(GString *text, const struct plan_change *change)
{
	guint32 at = 0;

	g_string_truncate(text, 0);
	for (guint i = 0; i < change->n_of->len; i++) {
		guint32 end = at + g_array_index(change->n_of, guint32, i);

		g_string_append_printf(text, "%s%s^(", i ? ";" : "", kinds[change->kind].what_if);
		for (guint32 j = at; j < end; j++) {
			g_autofree gchar *name = g_regex_escape_string(change->names->pdata[j], -1);

			g_string_append_printf(text, "%s%s", j > at ? "|" : "", name);
		}
		g_string_append(text, ")$");
		at = end;
	}
}

gchar *plan_change_what_if(const struct plan_change *change)
{
	g_autoptr(GString) text = g_string_new(kinds[change->kind].what_if);

	if (!kinds[change->kind].what_if ||
	    (change->kind == PLAN_BUCKETS && !append_buckets(text, change)) ||
	    (change->kind == PLAN_COMPRESSION && plan_powersgd_rank(change->word)) || change->sizes)
		return NULL;
	if (change->kind == PLAN_CHECKPOINT)
		append_modules(text, change->names);
	else if (change->kind == PLAN_CLUSTERS)
		append_clusters(text, change);
	else if (change->kind == PLAN_PART_BYTES)
		g_string_append_printf(text, "%.10g", (gdouble)change->count / (1 << 20));
	else if (change->word)
		g_string_append(text, change->word);
	else if (change->kind != PLAN_BUCKETS)
		g_string_append_printf(text, "%" G_GUINT64_FORMAT, change->count);
	return g_string_free(g_steal_pointer(&text), FALSE);
}

const gchar *tacho_plan_change(const TachoPlan *plan, guint index)
{
	if (index >= plan->changes->len)
		return NULL;
	return kinds[g_array_index(plan->changes, struct plan_change, index).kind].name;
}

guint tacho_plan_passes(const TachoPlan *plan)
{
	const struct plan_change *change = plan_find(plan, PLAN_ACCUMULATION);

	return change ? (guint)change->count : 1;
}

gboolean tacho_plan_check_applicable(const TachoPlan *plan, GError **error)
{
	FOR_EACH(const struct plan_change, change, plan->changes)
		if (kinds[change->kind].hand != PLAN_BY_HOOK) {
			g_set_error(
				error, TACHO_PLAN_ERROR, TACHO_PLAN_ERROR_NOT_APPLICABLE,
				"the plan sets %s, which tacho apply does not do: give it to the "
				"framework (tacho optimize --plan PLAN --to list), and take it "
				"out of the plan",
				kinds[change->kind].name);
			return FALSE;
		}
	if (plan->changes->len > 0)
		return TRUE;
	g_set_error_literal(error, TACHO_PLAN_ERROR, TACHO_PLAN_ERROR_NOT_APPLICABLE,
			    "the plan changes nothing");
	return FALSE;
}

/* --- read --------------------------------------------------------------------------------------- */

static gboolean read_ms(StrictJson *reader, const gchar *what, gdouble *ret_ms)
{
	gchar first = json_peek(&reader->scan);

	if (!g_ascii_isdigit(first) || !json_number(&reader->scan, ret_ms) || !isfinite(*ret_ms))
		return strict_json_refuse(reader, "%s is not a number of milliseconds", what);
	return TRUE;
}

static gboolean read_dtype(StrictJson *reader, const gchar **ret_dtype)
{
	struct json_text text;
	guint8 bytes;

	if (json_peek(&reader->scan) != '"' || !json_string(&reader->scan, &text))
		return strict_json_refuse(reader, "a data type is not a text");
	*ret_dtype = element_type_name(text.bytes, (gssize)text.n, &bytes);
	return bytes > 0 || strict_json_refuse(reader, "this data type is not known");
}

/* [1024, "float32"] */
static gboolean read_gradient(StrictJson *reader, TachoPlan *plan)
{
	struct plan_gradient gradient;

	if (!strict_json_enter(reader, '[', "a gradient") || !json_element(&reader->scan) ||
	    !strict_json_count(reader, "the size of a gradient", 1, G_MAXINT64 / PLAN_MAX_GRADIENTS,
			       &gradient.bytes))
		return FALSE;
	if (!json_element(&reader->scan) || !read_dtype(reader, &gradient.dtype) ||
	    json_element(&reader->scan))
		return strict_json_refuse(reader, "a gradient is not written as [BYTES, \"TYPE\"]");
	if (plan->gradients->len == PLAN_MAX_GRADIENTS)
		return strict_json_refuse(reader, "there are more than %u gradients",
					  PLAN_MAX_GRADIENTS);
	g_array_append_val(plan->gradients, gradient);
	return TRUE;
}

static gboolean read_gradients(StrictJson *reader, TachoPlan *plan)
{
	if (!strict_json_enter(reader, '[', "'gradients'"))
		return FALSE;
	while (json_element(&reader->scan))
		if (!read_gradient(reader, plan))
			return FALSE;
	return TRUE;
}

static gboolean read_job(StrictJson *reader, TachoPlan *plan)
{
	static const gchar *const keys[] = { "ranks", "gradients", NULL };
	guint64 seen = 0;
	guint64 count;
	gint key;

	if (!strict_json_enter(reader, '{', "'job'"))
		return FALSE;
	while ((key = strict_json_key(reader, keys, &seen)) >= 0) {
		if (key == 1) {
			if (!read_gradients(reader, plan))
				return FALSE;
			continue;
		}
		if (!strict_json_count(reader, "'ranks'", 1, PLAN_MAX_RANKS, &count))
			return FALSE;
		plan->n_ranks = (guint32)count;
	}
	return strict_json_leave(reader, keys, seen, 1 << 0 | 1 << 1);
}

/* [0, 1, 2] */
static gboolean read_bucket(StrictJson *reader, struct plan_change *change)
{
	guint32 n = 0;

	if (!strict_json_enter(reader, '[', "a bucket"))
		return FALSE;
	for (; json_element(&reader->scan); n++) {
		guint64 gradient;
		guint32 place;

		if (!strict_json_count(reader, "a gradient's place", 0, PLAN_MAX_GRADIENTS - 1,
				       &gradient))
			return FALSE;
		if (change->order->len == PLAN_MAX_GRADIENTS)
			return strict_json_refuse(reader, "the buckets hold more than %u gradients",
						  PLAN_MAX_GRADIENTS);
		place = (guint32)gradient;
		g_array_append_val(change->order, place);
	}
	g_array_append_val(change->n_of, n);
	return n > 0 || strict_json_refuse(reader, "a bucket is empty");
}

static gboolean read_buckets(StrictJson *reader, struct plan_change *change)
{
	change->order = g_array_new(FALSE, FALSE, sizeof(guint32));
	change->n_of = g_array_new(FALSE, FALSE, sizeof(guint32));
	if (!strict_json_enter(reader, '[', "'buckets'"))
		return FALSE;
	while (json_element(&reader->scan))
		if (!read_bucket(reader, change))
			return FALSE;
	return TRUE;
}

/* A text that may stand in a plan; the caller's. NULL: it is refused. */
static gchar *read_name(StrictJson *reader, const gchar *what)
{
	struct json_text text;
	g_autofree gchar *name = NULL;

	if (json_peek(&reader->scan) != '"' || !json_string(&reader->scan, &text)) {
		strict_json_refuse(reader, "%s is not a text", what);
		return NULL;
	}
	name = json_text_dup(&text);
	if (plan_name_is_good(name))
		return g_steal_pointer(&name);
	strict_json_refuse(reader, "%s is empty, too long, or has control characters in it", what);
	return NULL;
}

/* ["layer1", "layer2"], behind those that are there; returns how many, 0: it is refused. */
static guint32 read_names(StrictJson *reader, const gchar *what, GPtrArray *names)
{
	guint32 n = 0;

	if (!strict_json_enter(reader, '[', what))
		return 0;
	for (; json_element(&reader->scan); n++) {
		gchar *name = read_name(reader, what);

		if (!name)
			return 0;
		g_ptr_array_add(names, name);
		if (names->len > PLAN_MAX_NAMES)
			return strict_json_refuse(reader, "there are more than %u names",
						  PLAN_MAX_NAMES);
	}
	if (n == 0)
		strict_json_refuse(reader, "%s has no names", what);
	return n;
}

static gboolean read_clusters(StrictJson *reader, struct plan_change *change)
{
	if (!strict_json_enter(reader, '[', "'clusters'"))
		return FALSE;
	while (json_element(&reader->scan)) {
		guint32 n = read_names(reader, "a cluster", change->names);

		if (n == 0)
			return FALSE;
		g_array_append_val(change->n_of, n);
	}
	return change->n_of->len > 0 || strict_json_refuse(reader, "'clusters' has none");
}

/* A text that may be empty or stand in a plan; the caller's. NULL: it is refused. */
static gchar *read_module(StrictJson *reader)
{
	const gchar *quote;

	json_peek(&reader->scan);
	quote = reader->scan.at;
	if (reader->scan.end - quote >= 2 && quote[0] == '"' && quote[1] == '"') {
		reader->scan.at += 2;
		return g_strdup("");
	}
	return read_name(reader, "'module'");
}

static gboolean read_format(StrictJson *reader, struct plan_precision *precision)
{
	g_autofree gchar *name = read_name(reader, "'precision'");

	if (!name)
		return FALSE;
	precision->format = format_of(name);
	return precision->format ||
	       strict_json_refuse(
		       reader,
		       "there is no precision '%.40s': there are fp64, fp32, tf32, bf16, "
		       "fp16, int8 and fp8",
		       name);
}

/* [0, 3]: the first and the last */
static gboolean read_ranks(StrictJson *reader, struct plan_precision *precision)
{
	guint64 first, last;

	if (!strict_json_enter(reader, '[', "'ranks'") || !json_element(&reader->scan) ||
	    !strict_json_count(reader, "a rank", 0, PLAN_MAX_RANKS - 1, &first))
		return FALSE;
	if (!json_element(&reader->scan) ||
	    !strict_json_count(reader, "a rank", first, PLAN_MAX_RANKS - 1, &last) ||
	    json_element(&reader->scan))
		return strict_json_refuse(reader, "'ranks' is not written as [FIRST, LAST]");
	precision->first_rank = (guint32)first;
	precision->last_rank = (guint32)last;
	return TRUE;
}

/* {"module": "layers.0.ffn", "kind": "linear", "ordinal": 0, "precision": "bf16", "ranks": [0, 3]} */
static gboolean read_precision(StrictJson *reader, struct plan_precision *precision)
{
	static const gchar *const keys[] = {
		"module", "kind", "ordinal", "precision", "ranks", NULL
	};
	guint64 seen = 0;
	guint64 ordinal = 0;
	gint key;

	precision->last_rank = PLAN_MAX_RANKS - 1;
	if (!strict_json_enter(reader, '{', "an operation's precision"))
		return FALSE;
	while ((key = strict_json_key(reader, keys, &seen)) >= 0) {
		if (key == 0)
			precision->module = read_module(reader);
		else if (key == 1)
			precision->kind = read_name(reader, "'kind'");
		if (key == 0   ? !precision->module
		    : key == 1 ? !precision->kind
		    : key == 2
			    ? !strict_json_count(reader, "'ordinal'", 0, G_MAXUINT32 - 1, &ordinal)
		    : key == 3 ? !read_format(reader, precision)
			       : !read_ranks(reader, precision))
			return FALSE;
	}
	precision->ordinal = (guint32)ordinal;
	return strict_json_leave(reader, keys, seen, 0xf);
}

static gboolean read_precisions(StrictJson *reader, struct plan_change *change)
{
	change->precisions = new_precisions();
	if (!strict_json_enter(reader, '[', "'precision'"))
		return FALSE;
	while (json_element(&reader->scan)) {
		guint n = change->precisions->len;

		if (n == PLAN_MAX_NAMES)
			return strict_json_refuse(reader, "there are more than %u operations",
						  PLAN_MAX_NAMES);
		g_array_set_size(change->precisions, n + 1);
		if (!read_precision(reader,
				    &g_array_index(change->precisions, struct plan_precision, n)))
			return FALSE;
	}
	return change->precisions->len > 0 ||
	       strict_json_refuse(reader, "'precision' has no operations");
}

/* 4096000, or [4096000, 2048000] */
static gboolean read_parts(StrictJson *reader, struct plan_change *change)
{
	guint64 bytes;

	if (json_peek(&reader->scan) != '[')
		return strict_json_count(reader, kinds[change->kind].name, 1,
					 kinds[change->kind].most, &change->count);
	change->sizes = g_array_new(FALSE, FALSE, sizeof(guint64));
	if (!strict_json_enter(reader, '[', kinds[change->kind].name))
		return FALSE;
	while (json_element(&reader->scan)) {
		if (change->sizes->len == PLAN_MAX_GRADIENTS)
			return strict_json_refuse(reader, "there are more than %u parts",
						  PLAN_MAX_GRADIENTS);
		if (!strict_json_count(reader, kinds[change->kind].name, 1,
				       kinds[change->kind].most, &bytes))
			return FALSE;
		g_array_append_val(change->sizes, bytes);
	}
	return TRUE;
}

static gboolean is_word(enum plan_form form, const gchar *word)
{
	if (form == PLAN_FORM_ALGORITHM)
		return strcmp(word, "ring") == 0 || strcmp(word, "tree") == 0;
	return strcmp(word, "bf16") == 0 || strcmp(word, "fp16") == 0 || plan_powersgd_rank(word);
}

static gboolean read_word(StrictJson *reader, struct plan_change *change)
{
	enum plan_form form = kinds[change->kind].form;

	change->word = read_name(reader, kinds[change->kind].name);
	if (!change->word)
		return FALSE;
	return is_word(form, change->word) ||
	       strict_json_refuse(reader, "'%s' is %s", kinds[change->kind].name,
				  form == PLAN_FORM_ALGORITHM
					  ? "neither \"ring\" nor \"tree\""
					  : "none of \"bf16\", \"fp16\" and \"powersgd:N\"");
}

static gboolean read_change_member(StrictJson *reader, TachoPlan *plan, enum plan_change_kind kind)
{
	struct plan_change *change;

	plan_add_count(plan, kind, 0);
	change = &g_array_index(plan->changes, struct plan_change, plan->changes->len - 1);
	switch (kinds[kind].form) {
	case PLAN_FORM_BUCKETS:
		return read_buckets(reader, change);
	case PLAN_FORM_PARTS:
		return read_parts(reader, change);
	case PLAN_FORM_COMPRESSION:
	case PLAN_FORM_ALGORITHM:
		return read_word(reader, change);
	case PLAN_FORM_NAMES:
		change->names = g_ptr_array_new_with_free_func(g_free);
		return read_names(reader, kinds[kind].name, change->names) > 0;
	case PLAN_FORM_CLUSTERS:
		change->names = g_ptr_array_new_with_free_func(g_free);
		change->n_of = g_array_new(FALSE, FALSE, sizeof(guint32));
		return read_clusters(reader, change);
	case PLAN_FORM_PRECISIONS:
		return read_precisions(reader, change);
	case PLAN_FORM_COUNT:
		break;
	}
	return strict_json_count(reader, kinds[kind].name, kind == PLAN_WORKERS ? 0 : 1,
				 kinds[kind].most, &change->count);
}

static gboolean read_changes(StrictJson *reader, TachoPlan *plan)
{
	const gchar *keys[PLAN_N_CHANGE_KINDS + 1] = { NULL };
	guint64 seen = 0;
	gint key;

	for (guint i = 0; i < PLAN_N_CHANGE_KINDS; i++)
		keys[i] = kinds[i].name;
	if (!strict_json_enter(reader, '{', "'changes'"))
		return FALSE;
	while ((key = strict_json_key(reader, keys, &seen)) >= 0)
		if (!read_change_member(reader, plan, (enum plan_change_kind)key))
			return FALSE;
	return strict_json_leave(reader, keys, seen, 0);
}

static gboolean read_interval(StrictJson *reader, TachoPlan *plan)
{
	if (!strict_json_enter(reader, '[', "'interval_ms'"))
		return FALSE;
	for (guint i = 0; i < 2; i++)
		if (!json_element(&reader->scan) ||
		    !read_ms(reader, "'interval_ms'", &plan->interval_ms[i]))
			return strict_json_refuse(reader, "'interval_ms' has not two numbers");
	plan->has_interval = !json_element(&reader->scan);
	return plan->has_interval ||
	       strict_json_refuse(reader, "'interval_ms' has not two numbers");
}

static gboolean read_prediction(StrictJson *reader, TachoPlan *plan)
{
	static const gchar *const keys[] = { "baseline_step_ms", "predicted_step_ms", "interval_ms",
					     NULL };
	guint64 seen = 0;
	gint key;

	if (!strict_json_enter(reader, '{', "'prediction'"))
		return FALSE;
	while ((key = strict_json_key(reader, keys, &seen)) >= 0)
		if (key == 2 ? !read_interval(reader, plan)
			     : !read_ms(reader, keys[key],
					key == 0 ? &plan->baseline_step_ms
						 : &plan->predicted_step_ms))
			return FALSE;
	return strict_json_leave(reader, keys, seen, 1 << 0 | 1 << 1);
}

/* Each gradient is in one bucket, and those of a bucket are of one type. */
static gboolean check_buckets(const TachoPlan *plan, const struct plan_change *change,
			      GError **error)
{
	g_autofree guint8 *has = g_new0(guint8, MAX(plan->gradients->len, 1u));
	const gchar *reason = NULL;
	guint32 at = 0;

	if (change->order->len != plan->gradients->len)
		reason = "the buckets do not hold each gradient of the job once";
	for (guint i = 0; !reason && i < change->n_of->len; i++) {
		guint32 n = g_array_index(change->n_of, guint32, i), first = at;

		for (; !reason && at < first + n; at++) {
			guint32 gradient = g_array_index(change->order, guint32, at);

			if (gradient >= plan->gradients->len || has[gradient]++)
				reason = "the buckets do not hold each gradient of the job once";
			else if (g_array_index(plan->gradients, struct plan_gradient, gradient)
					 .dtype !=
				 g_array_index(plan->gradients, struct plan_gradient,
					       g_array_index(change->order, guint32, first))
					 .dtype)
				reason = "a bucket holds gradients of two data types";
		}
	}
	if (!reason)
		return TRUE;
	g_set_error_literal(error, TACHO_PLAN_ERROR, TACHO_PLAN_ERROR_FORMAT, reason);
	return FALSE;
}

/* An operation is in one cluster at most. */
static gboolean check_clusters(const struct plan_change *change, GError **error)
{
	g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);

	for (guint i = 0; i < change->names->len; i++)
		if (!g_hash_table_add(seen, change->names->pdata[i])) {
			g_set_error(error, TACHO_PLAN_ERROR, TACHO_PLAN_ERROR_FORMAT,
				    "the operation '%s' is in two clusters",
				    (const gchar *)change->names->pdata[i]);
			return FALSE;
		}
	return TRUE;
}

/* By operation, then by the ranks that it is for. */
static gint compare_precisions(gconstpointer a, gconstpointer b)
{
	const struct plan_precision *one = *(const struct plan_precision *const *)a;
	const struct plan_precision *other = *(const struct plan_precision *const *)b;

	return strcmp(one->module, other->module) ?: strcmp(one->kind, other->kind) ?:
	       ORDER(one->ordinal, other->ordinal) ?: ORDER(one->first_rank, other->first_rank);
}

/* On each rank an operation computes with one format. */
static gboolean check_precisions(const struct plan_change *change, guint32 n_ranks, GError **error)
{
	g_autoptr(GPtrArray) sorted = g_ptr_array_sized_new(change->precisions->len);

	FOR_EACH(struct plan_precision, precision, change->precisions)
		g_ptr_array_add(sorted, precision);
	g_ptr_array_sort(sorted, compare_precisions);
	for (guint i = 0; i < sorted->len; i++) {
		const struct plan_precision *one = sorted->pdata[i];
		const struct plan_precision *before = i > 0 ? sorted->pdata[i - 1] : NULL;
		gboolean is_twice = before && before->ordinal == one->ordinal &&
				    before->last_rank >= one->first_rank &&
				    strcmp(before->module, one->module) == 0 &&
				    strcmp(before->kind, one->kind) == 0;

		if (!is_twice && one->first_rank < n_ranks &&
		    (one->last_rank < n_ranks || one->last_rank == PLAN_MAX_RANKS - 1))
			continue;
		g_set_error(error, TACHO_PLAN_ERROR, TACHO_PLAN_ERROR_FORMAT,
			    is_twice ? "the operation '%s' %s %u has two precisions"
				     : "the operation '%s' %s %u is for ranks that the job has not",
			    one->module, one->kind, one->ordinal);
		return FALSE;
	}
	return TRUE;
}

/* Parts of each bucket have buckets that they are of. */
static gboolean check_parts(const struct plan_change *parts, const struct plan_change *buckets,
			    GError **error)
{
	if (!parts->sizes || (buckets && buckets->n_of->len == parts->sizes->len))
		return TRUE;
	g_set_error_literal(error, TACHO_PLAN_ERROR, TACHO_PLAN_ERROR_FORMAT,
			    "'partition_bytes' has another number of sizes than there are buckets");
	return FALSE;
}

static gboolean check_plan(const TachoPlan *plan, GError **error)
{
	const struct plan_change *buckets = plan_find(plan, PLAN_BUCKETS);
	const struct plan_change *parts = plan_find(plan, PLAN_PART_BYTES);
	const struct plan_change *clusters = plan_find(plan, PLAN_CLUSTERS);
	const struct plan_change *precision = plan_find(plan, PLAN_PRECISION);

	return (!buckets || check_buckets(plan, buckets, error)) &&
	       (!parts || check_parts(parts, buckets, error)) &&
	       (!clusters || check_clusters(clusters, error)) &&
	       (!precision || check_precisions(precision, plan->n_ranks, error));
}

static gboolean read_plan(StrictJson *reader, TachoPlan *plan)
{
	static const gchar *const keys[] = { "tacho_plan", "job", "changes", "prediction", NULL };
	guint64 seen = 0;
	gint key;

	if (!strict_json_enter(reader, '{', "the plan"))
		return FALSE;
	while ((key = strict_json_key(reader, keys, &seen)) >= 0) {
		/* the version stands first, so that a later one's members are not held against it */
		if (key != 0 && !(seen & 1))
			return strict_json_refuse(reader, "'tacho_plan' does not stand first");
		if (key == 0   ? !strict_json_version(reader, keys[0], PLAN_VERSION,
						      TACHO_PLAN_ERROR_VERSION)
		    : key == 1 ? !read_job(reader, plan)
		    : key == 2 ? !read_changes(reader, plan)
			       : !read_prediction(reader, plan))
			return FALSE;
	}
	return strict_json_leave(reader, keys, seen, 1 << 0 | 1 << 1 | 1 << 2);
}

gboolean plan_check(const TachoPlan *plan, GError **error)
{
	return check_plan(plan, error);
}

TachoPlan *plan_parse(const gchar *text, gsize n, GError **error)
{
	g_autoptr(TachoPlan) plan = plan_new(0);
	g_auto(StrictJson) reader = { 0 };

	strict_json_init(&reader, text, n, "the plan", TACHO_PLAN_ERROR, TACHO_PLAN_ERROR_FORMAT);
	if (!read_plan(&reader, plan) && !reader.error) /* a list or an object broke off */
		strict_json_refuse(&reader, "this is not JSON, or the file ends within the plan");
	if (strict_json_finish(&reader, error) && check_plan(plan, error))
		return g_steal_pointer(&plan);
	return NULL;
}

TachoPlan *tacho_plan_read(const gchar *path, GError **error)
{
	gsize length;
	g_autofree gchar *text = text_file_read(path, PLAN_MAX_BYTES, &length, error);
	TachoPlan *plan = text ? plan_parse(text, length, error) : NULL;

	if (text && !plan)
		g_prefix_error(error, "%s: this is not a plan that can be carried out: ", path);
	return plan;
}

/* --- written ------------------------------------------------------------------------------------ */

static void write_job(const TachoPlan *plan, JsonWriter *json)
{
	json_writer_line(json);
	json_writer_key(json, "job");
	json_writer_begin_object(json);
	json_writer_unsigned(json_writer_key(json, "ranks"), plan->n_ranks);
	json_writer_line(json);
	json_writer_key(json, "gradients");
	json_writer_begin_array(json);
	FOR_EACH(const struct plan_gradient, gradient, plan->gradients) {
		json_writer_begin_array(json);
		json_writer_unsigned(json, gradient->bytes);
		json_writer_string(json, gradient->dtype);
		json_writer_end_array(json);
	}
	json_writer_end_array(json);
	json_writer_end_object(json);
}

static void write_buckets(const struct plan_change *change, JsonWriter *json)
{
	guint32 at = 0;

	json_writer_begin_array(json);
	for (guint i = 0; i < change->n_of->len; i++) {
		json_writer_line(json);
		json_writer_begin_array(json);
		for (guint32 n = g_array_index(change->n_of, guint32, i); n > 0; n--)
			json_writer_unsigned(json, g_array_index(change->order, guint32, at++));
		json_writer_end_array(json);
	}
	json_writer_end_array(json);
}

static void write_names(const struct plan_change *change, guint32 at, guint32 n, JsonWriter *json)
{
	json_writer_begin_array(json);
	for (guint32 i = 0; i < n; i++)
		json_writer_string(json, change->names->pdata[at + i]);
	json_writer_end_array(json);
}

static void write_clusters(const struct plan_change *change, JsonWriter *json)
{
	guint32 at = 0;

	json_writer_begin_array(json);
	for (guint i = 0; i < change->n_of->len; i++) {
		guint32 n = g_array_index(change->n_of, guint32, i);

		json_writer_line(json);
		write_names(change, at, n, json);
		at += n;
	}
	json_writer_end_array(json);
}

static void write_parts(const struct plan_change *change, JsonWriter *json)
{
	if (!change->sizes) {
		json_writer_unsigned(json, change->count);
		return;
	}
	json_writer_begin_array(json);
	for (guint i = 0; i < change->sizes->len; i++)
		json_writer_unsigned(json, g_array_index(change->sizes, guint64, i));
	json_writer_end_array(json);
}

static void write_precisions(const struct plan_change *change, JsonWriter *json)
{
	json_writer_begin_array(json);
	FOR_EACH(const struct plan_precision, precision, change->precisions) {
		json_writer_line(json);
		json_writer_begin_object(json);
		json_writer_string(json_writer_key(json, "module"), precision->module);
		json_writer_string(json_writer_key(json, "kind"), precision->kind);
		json_writer_unsigned(json_writer_key(json, "ordinal"), precision->ordinal);
		json_writer_string(json_writer_key(json, "precision"), precision->format);
		if (precision->first_rank > 0 || precision->last_rank < PLAN_MAX_RANKS - 1) {
			json_writer_key(json, "ranks");
			json_writer_begin_array(json);
			json_writer_unsigned(json, precision->first_rank);
			json_writer_unsigned(json, precision->last_rank);
			json_writer_end_array(json);
		}
		json_writer_end_object(json);
	}
	json_writer_end_array(json);
}

static void write_value(const struct plan_change *change, JsonWriter *json)
{
	switch (kinds[change->kind].form) {
	case PLAN_FORM_BUCKETS:
		write_buckets(change, json);
		break;
	case PLAN_FORM_PARTS:
		write_parts(change, json);
		break;
	case PLAN_FORM_COMPRESSION:
	case PLAN_FORM_ALGORITHM:
		json_writer_string(json, change->word);
		break;
	case PLAN_FORM_NAMES:
		write_names(change, 0, change->names->len, json);
		break;
	case PLAN_FORM_CLUSTERS:
		write_clusters(change, json);
		break;
	case PLAN_FORM_PRECISIONS:
		write_precisions(change, json);
		break;
	case PLAN_FORM_COUNT:
		json_writer_unsigned(json, change->count);
		break;
	}
}

static void write_changes(const TachoPlan *plan, JsonWriter *json)
{
	json_writer_line(json);
	json_writer_key(json, "changes");
	json_writer_begin_object(json);
	FOR_EACH(const struct plan_change, change, plan->changes) {
		json_writer_line(json);
		json_writer_key(json, kinds[change->kind].name);
		write_value(change, json);
	}
	json_writer_end_object(json);
}

static void write_prediction(const TachoPlan *plan, JsonWriter *json)
{
	json_writer_line(json);
	json_writer_key(json, "prediction");
	json_writer_begin_object(json);
	json_writer_number(json_writer_key(json, "baseline_step_ms"), plan->baseline_step_ms);
	json_writer_number(json_writer_key(json, "predicted_step_ms"), plan->predicted_step_ms);
	if (plan->has_interval) {
		json_writer_key(json, "interval_ms");
		json_writer_begin_array(json);
		json_writer_number(json, plan->interval_ms[0]);
		json_writer_number(json, plan->interval_ms[1]);
		json_writer_end_array(json);
	}
	json_writer_end_object(json);
}

void plan_write_json(const TachoPlan *plan, JsonWriter *json)
{
	json_writer_begin_object(json);
	json_writer_unsigned(json_writer_key(json, "tacho_plan"), PLAN_VERSION);
	write_job(plan, json);
	write_changes(plan, json);
	write_prediction(plan, json);
	json_writer_line(json);
	json_writer_end_object(json);
}

gboolean tacho_plan_write(const TachoPlan *plan, FILE *out)
{
	g_autoptr(JsonWriter) json = json_writer_new(out);

	plan_write_json(plan, json);
	return json_writer_finish(json);
}
