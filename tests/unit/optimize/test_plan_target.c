/* Plans in the forms of others: what is written, byte for byte, and what is read of dPRO's files. */
#include <glib/gstdio.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "optimize/plan_target.h"

static const gchar whole[] =
	"{\"tacho_plan\": 1, \"job\": {\"ranks\": 4, \"gradients\": [[400, \"float32\"], [600, "
	"\"float32\"], [1048576, \"float32\"], [2097152, \"float32\"]]}, \"changes\": "
	"{\"buckets\": "
	"[[1, 0], [2, 3]], \"partition_bytes\": 1000000}, \"prediction\": {\"baseline_step_ms\": "
	"12.5, "
	"\"predicted_step_ms\": 10}}";

static const gchar others[] =
	"{\"tacho_plan\": 1, \"job\": {\"ranks\": 2, \"gradients\": []}, \"changes\": {"
	"\"loader_workers\": 4, \"accumulation\": 2, \"compression\": \"powersgd:4\", "
	"\"checkpoint\": "
	"[\"layer1\", \"layer2.0\"]}, \"prediction\": {\"baseline_step_ms\": 3, "
	"\"predicted_step_ms\": 2}}";

static const gchar clustered[] =
	"{\"tacho_plan\": 1, \"job\": {\"ranks\": 2, \"gradients\": []}, \"changes\": "
	"{\"algorithm\": "
	"\"tree\", \"clusters\": [[\"net/conv1/Conv2D\", \"net/bn1/Mul\"], [\"net/a\"]]}}";

static TachoPlan *parse(const gchar *text)
{
	g_autoptr(GError) error = NULL;
	TachoPlan *plan = plan_parse(text, strlen(text), &error);

	g_assert_no_error(error);
	return plan;
}

/* What is written as `name`; NULL: refused. */
static gchar *written(const TachoPlan *plan, const gchar *name)
{
	g_autoptr(GError) error = NULL;
	gchar *text = NULL;
	gsize n;
	FILE *out = open_memstream(&text, &n);
	guint target;
	gboolean is_written;

	g_assert_true(tacho_plan_find_target(name, &target, NULL));
	is_written = tacho_plan_write_as(plan, target, out, &error);
	fclose(out);
	if (is_written)
		return text;
	g_assert_error(error, TACHO_PLAN_ERROR, TACHO_PLAN_ERROR_NOT_APPLICABLE);
	free(text);
	return NULL;
}

static void assert_written(const gchar *plan_text, const gchar *name, const gchar *wanted)
{
	g_autoptr(TachoPlan) plan = parse(plan_text);
	gchar *text = written(plan, name);

	g_assert_cmpstr(text, ==, wanted);
	free(text);
}

/* Of 1000 bytes in one part, and of 3 MiB in four of 786432; a group's numbers ascend. */
static void test_dpro(void)
{
	assert_written(whole, "dpro-tensors", "{\"mapping\": [\"0+1\", \"2+3\"]}");
	assert_written(whole, "dpro-partition",
		       "Distributed_Push_Pull/BytePSPushPull.0_1 1000\n"
		       "Distributed_Push_Pull/BytePSPushPull.2_3 786432\n");
	assert_written(clustered, "dpro-clusters", "net/conv1/Conv2D 0\nnet/bn1/Mul 0\nnet/a 1\n");
	assert_written(others, "dpro-tensors", NULL);
	assert_written(whole, "dpro-clusters", NULL);
}

static void test_environment(void)
{
	static const gchar head[] =
		"# tacho: for 4 ranks; predicted step 10.000 ms, 12.500 ms without these changes\n";
	g_autofree gchar *horovod =
		g_strconcat(head,
			    "# Horovod packs gradients by itself, into buffers of at most so many "
			    "bytes\nHOROVOD_FUSION_THRESHOLD=3145728\n",
			    NULL);
	g_autofree gchar *byteps = g_strconcat(head, "BYTEPS_PARTITION_BYTES=1000000\n", NULL);

	assert_written(whole, "horovod", horovod);
	assert_written(whole, "byteps", byteps);
	assert_written(clustered, "nccl",
		       "# tacho: for 2 ranks; predicted step 0.000 ms, 0.000 ms without these "
		       "changes\nallreduce,0,4294967295,tree,simple,-1,-1,2\n");
	assert_written(others, "horovod", NULL);
	assert_written(others, "byteps", NULL);
	assert_written(whole, "nccl", NULL);
}

