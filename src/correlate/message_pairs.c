/* message_pairs: which receives took the bytes of which sends.
 *
 * A TCP connection is two streams of bytes, one each way. What one end sends in one call the other
 * may receive in several, or in one with what was sent before and after. So a stream is laid out by
 * position: the sends of one end, in order, each beginning where the one before it ended, and
 * beside them the receives of the other end; where two overlap, bytes went from one to the other.
 *
 *     sends     |  48  |        4096           |  48  |
 *     receives  |  48  |   1000    |    3096   |    96 ...
 *
 * (1) Times of the two ends are not compared, for their clocks may be apart: positions are, and how
 *     much the times are apart by changes.
 * (2) Both ends begin at 0 as long as that fits: where every send begins where a receive does (most
 *     protocols read exactly what was written, a header first), or as many bytes came as went.
 * (3) Where it does not, the two ends were not recorded from the same byte on (--steps), or one of them
 *     stopped before the other. Then the shift is looked for at which most sends begin where a receive
 *     does, none among them, and those that lay one of the first MAX_CANDIDATES calls of one end on the
 *     first of the other. A stream that repeats itself fits at more than one place nearly as well. There
 *     the times tell: from a send to its receive it takes a latency and what the clocks are apart, which
 *     hardly changes; to the receive of another, it takes what the program does between them. Pairs that
 *     are moved are inferred.
 * (4) In control steps neither end is recorded, nor from the same byte to the same byte. So what was recorded between two of them
 *     is laid out by itself, where both ends had as many. Behind one, what fits from the first call on is no surer than what fits with a
 *     shift. Positions go on behind those before the control steps, with a gap: how many bytes were in it is not known.
 * (5) Where no shift fits, nothing is paired, and the messages are a problem (TACHO_PROBLEM_UNPAIRED_MESSAGE).
 *     An end that is not in the run is none. */
#include <string.h>

#include "base/for_each.h"
#include "base/order.h"
#include "base/partition_point.h"
#include "base/quantile.h"
#include "correlate/correlate_internal.h"
#include "trace/mark_kind.h"

enum {
	MAX_CANDIDATES = 64,
	MAX_COMPARED = 1024, /* sends looked at for a candidate */
	MIN_COMPARED = 8,    /* sends that must have been there for another shift than 0 */
	SURE_PCT = 90,	     /* of them begin where a receive does: no doubt */
	LIKELY_PCT = 25,     /* enough where nothing fits better */
	NEAR_PCT = 95,	     /* of the sends that fit best: the times decide between the two */
	GAP_BYTES = 1,	     /* of what was not recorded, at least */
};

#define IDLE_QUANTILE	 0.1  /* of the times from send to receive: nothing was before these */
#define WAITING_QUANTILE 0.75 /* of them: as much as most wait */
#define MAX_DELAY_NS	 1e15

enum trust_in_fit { FIT_NONE, FIT_LIKELY, FIT_SURE };

/* A connection, whichever end saw it. Addresses of the loopback are of a host. */
struct connection_key {
	TachoEndpoint low, high;
	guint32 host; /* string id + 1; 0: any */
};

/* A call that sent or received on a stream. */
struct call {
	guint32 stream;
	guint32 message; /* row */
	guint64 bytes;
	guint64 begin_bytes; /* since the first call of its end */
	gint64 start_ns, end_ns;
	guint32 stretch;    /* how many control steps its process had before: (4) ... */
	guint32 n_controls; /* ... and in all */
	guint8 is_receive;
};

/* calls[first .. first + n) of one end, and where they begin on the axis of both. */
struct end {
	const struct call *calls;
	guint32 n;
	guint64 shift_bytes;
	guint64 first_bytes; /* where the axis of both begins in the stream */
	gboolean is_resumed; /* behind control steps */
};

/* --- collecting ------------------------------------------------------------------------------ */

static gboolean is_loopback(const TachoEndpoint *endpoint)
{
	static const guint8 ipv4[13] = { [10] = 0xff, [11] = 0xff, [12] = 127 };
	static const guint8 ipv6[16] = { [15] = 1 };

	return memcmp(endpoint->address, ipv4, sizeof(ipv4)) == 0 ||
	       memcmp(endpoint->address, ipv6, sizeof(ipv6)) == 0;
}

static guint hash_endpoint(const TachoEndpoint *endpoint, guint hash)
{
	for (guint i = 0; i < sizeof(endpoint->address); i++)
		hash = hash * 31 + endpoint->address[i];
	return hash * 31 + endpoint->port;
}

