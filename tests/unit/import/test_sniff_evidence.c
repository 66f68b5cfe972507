/* What only quotes a trace, or looks a little like one, is none; what is one is known, wherever its lines begin. */
#include <string.h>

#include "import/trace_search.h"

static const gchar *format_of(const gchar *name, const gchar *text)
{
	struct sniff_input input = {
		.path = name, .name = name, .head = text, .n_head = strlen(text)
	};

	for (guint i = 0; i < IMPORT_N_FORMATS; i++)
		if (import_formats[i]->sniff(&input))
			return import_formats[i]->name;
	return "none";
}

struct sample {
	const gchar *name, *text, *format;
};

static void check(const struct sample *samples, guint n)
{
	for (guint i = 0; i < n; i++) {
		const gchar *format = format_of(samples[i].name, samples[i].text);

		if (strcmp(format, samples[i].format) != 0)
			g_error("%s is taken for %s, not %s: %s", samples[i].name, format,
				samples[i].format, samples[i].text);
	}
}

#define ROW  "onednn_verbose,exec,cpu,reorder,jit:uni,undef,src_f32::blocked:ab:f0,,,16x16,6.7\n"
#define CUT  "onednn_verbose,exec,cpu,reorder,jit:uni\n"
#define NCCL "# nThread 1 nGpus 8 minBytes 8 maxBytes 128 step: 2(factor) warmup iters: 5\n#\n"

static void test_documents(void)
{
	static const struct sample samples[] = {
		{ "notes.txt",
		  "Set ONEDNN_VERBOSE=1.\nA row is `" ROW "`: its last column is ms.\n", "none" },
		{ "notes.md", ROW ROW ROW, "none" },
		{ "notes.txt", "It prints\n\n```\n" ROW ROW "```\n", "none" },
		{ "table.txt", "| row | meaning |\n| " ROW " | two |\n", "none" },
		{ "list.txt", "Rows:\n* " ROW "* " ROW, "none" },
		{ "row.c", "\tstatic const char row[] = \"" ROW "\";\n", "none" },
		{ "row.py", "#!/usr/bin/python3\n" ROW ROW, "none" },
		{ "job.log", "The variable MKL_VERBOSE is set (see the manual) for 3 runs.\n",
		  "none" },
		{ "job.log", "the row was cut:\n" CUT CUT, "none" },
		{ "story.txt", "Once upon a time\n" ROW "there was one row\n", "none" },
		{ "README.md", "Run all_reduce_perf; it prints\n\n" NCCL, "none" },
		{ "README.txt", "it prints '# nThread 1 nGpus 8 minBytes 8 maxBytes 128'\n",
		  "none" },
		{ "parse.txt", "the line \"# nThread \" is followed by \" minBytes \"\n", "none" },
		{ "notes.txt", "The key \"coll_perf\" has the figures, \"p2p_perf\" too.\n",
		  "none" },
		{ "notes.txt", "\"commId\" and \"ncclProfileColl\" stand in each line\n", "none" },
		{ "notes.txt", "[see] \"traceEvents\": [{\"ph\": \"X\", \"pid\": 1}]\n", "none" },
		{ "graph.txt", "node { a node has an op: the operation }\n", "none" },
		{ "log.txt", "role=admin logged in; user, id=none\n", "none" },
		{ "log.txt", "[INFO] {\"ph\": \"X\", \"ts\": 3} was sent\n", "none" },
	};

	check(samples, G_N_ELEMENTS(samples));
}

/* JSON of other things that has words of traces. */
static void test_other_json(void)
{
	static const struct sample samples[] = {
		{ "water.json", "[{\"ph\": 7.1, \"ts\": 1}, {\"ph\": 6.9, \"ts\": 2}]", "none" },
		{ "people.json", "[{\"ph\": \"+49 30 1234\", \"pid\": 5}]", "none" },
		{ "schema.json", "{\"properties\": {\"traceEvents\": {\"type\": \"array\"}}}",
		  "none" },
		{ "book.json",
		  "{\"cells\": [\"{\\\"traceEvents\\\": [{\\\"ph\\\": \\\"X\\\"}]}\"]}", "none" },
		{ "words.json", "[\"traceEvents\", \"ph\", \"cpu_op\", \"nodes\", \"rf_id\"]",
		  "none" },
		{ "image.json", "{\"schemaVersion\": 2, \"config\": {\"digest\": \"sha256:0\"}}",
		  "none" },
		{ "k8s.json", "{\"kind\": \"List\", \"nodes\": \"3\", \"rf_id\": 1}", "none" },
		{ "model.json", "{\"model\": {\"nodes\": [{\"op_schema\": 1}]}}", "none" },
		{ "deep.json", "{\"a\": {\"b\": {\"c\": {\"d\": {\"dataDeps\": []}}}}}", "none" },
		{ "kinds.json", "{\"types\": [\"COMP_NODE\", \"COMM_COLL_NODE\"]}", "none" },
		{ "matrix.json", "[[1, 2, 3, 4], [5, 6, 7, 8]]", "none" },
		{ "boxes.json", "[[10, 20, 30], [[1, 2], [3, 4]]]", "none" },
		{ "series.json", "[[1700000000, 2, 64, 4], [1700000001, 3, 64, 4]]", "none" },
		{ "metrics.json", "{\"coll_perf\": 5, \"p2p_perf\": null}", "none" },
		{ "tool.json", "{\"rocprofiler-sdk-tool\": \"a name\"}", "none" },
	};

	check(samples, G_N_ELEMENTS(samples));
}