static void test_ddp(void)
{
	g_autoptr(TachoPlan) plan = parse(others);
	gchar *text = written(plan, "ddp");

	g_assert_nonnull(strstr(text, "matrix_approximation_rank=4)\n"));
	g_assert_nonnull(strstr(text, "for name in (\"layer1\", \"layer2.0\",):\n"));
	g_assert_nonnull(strstr(text, "+is_last = (i + 1) % 2 == 0\n"));
	g_assert_nonnull(strstr(text, "+    num_workers=4,\n"));
	g_assert_null(strstr(text, "bucket_cap_mb"));
	free(text);
	assert_written(whole, "ddp", NULL); /* it cuts no buckets */
	{
		static const guint32 ends[] = { 2, 4 };
		g_autoptr(TachoPlan) ordered = parse(whole);

		g_array_set_size(ordered->changes, 0);
		plan_add_buckets(ordered, ends, 2);
		text = written(ordered, "ddp");
		g_assert_nonnull(strstr(text, "+    bucket_cap_mb_list=[0.0009536743164, 3],\n"));
		g_assert_nonnull(strstr(text, "+    bucket_cap_mb=3,\n"));
		free(text);
	}
}

static void assert_read(const gchar *text, const gchar *name)
{
	g_autoptr(TachoPlan) job = parse(whole);
	g_autoptr(GError) error = NULL;
	g_autoptr(TachoPlan) plan = plan_parse_dpro(text, job, &error);

	g_assert_no_error(error);
	assert_written(whole, "dpro-tensors", "{\"mapping\": [\"0+1\", \"2+3\"]}");
	{
		gchar *again = written(plan, name);

		g_assert_cmpstr(again, ==, text);
		free(again);
	}
}

/* What is read is written again, byte for byte, where its groups stood in the order of their last tensors. */
static void test_read(void)
{
	g_autoptr(TachoPlan) job = parse(whole);
	g_autoptr(TachoPlan) plan = NULL;

	assert_read("{\"mapping\": [\"0\", \"1+2\", \"3\"]}", "dpro-tensors");
	assert_read("Distributed_Push_Pull/BytePSPushPull.0_1 500\n"
		    "Distributed_Push_Pull/BytePSPushPull.2_3 4096000\n",
		    "dpro-partition");
	assert_read("net/conv1/Conv2D 0\nnet/bn1/Mul 0\nnet/a 1\n", "dpro-clusters");
	/* a set of Python's has no order */
	plan = plan_parse_dpro("{\"mapping\": [\"3\", \"2+0\", \"1\"]}", job, NULL);
	g_assert_nonnull(plan);
	{
		gchar *again = written(plan, "dpro-tensors");

		g_assert_cmpstr(again, ==, "{\"mapping\": [\"1\", \"0+2\", \"3\"]}");
		free(again);
	}
}

static void assert_refused(const gchar *text, const gchar *reason)
{
	g_autoptr(TachoPlan) job = parse(whole);
	g_autoptr(GError) error = NULL;

	g_assert_null(plan_parse_dpro(text, job, &error));
	g_assert_nonnull(error);
	if (!strstr(error->message, reason))
		g_error("'%s' is refused with '%s', and not with '%s'", text, error->message,
			reason);
}

static void test_wrong(void)
{
	g_autoptr(GError) error = NULL;

	assert_refused("{\"mapping\": [\"0+1\", \"2\"]}", "each gradient of the job once");
	assert_refused("{\"mapping\": [\"0+1\", \"1+2+3\"]}", "each gradient of the job once");
	assert_refused("{\"mapping\": [\"0+1\", \"2+4\"]}", "each gradient of the job once");
	assert_refused("{\"mapping\": [\"0+x\"]}", "'x' is no number of a tensor");
	assert_refused("{\"mapping\": [\"99999999999\"]}", "is no number of a tensor");
	assert_refused("{\"mapping\": [\"\"]}", "a group has no tensors");
	assert_refused("{\"mapping\": [0]}", "a group is not a text");
	assert_refused("{\"mapping\": [\"0+1\", \"2+3\"], \"run\": 1}", "more than \"mapping\"");
	assert_refused("{\"mapping\": [\"0+1\", \"2+3\"", "cut");
	assert_refused("{\"maps\": []}", "neither a plan of tacho's nor");
	assert_refused("Distributed_Push_Pull/BytePSPushPull.0_1 many\n", "line 1 is not");
	assert_refused("Distributed_Push_Pull/BytePSPushPull.0_1 0\n", "line 1 is not");
	assert_refused("Distributed_Push_Pull/BytePSPushPull.0_1_2_3 8\nelse 1\n", "line 2 is not");
	assert_refused("net/a 0\nnet/b\n", "line 2 is not 'OPERATION CLUSTER'");
	assert_refused("net/a 0\nnet/a 1\n", "is in two clusters");
	assert_refused("net/a 99999999\n", "line 1 is not");
	assert_refused("", "no clusters");
	/* tensors without sizes are of no job */
	g_assert_null(plan_parse_dpro("{\"mapping\": [\"0\"]}", NULL, &error));
	g_assert_nonnull(strstr(error->message, "name a run"));
}

