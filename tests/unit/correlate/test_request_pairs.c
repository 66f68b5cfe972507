/* Both ends of gRPC's calls, as the probe writes them: which belong together, what is exact, and what that says of two clocks. */
#include <tacho/correlate.h>

#include <string.h>

#include "base/for_each.h"
#include "run_builder.h"

#define SHIFT_NS 3000000 /* the server's clock is ahead */

struct side {
	struct run_builder *run;
	guint32 get, put;
	enum trace_side side;
};

static struct side begin_side(const gchar *folder, enum trace_side number, const gchar *host)
{
	const struct run_builder_process process = {
		.host = host, .pid = 30 + (guint32)number, .rank = (gint)number, .world_size = 2
	};
	struct side side = { .run = run_builder_new(folder, &process), .side = number };

	side.get = run_builder_class(side.run, TRACE_KIND_REQUEST, "/s/Get");
	side.put = run_builder_class(side.run, TRACE_KIND_REQUEST, "/s/Put");
	run_builder_stream(side.run, 10);
	return side;
}

/* Of the client 10.0.0.1:4000, or another port. */
static struct record_request *add(const struct side *side, guint32 class_id, guint64 begin,
				  guint64 end, guint64 asked_bytes, guint64 answer_bytes)
{
	static const guint8 client[16] = { [10] = 0xff, [11] = 0xff, 10, 0, 0, 1 };
	struct record_request *request =
		run_builder_record(side->run, class_id, begin, sizeof(*request));
	gboolean is_server = side->side == TRACE_SIDE_SERVER;

	request->duration = end == G_MAXUINT64 ? TRACE_OPEN : end - begin;
	request->sent_bytes = is_server ? answer_bytes : asked_bytes;
	request->received_bytes = is_server ? asked_bytes : answer_bytes;
	request->n_sent = request->n_received = 1;
	request->side = side->side;
	request->sort = TRACE_REQUEST_SORT;
	memcpy(is_server ? request->peer_address : request->local_address, client, sizeof(client));
	*(is_server ? &request->peer_port : &request->local_port) = 4000;
	return request;
}

static TachoTimeline *open_run(const gchar *folder)
{
	g_autoptr(GError) error = NULL;
	TachoTimeline *timeline = tacho_timeline_open(&folder, 1, &error);

	g_assert_no_error(error);
	tacho_correlate(timeline);
	run_builder_remove(folder);
	return timeline;
}

/* "40=40! " for each pair: the bytes asked for at both ends; '!': exact, '~': given up by the client. */
static gchar *pairs_text(const TachoTimeline *timeline)
{
	GString *text = g_string_new(NULL);

	FOR_EACH(const TachoFlow, flow, timeline->flows) {
		TachoRequestArgs client, server;

		g_assert_true(tacho_slice_request(timeline, flow->from, &client));
		g_assert_true(tacho_slice_request(timeline, flow->to, &server));
		g_assert_true(server.is_server && !client.is_server);
		g_string_append_printf(text, "%u=%u%s%s ", (guint)client.sent_bytes,
				       (guint)server.received_bytes, flow->is_exact ? "!" : "",
				       flow->kind == TACHO_FLOW_REQUEST ? "" : "~");
	}
	return g_string_free(text, FALSE);
}

struct ends {
	gchar *folder;
	struct side client, server;
};

static void begin_ends(struct ends *ends, const gchar *server_host)
{
	ends->folder = g_dir_make_tmp("tacho-test-XXXXXX", NULL);
	ends->client = begin_side(ends->folder, TRACE_SIDE_CLIENT, "h0");
	ends->server = begin_side(ends->folder, TRACE_SIDE_SERVER, server_host);
}

static void assert_pairs(struct ends *ends, const gchar *expected)
{
	g_autoptr(TachoTimeline) timeline = NULL;
	g_autofree gchar *text = NULL;

	run_builder_end(ends->client.run);
	run_builder_end(ends->server.run);
	timeline = open_run(ends->folder);
	text = pairs_text(timeline);
	g_assert_cmpstr(text, ==, expected);
	g_free(ends->folder);
}

/* Methods are told apart, and connections. */
static void test_rows(void)
{
	struct ends ends;

	begin_ends(&ends, "h0");
	add(&ends.client, ends.client.get, 1000, 1100, 40, 8);
	add(&ends.client, ends.client.put, 1010, 1110, 40, 8);
	add(&ends.client, ends.client.get, 1200, 1300, 40, 8);
	add(&ends.client, ends.client.get, 1400, 1500, 40, 8)->local_port = 4001;
	add(&ends.server, ends.server.get, 1020, 1090, 40, 8);
	add(&ends.server, ends.server.put, 1030, 1100, 40, 8);
	add(&ends.server, ends.server.get, 1220, 1290, 40, 8);
	assert_pairs(&ends, "40=40! 40=40! 40=40! ");
}

