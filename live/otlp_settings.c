#include "live/otlp_settings.h"

#include <string.h>
#include <unistd.h>

#include "base/for_each.h"
#include "live/http_client.h"
#include "live/otlp_message.h"

#define DEFAULT_INTERVAL_S 10
#define MIN_INTERVAL_S	   1
#define MAX_INTERVAL_S	   86400
#define DEFAULT_TIMEOUT_MS 10000
#define MAX_TIMEOUT_MS	   600000
#define METRICS_PATH	   "/v1/metrics"

static void clear_pair(gpointer pointer)
{
	struct otlp_pair *pair = pointer;

	g_free(pair->key);
	g_free(pair->value);
}

static GArray *pairs_new(void)
{
	GArray *pairs = g_array_new(FALSE, FALSE, sizeof(struct otlp_pair));

	g_array_set_clear_func(pairs, clear_pair);
	return pairs;
}

/* A later value takes the place of an earlier one. */
static void put_pair(GArray *pairs, const gchar *key, const gchar *value)
{
	struct otlp_pair added;

	FOR_EACH(struct otlp_pair, pair, pairs) {
		if (strcmp(pair->key, key) != 0)
			continue;
		g_free(pair->value);
		pair->value = g_strdup(value);
		return;
	}
	added = (struct otlp_pair){ g_strdup(key), g_strdup(value) };
	g_array_append_val(pairs, added);
}

/* A variable that is empty is one that is not there. */
static const gchar *variable(const gchar *name)
{
	const gchar *value = g_getenv(name);

	return value && *value ? value : NULL;
}

/* The one for metrics goes before the one for all signals. `name` is what follows OTEL_EXPORTER_OTLP_. */
static const gchar *exporter_variable(const gchar *name, gchar **ret_whole_name)
{
	g_autofree gchar *of_metrics = g_strdup_printf("OTEL_EXPORTER_OTLP_METRICS_%s", name);
	g_autofree gchar *of_all = g_strdup_printf("OTEL_EXPORTER_OTLP_%s", name);
	const gchar *value = variable(of_metrics);

	g_free(*ret_whole_name);
	*ret_whole_name = g_strdup(value ? of_metrics : of_all);
	return value ? value : variable(of_all);
}

/* "key=value,key=value", with %XX where a value has what would end it. */
static gboolean read_pairs(const gchar *name, const gchar *list, GArray *pairs, GError **error)
{
	g_auto(GStrv) parts = g_strsplit(list, ",", -1);

	for (guint i = 0; parts[i]; i++) {
		gchar *equals = strchr(parts[i], '=');
		g_autofree gchar *value = NULL;

		if (!*g_strstrip(parts[i]))
			continue;
		if (equals)
			*equals = '\0';
		value = equals ? g_uri_unescape_string(g_strstrip(equals + 1), NULL) : NULL;
		if (!value || !*g_strstrip(parts[i]) || !g_utf8_validate(value, -1, NULL) ||
		    !g_utf8_validate(parts[i], -1, NULL)) {
			g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_INVAL,
				    "%s: part %u is no KEY=VALUE in UTF-8, with %%XX for other "
				    "bytes",
				    name, i + 1);
			return FALSE;
		}
		put_pair(pairs, parts[i], value);
	}
	return TRUE;
}

/* "Name: value", a line each. */
static gboolean read_header_lines(const gchar *text, GArray *pairs, GError **error)
{
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);

	for (guint i = 0; lines[i]; i++) {
		gchar *colon = strchr(g_strstrip(lines[i]), ':');

		if (!*lines[i])
			continue;
		if (!colon || colon == lines[i]) {
			g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_INVAL,
				    "line %u of the headers is no 'Name: value'", i + 1);
			return FALSE;
		}
		*colon = '\0';
		put_pair(pairs, lines[i], g_strstrip(colon + 1));
	}
	return TRUE;
}