/* Words and lists that the newer changes take, and those that they do not. */
#define ADD_OF(ranks)                                                                              \
	"{\"module\": \"\", \"kind\": \"add\", \"ordinal\": 0, \"precision\": \"bf16\", "          \
	"\"ranks\": [" ranks "]}"

static void test_changes(void)
{
	static const struct {
		const gchar *change, *reason;
	} wrong[] = {
		{ "\"compression\": \"int8\"", "none of" },
		{ "\"compression\": \"powersgd:0\"", "none of" },
		{ "\"compression\": \"powersgd:2000\"", "none of" },
		{ "\"compression\": 16", "is not a text" },
		{ "\"algorithm\": \"star\"", "neither" },
		{ "\"checkpoint\": []", "has no names" },
		{ "\"checkpoint\": [\"\"]", "is empty" },
		{ "\"checkpoint\": [\"a\\u000ab\"]", "control characters" },
		{ "\"checkpoint\": \"layer1\"", "is not a list" },
		{ "\"clusters\": []", "has none" },
		{ "\"clusters\": [[]]", "has no names" },
		{ "\"clusters\": [[\"a\", \"b\"], [\"a\"]]", "is in two clusters" },
		{ "\"precision\": []", "has no operations" },
		{ "\"precision\": [{\"module\": \"a\", \"kind\": \"linear\", \"ordinal\": 0}]",
		  "'precision' is missing" },
		{ "\"precision\": [{\"module\": \"a\", \"kind\": \"linear\", \"ordinal\": 0, "
		  "\"precision\": \"int4\"}]",
		  "no precision 'int4'" },
		{ "\"precision\": [{\"module\": \"\", \"kind\": \"add\", \"ordinal\": 0, "
		  "\"precision\": "
		  "\"bf16\"}, {\"module\": \"\", \"kind\": \"add\", \"ordinal\": 0, \"precision\": "
		  "\"fp32\"}]",
		  "has two precisions" },
		{ "\"precision\": [" ADD_OF("0, 0") ", " ADD_OF("0, 1") "]", "has two precisions" },
		{ "\"precision\": [" ADD_OF("0, 2") "]", "ranks that the job has not" },
		{ "\"precision\": [" ADD_OF("1, 0") "]", "a rank is less than 1" },
		{ "\"precision\": [" ADD_OF("0") "]", "[FIRST, LAST]" },
		{ "\"precision\": [" ADD_OF("0, 1, 1") "]", "[FIRST, LAST]" },
		{ "\"partition_bytes\": [1, 2]", "another number of sizes" },
		{ "\"partition_bytes\": 0", "less than 1" },
	};

	for (guint i = 0; i < G_N_ELEMENTS(wrong); i++) {
		g_autofree gchar *text = g_strdup_printf(
			"{\"tacho_plan\": 1, \"job\": {\"ranks\": 2, \"gradients\": []}, "
			"\"changes\": {%s}}",
			wrong[i].change);
		g_autoptr(GError) error = NULL;

		g_assert_null(plan_parse(text, strlen(text), &error));
		g_assert_nonnull(error);
		if (!strstr(error->message, wrong[i].reason))
			g_error("'%s' is refused with '%s'", wrong[i].change, error->message);
	}
}

static void test_what_ifs(void)
{
	static const struct {
		const gchar *text;
		enum plan_change_kind kind;
		const gchar *what_if;
	} cases[] = {
		{ whole, PLAN_PART_BYTES, "partition_mb=0.9536743164" },
		{ others, PLAN_CHECKPOINT,
		  "recompute:module~^[^.]+\\.(layer1|layer2\\.0)( \\(|$)" },
		{ others, PLAN_COMPRESSION, NULL },
		{ clustered, PLAN_ALGORITHM, "algorithm=tree" },
		{ clustered, PLAN_CLUSTERS,
		  "fuse:op~^(net/conv1/Conv2D|net/bn1/Mul)$;fuse:op~^(net/a)$" },
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(TachoPlan) plan = parse(cases[i].text);
		g_autofree gchar *what_if = plan_change_what_if(plan_find(plan, cases[i].kind));

		g_assert_cmpstr(what_if, ==, cases[i].what_if);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/plan_target/dpro", test_dpro);
	g_test_add_func("/plan_target/environment", test_environment);
	g_test_add_func("/plan_target/ddp", test_ddp);
	g_test_add_func("/plan_target/read", test_read);
	g_test_add_func("/plan_target/wrong", test_wrong);
	g_test_add_func("/plan_target/changes", test_changes);
	g_test_add_func("/plan_target/what_ifs", test_what_ifs);
	return g_test_run();
}