static guint hash_key(gconstpointer data)
{
	const struct connection_key *key = data;

	return hash_endpoint(&key->high, hash_endpoint(&key->low, key->host));
}

static gint compare_endpoints(const TachoEndpoint *a, const TachoEndpoint *b)
{
	gint order = memcmp(a->address, b->address, sizeof(a->address));

	if (order)
		return order;
	return ORDER(a->port, b->port);
}

static gboolean is_equal_key(gconstpointer a, gconstpointer b)
{
	const struct connection_key *left = a, *right = b;

	return left->host == right->host && compare_endpoints(&left->low, &right->low) == 0 &&
	       compare_endpoints(&left->high, &right->high) == 0;
}

/* The number of the connection with that key; new ones are counted up. */
static guint32 find_connection(GHashTable *connections, const struct connection_key *key)
{
	gpointer found;

	if (g_hash_table_lookup_extended(connections, key, NULL, &found))
		return GPOINTER_TO_UINT(found);
	found = GUINT_TO_POINTER(g_hash_table_size(connections));
	g_hash_table_insert(connections, g_memdup2(key, sizeof(*key)), found);
	return GPOINTER_TO_UINT(found);
}

static guint32 stream_of(const TachoTimeline *timeline, GHashTable *connections,
			 const TachoMessageArgs *args, guint32 track)
{
	const TachoProcess *process = track_process(timeline, track);
	gboolean is_local_low = compare_endpoints(&args->local, &args->peer) <= 0;
	struct connection_key key;

	memset(&key, 0, sizeof(key));
	key.low = is_local_low ? args->local : args->peer;
	key.high = is_local_low ? args->peer : args->local;
	if (process && (is_loopback(&key.low) || is_loopback(&key.high)))
		key.host = process->host + 1;
	return find_connection(connections, &key) * 2 + (is_local_low != (args->is_receive != 0));
}

/* --- control steps ---------------------------------------------------------------------------- */

static gint compare_times(gconstpointer a, gconstpointer b)
{
	const gint64 *x = a, *y = b;

	return ORDER(*x, *y);
}

/* When the control steps of each process were over: process + 1 -> GArray of gint64. */
static GHashTable *collect_controls(const TachoTimeline *timeline)
{
	GHashTable *controls =
		g_hash_table_new_full(NULL, NULL, NULL, (GDestroyNotify)g_array_unref);

	FOR_EACH(const TachoMark, mark, timeline->marks) {
		GArray *times;
		gpointer key;

		if (mark->track >= timeline->tracks->len ||
		    mark_kind_of(timeline, mark) != MARK_CONTROL_STEP)
			continue;
		key = GUINT_TO_POINTER(tacho_timeline_track(timeline, mark->track)->process + 1);
		times = g_hash_table_lookup(controls, key);
		if (!times) {
			times = g_array_new(FALSE, FALSE, sizeof(gint64));
			g_hash_table_insert(controls, key, times);
		}
		g_array_append_val(times, mark->time_ns);
	}
	FOR_EACH_ENTRY(entry, controls)
		g_array_sort(entry.value, compare_times);
	return controls;
}

static void set_stretch(struct call *call, GHashTable *controls, guint32 process)
{
	const GArray *times = g_hash_table_lookup(controls, GUINT_TO_POINTER(process + 1));

	if (!times)
		return;
	call->n_controls = times->len;
	call->stretch = ROWS_BEFORE(times, gint64, time_ns, *time_ns <= call->start_ns);
}

/* Streams whose ends had other control steps are one stretch: stream -> n_controls + 1, and 0 of these. */
static void join_stretches(GArray *calls)
{
	g_autoptr(GHashTable) known = g_hash_table_new(NULL, NULL);

	FOR_EACH(const struct call, call, calls) {
		gpointer key = GUINT_TO_POINTER(call->stream), value;
		guint32 n = call->n_controls + 1;

		if (g_hash_table_lookup_extended(known, key, NULL, &value) &&
		    GPOINTER_TO_UINT(value) != n)
			n = 0;
		g_hash_table_insert(known, key, GUINT_TO_POINTER(n));
	}
	FOR_EACH(struct call, call, calls)
		if (!g_hash_table_lookup(known, GUINT_TO_POINTER(call->stream)))
			call->stretch = 0;
}

/* --- calls ------------------------------------------------------------------------------------ */

