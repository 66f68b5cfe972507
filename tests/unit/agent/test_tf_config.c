/* Which rank a process has by TF_CONFIG, and that no text is too strange. */
#include <glib.h>
#include <string.h>

#include "agent/tf_config.h"

static void assert_place(const gchar *text, int rank, int world_size)
{
	int told_rank = -1, told_size = -1;

	tf_config_read(text, &told_rank, &told_size);
	if (told_rank != rank || told_size != world_size)
		g_error("%s: rank %d of %d, not %d of %d", text, told_rank, told_size, rank,
			world_size);
}

static void test_workers(void)
{
	assert_place("{\"cluster\": {\"worker\": [\"a:1\", \"b:1\"]}, "
		     "\"task\": {\"type\": \"worker\", \"index\": 1}}",
		     1, 2);
	assert_place("{\"task\":{\"index\":\"0\",\"type\":\"worker\"},"
		     "\"cluster\":{\"worker\":[\"a:1\",\"b:1\",\"c:1\"]}}",
		     0, 3);
}

/* Chief, workers, servers, in whatever order they are written. */
static void test_servers(void)
{
	const gchar *cluster = "{\"cluster\": {\"ps\": [\"p:1\", \"p:2\"], \"worker\": [\"a:1\", "
			       "\"b:1\"], \"chief\": [\"c:1\"]}, \"task\": {\"type\": \"%s\", "
			       "\"index\": %d}, \"environment\": [1, {\"x\": [null, -2.5e3]}]}";
	static const struct {
		const gchar *type;
		int index, rank, world_size;
	} places[] = { { "chief", 0, 0, 5 },	   { "worker", 0, 1, 5 },   { "worker", 1, 2, 5 },
		       { "ps", 0, 3, 5 },	   { "ps", 1, 4, 5 },	    { "ps", 2, -1, -1 },
		       { "evaluator", 0, -1, -1 }, { "worker", -1, -1, -1 } };

	for (guint i = 0; i < G_N_ELEMENTS(places); i++) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		g_autofree gchar *text = g_strdup_printf(cluster, places[i].type, places[i].index);
#pragma GCC diagnostic pop

		assert_place(text, places[i].rank, places[i].world_size);
	}
}

/* Cut anywhere, or with any byte changed, it is read to its end and no further. */
static void test_strange(void)
{
	const gchar *text = "{\"cluster\": {\"worker\": [\"a\\\"]:1\", \"b:1\"]}, \"task\": "
			    "{\"type\": \"worker\", \"index\": 1}}";
	static const gchar bytes[] = "{}[]\",:\\0 x";

	assert_place(text, 1, 2);
	assert_place(NULL, -1, -1);
	assert_place("", -1, -1);
	assert_place("none", -1, -1);
	for (gsize n = 0; n < strlen(text); n++) {
		g_autofree gchar *cut = g_strndup(text, n);

		assert_place(cut, -1, -1);
		for (guint k = 0; k < G_N_ELEMENTS(bytes); k++) {
			g_autofree gchar *changed = g_strdup(text);
			int rank = -1, world_size = -1;

			changed[n] = bytes[k];
			tf_config_read(changed, &rank, &world_size);
			g_assert_cmpint(rank, <, MAX(world_size, 0));
		}
	}
}

static void test_deep(void)
{
	g_autoptr(GString) text = g_string_new("{\"x\": ");

	for (guint i = 0; i < 100000; i++)
		g_string_append_c(text, '[');
	assert_place(text->str, -1, -1);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/tf_config/workers", test_workers);
	g_test_add_func("/tf_config/servers", test_servers);
	g_test_add_func("/tf_config/strange", test_strange);
	g_test_add_func("/tf_config/deep", test_deep);
	return g_test_run();
}
