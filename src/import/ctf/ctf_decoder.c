/* ctf_decoder: libbabeltrace2's part of reading CTF: from a folder to records (ctf_records.h).
 *
 * A graph of two components, a source.ctf.fs and a sink of ours. The source has a port a stream; the sink takes every
 * n-th of them, the processes beside it the others, and puts the streams in order by itself, by a heap of the next
 * event of each, which costs a fraction of what flt.utils.muxer does.
 *
 * (1) The order is that of time; of events at the same time, that of the ports. So it is the same however many
 *     processes share a trace.
 * (2) What a broken stream has up to where it is broken is used, and so are the others.
 * (3) It runs in a process of its own (ctf_process.c). */
#include <babeltrace2/babeltrace.h>

#include "import/ctf/ctf_message_records.h"
#include "import/ctf/ctf_source.h"

/* The messages of one port that were fetched and not yet used. */
struct port {
	bt_message_iterator *iterator;
	bt_message_array_const messages;
	guint64 n, next;
	guint64 index; /* among all ports of the source */
	struct ctf_stream_place place;
	guint64 n_unclocked; /* events so far, in a stream without a clock */
	gint64 time_ns;	     /* of the event that is next */
	gchar *trouble;	     /* an error that comes after these messages, NULL: none known */
};

struct decoder {
	struct ctf_record_writer writer;
	struct ctf_message_records records;
	guint part, n_parts;
	guint64 n_source_ports, n_ports; /* all, ours */
	struct port *ports;
	struct port **heap; /* the port with the earliest event first */
	guint64 n_heap;
	gboolean has_failed;
};

/* --- failure -------------------------------------------------------------------------------- */

/* The text without addresses in memory ("msg-it-addr=0x55d8, "): a trace makes the same records each time. */
static gchar *without_addresses(const gchar *text)
{
	g_autoptr(GRegex) address =
		g_regex_new("[a-z-]+-addr=(0x[0-9a-f]+|\\(nil\\))(, )?", 0, 0, NULL);
	g_autofree gchar *valid = g_utf8_make_valid(text, -1);

	return g_regex_replace_literal(address, valid, -1, 0, "", 0, NULL);
}

/* What libbabeltrace2 says went wrong, to be freed; NULL: nothing did. The innermost cause knows most. */
static gchar *take_trouble(void)
{
	const bt_error *error = bt_current_thread_take_error();
	gchar *text = NULL;

	if (error && bt_error_get_cause_count(error))
		text = without_addresses(
			bt_error_cause_get_message(bt_error_borrow_cause_by_index(error, 0)));
	if (error)
		bt_error_release(error);
	return text;
}

/* Write down what could not be read. `trouble` is taken over. */
static void add_failure(struct decoder *decoder, const struct port *port, gchar *trouble)
{
	g_autofree gchar *why = trouble;
	g_autofree gchar *place = NULL;
	const gchar *text = why ? why : "libbabeltrace2 cannot read it";
	gsize record;

	if (port && port->place.stream)
		place = g_strdup_printf(
			"%s: the rest of packet %" G_GUINT64_FORMAT " cannot be read: %s",
			bt_stream_get_name(port->place.stream), port->place.n_packets, text);
	record = ctf_record_begin(&decoder->writer, CTF_RECORD_FAILURE,
				  sizeof(struct ctf_failure_record));
	ctf_record_add_string(&decoder->writer, place ? place : text);
	ctf_record_end(&decoder->writer, record);
	decoder->has_failed = TRUE;
}

/* --- ports ---------------------------------------------------------------------------------- */

/* Without a clock, the events of all streams in turn have the numbers from 0. */
static gint64 event_time_ns(const struct decoder *decoder, struct port *port,
			    const bt_message *message)
{
	const bt_clock_snapshot *snapshot;
	gint64 time_ns;

	if (!port->place.has_clock)
		return (gint64)(port->n_unclocked++ * decoder->n_source_ports + port->index);
	snapshot = bt_message_event_borrow_default_clock_snapshot_const(message);
	if (bt_clock_snapshot_get_ns_from_origin(snapshot, &time_ns) !=
	    BT_CLOCK_SNAPSHOT_GET_NS_FROM_ORIGIN_STATUS_OK)
		return G_MAXINT64;
	return time_ns;
}

/* Have messages from `next` on. False: there are no more. What comes before an error is handed out first, but the
 * error is there already, and libbabeltrace2 forbids calling it for other streams until it is taken. */