/* Add a row for each MESSAGE slice, and a call for each. */
static GArray *collect_calls(TachoTimeline *timeline)
{
	const TachoSlices *slices = &timeline->slices;
	GArray *calls = g_array_new(FALSE, FALSE, sizeof(struct call));
	g_autoptr(GHashTable) connections =
		g_hash_table_new_full(hash_key, is_equal_key, g_free, NULL);
	g_autoptr(GHashTable) controls = collect_controls(timeline);

	for (guint32 i = 0; i < slices->n; i++) {
		TachoMessage message = { .slice = i,
					 .peer_process = TACHO_NONE,
					 .collective = TACHO_NONE,
					 .collective_row = TACHO_NONE,
					 .ring_step = TACHO_NONE };
		struct call call = { .message = timeline->messages->len };
		TachoMessageArgs args;

		if (slices->kind[i] != TACHO_SLICE_MESSAGE ||
		    !tacho_slice_message(timeline, i, &args))
			continue;
		message.stream = call.stream =
			stream_of(timeline, connections, &args, slices->track[i]);
		message.is_receive = call.is_receive = args.is_receive != 0;
		message.bytes = call.bytes = args.bytes;
		call.start_ns = slices->start_ns[i];
		call.end_ns = tacho_slice_end_ns(timeline, i);
		set_stretch(&call, controls, process_of_slice(timeline, i));
		g_array_append_val(timeline->messages, message);
		g_array_append_val(calls, call);
	}
	return calls;
}

static gint compare_calls(gconstpointer a, gconstpointer b)
{
	const struct call *left = a, *right = b;

	return ORDER(left->stream, right->stream) ?: ORDER(left->stretch, right->stretch) ?:
	       ORDER(left->is_receive, right->is_receive) ?:
	       ORDER(left->start_ns, right->start_ns) ?: ORDER(left->message, right->message);
}

/* Positions are as hostile as sizes: the last byte there can be is where a sum stops. */
static guint64 add_bytes(guint64 a, guint64 b)
{
	guint64 sum;

	return g_uint64_checked_add(&sum, a, b) ? sum : G_MAXUINT64;
}

/* Lay the calls of each end out one after the other. */
static void place_calls(GArray *calls)
{
	FOR_EACH_AT(struct call, call, i, calls) {
		const struct call *before = call - 1;

		if (i > 0 && before->stream == call->stream && before->stretch == call->stretch &&
		    before->is_receive == call->is_receive)
			call->begin_bytes = add_bytes(before->begin_bytes, before->bytes);
	}
}

/* --- where the ends lie beside each other ----------------------------------------------------- */

static guint64 begin_of(const struct end *end, guint32 index)
{
	return add_bytes(end->calls[index].begin_bytes, end->shift_bytes);
}

static guint64 end_of(const struct end *end, guint32 index)
{
	return add_bytes(begin_of(end, index), end->calls[index].bytes);
}

/* The first call that begins at `position` or later. */
static guint32 first_from(const struct end *end, guint64 position)
{
	return PARTITION_POINT(i, 0, end->n, begin_of(end, i) < position);
}

struct fit {
	guint32 n_compared; /* sends that begin where the other end was recorded, too */
	guint32 n_common;   /* of them, those that begin where a receive does */
	gdouble spread_ns; /* of these, how much the times to their receives differ; 0: not asked */
};

/* From a send's begin to its receive's end, on two clocks; far apart is damage. */
static gint64 delay_ns(const struct call *send, const struct call *receive)
{
	return (gint64)CLAMP((gdouble)receive->end_ns - (gdouble)send->start_ns, -MAX_DELAY_NS,
			     MAX_DELAY_NS);
}

/* With the delays of what is common into `delays`, which may be NULL. */
static struct fit count_fit(const struct end *sends, const struct end *receives, guint32 most,
			    GArray *delays)
{
	guint64 first = MAX(begin_of(sends, 0), begin_of(receives, 0));
	guint64 last = MIN(end_of(sends, sends->n - 1), end_of(receives, receives->n - 1));
	guint32 receive = first_from(receives, first);
	struct fit fit = { 0, 0, 0 };

	for (guint32 i = first_from(sends, first);
	     i < sends->n && begin_of(sends, i) < last && fit.n_compared < most; i++) {
		while (receive < receives->n && begin_of(receives, receive) < begin_of(sends, i))
			receive++;
		fit.n_compared++;
		if (receive < receives->n && begin_of(receives, receive) == begin_of(sends, i)) {
			gint64 delay = delay_ns(&sends->calls[i], &receives->calls[receive]);

			fit.n_common++;
			if (delays)
				g_array_append_val(delays, delay);
		}
	}
	return fit;
}

/* How well all calls fit, which there may be millions of. */
static struct fit measure_whole(const struct end *sends, const struct end *receives)
{
	return count_fit(sends, receives, G_MAXUINT32, NULL);
}

