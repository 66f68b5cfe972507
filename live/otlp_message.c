/* otlp_message: rows of messages are made in arrays of their final size and encoded once; they live until then. */
#include "live/otlp_message.h"

#include <tacho/info.h>

#include "base/for_each.h"
#include "export/otlp.pb-c.h"

typedef Otlp__KeyValue KeyValue;
typedef Otlp__AnyValue AnyValue;
typedef Otlp__NumberDataPoint Point;
typedef Otlp__Metric Metric;

#define MAX_ATTRIBUTES 4    /* of a point: host, id, run, its own */
#define MAX_SAID       1000 /* bytes of what a receiver says */

/* A point with what it points to. */
struct point_room {
	Point point;
	KeyValue pairs[MAX_ATTRIBUTES];
	AnyValue values[MAX_ATTRIBUTES];
	KeyValue *attributes[MAX_ATTRIBUTES];
};

/* A series with what it points to. */
struct metric_room {
	Metric metric;
	Otlp__Gauge gauge;
	Otlp__Sum sum;
	struct point_room *points;
	Point **rows;
};

static void set_pair(KeyValue *pair, AnyValue *value, const gchar *key)
{
	otlp__key_value__init(pair);
	otlp__any_value__init(value);
	pair->key = (gchar *)key;
	pair->value = value;
}

static void set_text(KeyValue *pair, AnyValue *value, const gchar *key, const gchar *text)
{
	set_pair(pair, value, key);
	value->value_case = OTLP__ANY_VALUE__VALUE_STRING_VALUE;
	value->string_value = (gchar *)text;
}

static void add_text(struct point_room *room, const gchar *key, const gchar *text)
{
	gsize i = room->point.n_attributes++;

	set_text(&room->pairs[i], &room->values[i], key, text);
	room->attributes[i] = &room->pairs[i];
}

static void add_number(struct point_room *room, const gchar *key, gint64 number)
{
	gsize i = room->point.n_attributes++;

	set_pair(&room->pairs[i], &room->values[i], key);
	room->values[i].value_case = OTLP__ANY_VALUE__VALUE_INT_VALUE;
	room->values[i].int_value = number;
	room->attributes[i] = &room->pairs[i];
}

static void set_point(struct point_room *room, const LiveSeries *series,
		      const struct live_series_kind *kind, const struct live_point *from)
{
	Point *point = &room->point;

	otlp__number_data_point__init(point);
	point->attributes = room->attributes;
	point->time_unix_nano = (guint64)series->unix_ns;
	if (kind->is_counter) {
		point->start_time_unix_nano = (guint64)from->since_unix_ns;
		point->value_case = OTLP__NUMBER_DATA_POINT__VALUE_AS_INT;
		point->as_int = (gint64)from->value;
	} else {
		point->value_case = OTLP__NUMBER_DATA_POINT__VALUE_AS_DOUBLE;
		point->as_double = from->value;
	}
	if (from->job != LIVE_NO_JOB) {
		const struct live_series_job *job =
			&g_array_index(series->jobs, struct live_series_job, from->job);

		if (job->host)
			add_text(room, "host", job->host);
		add_number(room, "id", job->id);
		add_text(room, "run", job->run);
	}
	if (from->text)
		add_text(room, from->key, from->text);
	else if (from->key)
		add_number(room, from->key, from->number);
}

static void set_metric(struct metric_room *room, const LiveSeries *series, enum live_series which)
{
	const struct live_series_kind *kind = live_series_kind(which);
	const GArray *points = series->points[which];

	otlp__metric__init(&room->metric);
	otlp__gauge__init(&room->gauge);
	otlp__sum__init(&room->sum);
	room->metric.name = (gchar *)kind->otlp_name;
	room->metric.description = (gchar *)kind->help;
	room->metric.unit = (gchar *)kind->unit;
	room->points = g_new0(struct point_room, points->len);
	room->rows = g_new(Point *, points->len);
	FOR_EACH_AT(const struct live_point, point, i, points) {
		set_point(&room->points[i], series, kind, point);
		room->rows[i] = &room->points[i].point;
	}
	if (kind->is_counter) {
		room->metric.data_case = OTLP__METRIC__DATA_SUM;
		room->metric.sum = &room->sum;
		room->sum.n_data_points = points->len;
		room->sum.data_points = room->rows;
		room->sum.aggregation_temporality = OTLP__AGGREGATION_TEMPORALITY__CUMULATIVE;
		room->sum.is_monotonic = TRUE;
	} else {
		room->metric.data_case = OTLP__METRIC__DATA_GAUGE;
		room->metric.gauge = &room->gauge;
		room->gauge.n_data_points = points->len;
		room->gauge.data_points = room->rows;
	}
}