/* What is one is known, whatever stands around it. */
static void test_traces(void)
{
	static const struct sample samples[] = {
		{ "job.log", ROW, "onednn" },
		{ "job.log", "\n" ROW "step 1: loss 2.3\n", "onednn" },
		{ "job.log", "loading\nepoch 0\n" ROW "step 1\n" ROW, "onednn" },
		{ "job.log", "[1,0]<stdout>:" ROW "[1,0]<stdout>:" ROW, "onednn" },
		{ "job.log", "loading\nworker-1  | " ROW "worker-2  | " ROW, "onednn" },
		{ "job.log",
		  "loading\n2026-11-22 20:00:00 INFO " ROW "2026-11-22 20:00:01 INFO " ROW,
		  "onednn" },
		{ "perf.log", NCCL, "nccl_tests" },
		{ "perf.log", "srun: job 5 started\n0: " NCCL, "nccl_tests" },
		{ "a.json", "[\n {\"name\": \"a\", \"ph\": \"X\", \"pid\": 1, \"ts\": 5}",
		  "chrome" },
		{ "a.json", "{\"x\": NaN, \"traceEvents\": [", "chrome" },
		{ "a.json", "\xef\xbb\xbf{\"traceEvents\": []}", "chrome" },
		{ "a.json", "{\"name\": \"a\", \"ph\": \"B\", \"pid\": 1},\n{", "chrome" },
		{ "rank0.json", "{\"schemaVersion\": 1, \"deviceProperties\": [], \"x\": 1",
		  "kineto" },
		{ "x.json", "[[1700000000000005000, 2, 64, 4], [1700000000000006000, 3, 4, 7]]",
		  "memory_timeline" },
		{ "x.json", "[[-1, 1, 400, 0], [1700000000000006000, 3, 4, 7]]",
		  "memory_timeline" },
		{ "x.json", "[[1700000000000005000, 1700000000000006000], [[0, 1, 0], [0, 2, 0]]]",
		  "memory_timeline" },
		{ "graph.pbtxt", "node {\n  name: \"x\"\n  op: \"Placeholder\"\n}\n",
		  "step_stats" },
		{ "server.log", "role=worker, id=3\n", "byteprofile" },
	};

	check(samples, G_N_ELEMENTS(samples));
}

/* Brackets of any depth, strings that do not end, ends that never began. */
static void test_hostile(void)
{
	g_autofree gchar *deep = g_strnfill(100000, '[');
	g_autofree gchar *open = g_strnfill(100000, '{');
	g_autofree gchar *quotes = g_strnfill(99999, '"');

	memcpy(deep + 50000, "\"ph\":\"X\"", 8);
	g_assert_cmpstr(format_of("a.json", deep), ==, "none");
	g_assert_cmpstr(format_of("a.json", open), ==, "none");
	g_assert_cmpstr(format_of("a.json", quotes), ==, "none");
	g_assert_cmpstr(format_of("a.json", "{\"ph\": \"X\", \"ts\": 1"), ==, "chrome");
	g_assert_cmpstr(format_of("a.json", "{\"ph\""), ==, "none");
	g_assert_cmpstr(format_of("a.json", "{\"ph\":"), ==, "none");
	g_assert_cmpstr(format_of("a.json", "]}{\"ph\": \"X\", \"ts\": 1}"), ==, "none");
	g_assert_cmpstr(format_of("a.json", "{\"a\\"), ==, "none");
	g_assert_cmpstr(format_of("a.json", ""), ==, "none");
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/sniff/documents", test_documents);
	g_test_add_func("/sniff/other_json", test_other_json);
	g_test_add_func("/sniff/traces", test_traces);
	g_test_add_func("/sniff/hostile", test_hostile);
	return g_test_run();
}