/* How well the first calls fit, to be compared with others. */
static struct fit measure_fit(const struct end *sends, const struct end *receives)
{
	g_autoptr(GArray) delays = g_array_new(FALSE, FALSE, sizeof(gint64));
	struct fit fit = count_fit(sends, receives, MAX_COMPARED, delays);

	fit.spread_ns = quantile(delays, WAITING_QUANTILE) - quantile(delays, IDLE_QUANTILE);
	return fit;
}

static gboolean is_near(const struct fit *fit, const struct fit *other)
{
	return (guint64)fit->n_common * 100 >= (guint64)other->n_common * NEAR_PCT;
}

static gboolean is_better(const struct fit *fit, const struct fit *than)
{
	if (is_near(fit, than) && is_near(than, fit) && than->n_common >= MIN_COMPARED)
		return fit->spread_ns < than->spread_ns;
	return fit->n_common > than->n_common;
}

static gboolean is_perfect(const struct fit *fit)
{
	return fit->n_compared > 0 && fit->n_common == fit->n_compared;
}

static gboolean has_pct(const struct fit *fit, guint64 pct)
{
	return fit->n_compared > 0 && (guint64)fit->n_common * 100 >= fit->n_compared * pct;
}

/* Try to lay each of the first calls of `still` on the first of `moved`, by moving that. What fits better than `best` is the
 * best then, and `ret_shift_bytes` by how much it is moved. */
static void try_shifts(const struct end *sends, const struct end *receives, struct end *moved,
		       const struct end *still, struct fit *best, guint64 *ret_shift_bytes)
{
	for (guint32 i = 1; i < MIN(still->n, MAX_CANDIDATES); i++) {
		struct fit fit;

		moved->shift_bytes = still->calls[i].begin_bytes;
		fit = measure_fit(sends, receives);
		if (fit.n_compared >= MIN_COMPARED && is_better(&fit, best)) {
			*best = fit;
			*ret_shift_bytes = moved->shift_bytes;
		}
	}
	moved->shift_bytes = 0;
}

static guint64 total_of(const struct end *end)
{
	return end_of(end, end->n - 1) - begin_of(end, 0);
}

/* What the fit of all calls says, where no other is better. A send that went out in parts begins where no receive does, so
 * less than all may still be right, where no record is missing. */
static enum trust_in_fit judge(const struct fit *fit, gboolean is_lossless)
{
	if (has_pct(fit, SURE_PCT))
		return FIT_SURE;
	if (is_lossless && fit->n_common >= MIN_COMPARED && has_pct(fit, LIKELY_PCT))
		return FIT_LIKELY;
	return FIT_NONE;
}

/* Set the ends' shifts. */
static enum trust_in_fit align(struct end *sends, struct end *receives, gboolean is_lossless)
{
	struct fit whole = measure_whole(sends, receives), best;
	guint64 later_bytes = 0, earlier_bytes = 0;
	gboolean is_equal = total_of(sends) == total_of(receives);
	enum trust_in_fit trust;

	if (is_perfect(&whole) && !sends->is_resumed)
		return is_lossless ? FIT_SURE : FIT_LIKELY;
	best = measure_fit(sends, receives);
	try_shifts(sends, receives, receives, sends, &best, &later_bytes);
	try_shifts(sends, receives, sends, receives, &best, &earlier_bytes);
	sends->shift_bytes = earlier_bytes;
	receives->shift_bytes = earlier_bytes ? 0 : later_bytes;
	if (sends->shift_bytes || receives->shift_bytes) {
		whole = measure_whole(sends, receives);
		if (judge(&whole, is_lossless) != FIT_NONE)
			return FIT_LIKELY;
		receives->shift_bytes = sends->shift_bytes = 0;
	} else {
		trust = judge(&whole, is_lossless);
		if (trust != FIT_NONE)
			return is_equal && is_lossless ? FIT_SURE : trust;
	}
	return is_equal && is_lossless ? FIT_SURE : FIT_NONE; /* read in pieces of its own */
}

/* --- pairing ---------------------------------------------------------------------------------- */

static TachoMessage *message_of(TachoTimeline *timeline, const struct call *call)
{
	return &g_array_index(timeline->messages, TachoMessage, call->message);
}

static guint32 track_of(TachoTimeline *timeline, const struct call *call)
{
	return timeline->slices.track[message_of(timeline, call)->slice];
}

static gboolean has_lost_records(TachoTimeline *timeline, const struct end *end)
{
	const TachoProcess *process = track_process(timeline, track_of(timeline, end->calls));

	return process && process->n_dropped > 0;
}