static gboolean fetch_messages(struct decoder *decoder, struct port *port)
{
	while (port->next == port->n) {
		bt_message_iterator_next_status status =
			bt_message_iterator_next(port->iterator, &port->messages, &port->n);
		gchar *trouble = take_trouble();

		if (!port->trouble)
			port->trouble = trouble;
		else
			g_free(trouble);
		port->next = 0;
		if (status == BT_MESSAGE_ITERATOR_NEXT_STATUS_OK)
			continue;
		port->n = 0;
		if (status == BT_MESSAGE_ITERATOR_NEXT_STATUS_AGAIN)
			continue;
		if (status != BT_MESSAGE_ITERATOR_NEXT_STATUS_END || port->trouble)
			add_failure(decoder, port, g_steal_pointer(&port->trouble));
		return FALSE;
	}
	return TRUE;
}

/* Go on to the port's next event; it is then messages[next]. False: there is none. */
static gboolean advance_port(struct decoder *decoder, struct port *port)
{
	while (port->next < port->n || fetch_messages(decoder, port)) {
		const bt_message *message = port->messages[port->next];

		if (bt_message_get_type(message) == BT_MESSAGE_TYPE_EVENT) {
			port->time_ns = event_time_ns(decoder, port, message);
			return TRUE;
		}
		ctf_add_message(&decoder->records, &port->place, message);
		bt_message_put_ref(message);
		port->next++;
	}
	return FALSE;
}

/* --- the order of streams ------------------------------------------------------------------- */

static gboolean is_earlier(const struct port *a, const struct port *b)
{
	return a->time_ns < b->time_ns || (a->time_ns == b->time_ns && a->index < b->index);
}

static void sift_down(struct decoder *decoder, guint64 place)
{
	struct port *moving = decoder->heap[place];

	while (TRUE) {
		guint64 child = 2 * place + 1;

		if (child >= decoder->n_heap)
			break;
		if (child + 1 < decoder->n_heap &&
		    is_earlier(decoder->heap[child + 1], decoder->heap[child]))
			child++;
		if (is_earlier(moving, decoder->heap[child]))
			break;
		decoder->heap[place] = decoder->heap[child];
		place = child;
	}
	decoder->heap[place] = moving;
}

static void fill_heap(struct decoder *decoder)
{
	for (guint64 i = 0; i < decoder->n_ports; i++)
		if (advance_port(decoder, &decoder->ports[i]))
			decoder->heap[decoder->n_heap++] = &decoder->ports[i];
	for (guint64 i = decoder->n_heap / 2; i-- > 0;)
		sift_down(decoder, i);
}

static void merge_ports(struct decoder *decoder)
{
	fill_heap(decoder);
	while (decoder->n_heap && !decoder->writer.is_broken && !decoder->writer.failure) {
		struct port *port = decoder->heap[0];
		const bt_message *message = port->messages[port->next++];

		ctf_add_event(&decoder->records, &port->place,
			      bt_message_event_borrow_event_const(message), port->time_ns);
		bt_message_put_ref(message);
		if (!advance_port(decoder, port))
			decoder->heap[0] = decoder->heap[--decoder->n_heap];
		if (decoder->n_heap)
			sift_down(decoder, 0);
	}
	if (decoder->writer.failure)
		add_failure(decoder, NULL, g_strdup(decoder->writer.failure));
}

/* --- the sink ------------------------------------------------------------------------------- */

static bt_component_class_initialize_method_status
init_sink(bt_self_component_sink *self, bt_self_component_sink_configuration *configuration,
	  const bt_value *params, void *data)
{
	struct decoder *decoder = data;

	(void)configuration;
	(void)params;
	bt_self_component_set_data(bt_self_component_sink_as_self_component(self), decoder);
	for (guint64 i = 0; i < decoder->n_ports; i++) {
		gchar name[32];

		g_snprintf(name, sizeof(name), "in%" G_GUINT64_FORMAT, i);
		if (bt_self_component_sink_add_input_port(self, name, NULL, NULL) !=
		    BT_SELF_COMPONENT_ADD_PORT_STATUS_OK)
			return BT_COMPONENT_CLASS_INITIALIZE_METHOD_STATUS_ERROR;
	}
	return BT_COMPONENT_CLASS_INITIALIZE_METHOD_STATUS_OK;
}

