#include "optimize/plan.h"

#include <math.h>
#include <string.h>

#include "base/for_each.h"
#include "base/json_writer.h"
#include "base/text_file.h"
#include "import/element_type.h"
#include "import/read/json_scan.h"

static const struct {
	const gchar *name;
	guint32 most;
	const gchar *what_if;
} kinds[PLAN_N_CHANGE_KINDS] = {
#define PLAN_CHANGE(enumerator, name, most, what_if) { name, most, what_if },
#include "optimize/plan_changes.def"
#undef PLAN_CHANGE
};

G_DEFINE_QUARK(tacho - plan - error - quark, tacho_plan_error)

/* --- in memory ---------------------------------------------------------------------------------- */

static void change_clear(gpointer data)
{
	struct plan_change *change = data;

	g_clear_pointer(&change->order, g_array_unref);
	g_clear_pointer(&change->n_of, g_array_unref);
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

		if (change->order) {
			other.order = g_array_copy(change->order);
			other.n_of = g_array_copy(change->n_of);
		}
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

void plan_add_count(TachoPlan *plan, enum plan_change_kind kind, guint32 count)
{
	struct plan_change change = { .kind = kind, .count = count };

	g_array_append_val(plan->changes, change);
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

gchar *plan_change_what_if(const struct plan_change *change)
{
	g_autoptr(GString) text = g_string_new(kinds[change->kind].what_if);

	if (change->kind != PLAN_BUCKETS) {
		g_string_append_printf(text, "%u", change->count);
		return g_string_free(g_steal_pointer(&text), FALSE);
	}
	for (guint i = 0; i < change->order->len; i++)
		if (g_array_index(change->order, guint32, i) != i)
			return NULL;
	for (guint i = 0; i < change->n_of->len; i++)
		g_string_append_printf(text, "%s%u", i ? "," : "",
				       g_array_index(change->n_of, guint32, i));
	return g_string_free(g_steal_pointer(&text), FALSE);
}

gboolean tacho_plan_check_applicable(const TachoPlan *plan, GError **error)
{
	FOR_EACH(const struct plan_change, change, plan->changes)
		if (change->kind != PLAN_BUCKETS) {
			g_set_error(
				error, TACHO_PLAN_ERROR, TACHO_PLAN_ERROR_NOT_APPLICABLE,
				"the plan sets %s to %u, which tacho apply does not do: set it in "
				"the job, and take it out of the plan",
				kinds[change->kind].name, change->count);
			return FALSE;
		}
	if (plan->changes->len > 0)
		return TRUE;
	g_set_error_literal(error, TACHO_PLAN_ERROR, TACHO_PLAN_ERROR_NOT_APPLICABLE,
			    "the plan changes nothing");
	return FALSE;
}

/* --- read --------------------------------------------------------------------------------------- */

struct reader {
	struct json_scan scan;
	const gchar *begin;
	GError **error;
};

static gboolean refuse(const struct reader *reader, const gchar *format, ...) G_GNUC_PRINTF(2, 3);
static gboolean refuse(const struct reader *reader, const gchar *format, ...)
{
	va_list arguments;
	g_autofree gchar *reason = NULL;

	if (reader->error && *reader->error) /* the first counts */
		return FALSE;
	va_start(arguments, format);
	reason = g_strdup_vprintf(format, arguments);
	va_end(arguments);
	g_set_error(reader->error, TACHO_PLAN_ERROR, TACHO_PLAN_ERROR_FORMAT,
		    "at byte %" G_GSIZE_FORMAT ": %s", (gsize)(reader->scan.at - reader->begin),
		    reason);
	return FALSE;
}

/* A whole number from `least` to `most`, written as one. */
static gboolean read_count(struct reader *reader, const gchar *what, guint64 least, guint64 most,
			   guint64 *ret_count)
{
	const gchar *at;
	guint64 count = 0;

	json_peek(&reader->scan);
	for (at = reader->scan.at; at < reader->scan.end && g_ascii_isdigit(*at); at++) {
		guint digit = (guint)(*at - '0');

		if (count > (most - MIN(most, digit)) / 10 && count * 10 + digit > most)
			return refuse(reader, "%s is more than %" G_GUINT64_FORMAT, what, most);
		count = count * 10 + digit;
	}
	if (at == reader->scan.at || (at < reader->scan.end && strchr(".eE", *at)))
		return refuse(reader, "%s is not a whole number", what);
	if (count < least)
		return refuse(reader, "%s is less than %" G_GUINT64_FORMAT, what, least);
	reader->scan.at = at;
	*ret_count = count;
	return TRUE;
}

static gboolean read_ms(struct reader *reader, const gchar *what, gdouble *ret_ms)
{
	gchar first = json_peek(&reader->scan);

	if (!g_ascii_isdigit(first) || !json_number(&reader->scan, ret_ms) || !isfinite(*ret_ms))
		return refuse(reader, "%s is not a number of milliseconds", what);
	return TRUE;
}

static gboolean enter(struct reader *reader, gchar bracket, const gchar *what)
{
	if (json_peek(&reader->scan) != bracket)
		return refuse(reader, "%s is not %s", what,
			      bracket == '{' ? "an object" : "a list");
	return json_take(&reader->scan, bracket);
}

/* The next member of an object is one of `keys`, and not one of those `seen`; -1: there is none, or an error is set. */
static gint next_key(struct reader *reader, const gchar *const *keys, guint *seen)
{
	struct json_text text;
	g_autofree gchar *name = NULL;

	if (!json_member(&reader->scan, &text))
		return -1;
	for (gint i = 0; keys[i]; i++) {
		if (!json_text_is(&text, keys[i], strlen(keys[i])))
			continue;
		if (*seen & 1u << i) {
			refuse(reader, "'%s' stands twice", keys[i]);
			return -1;
		}
		*seen |= 1u << i;
		return i;
	}
	name = json_text_dup(&text);
	refuse(reader, "there is no '%.40s' in a plan of this version", name);
	return -1;
}

/* All members were read, and those of `wanted` were there. */
static gboolean check_members(struct reader *reader, const gchar *const *keys, guint seen,
			      guint wanted)
{
	if (*reader->error)
		return FALSE;
	if (reader->scan.status != JSON_OK)
		return refuse(reader, reader->scan.status == JSON_ENDS_EARLY
					      ? "the file ends within the plan"
					      : "this is not JSON");
	for (guint i = 0; keys[i]; i++)
		if (wanted & ~seen & 1u << i)
			return refuse(reader, "'%s' is missing", keys[i]);
	return TRUE;
}

static gboolean read_dtype(struct reader *reader, const gchar **ret_dtype)
{
	struct json_text text;
	guint8 bytes;

	if (json_peek(&reader->scan) != '"' || !json_string(&reader->scan, &text))
		return refuse(reader, "a data type is not a text");
	*ret_dtype = element_type_name(text.bytes, (gssize)text.n, &bytes);
	return bytes > 0 || refuse(reader, "this data type is not known");
}

/* [1024, "float32"] */
static gboolean read_gradient(struct reader *reader, TachoPlan *plan)
{
	struct plan_gradient gradient;

	if (!enter(reader, '[', "a gradient") || !json_element(&reader->scan) ||
	    !read_count(reader, "the size of a gradient", 1, G_MAXINT64 / PLAN_MAX_GRADIENTS,
			&gradient.bytes))
		return FALSE;
	if (!json_element(&reader->scan) || !read_dtype(reader, &gradient.dtype) ||
	    json_element(&reader->scan))
		return refuse(reader, "a gradient is not written as [BYTES, \"TYPE\"]");
	if (plan->gradients->len == PLAN_MAX_GRADIENTS)
		return refuse(reader, "there are more than %u gradients", PLAN_MAX_GRADIENTS);
	g_array_append_val(plan->gradients, gradient);
	return TRUE;
}

static gboolean read_gradients(struct reader *reader, TachoPlan *plan)
{
	if (!enter(reader, '[', "'gradients'"))
		return FALSE;
	while (json_element(&reader->scan))
		if (!read_gradient(reader, plan))
			return FALSE;
	return TRUE;
}

static gboolean read_job(struct reader *reader, TachoPlan *plan)
{
	static const gchar *const keys[] = { "ranks", "gradients", NULL };
	guint seen = 0;
	guint64 count;
	gint key;

	if (!enter(reader, '{', "'job'"))
		return FALSE;
	while ((key = next_key(reader, keys, &seen)) >= 0) {
		if (key == 1) {
			if (!read_gradients(reader, plan))
				return FALSE;
			continue;
		}
		if (!read_count(reader, "'ranks'", 1, PLAN_MAX_RANKS, &count))
			return FALSE;
		plan->n_ranks = (guint32)count;
	}
	return check_members(reader, keys, seen, 1 << 0 | 1 << 1);
}

/* [0, 1, 2] */
static gboolean read_bucket(struct reader *reader, struct plan_change *change)
{
	guint32 n = 0;

	if (!enter(reader, '[', "a bucket"))
		return FALSE;
	for (; json_element(&reader->scan); n++) {
		guint64 gradient;
		guint32 place;

		if (!read_count(reader, "a gradient's place", 0, PLAN_MAX_GRADIENTS - 1, &gradient))
			return FALSE;
		if (change->order->len == PLAN_MAX_GRADIENTS)
			return refuse(reader, "the buckets hold more than %u gradients",
				      PLAN_MAX_GRADIENTS);
		place = (guint32)gradient;
		g_array_append_val(change->order, place);
	}
	g_array_append_val(change->n_of, n);
	return n > 0 || refuse(reader, "a bucket is empty");
}

static gboolean read_buckets(struct reader *reader, struct plan_change *change)
{
	change->order = g_array_new(FALSE, FALSE, sizeof(guint32));
	change->n_of = g_array_new(FALSE, FALSE, sizeof(guint32));
	if (!enter(reader, '[', "'buckets'"))
		return FALSE;
	while (json_element(&reader->scan))
		if (!read_bucket(reader, change))
			return FALSE;
	return TRUE;
}

static gboolean read_change_member(struct reader *reader, TachoPlan *plan,
				   enum plan_change_kind kind)
{
	struct plan_change *change;
	guint64 count;

	plan_add_count(plan, kind, 0);
	change = &g_array_index(plan->changes, struct plan_change, plan->changes->len - 1);
	if (kind == PLAN_BUCKETS)
		return read_buckets(reader, change);
	if (!read_count(reader, kinds[kind].name, kind == PLAN_WORKERS ? 0 : 1, kinds[kind].most,
			&count))
		return FALSE;
	change->count = (guint32)count;
	return TRUE;
}

static gboolean read_changes(struct reader *reader, TachoPlan *plan)
{
	const gchar *keys[PLAN_N_CHANGE_KINDS + 1] = { NULL };
	guint seen = 0;
	gint key;

	for (guint i = 0; i < PLAN_N_CHANGE_KINDS; i++)
		keys[i] = kinds[i].name;
	if (!enter(reader, '{', "'changes'"))
		return FALSE;
	while ((key = next_key(reader, keys, &seen)) >= 0)
		if (!read_change_member(reader, plan, (enum plan_change_kind)key))
			return FALSE;
	return check_members(reader, keys, seen, 0);
}

static gboolean read_interval(struct reader *reader, TachoPlan *plan)
{
	if (!enter(reader, '[', "'interval_ms'"))
		return FALSE;
	for (guint i = 0; i < 2; i++)
		if (!json_element(&reader->scan) ||
		    !read_ms(reader, "'interval_ms'", &plan->interval_ms[i]))
			return refuse(reader, "'interval_ms' has not two numbers");
	plan->has_interval = !json_element(&reader->scan);
	return plan->has_interval || refuse(reader, "'interval_ms' has not two numbers");
}

static gboolean read_prediction(struct reader *reader, TachoPlan *plan)
{
	static const gchar *const keys[] = { "baseline_step_ms", "predicted_step_ms", "interval_ms",
					     NULL };
	guint seen = 0;
	gint key;

	if (!enter(reader, '{', "'prediction'"))
		return FALSE;
	while ((key = next_key(reader, keys, &seen)) >= 0)
		if (key == 2 ? !read_interval(reader, plan)
			     : !read_ms(reader, keys[key],
					key == 0 ? &plan->baseline_step_ms
						 : &plan->predicted_step_ms))
			return FALSE;
	return check_members(reader, keys, seen, 1 << 0 | 1 << 1);
}

static gboolean read_version(struct reader *reader)
{
	guint64 version;

	if (!read_count(reader, "'tacho_plan'", 1, G_MAXINT32, &version))
		return FALSE;
	if (version <= PLAN_VERSION)
		return TRUE;
	g_set_error(reader->error, TACHO_PLAN_ERROR, TACHO_PLAN_ERROR_VERSION,
		    "the plan has version %" G_GUINT64_FORMAT
		    ", and this tacho reads versions up to %d: use a later tacho",
		    version, PLAN_VERSION);
	return FALSE;
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

static gboolean check_plan(const TachoPlan *plan, GError **error)
{
	const struct plan_change *buckets = plan_find(plan, PLAN_BUCKETS);

	return !buckets || check_buckets(plan, buckets, error);
}

static gboolean read_plan(struct reader *reader, TachoPlan *plan)
{
	static const gchar *const keys[] = { "tacho_plan", "job", "changes", "prediction", NULL };
	guint seen = 0;
	gint key;

	if (!enter(reader, '{', "the plan"))
		return FALSE;
	while ((key = next_key(reader, keys, &seen)) >= 0) {
		/* the version stands first, so that a later one's members are not held against it */
		if (key != 0 && !(seen & 1))
			return refuse(reader, "'tacho_plan' does not stand first");
		if (key == 0   ? !read_version(reader)
		    : key == 1 ? !read_job(reader, plan)
		    : key == 2 ? !read_changes(reader, plan)
			       : !read_prediction(reader, plan))
			return FALSE;
	}
	if (!check_members(reader, keys, seen, 1 << 0 | 1 << 1 | 1 << 2))
		return FALSE;
	if (json_peek(&reader->scan))
		return refuse(reader, "something stands behind the plan");
	return TRUE;
}

TachoPlan *plan_parse(const gchar *text, gsize n, GError **error)
{
	g_autoptr(GError) cause = NULL;
	g_autoptr(TachoPlan) plan = plan_new(0);
	g_autofree gchar *copy = g_malloc(n + JSON_PADDING);
	struct reader reader = { .error = &cause };

	memcpy(copy, text, n);
	memset(copy + n, '"', JSON_PADDING);
	reader.begin = copy;
	reader.scan = (struct json_scan){ .at = copy, .end = copy + n };
	if (read_plan(&reader, plan) && check_plan(plan, &cause))
		return g_steal_pointer(&plan);
	if (!cause) /* a list or an object broke off */
		refuse(&reader, "this is not JSON, or the file ends within the plan");
	g_propagate_error(error, g_steal_pointer(&cause));
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

static void write_changes(const TachoPlan *plan, JsonWriter *json)
{
	json_writer_line(json);
	json_writer_key(json, "changes");
	json_writer_begin_object(json);
	FOR_EACH(const struct plan_change, change, plan->changes) {
		json_writer_line(json);
		json_writer_key(json, kinds[change->kind].name);
		if (change->kind == PLAN_BUCKETS)
			write_buckets(change, json);
		else
			json_writer_unsigned(json, change->count);
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
