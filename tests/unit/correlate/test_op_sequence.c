/* What a thread does in order, and the loop in it: on sequences written as a word, a letter a token. */
#include <string.h>

#include <tacho/timeline.h>

#include "correlate/op_sequence.h"
#include "timeline_text.h"

/* --- the loop ----------------------------------------------------------------------------------- */

static OpSequence *sequence_new(guint32 n)
{
	OpSequence *sequence = g_new0(OpSequence, 1);

	sequence->n = n;
	sequence->slice = g_new0(guint32, n + 1);
	sequence->token = g_new0(guint32, n + 1);
	sequence->has_backward = g_new0(guint8, n + 1);
	sequence->is_module = g_new0(guint8, n + 1);
	sequence->is_wait = g_new0(guint8, n + 1);
	return sequence;
}

/* `w` is a wait, M to P are modules, X to Z run autograd nodes. */
static OpSequence *sequence_of(const gchar *word)
{
	OpSequence *sequence = sequence_new(strlen(word));

	for (guint32 i = 0; i < sequence->n; i++) {
		sequence->token[i] = (guint32)word[i];
		sequence->is_wait[i] = word[i] == 'w';
		sequence->is_module[i] = word[i] >= 'M' && word[i] <= 'P';
		sequence->has_backward[i] = word[i] >= 'X' && word[i] <= 'Z';
	}
	return sequence;
}

/* Where turns begin, and behind them where the last ends; "" where there is no loop, "..." behind one whose last turn is cut. */
static gchar *loop_of(const OpSequence *sequence)
{
	g_autoptr(GArray) starts = g_array_new(FALSE, FALSE, sizeof(guint32));
	GString *text = g_string_new(NULL);
	gboolean is_whole = FALSE;

	if (!op_sequence_find_loop(sequence, starts, &is_whole))
		return g_string_free(text, FALSE);
	for (guint i = 0; i < starts->len; i++)
		g_string_append_printf(text, "%s%u", i ? " " : "",
				       g_array_index(starts, guint32, i));
	if (!is_whole)
		g_string_append(text, "...");
	return g_string_free(text, FALSE);
}

static void assert_loop(const gchar *word, const gchar *expected)
{
	g_autoptr(OpSequence) sequence = sequence_of(word);
	g_autofree gchar *found = loop_of(sequence);

	g_test_message("%s", word);
	g_assert_cmpstr(found, ==, expected);
}

/* Whole turns, a cut one, and what comes before and behind. */
static void test_turns(void)
{
	assert_loop("pqabcabcabcabc", "2 5 8 11 14");
	assert_loop("pqabcabcabcab", "2 5 8 11 13...");
	assert_loop("abcabcabcabcpqrst", "0 3 6 9 12");
	assert_loop("abcabcabcabcp", "0 3 6 9 12");
	assert_loop("abcabcabc", "0 3 6 9"); /* three times is enough, */
	assert_loop("abcabc", "");	     /* twice is not */
	/* within an eighth of a turn it is as long as the others */
	assert_loop("abcdefghabcdefghabcdefgh", "0 8 16 24");
	assert_loop("abcdefghabcdefghabcdefg", "0 8 16 23");
	assert_loop("abcdefghabcdefghabcdef", "0 8 16 22...");
	assert_loop("abcdefghabcdefghabcdefghp", "0 8 16 25");
	assert_loop("abcdefghabcdefghabcdefghpq", "0 8 16 24");
	/* one thing over and over is no loop */
	assert_loop("aaaaaaaaaa", "");
	assert_loop("aaaabbbb", "");
	assert_loop("abababab", "0 2 4 6 8");
	assert_loop("", "");
	assert_loop("a", "");
}

/* Turns that are longer now and then, as by an evaluation: six of ten distances have to be as usual. */
static void test_longer_turns(void)
{
	assert_loop("abcabcpqabcabcpqabcabc", "0 3 8 11 16 19 22");
	assert_loop("abcabcpabcqrabcabc", ""); /* 3 of 4, 5, 3, 3: half */
}

/* 38 turns, of which some have something more behind them; the first letter of `more` is the first's, and so on. */
static gchar *turns_with(const gchar *more)
{
	GString *word = g_string_new(NULL);

	for (guint i = 0; i < 38; i++) {
		g_string_append(word, "abc");
		if (i < 37 && more[i] == '+')
			g_string_append(word, "de");
	}
	return g_string_free(word, FALSE);
}

/* Of 37 distances, 22 are no three fifths; 23 are. */
static void test_share_of_regular(void)
{
	g_autofree gchar *few = turns_with("++-+--+-++---+-+--+++--+--+---+-+----");
	g_autofree gchar *enough = turns_with("++-+--+-++---+-+--+++--+--+---+------");
	g_autoptr(OpSequence) regular = sequence_of(enough);
	g_autofree gchar *found = loop_of(regular);

	assert_loop(few, "");
	g_assert_true(g_str_has_prefix(found, "0 5 10 13 18 "));
}