/* TensorFlow's ends know a call's number, and no connection: in whichever order they come, and whatever they know of bytes. */
static void test_keys(void)
{
	struct ends ends;
	static const guint32 asked[] = { 7, 8, 9 }, served[] = { 9, 7, 8, 10 };

	begin_ends(&ends, "h1");
	for (guint i = 0; i < G_N_ELEMENTS(asked); i++) {
		struct record_request *request =
			add(&ends.client, ends.client.get, 1000 + i, 1900 + i, 40 + asked[i], 0);

		request->local_port = 0;
		request->key = asked[i];
		request->status = TRACE_STATUS_UNKNOWN;
	}
	for (guint i = 0; i < G_N_ELEMENTS(served); i++) {
		struct record_request *request =
			add(&ends.server, ends.server.get, 1100 + i, 1200 + i, 40 + served[i], 8);

		request->peer_port = 0;
		request->key = served[i];
		request->status = TRACE_STATUS_UNKNOWN;
	}
	assert_pairs(&ends, "47=47! 48=48! 49=49! ");
}

/* The second never arrived, so that none of its row is exact. */
static void test_lost(void)
{
	struct ends ends;

	begin_ends(&ends, "h1");
	add(&ends.client, ends.client.get, 1000, 1100, 40, 8);
	add(&ends.client, ends.client.get, 1200, 1300, 48, 0)->status = 14;
	add(&ends.client, ends.client.get, 1400, 1500, 64, 8);
	add(&ends.server, ends.server.get, 1020, 1090, 40, 8);
	add(&ends.server, ends.server.get, 1420, 1490, 64, 8);
	assert_pairs(&ends, "40=40 64=64 ");
}

/* Two at once, of which the later arrives first: their bytes tell. */
static void test_overtaking(void)
{
	struct ends ends;

	begin_ends(&ends, "h1");
	add(&ends.client, ends.client.get, 1000, 1100, 40, 8);
	add(&ends.client, ends.client.get, 1010, 1110, 64, 8);
	add(&ends.client, ends.client.get, 1200, 1300, 72, 8);
	add(&ends.server, ends.server.get, 1020, 1080, 64, 8);
	add(&ends.server, ends.server.get, 1030, 1090, 40, 8);
	add(&ends.server, ends.server.get, 1220, 1290, 72, 8);
	assert_pairs(&ends, "64=64 40=40 72=72! ");
}

/* On one host, a server cannot have had it before it was asked for. */
static void test_one_clock(void)
{
	struct ends ends;

	begin_ends(&ends, "h0");
	add(&ends.client, ends.client.get, 1100, 1200, 40, 8);
	add(&ends.server, ends.server.get, 1000, 1050, 40, 8);
	add(&ends.server, ends.server.get, 1120, 1190, 40, 8);
	assert_pairs(&ends, "40=40 ");
}

/* Given up by the client, and one that was under way when the recording ended. */
static void test_cut(void)
{
	struct ends ends;

	begin_ends(&ends, "h1");
	add(&ends.client, ends.client.get, 1000, 1100, 40, 0)->status = 4;
	add(&ends.client, ends.client.put, 1200, G_MAXUINT64, 64, 8);
	add(&ends.server, ends.server.get, 1020, 1190, 40, 0)->status = 1;
	add(&ends.server, ends.server.put, 1220, 1290, 64, 24);
	assert_pairs(&ends, "40=40!~ 64=64!~ ");
}

/* 200 calls of 100 us, 30 us each way, where the server's clock is 3 ms ahead. */
static void test_clocks(void)
{
	g_autofree gchar *folder = g_dir_make_tmp("tacho-test-XXXXXX", NULL);
	struct side client = begin_side(folder, TRACE_SIDE_CLIENT, "h0");
	struct side server = begin_side(folder, TRACE_SIDE_SERVER, "h1");
	g_autoptr(TachoTimeline) timeline = NULL;
	const TachoClock *clock;

	for (guint64 i = 1; i <= 200; i++) {
		guint64 begin = i * 1000000;

		add(&client, client.get, begin, begin + 100000, 40, 8);
		add(&server, server.get, begin + SHIFT_NS + 30000, begin + SHIFT_NS + 70000, 40, 8);
	}
	run_builder_end(client.run);
	run_builder_end(server.run);
	timeline = open_run(folder);
	g_assert_cmpuint(timeline->clocks->len, ==, 2);
	clock = &g_array_index(timeline->clocks, TachoClock, 1);
	g_assert_cmpint(clock->state, ==, TACHO_CLOCK_ALIGNED);
	g_assert_cmpuint(clock->n_contradicted, ==, 0);
	g_assert_cmpint(ABS(clock->offset_ns - SHIFT_NS), <=, clock->uncertainty_ns);
	g_assert_cmpint(clock->uncertainty_ns, <=, 60000);
	FOR_EACH(const TachoFlow, flow, timeline->flows) {
		gint64 latency_ns =
			timeline->slices.start_ns[flow->to] - timeline->slices.start_ns[flow->from];

		g_assert_cmpint(ABS(latency_ns - 30000), <=, clock->uncertainty_ns);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/request-pairs/rows", test_rows);
	g_test_add_func("/request-pairs/keys", test_keys);
	g_test_add_func("/request-pairs/lost", test_lost);
	g_test_add_func("/request-pairs/overtaking", test_overtaking);
	g_test_add_func("/request-pairs/one-clock", test_one_clock);
	g_test_add_func("/request-pairs/cut", test_cut);
	g_test_add_func("/request-pairs/clocks", test_clocks);
	return g_test_run();
}