static void add_pair(TachoTimeline *timeline, const struct call *send, const struct call *receive,
		     guint64 bytes, gboolean is_exact)
{
	TachoMessage *sent = message_of(timeline, send);
	TachoMessage *received = message_of(timeline, receive);

	sent->paired_bytes += bytes;
	received->paired_bytes += bytes;
	add_flow(timeline, TACHO_FLOW_MESSAGE, sent->slice, received->slice, is_exact);
}

static void pair_ends(TachoTimeline *timeline, const struct end *sends, const struct end *receives,
		      gboolean is_exact)
{
	guint32 send = 0, receive = 0;

	while (send < sends->n && receive < receives->n) {
		guint64 begin = MAX(begin_of(sends, send), begin_of(receives, receive));
		guint64 send_end = end_of(sends, send), receive_end = end_of(receives, receive);
		guint64 end = MIN(send_end, receive_end);

		if (end > begin)
			add_pair(timeline, &sends->calls[send], &receives->calls[receive],
				 end - begin, is_exact);
		if (send_end <= receive_end)
			send++;
		if (receive_end <= send_end)
			receive++;
	}
}

static void fill_end(TachoTimeline *timeline, const struct end *end, const struct end *other)
{
	for (guint32 i = 0; i < end->n; i++) {
		TachoMessage *message = message_of(timeline, &end->calls[i]);

		message->offset_bytes = add_bytes(end->first_bytes, begin_of(end, i));
		if (other->n)
			message->peer_process =
				tacho_timeline_track(timeline, track_of(timeline, other->calls))
					->process;
	}
}

static void report_unpaired(TachoTimeline *timeline, const struct end *sends,
			    const struct end *receives)
{
	TachoMessageArgs args = { 0 };
	g_autofree gchar *from = NULL, *to = NULL;

	tacho_slice_message(timeline, message_of(timeline, sends->calls)->slice, &args);
	from = tacho_endpoint_text(&args.local);
	to = tacho_endpoint_text(&args.peer);
	tacho_timeline_add_problem(
		timeline, TACHO_PROBLEM_UNPAIRED_MESSAGE, (guint64)sends->n + receives->n,
		"%s to %s: %" G_GUINT64_FORMAT " bytes were sent and %" G_GUINT64_FORMAT
		" received, in pieces that do not match",
		from, to, total_of(sends), total_of(receives));
}

/* Where what follows an end begins in the stream. */
static guint64 behind(const struct end *end)
{
	if (end->n == 0)
		return end->first_bytes;
	return add_bytes(add_bytes(end->first_bytes, end_of(end, end->n - 1)), GAP_BYTES);
}

/* The calls of one stretch of a stream, which begins at first_bytes: `n_sends` sends, then receives. Returns where the next stretch
 * begins. */
static guint64 pair_stretch(TachoTimeline *timeline, const struct call *calls, guint32 n_sends,
			    guint32 n, guint64 first_bytes)
{
	gboolean is_resumed = calls->stretch > 0;
	struct end sends = { calls, n_sends, 0, first_bytes, is_resumed };
	struct end receives = { calls + n_sends, n - n_sends, 0, first_bytes, is_resumed };
	enum trust_in_fit trust;

	if (n_sends > 0 && n_sends < n) {
		trust = align(&sends, &receives,
			      !has_lost_records(timeline, &sends) &&
				      !has_lost_records(timeline, &receives));
		if (trust == FIT_NONE)
			report_unpaired(timeline, &sends, &receives);
		else
			pair_ends(timeline, &sends, &receives, trust == FIT_SURE);
	}
	fill_end(timeline, &sends, &receives);
	fill_end(timeline, &receives, &sends);
	return MAX(behind(&sends), behind(&receives));
}

void pair_messages(TachoTimeline *timeline)
{
	g_autoptr(GArray) calls = collect_calls(timeline);
	guint32 n_sends = 0;
	guint64 first_bytes = 0;

	join_stretches(calls);
	g_array_sort(calls, compare_calls);
	place_calls(calls);
	for (guint32 first = 0, end = 0; first < calls->len; first = end, n_sends = 0) {
		const struct call *call = &g_array_index(calls, struct call, first);

		for (; end < calls->len &&
		       g_array_index(calls, struct call, end).stream == call->stream &&
		       g_array_index(calls, struct call, end).stretch == call->stretch;
		     end++)
			n_sends += !g_array_index(calls, struct call, end).is_receive;
		if (first > 0 && (call - 1)->stream != call->stream)
			first_bytes = 0;
		first_bytes = pair_stretch(timeline, call, n_sends, end - first, first_bytes);
	}
}
