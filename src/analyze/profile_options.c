/* profile_options: names and values of the profile views' options. One table of metrics makes the
 * parser, the columns and the orders, so that every name that one of them knows works in all. */
#include <tacho/profile_options.h>

#include <math.h>
#include <string.h>

#include <tacho/words.h>
#include "import/tensorflow/tensor_bundle.h"

G_DEFINE_QUARK(tacho - profile - options - error - quark, tacho_profile_options_error)

static const gchar *const select_names[] = {
#define METRIC_NAME(enumerator, name, key) #name,
	TACHO_METRICS(METRIC_NAME)
#undef METRIC_NAME
		"op_types",
	"input_shapes",
	"device",
	"tensor_value",
	NULL,
};

TachoProfileOptions *tacho_profile_options_new(void)
{
	TachoProfileOptions *options = g_new0(TachoProfileOptions, 1);

	options->order = TACHO_METRIC_TIME;
	options->select = 1u << TACHO_METRIC_TIME;
	return options;
}

static void drop_list(GPtrArray **list)
{
	g_clear_pointer(list, g_ptr_array_unref);
}

void tacho_profile_options_free(TachoProfileOptions *options)
{
	if (!options)
		return;
	drop_list(&options->account);
	drop_list(&options->start);
	drop_list(&options->show);
	drop_list(&options->trim);
	drop_list(&options->hide);
	tensor_bundle_close(options->checkpoint);
	g_free(options);
}

static gboolean fail(GError **error, TachoProfileOptionsError code, const gchar *what,
		     const gchar *value)
{
	g_set_error(error, TACHO_PROFILE_OPTIONS_ERROR, code, "%s: '%s'", what, value);
	return FALSE;
}

/* The same, with the words that there are. */
static gboolean refuse_word(GError **error, const gchar *what, const gchar *word,
			    const gchar *const *words)
{
	g_autofree gchar *there = tacho_did_you_mean(word, words);

	g_set_error(error, TACHO_PROFILE_OPTIONS_ERROR, TACHO_PROFILE_OPTIONS_ERROR_UNKNOWN,
		    "there is no %s '%s'%s", what, word, there);
	return FALSE;
}

/* The names of the metrics, NULL-terminated, behind `first` and `second` where not NULL; the caller's, but not the names. */
static const gchar **list_metrics(const gchar *first, const gchar *second)
{
	const gchar **names = g_new0(const gchar *, TACHO_N_METRICS + 3);
	guint n = 0;

	if (first)
		names[n++] = first;
	if (second)
		names[n++] = second;
	for (guint i = 0; i < TACHO_N_METRICS; i++)
		names[n++] = select_names[i];
	return names;
}

/* The number of a metric, or of a column among `n` names; -1: none of that name. */
static gint find_name(const gchar *name, guint n)
{
	for (guint i = 0; i < n; i++)
		if (strcmp(select_names[i], name) == 0)
			return (gint)i;
	return -1;
}

/* --- the kinds of value ----------------------------------------------------------------------- */

static gboolean set_regexes(GPtrArray **list, const gchar *value, GError **error)
{
	g_auto(GStrv) words = g_strsplit(value, ",", -1);
	g_autoptr(GPtrArray) regexes = NULL;

	if (strcmp(value, ".*") == 0) {
		drop_list(list);
		return TRUE;
	}
	regexes = g_ptr_array_new_with_free_func((GDestroyNotify)g_regex_unref);
	for (guint i = 0; words[i]; i++) {
		g_autofree gchar *whole = g_strdup_printf("^(?:%s)$", words[i]);
		GRegex *regex;

		if (!*words[i])
			continue;
		regex = g_regex_new(whole, G_REGEX_OPTIMIZE | G_REGEX_DOLLAR_ENDONLY, 0, error);
		if (!regex)
			return FALSE;
		g_ptr_array_add(regexes, regex);
	}
	drop_list(list);
	*list = g_steal_pointer(&regexes);
	return TRUE;
}

static gboolean is_time(gint metric)
{
	return metric == TACHO_METRIC_TIME || metric == TACHO_METRIC_DEVICE ||
	       metric == TACHO_METRIC_HOST;
}

static gboolean set_minimum(TachoProfileOptions *options, const gchar *name, const gchar *value,
			    GError **error)
{
	gboolean is_self = g_str_has_prefix(name, "self_");
	gint metric = find_name(is_self ? name + strlen("self_") : name, TACHO_N_METRICS);
	gchar *end;
	gdouble number = g_ascii_strtod(value, &end);

	if (metric < 0) {
		g_autofree const gchar **metrics = list_metrics(NULL, NULL);

		return refuse_word(error, "metric", name, metrics);
	}
	if (end == value || *end || !isfinite(number))
		return fail(error, TACHO_PROFILE_OPTIONS_ERROR_VALUE, "not a number", value);
	(is_self ? options->min_self : options->min_total)[metric] =
		number * (is_time(metric) ? 1e3 : 1);
	return TRUE;
}