/* A loop is a third of all at least. */
static void test_span(void)
{
	assert_loop("abcabcabcdefghijklmn", "0 3 6 9"); /* 6 of 20 from the first to the last */
	assert_loop("abcabcabcdefghijklmno", "");	/* of 21 */
}

/* Layers come more often than turns do. */
static void test_layers(void)
{
	assert_loop("elmlmlmhelmlmlmhelmlmlmhelmlmlmh", "0 8 16 24 32");
	assert_loop("pelmlmlmhelmlmlmhelmlmlmhelmlmlmh", "1 9 17 25 33");
}

/* Outermost modules tell turns, and turns begin where the code before them does, as far as it is that of a usual turn. */
static void test_modules(void)
{
	assert_loop("pqabMcabMcabMc", "2 6 10 14");
	assert_loop("abMcabMcabMc", "0 4 8 12");
	assert_loop("cabMcabMcabM", "0 4 8 12");
	assert_loop("cMcMcM", "0 2 4 6");
	assert_loop("pbMcabMcabMcabMc", "1 5 9 13 16..."); /* the first has no a */
	/* twice in a turn, less than half of a turn apart; or half */
	assert_loop("MabcMabcMMbcMabcMabc", "0 4 8 12 16 20");
	assert_loop("MabcMabcMaMcMabcMabc", "0 4 8 10 12 16 20");
	assert_loop("MabcMabc", "");
	/* what is more regular tells turns better */
	assert_loop("MabNaMbNMabNMabNMabNMabNMabN", "2 6 10 14 18 22 26 28...");
	/* two alike: the first in a turn */
	assert_loop("MaNbMaNbMaNb", "0 4 8 12");
}

/* Autograd nodes tell turns where there are any; layers and evaluations have none. */
static void test_backward(void)
{
	assert_loop("MaXMMaXMMaXM", "0 4 8 12");
	assert_loop("aMbMbXcaMbMbXcaMbMbXc", "0 7 14 21");
}

/* A turn begins at the nearest wait before it, but not at one of the turn before. */
static void test_waits(void)
{
	assert_loop("pwabMcwabMcwabMc", "1 6 11 16");
	assert_loop("pwawbMcwawbMcwawbMc", "3 9 15 19...");
	assert_loop("pqabMcwabMcwabMcwabMc", "2 6 11 16 21"); /* the first has none */
	assert_loop("wabMcwabMcwabMc", "0 5 10 15");
	assert_loop("wabMcabMcabMc", "0 5 9 13"); /* only the first has one */
}

/* Modules that come every fourth turn, regularly: only where as many as a tenth of the others do so is that the loop. */
static guint32 n_turns(guint n_layers, guint n_rare)
{
	g_autoptr(OpSequence) sequence = sequence_new(12 * n_layers + 3 * n_rare);
	g_autoptr(GArray) starts = g_array_new(FALSE, FALSE, sizeof(guint32));
	gboolean is_whole;
	guint32 n = 0;

	for (guint turn = 0; turn < 12; turn++) {
		for (guint i = 0; turn % 4 == 0 && i < n_rare; i++)
			sequence->token[n++] = 1000 + i;
		for (guint i = 0; i < n_layers; i++)
			sequence->token[n++] = i;
	}
	g_assert_cmpuint(n, ==, sequence->n);
	memset(sequence->is_module, 1, n);
	g_assert_true(op_sequence_find_loop(sequence, starts, &is_whole));
	return starts->len - 1;
}

static void test_votes(void)
{
	g_assert_cmpuint(n_turns(30, 2), ==, 12);
	g_assert_cmpuint(n_turns(30, 3), ==, 3);
	g_assert_cmpuint(n_turns(29, 2), ==, 3);
	g_assert_cmpuint(n_turns(5, 1), ==, 3);
}

/* --- the sequence ------------------------------------------------------------------------------- */

/* The names of the slices in order. */
static gchar *names_of(const TachoTimeline *timeline, const OpSequence *sequence)
{
	GString *text = g_string_new(NULL);

	for (guint32 i = 0; i < sequence->n; i++)
		g_string_append_printf(text, "%s%s", i ? " " : "",
				       tacho_slice_name(timeline, sequence->slice[i]));
	return g_string_free(text, FALSE);
}

static void assert_names(const gchar *text, const gchar *expected)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text(text);
	g_autoptr(OpSequence) sequence = op_sequence_new(timeline, 0);
	g_autofree gchar *names = names_of(timeline, sequence);

	g_assert_cmpstr(names, ==, expected);
}

