/* What is known of a message, as keys and values. */
#include <tacho/correlate.h>

#include "timeline_text.h"
#include "trace/slice_args.h"

static const struct slice_arg *find_arg(const struct slice_args *args, enum slice_arg_key key)
{
	for (guint i = 0; i < args->n; i++)
		if (args->args[i].key == key)
			return &args->args[i];
	return NULL;
}

static void assert_number(const struct slice_args *args, enum slice_arg_key key, guint64 number)
{
	const struct slice_arg *arg = find_arg(args, key);

	g_assert_nonnull(arg);
	g_assert_cmpint(arg->type, ==, SLICE_ARG_TYPE_UNSIGNED);
	g_assert_cmpuint(arg->number, ==, number);
}

static void assert_string(const struct slice_args *args, enum slice_arg_key key,
			  const gchar *string)
{
	const struct slice_arg *arg = find_arg(args, key);

	g_assert_nonnull(arg);
	g_assert_cmpint(arg->type, ==, SLICE_ARG_TYPE_STRING);
	g_assert_cmpstr(arg->string, ==, string);
}

static void test_message(void)
{
	/* two segments a chunk over two ranks: four sends of a number behind a header */
	g_autoptr(TachoTimeline) timeline = timeline_from_text(
		"world 2\n"
		"rank 0 host=a thread 10 worker\n"
		"collective gloo:all_reduce 90..99 bytes=16 end_tid=10 in=float32[4]@0x10\n"
		"collective gloo:all_reduce 100..200 bytes=16 end_tid=10 in=float32[4]@0x10\n"
		"message send 101..102 bytes=52 fd=7 local=10.0.0.1:4 peer=[fe80::1]:5\n"
		"message send 103..104 bytes=52 fd=7 local=10.0.0.1:4 peer=[fe80::1]:5\n"
		"message send 105..106 bytes=52 fd=7 local=10.0.0.1:4 peer=[fe80::1]:5\n"
		"message send 107..108 bytes=52 fd=7 local=10.0.0.1:4 peer=[fe80::1]:5\n"
		"message alone 301..302 bytes=9 receive local=10.0.0.1:6 peer=10.0.0.9:7\n"
		"rank 1 host=b thread 20 worker\n"
		"collective gloo:all_reduce 90..99 bytes=16 end_tid=20 in=float32[4]@0x20\n"
		"collective gloo:all_reduce 100..200 bytes=16 end_tid=20 in=float32[4]@0x20\n"
		"message sent 101..102 bytes=48 local=[fe80::1]:5 peer=10.0.0.1:4\n");
	struct slice_args args;

	tacho_correlate(timeline);
	slice_args_init(&args);
	slice_args_of_slice(&args, timeline, timeline_find(timeline, "send", 2), NULL);
	assert_number(&args, SLICE_ARG_BYTES, 52);
	assert_number(&args, SLICE_ARG_FD, 7);
	assert_string(&args, SLICE_ARG_DIRECTION, "send");
	assert_string(&args, SLICE_ARG_LOCAL, "10.0.0.1:4");
	assert_string(&args, SLICE_ARG_PEER, "[fe80::1]:5");
	assert_string(&args, SLICE_ARG_COLLECTIVE, "gloo:all_reduce");
	assert_number(&args, SLICE_ARG_GROUP, 0);
	assert_number(&args, SLICE_ARG_NUMBER, 1);
	assert_number(&args, SLICE_ARG_RING_STEP, 1);
	g_assert_null(find_arg(&args, SLICE_ARG_PEER_RANK)); /* nobody was seen to receive it */

	slice_args_of_slice(&args, timeline, timeline_find(timeline, "alone", 0), NULL);
	assert_string(&args, SLICE_ARG_DIRECTION, "receive");
	g_assert_null(find_arg(&args, SLICE_ARG_COLLECTIVE));
	g_assert_null(find_arg(&args, SLICE_ARG_NUMBER));
	g_assert_null(find_arg(&args, SLICE_ARG_RING_STEP));
	slice_args_release(&args);
}

/* Before anything was correlated, there is what the record says. */
static void test_uncorrelated(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text(
		"rank 0 thread 10 main\n"
		"message send 1..2 bytes=52 fd=7 local=10.0.0.1:4 peer=10.0.0.2:5\n");
	struct slice_args args;

	slice_args_init(&args);
	slice_args_of_slice(&args, timeline, 0, NULL);
	g_assert_cmpuint(args.n, ==, 5);
	slice_args_release(&args);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/slice_args/message", test_message);
	g_test_add_func("/slice_args/uncorrelated", test_uncorrelated);
	return g_test_run();
}