/* What could end a header, or the head, must not be in one. */
static gboolean is_header(const struct otlp_pair *pair)
{
	for (const gchar *at = pair->key; *at; at++)
		if (!g_ascii_isalnum(*at) && !strchr("!#$%&'*+-.^_`|~", *at))
			return FALSE;
	for (const gchar *at = pair->value; *at; at++)
		if (g_ascii_iscntrl(*at))
			return FALSE;
	return TRUE;
}

static gboolean set_headers(OtlpSettings *settings, const struct otlp_options *options,
			    GError **error)
{
	g_autofree gchar *name = NULL;
	const gchar *list = exporter_variable("HEADERS", &name);
	g_autoptr(GArray) pairs = pairs_new();
	g_autoptr(GPtrArray) lines = g_ptr_array_new_with_free_func(g_free);

	if (options->headers ? !read_header_lines(options->headers, pairs, error)
			     : list && !read_pairs(name, list, pairs, error))
		return FALSE;
	FOR_EACH(const struct otlp_pair, pair, pairs) {
		if (!is_header(pair)) {
			g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_INVAL,
				    "%s: there is no header of HTTP '%s' with such a value",
				    options->headers ? "the headers" : name, pair->key);
			return FALSE;
		}
		/* an empty one is written so for the library, to which "Name:" means none */
		g_ptr_array_add(lines, *pair->value
					       ? g_strdup_printf("%s: %s", pair->key, pair->value)
					       : g_strdup_printf("%s;", pair->key));
	}
	g_ptr_array_add(lines, g_strdup("Content-Type: application/x-protobuf"));
	g_ptr_array_add(lines, NULL);
	settings->headers = (gchar **)g_ptr_array_free(g_steal_pointer(&lines), FALSE);
	return TRUE;
}

static gboolean set_resource(OtlpSettings *settings, const struct otlp_options *options,
			     GError **error)
{
	const gchar *list = variable("OTEL_RESOURCE_ATTRIBUTES");
	const gchar *service = variable("OTEL_SERVICE_NAME");
	gchar host[256] = "";

	gethostname(host, sizeof(host) - 1);
	put_pair(settings->resource, "service.name", "tacho");
	put_pair(settings->resource, "service.version", TACHO_VERSION);
	if (*host && g_utf8_validate(host, -1, NULL)) {
		g_autofree gchar *instance =
			g_strdup_printf("%s:%s", host, options->instance ? options->instance : "");

		put_pair(settings->resource, "host.name", host);
		put_pair(settings->resource, "service.instance.id", instance);
	}
	put_pair(settings->resource, "os.type", "linux");
	if (list && !read_pairs("OTEL_RESOURCE_ATTRIBUTES", list, settings->resource, error))
		return FALSE;
	if (service && g_utf8_validate(service, -1, NULL))
		put_pair(settings->resource, "service.name", service);
	return TRUE;
}

/* Milliseconds; 0 means no limit, which is the largest here. */
static gboolean read_ms(const gchar *name, const gchar *text, guint min_ms, guint max_ms,
			guint *ret_ms, GError **error)
{
	guint64 ms;

	if (!g_ascii_string_to_unsigned(text, 10, 0, G_MAXUINT, &ms, NULL)) {
		g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_INVAL,
			    "%s: '%s' is no number of milliseconds", name, text);
		return FALSE;
	}
	*ret_ms = ms ? (guint)CLAMP(ms, min_ms, max_ms) : max_ms;
	return TRUE;
}

