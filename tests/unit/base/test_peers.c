/* Processes that exchange what each has read: all come to the same, and none waits for one that failed. */
#include <string.h>
#include <tacho/peers.h>

#include "thread_peers.h"

enum { N = 4 };

static gboolean join_texts(guint from, const guint8 *bytes, gsize n_bytes, gpointer text)
{
	(void)from;
	g_string_append_len(text, (const gchar *)bytes, (gssize)n_bytes);
	return TRUE;
}

/* Sizes differ, and one has nothing to say. */
static void exchange(TachoPeers *peers, gpointer data)
{
	static const gchar *const texts[N] = { "one ", "", "and two ", "3" };
	const gchar *own = texts[tacho_peers_index(peers)];
	g_autoptr(GString) all = g_string_new(NULL);
	guint64 sums[2] = { tacho_peers_index(peers), 10 };
	gint64 least = 5 - (gint64)tacho_peers_index(peers);

	(void)data;
	g_assert_cmpuint(tacho_peers_count(peers), ==, N);
	g_assert_true(tacho_peers_exchange(peers, "texts", own, strlen(own), join_texts, all));
	g_assert_cmpstr(all->str, ==, "one and two 3");
	g_assert_true(tacho_peers_sum(peers, "sums", sums, G_N_ELEMENTS(sums)));
	g_assert_cmpuint(sums[0], ==, 0 + 1 + 2 + 3);
	g_assert_cmpuint(sums[1], ==, 40);
	g_assert_true(tacho_peers_least(peers, "least", &least));
	g_assert_cmpint(least, ==, 2);
	g_assert_null(tacho_peers_failure(peers));
	g_assert_cmpint(tacho_peers_end(peers, tacho_peers_index(peers) == 2), ==, 1);
}

static void test_exchange(void)
{
	thread_peers_run(N, exchange, NULL);
}

/* One fails alone: the others, which are about to exchange something, hear why. */
static void fail_alone(TachoPeers *peers, gpointer data)
{
	guint64 value = 1;

	(void)data;
	if (tacho_peers_index(peers) == 2)
		tacho_peers_fail(peers, "run: the disk is gone");
	else
		g_assert_false(tacho_peers_sum(peers, "value", &value, 1));
	g_assert_cmpint(tacho_peers_end(peers, 0), ==, -1);
	g_assert_cmpstr(tacho_peers_failure(peers), ==, "run: the disk is gone");
	g_assert_false(tacho_peers_sum(peers, "value", &value, 1)); /* and none waits */
}

static void test_fail_alone(void)
{
	thread_peers_run(N, fail_alone, NULL);
}

/* Two do another thing than the others. */
static void disagree(TachoPeers *peers, gpointer data)
{
	guint64 value = 1;

	(void)data;
	g_assert_false(tacho_peers_sum(peers, tacho_peers_index(peers) % 2 ? "steps" : "problems",
				       &value, 1));
	g_assert_nonnull(strstr(tacho_peers_failure(peers), "the same arguments"));
}

static void count_differently(TachoPeers *peers, gpointer data)
{
	guint64 values[2] = { 1, 1 };

	(void)data;
	g_assert_false(tacho_peers_sum(peers, "ranks", values, tacho_peers_index(peers) ? 2 : 1));
	g_assert_nonnull(strstr(tacho_peers_failure(peers), "the same run"));
}

static void test_disagree(void)
{
	thread_peers_run(N, disagree, NULL);
	thread_peers_run(N, count_differently, NULL);
}

static gboolean refuse_third(guint from, const guint8 *bytes, gsize n_bytes, gpointer peers)
{
	(void)bytes;
	(void)n_bytes;
	return from != 3 || tacho_peers_index(peers) != 1;
}

/* What one process cannot use, ends all, with the next exchange. */
static void refuse(TachoPeers *peers, gpointer data)
{
	guint64 value = 1;

	(void)data;
	g_assert_cmpint(tacho_peers_exchange(peers, "rows", "x", 1, refuse_third, peers), ==,
			tacho_peers_index(peers) != 1);
	g_assert_false(tacho_peers_sum(peers, "value", &value, 1));
	g_assert_nonnull(strstr(tacho_peers_failure(peers), "process 3 sent rows"));
}

static void test_refuse(void)
{
	thread_peers_run(N, refuse, NULL);
}

/* What there is to tell, in pieces. */
struct tale {
	guint n_left, n_heard;
	gboolean is_refused;
	GString *text;
};

static void pack_next(GByteArray *bytes, gpointer tale_pointer)
{
	struct tale *tale = tale_pointer;
	guint8 letter = (guint8)('a' + tale->n_left);

	if (tale->n_left && tale->n_left--)
		g_byte_array_append(bytes, &letter, 1);
}

static gboolean hear_piece(guint from, const guint8 *bytes, gsize n_bytes, gpointer tale_pointer)
{
	struct tale *tale = tale_pointer;

	g_string_append_printf(tale->text, "%u%.*s ", from, (gint)n_bytes, (const gchar *)bytes);
	tale->n_heard++;
	return !tale->is_refused || from != 2;
}

/* One process after the other, each as often as it has something, and process 0 alone hears it. */
static void collect(TachoPeers *peers, gpointer is_refused)
{
	g_autoptr(GString) text = g_string_new(NULL);
	guint index = tacho_peers_index(peers);
	struct tale tale = { .n_left = index == 3 ? 0 : index + 1,
			     .is_refused = is_refused != NULL,
			     .text = text };
	gboolean is_done = tacho_peers_collect(peers, "tales", pack_next, hear_piece, &tale);

	g_assert_cmpint(is_done, ==, !is_refused);
	g_assert_cmpint(tacho_peers_end(peers, 0), ==, is_refused ? -1 : 0);
	if (is_refused)
		g_assert_nonnull(strstr(tacho_peers_failure(peers), "process 2 sent tales"));
	else
		g_assert_cmpstr(text->str, ==, index ? "" : "1c 1b 2d 2c 2b ");
	g_assert_cmpuint(tale.n_heard, ==, index ? 0 : is_refused ? 3 : 5);
}

static void test_collect(void)
{
	thread_peers_run(N, collect, NULL);
	thread_peers_run(N, collect, GINT_TO_POINTER(TRUE));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/peers/exchange", test_exchange);
	g_test_add_func("/peers/fail-alone", test_fail_alone);
	g_test_add_func("/peers/disagree", test_disagree);
	g_test_add_func("/peers/refuse", test_refuse);
	g_test_add_func("/peers/collect", test_collect);
	return g_test_run();
}
