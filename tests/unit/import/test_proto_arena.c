/* What is unpacked lies in the arena, and never takes more than its limit. */
#include "import/read/proto_arena.h"
#include "import/xla/xplane.pb-c.h"
#include "proto_text.h"

static void test_unpack(void)
{
	g_autoptr(GByteArray) bytes = proto_text_bytes("1: 5 2: 7 4 { 1: 1 5: \"abc\" } 99: 1");
	struct proto_arena arena;

	proto_arena_init(&arena, 1 << 20);
	for (guint i = 0; i < 1000; i++) {
		const Tacho__Xplane__XEvent *event = proto_arena_unpack(
			&arena, &tacho__xplane__xevent__descriptor, bytes->data, bytes->len);

		g_assert_cmpint(event->metadata_id, ==, 5);
		g_assert_cmpuint(event->n_stats, ==, 1);
		g_assert_cmpuint(event->stats[0]->str_value.len, ==, 3);
		g_assert_cmpuint(event->base.n_unknown_fields, ==, 1);
	}
	g_assert_cmpuint(arena.more->len, ==, 0);
	g_assert_null(proto_arena_unpack(&arena, &tacho__xplane__xevent__descriptor,
					 (const guint8 *)"\xff", 1));
	proto_arena_release(&arena);
}

/* A message of two bytes each becomes a structure of a hundred. */
static void test_limit(void)
{
	g_autoptr(GByteArray) bytes = g_byte_array_new();
	struct proto_arena arena;

	for (guint i = 0; i < 100000; i++)
		g_byte_array_append(bytes, (const guint8 *)"\x22\x00", 2);
	proto_arena_init(&arena, 1 << 20);
	g_assert_null(proto_arena_unpack(&arena, &tacho__xplane__xevent__descriptor, bytes->data,
					 bytes->len));
	g_assert_cmpuint(arena.n_bytes, <=, 1 << 20);
	g_assert_nonnull(
		proto_arena_unpack(&arena, &tacho__xplane__xevent__descriptor, bytes->data, 2000));
	proto_arena_release(&arena);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/proto-arena/unpack", test_unpack);
	g_test_add_func("/proto-arena/limit", test_limit);
	return g_test_run();
}