static bt_component_class_sink_graph_is_configured_method_status
configure_sink(bt_self_component_sink *self)
{
	struct decoder *decoder =
		bt_self_component_get_data(bt_self_component_sink_as_self_component(self));

	for (guint64 i = 0; i < decoder->n_ports; i++)
		if (bt_message_iterator_create_from_sink_component(
			    self, bt_self_component_sink_borrow_input_port_by_index(self, i),
			    &decoder->ports[i].iterator) !=
		    BT_MESSAGE_ITERATOR_CREATE_FROM_SINK_COMPONENT_STATUS_OK)
			return BT_COMPONENT_CLASS_SINK_GRAPH_IS_CONFIGURED_METHOD_STATUS_ERROR;
	return BT_COMPONENT_CLASS_SINK_GRAPH_IS_CONFIGURED_METHOD_STATUS_OK;
}

static bt_component_class_sink_consume_method_status run_sink(bt_self_component_sink *self)
{
	merge_ports(bt_self_component_get_data(bt_self_component_sink_as_self_component(self)));
	return BT_COMPONENT_CLASS_SINK_CONSUME_METHOD_STATUS_END;
}

/* --- the graph ------------------------------------------------------------------------------ */

static const bt_component_sink *add_sink(bt_graph *graph, struct decoder *decoder)
{
	bt_component_class_sink *class = bt_component_class_sink_create("records", run_sink);
	const bt_component_sink *sink = NULL;

	if (!class)
		return NULL;
	bt_component_class_sink_set_initialize_method(class, init_sink);
	bt_component_class_sink_set_graph_is_configured_method(class, configure_sink);
	if (bt_graph_add_sink_component_with_initialize_method_data(
		    graph, class, "sink", NULL, decoder, BT_LOGGING_LEVEL_NONE, &sink) !=
	    BT_GRAPH_ADD_COMPONENT_STATUS_OK)
		return NULL;
	return sink;
}

static void take_ports(struct decoder *decoder, guint64 n_source_ports)
{
	decoder->n_source_ports = n_source_ports;
	decoder->ports = g_new0(struct port, n_source_ports + 1);
	decoder->heap = g_new0(struct port *, n_source_ports + 1);
	for (guint64 i = decoder->part; i < n_source_ports; i += decoder->n_parts) {
		decoder->ports[decoder->n_ports].index = i;
		decoder->ports[decoder->n_ports++].place.order = (guint32)i;
	}
}

static gboolean run_graph(struct decoder *decoder, const gchar *folder)
{
	bt_graph *graph = bt_graph_create(0);
	const bt_component_source *source = graph ? ctf_source_add(graph, folder, FALSE) : NULL;
	const bt_component_sink *sink;

	if (!source)
		return FALSE;
	take_ports(decoder, bt_component_source_get_output_port_count(source));
	if (decoder->n_ports == 0)
		return TRUE;
	sink = add_sink(graph, decoder);
	for (guint64 i = 0; sink && i < decoder->n_ports; i++)
		if (bt_graph_connect_ports(
			    graph,
			    bt_component_source_borrow_output_port_by_index_const(
				    source, decoder->ports[i].index),
			    bt_component_sink_borrow_input_port_by_index_const(sink, i),
			    NULL) != BT_GRAPH_CONNECT_PORTS_STATUS_OK)
			return FALSE;
	return sink && bt_graph_run(graph) == BT_GRAPH_RUN_STATUS_OK;
}

/* What libbabeltrace2 holds is not given back: the process ends. */
gboolean ctf_decode(const gchar *folder, guint part, guint n_parts, int out)
{
	struct decoder decoder = { .part = part, .n_parts = n_parts };
	struct ctf_record_writer *writer = &decoder.writer;

	bt_logging_set_global_level(BT_LOGGING_LEVEL_NONE);
	ctf_record_writer_init(writer, out);
	ctf_message_records_init(&decoder.records, writer);
	if (!run_graph(&decoder, folder))
		add_failure(&decoder, NULL, take_trouble());
	ctf_record_end(writer, ctf_record_begin(writer, CTF_RECORD_END, sizeof(struct ctf_record)));
	ctf_record_flush(writer);
	ctf_message_records_release(&decoder.records);
	ctf_record_writer_release(writer);
	g_free(decoder.ports);
	g_free(decoder.heap);
	return !decoder.has_failed && !writer->is_broken;
}
