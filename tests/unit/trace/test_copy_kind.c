/* copy_kind: copies and fills as recorders name them. */
#include "trace/copy_kind.h"
#include "timeline_text.h"

static const struct {
	const gchar *name;
	enum copy_kind kind;
} copies[] = {
	{ "Memcpy HtoD (Pageable -> Device)", COPY_HTOD },
	{ "Memcpy DtoH (Device -> Pinned)", COPY_DTOH },
	{ "Memcpy DtoD (Device -> Device)", COPY_DTOD },
	{ "Memcpy PtoP (Device -> Device)", COPY_PTOP },
	{ "Memcpy (Device -> Device)", COPY_DTOD },
	{ "MemcpyH2D", COPY_HTOD },
	{ "MemcpyP2P", COPY_PTOP },
	{ "CopyDeviceToHost", COPY_DTOH },
	{ "MEMORY_COPY_HOST_TO_DEVICE", COPY_HTOD },
	{ "Memcpy HtoH (Pinned -> Pinned)", COPY_HTOH },
	{ "Memset (Device)", COPY_MEMSET },
	{ "FillBuffer", COPY_MEMSET },
	{ "Memcpy", COPY_OTHER },
	{ "", COPY_OTHER },
};

static void test_names(void)
{
	g_autoptr(TachoTimeline) timeline = tacho_timeline_new();

	for (guint i = 0; i < G_N_ELEMENTS(copies); i++) {
		guint32 name = tacho_timeline_intern(timeline, copies[i].name, -1);

		g_assert_cmpint(copy_kind_of_name(timeline, name), ==, copies[i].kind);
		g_assert_cmpint(copy_kind_of_name(timeline, name), ==, copies[i].kind);
	}
	g_assert_cmpstr(copy_kind_name(COPY_PTOP), ==, "PtoP");
}

/* What a slice is counts for more than what its name says. */
static void test_slices(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text("rank 0 thread 1 main\n"
							       "  stream 7\n"
							       "  memcpy 'Memcpy DtoH' 0..1\n"
							       "  memset 'Memset HtoD' 1..2\n");

	g_assert_cmpint(copy_kind_of(timeline, timeline_find(timeline, "Memcpy DtoH", 0)), ==,
			COPY_DTOH);
	g_assert_cmpint(copy_kind_of(timeline, timeline_find(timeline, "Memset HtoD", 0)), ==,
			COPY_MEMSET);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/copy_kind/names", test_names);
	g_test_add_func("/copy_kind/slices", test_slices);
	return g_test_run();
}