static gboolean set_times(OtlpSettings *settings, const struct otlp_options *options,
			  GError **error)
{
	const gchar *interval = variable("OTEL_METRIC_EXPORT_INTERVAL");
	g_autofree gchar *name = NULL;
	const gchar *timeout = exporter_variable("TIMEOUT", &name);

	settings->interval_ms = DEFAULT_INTERVAL_S * 1000;
	settings->timeout_ms = DEFAULT_TIMEOUT_MS;
	if (options->interval_s) {
		if (!(options->interval_s >= MIN_INTERVAL_S) ||
		    options->interval_s > MAX_INTERVAL_S) {
			g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_INVAL,
				    "metrics are pushed every %d to %d seconds", MIN_INTERVAL_S,
				    MAX_INTERVAL_S);
			return FALSE;
		}
		settings->interval_ms = (guint)(options->interval_s * 1000);
	} else if (interval &&
		   !read_ms("OTEL_METRIC_EXPORT_INTERVAL", interval, MIN_INTERVAL_S * 1000,
			    MAX_INTERVAL_S * 1000, &settings->interval_ms, error)) {
		return FALSE;
	}
	return !timeout || read_ms(name, timeout, 1, MAX_TIMEOUT_MS, &settings->timeout_ms, error);
}

/* Whether variables ask for figures to be pushed, and by this protocol. */
static gboolean is_asked_for(OtlpSettings *settings, const gchar *endpoint_name)
{
	const gchar *disabled = variable("OTEL_SDK_DISABLED");
	const gchar *exporter = variable("OTEL_METRICS_EXPORTER");
	g_autofree gchar *name = NULL;
	const gchar *protocol = exporter_variable("PROTOCOL", &name);

	if ((disabled && g_ascii_strcasecmp(disabled, "true") == 0) ||
	    (exporter && !strstr(exporter, "otlp")))
		return FALSE;
	if (!protocol || strcmp(protocol, "http/protobuf") == 0)
		return TRUE;
	settings->note =
		g_strdup_printf("%s is set, but %s is '%s', and tacho speaks http/protobuf "
				"alone: no metrics are pushed",
				endpoint_name, name, protocol);
	return FALSE;
}

/* A variable with all signals' base gets the path of metrics; one for metrics is taken as it is; an option gets the path where it has
 * none. */
static gboolean set_url(OtlpSettings *settings, const struct otlp_options *options, GError **error)
{
	g_autofree gchar *name = NULL, *whole = NULL;
	const gchar *endpoint = exporter_variable("ENDPOINT", &name);
	gboolean is_base = strcmp(name, "OTEL_EXPORTER_OTLP_ENDPOINT") == 0;
	gsize n;

	if (options->url) {
		return strcmp(options->url, "none") == 0 ||
		       http_client_check_url(options->url, METRICS_PATH, &settings->url,
					     &settings->shown, error);
	}
	if (!endpoint || !is_asked_for(settings, name))
		return TRUE;
	n = strlen(endpoint);
	while (is_base && n && endpoint[n - 1] == '/')
		n--;
	whole = g_strdup_printf("%.*s%s", (int)n, endpoint, is_base ? METRICS_PATH : "");
	if (http_client_check_url(whole, NULL, &settings->url, &settings->shown, error))
		return TRUE;
	g_prefix_error(error, "%s: ", name);
	return FALSE;
}

gboolean otlp_settings_init(OtlpSettings *settings, const struct otlp_options *options,
			    GError **error)
{
	g_autofree gchar *name = NULL;

	*settings = (OtlpSettings){ .resource = pairs_new() };
	if (set_url(settings, options, error)) {
		settings->ca_file =
			g_strdup(options->ca_file ? options->ca_file
						  : exporter_variable("CERTIFICATE", &name));
		if (!settings->url ||
		    (set_headers(settings, options, error) &&
		     set_resource(settings, options, error) && set_times(settings, options, error)))
			return TRUE;
	}
	otlp_settings_release(settings);
	return FALSE;
}

void otlp_settings_release(OtlpSettings *settings)
{
	g_free(settings->url);
	g_free(settings->shown);
	g_free(settings->note);
	g_free(settings->ca_file);
	g_strfreev(settings->headers);
	g_array_unref(settings->resource);
	*settings = (OtlpSettings){ 0 };
}