/* The bytes of a request with these metrics. */
static GBytes *pack(Metric **metrics, gsize n_metrics, const GArray *attributes)
{
	Otlp__ExportMetricsServiceRequest request = OTLP__EXPORT_METRICS_SERVICE_REQUEST__INIT;
	Otlp__ResourceMetrics of_resource = OTLP__RESOURCE_METRICS__INIT, *resources = &of_resource;
	Otlp__ScopeMetrics of_scope = OTLP__SCOPE_METRICS__INIT, *scopes = &of_scope;
	Otlp__InstrumentationScope scope = OTLP__INSTRUMENTATION_SCOPE__INIT;
	Otlp__Resource resource = OTLP__RESOURCE__INIT;
	g_autofree KeyValue *pairs = g_new(KeyValue, attributes->len);
	g_autofree AnyValue *values = g_new(AnyValue, attributes->len);
	g_autofree KeyValue **rows = g_new(KeyValue *, attributes->len);
	guint8 *bytes;
	gsize n;

	FOR_EACH_AT(const struct otlp_pair, pair, i, attributes) {
		set_text(&pairs[i], &values[i], pair->key, pair->value);
		rows[i] = &pairs[i];
	}
	resource.n_attributes = attributes->len;
	resource.attributes = rows;
	scope.name = "tacho";
	scope.version = TACHO_VERSION;
	of_scope.scope = &scope;
	of_scope.n_metrics = n_metrics;
	of_scope.metrics = metrics;
	of_resource.resource = &resource;
	of_resource.n_scope_metrics = 1;
	of_resource.scope_metrics = &scopes;
	request.n_resource_metrics = 1;
	request.resource_metrics = &resources;
	n = otlp__export_metrics_service_request__get_packed_size(&request);
	bytes = g_malloc(n);
	otlp__export_metrics_service_request__pack(&request, bytes);
	return g_bytes_new_take(bytes, n);
}

GBytes *otlp_message_new(const LiveSeries *series, const GArray *resource)
{
	struct metric_room rooms[N_LIVE_SERIES];
	Metric *metrics[N_LIVE_SERIES];
	gsize n = 0;
	GBytes *bytes;

	for (guint i = 0; i < N_LIVE_SERIES; i++) {
		if (!series->points[i]->len)
			continue;
		set_metric(&rooms[n], series, i);
		metrics[n] = &rooms[n].metric;
		n++;
	}
	bytes = pack(metrics, n, resource);
	for (gsize i = 0; i < n; i++) {
		g_free(rooms[i].points);
		g_free(rooms[i].rows);
	}
	return bytes;
}

/* --- answers --------------------------------------------------------------------------------- */

/* What comes from elsewhere is shortened before it is shown. */
static gchar *copy_said(const gchar *text)
{
	g_autofree gchar *start = g_strndup(text, MAX_SAID);

	return tacho_printable(start);
}

gboolean otlp_message_read_answer(const guint8 *bytes, gsize n, gboolean is_taken,
				  gint64 *ret_n_rejected, gchar **ret_text)
{
	Otlp__ExportMetricsServiceResponse *taken;
	Otlp__Status *refused;
	gboolean is_said = FALSE;

	if (is_taken) {
		taken = otlp__export_metrics_service_response__unpack(NULL, n, bytes);
		is_said = taken && taken->partial_success;
		if (is_said) {
			*ret_n_rejected = MAX(taken->partial_success->rejected_data_points, 0);
			*ret_text = copy_said(taken->partial_success->error_message);
		}
		otlp__export_metrics_service_response__free_unpacked(taken, NULL);
		return is_said;
	}
	refused = otlp__status__unpack(NULL, n, bytes);
	is_said = refused && *refused->message;
	if (is_said) {
		*ret_n_rejected = 0;
		*ret_text = copy_said(refused->message);
	}
	otlp__status__free_unpacked(refused, NULL);
	return is_said;
}