static gboolean set_minimum_pair(TachoProfileOptions *options, const gchar *pair, GError **error)
{
	g_auto(GStrv) words = g_strsplit(pair, "=", 2);

	if (g_strv_length(words) != 2)
		return fail(error, TACHO_PROFILE_OPTIONS_ERROR_VALUE, "not METRIC=NUMBER", pair);
	return set_minimum(options, words[0], words[1], error);
}

static gboolean set_depth(TachoProfileOptions *options, const gchar *value, GError **error)
{
	guint64 depth;

	if (!g_ascii_string_to_unsigned(value, 10, 0, G_MAXINT, &depth, NULL))
		return fail(error, TACHO_PROFILE_OPTIONS_ERROR_VALUE, "not a depth", value);
	options->max_depth = (guint)depth;
	return TRUE;
}

static gboolean set_order(TachoProfileOptions *options, const gchar *value, GError **error)
{
	gint metric = find_name(value, TACHO_N_METRICS);

	if (strcmp(value, "name") == 0)
		options->order = TACHO_ORDER_NAME;
	else if (strcmp(value, "depth") == 0)
		options->order = TACHO_ORDER_LEVELS;
	else if (metric >= 0)
		options->order = (guint)metric;
	else {
		g_autofree const gchar **orders = list_metrics("name", "depth");

		return refuse_word(error, "order", value, orders);
	}
	options->has_order = TRUE;
	return TRUE;
}

static gboolean set_select(TachoProfileOptions *options, const gchar *value, GError **error)
{
	g_auto(GStrv) words = g_strsplit(value, ",", -1);
	guint32 select = 0;

	for (guint i = 0; words[i]; i++) {
		gint column = find_name(words[i], TACHO_N_SELECTS);

		if (column < 0)
			return refuse_word(error, "column", words[i], select_names);
		select |= 1u << column;
	}
	options->select = select;
	return TRUE;
}

static gboolean set_displayed_only(TachoProfileOptions *options, const gchar *value, GError **error)
{
	static const gchar *const yes[] = { "true", "t", "yes", "y", "1", NULL };
	static const gchar *const no[] = { "false", "f", "no", "n", "0", NULL };

	if (!g_strv_contains(yes, value) && !g_strv_contains(no, value))
		return fail(error, TACHO_PROFILE_OPTIONS_ERROR_VALUE, "not yes or no", value);
	options->is_displayed_only = g_strv_contains(yes, value);
	return TRUE;
}

static gboolean set_mean(TachoProfileOptions *options, const gchar *value, GError **error)
{
	static const gchar *const names[] = { "all", "present", "none", NULL };

	for (guint i = 0; names[i]; i++)
		if (strcmp(names[i], value) == 0) {
			options->mean = i;
			return TRUE;
		}
	return refuse_word(error, "mean", value, names);
}

static gboolean set_checkpoint(TachoProfileOptions *options, const gchar *value, GError **error)
{
	tensor_bundle *bundle = tensor_bundle_open(value, error);

	if (!bundle)
		return FALSE;
	tensor_bundle_close(options->checkpoint);
	options->checkpoint = bundle;
	return TRUE;
}

/* The regular expressions of that name, or NULL. */
static GPtrArray **find_list(TachoProfileOptions *options, const gchar *name)
{
	if (strcmp(name, "account") == 0)
		return &options->account;
	if (strcmp(name, "start") == 0)
		return &options->start;
	if (strcmp(name, "show") == 0)
		return &options->show;
	if (strcmp(name, "trim") == 0)
		return &options->trim;
	if (strcmp(name, "hide") == 0)
		return &options->hide;
	return NULL;
}

static gboolean set_one(TachoProfileOptions *options, const gchar *name, const gchar *value,
			GError **error)
{
	static const struct {
		const gchar *name;
		gboolean (*set)(TachoProfileOptions *options, const gchar *value, GError **error);
	} setters[] = {
		{ "min", set_minimum_pair },
		{ "max_depth", set_depth },
		{ "order_by", set_order },
		{ "select", set_select },
		{ "displayed_only", set_displayed_only },
		{ "mean", set_mean },
		{ "checkpoint", set_checkpoint },
	};
	GPtrArray **list = find_list(options, name);

	if (list)
		return set_regexes(list, value, error);
	for (guint i = 0; i < G_N_ELEMENTS(setters); i++)
		if (strcmp(setters[i].name, name) == 0)
			return setters[i].set(options, value, error);
	return fail(error, TACHO_PROFILE_OPTIONS_ERROR_UNKNOWN, "no such option", name);
}

gboolean tacho_profile_options_set(TachoProfileOptions *options, const gchar *name,
				   const gchar *value, GError **error)
{
	if (set_one(options, name, value, error))
		return TRUE;
	g_prefix_error(error, "%s: ", name);
	return FALSE;
}