/* Outermost slices; what covers more than half of all is looked into, and so on; traffic is passed over. */
static void test_level(void)
{
	assert_names("rank 0 thread 1\nop a 0..10\n  op b 1..9\nop c 10..20\n", "a c");
	assert_names("rank 0 thread 1\nop a 0..12\n  op b 1..9\n    op d 2..3\nop c 12..20\n",
		     "b c");
	assert_names("rank 0 thread 1\nop a 100..200\n  op b 100..160\n    op d 110..120\n"
		     "  op c 160..200\n",
		     "d c");
	assert_names("rank 0 thread 1\nop a 0..10\nwait poll 10..12\nwait epoll_wait 12..14\n"
		     "wait epoll_pwait 14..16\nwait DataLoader 16..18\n"
		     "message sent 18..19 bytes=4\nop c 20..30\n",
		     "a DataLoader c");
}

/* What is alike: names and kinds; of annotations, all but numbers. */
static void test_tokens(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text("rank 0 thread 1\n"
							       "annotation \"step 17\" 0..1\n"
							       "annotation \"step 9\" 1..2\n"
							       "annotation \"stop 9\" 2..3\n"
							       "op a1 3..4\n"
							       "op a2 4..5\n"
							       "op a1 5..6\n"
							       "module a1 6..7\n"
							       "annotation a1 7..8\n"
							       "annotation a2 8..9\n");
	g_autoptr(OpSequence) sequence = op_sequence_new(timeline, 0);
	static const guint alike[] = { 0, 0, 2, 3, 4, 3, 6, 7, 7 };

	g_assert_cmpuint(sequence->n, ==, G_N_ELEMENTS(alike));
	for (guint i = 0; i < sequence->n; i++)
		for (guint k = 0; k < sequence->n; k++)
			g_assert_true((sequence->token[i] == sequence->token[k]) ==
				      (alike[i] == alike[k]));
	g_assert_cmpuint(sequence->is_module[6], ==, 1);
	g_assert_cmpuint(sequence->is_module[5], ==, 0);
}

/* An element ran autograd nodes if it is one, or has one in it however deep; and waits are known. */
static void test_flags(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text("rank 0 thread 1\n"
							       "op around 0..10 backward\n"
							       "  op a 0..1\n"
							       "  op b 1..2 backward\n"
							       "  op c 2..6\n"
							       "    op d 3..5\n"
							       "      op e 4..5 backward\n"
							       "  wait DataLoader 6..7\n"
							       "  op f 7..10\n");
	g_autoptr(OpSequence) sequence = op_sequence_new(timeline, 0);
	static const guint8 has_backward[] = { 0, 1, 1, 0, 0 }, is_wait[] = { 0, 0, 0, 1, 0 };

	g_assert_cmpuint(sequence->n, ==, 5);
	g_assert_cmpmem(sequence->has_backward, 5, has_backward, 5);
	g_assert_cmpmem(sequence->is_wait, 5, is_wait, 5);
}

/* How many begin before a moment. */
static void test_count_before(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text(
		"rank 0 thread 1\nunit ns\nop a 10..12\nop b 20..22\nop c 30..32\nop d 40..42\n");
	g_autoptr(OpSequence) sequence = op_sequence_new(timeline, 0);
	static const struct {
		gint64 time_ns;
		guint32 n;
	} expected[] = { { 0, 0 },  { 10, 0 }, { 11, 1 }, { 20, 1 }, { 21, 2 },
			 { 30, 2 }, { 31, 3 }, { 40, 3 }, { 41, 4 }, { 99, 4 } };

	for (guint i = 0; i < G_N_ELEMENTS(expected); i++)
		g_assert_cmpuint(op_sequence_count_before(sequence, timeline, expected[i].time_ns),
				 ==, expected[i].n);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/op_sequence/turns", test_turns);
	g_test_add_func("/op_sequence/longer_turns", test_longer_turns);
	g_test_add_func("/op_sequence/share_of_regular", test_share_of_regular);
	g_test_add_func("/op_sequence/span", test_span);
	g_test_add_func("/op_sequence/layers", test_layers);
	g_test_add_func("/op_sequence/modules", test_modules);
	g_test_add_func("/op_sequence/backward", test_backward);
	g_test_add_func("/op_sequence/waits", test_waits);
	g_test_add_func("/op_sequence/votes", test_votes);
	g_test_add_func("/op_sequence/level", test_level);
	g_test_add_func("/op_sequence/tokens", test_tokens);
	g_test_add_func("/op_sequence/flags", test_flags);
	g_test_add_func("/op_sequence/count_before", test_count_before);
	return g_test_run();
}
