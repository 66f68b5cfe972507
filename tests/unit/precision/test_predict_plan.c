/* Two linear layers, recorded in fp32 and in bf16, whose mixed plans can be added up by hand. Times are microseconds.
 *
 * In bf16 the first casts what it reads (2, at its border), both cast their weights (1 each, their own), and the gradients of these back. What
 * the second reads is in bf16 already. */
#include <math.h>
#include <string.h>

#include "precision/predict_plan.h"
#include "precision/saved_bytes.h"
#include "timeline_text.h"

#define X "in=float32[4,8]@0x1000"
static const gchar in_fp32[] =
	"unit us\n"
	"rank 0 thread 1000 main\n"
	"  annotation ProfilerStep#0 0..100\n"
	"    module Net 0..40\n"
	"      module 'Net.a (Linear)' 0..20\n"
	"        op aten::linear 0..20 seq=0 " X " in=float32[8,8]@0x2000 out=float32[4,8]@0x3000\n"
	"      module 'Net.b (Linear)' 20..40\n"
	"        op aten::linear 20..40 seq=1 in=float32[4,8]@0x3000 "
	"in=float32[8,8]@0x4000 out=float32[4,8]@0x5000\n"
	"    op LinearBackward0 40..60 backward seq=1 fwd=1\n"
	"    op LinearBackward0 60..90 backward seq=0 fwd=1\n"
	"    annotation Optimizer.step#SGD.step 90..100\n"
	"      op aten::add_ 90..100\n";
static const gchar in_bf16[] =
	"unit us\n"
	"rank 0 thread 1000 main\n"
	"  annotation ProfilerStep#0 0..50\n"
	"    module Net 0..20\n"
	"      module 'Net.a (Linear)' 0..10\n"
	"        op aten::to 0..2 " X " out=bfloat16[4,8]@0x6000\n"
	"        op aten::to 2..3 seq=0 in=float32[8,8]@0x2000 out=bfloat16[8,8]@0x7000\n"
	"        op aten::linear 3..10 seq=1 in=bfloat16[4,8]@0x6000 in=bfloat16[8,8]@0x7000 "
	"out=bfloat16[4,8]@0x8000\n"
	"      module 'Net.b (Linear)' 10..20\n"
	"        op aten::to 10..11 seq=2 in=float32[8,8]@0x4000 out=bfloat16[8,8]@0x9000\n"
	"        op aten::linear 11..20 seq=3 in=bfloat16[4,8]@0x8000 in=bfloat16[8,8]@0x9000 "
	"out=bfloat16[4,8]@0xa000\n"
	"    op LinearBackward0 20..28 backward seq=3 fwd=1\n"
	"    op ToCopyBackward0 28..30 backward seq=2 fwd=1\n"
	"      op aten::to 28..30 in=bfloat16[8,8]@0xb000 out=float32[8,8]@0xc000\n"
	"    op LinearBackward0 30..38 backward seq=1 fwd=1\n"
	"    op ToCopyBackward0 38..40 backward seq=0 fwd=1\n"
	"      op aten::to 38..40 in=bfloat16[8,8]@0xd000 out=float32[8,8]@0xe000\n"
	"    annotation Optimizer.step#SGD.step 40..50\n"
	"      op aten::add_ 40..50\n";

enum { INPUT, A, B, N_OF_JOB };

static struct precision_job *job_of(const gchar *bf16, GError **error)
{
	const struct job_source sources[] = { { "fp32", FORMAT_FP32, correlated(in_fp32), NULL },
					      { "bf16", FORMAT_BF16, correlated(bf16), NULL } };

	return precision_job_of(sources, G_N_ELEMENTS(sources), NULL, NULL, error);
}

static void assert_step(const struct precision_job *job, enum number_format a, enum number_format b,
			gdouble expected_us)
{
	guint8 formats[N_OF_JOB] = { FORMAT_FP32, (guint8)a, (guint8)b };
	struct plan_prediction prediction;

	g_assert_true(plan_prediction_init(&prediction, job, formats, NULL));
	g_assert_cmpfloat_with_epsilon(prediction.step_ns / 1e3, expected_us, 0.01);
	g_assert_cmpfloat(prediction.interval_ns[0], <=, prediction.step_ns);
	g_assert_cmpfloat(prediction.interval_ns[1], >=, prediction.step_ns);
	plan_prediction_release(&prediction);
}

static void test_aligned(void)
{
	g_autoptr(precision_job) job = job_of(in_bf16, NULL);
	const struct layer_cost *costs;

	g_assert_nonnull(job);
	g_assert_cmpuint(job->identity->operations->len, ==, N_OF_JOB);
	g_assert_cmpstr(identity_at(job->identity, INPUT)->kind, ==, "input");
	g_assert_cmpstr(identity_at(job->identity, B)->module, ==, "b");
	g_assert_cmpfloat(identity_at(job->identity, A)->weight, ==, 64);
	g_assert_cmpuint(job->depth[B], ==, 2);
	g_assert_cmpuint(job->hops[B], ==, 2);
	g_assert_cmpfloat(job->run_of[FORMAT_BF16]->layers.found_share, ==, 1);
	costs = job->run_of[FORMAT_BF16]->costs.operations;
	g_assert_cmpfloat(costs[A].ns[LAYER_FORWARD][LAYER_HOST], ==,
			  8000); /* without the cast of x */
	g_assert_cmpfloat(costs[A].ns[LAYER_BACKWARD][LAYER_HOST], ==, 10000);
	g_assert_cmpfloat(costs[B].ns[LAYER_FORWARD][LAYER_HOST], ==, 10000);
	g_assert_cmpfloat(costs[B].ns[LAYER_BACKWARD][LAYER_HOST], ==, 10000);
	g_assert_cmpuint(job->run_of[FORMAT_BF16]->layers.casts->len, ==, 1);
	g_assert_cmpfloat(precision_job_coverage(job), ==, 1);
}

static void test_plans(void)
{
	g_autoptr(precision_job) job = job_of(in_bf16, NULL);

	assert_step(job, FORMAT_FP32, FORMAT_FP32, 100);
	assert_step(job, FORMAT_BF16, FORMAT_BF16, 50); /* as recorded */
	/* x is cast, then what a made, and its gradient back: 2 each; a takes 8 and 10, b 20 and 20, the update 10 */
	assert_step(job, FORMAT_BF16, FORMAT_FP32, 2 + 8 + 2 + 20 + 2 + 20 + 10 + 10);
	assert_step(job, FORMAT_FP32, FORMAT_BF16, 20 + 2 + 10 + 10 + 2 + 30 + 10);
	job->has_no_casts = TRUE;
	assert_step(job, FORMAT_BF16, FORMAT_FP32, 8 + 20 + 20 + 10 + 10);
	assert_step(job, FORMAT_BF16, FORMAT_BF16, 48);
}

static void test_saved(void)
{
	g_autoptr(precision_job) job = job_of(in_bf16, NULL);
	guint8 in_fp32_all[] = { FORMAT_FP32, FORMAT_FP32, FORMAT_FP32 };
	guint8 first[] = { FORMAT_FP32, FORMAT_BF16, FORMAT_FP32 };
	guint8 second[] = { FORMAT_FP32, FORMAT_FP32, FORMAT_BF16 };

	g_assert_cmpfloat(saved_bytes_of_plan(job, in_fp32_all), ==, 2 * 32 * 4);
	g_assert_cmpuint(saved_bytes_unknown(job), ==, 0);
	/* x in 16 bits, without the weight, for no gradient of x is wanted; what a made in 32 again */
	g_assert_cmpfloat(saved_bytes_of_plan(job, first), ==, 32 * 2 + 32 * 4);
	/* what a made in 16, and the second's weight */
	g_assert_cmpfloat(saved_bytes_of_plan(job, second), ==, 32 * 4 + 32 * 2 + 64 * 2);
	/* what the recording kept beside the formula does not hang on formats */
	job->identity->format = FORMAT_FP32;
	job->identity->kept_bytes = 2 * 32 * 4 + 100;
	g_assert_cmpfloat(saved_bytes_of_plan(job, in_fp32_all), ==, 2 * 32 * 4 + 100);
	g_assert_cmpfloat(saved_bytes_of_plan(job, first), ==, 32 * 2 + 32 * 4 + 100);
	/* a convolution keeps its weight whether the gradient of x is wanted or not */
	g_free(identity_at(job->identity, A)->kind);
	identity_at(job->identity, A)->kind = g_strdup("conv2d");
	g_assert_cmpfloat(saved_bytes_of_plan(job, first), ==, 32 * 2 + 64 * 2 + 32 * 4 + 100);
}

/* Of b there is no recording in bf16: as a, it takes 8/20 of the forward pass and 10/30 of the backward one. */
static void test_estimated(void)
{
	g_autoptr(GString) text = g_string_new(in_bf16);
	g_autoptr(precision_job) job = NULL;

	g_string_replace(text, "Net.b (Linear)", "Net.c (Other)", 1);
	g_string_replace(text, "op aten::linear 11..20", "op other 11..20", 1);
	job = job_of(text->str, NULL);
	g_assert_nonnull(job);
	g_assert_true(job->run_of[FORMAT_BF16]->costs.operations[B].is_estimated);
	g_assert_cmpfloat(precision_job_coverage(job), ==, 0.5 + 0.5 / 9);
	assert_step(job, FORMAT_FP32, FORMAT_BF16, 20 + 2 + 8 + 20 / 3.0 + 2 + 30 + 10);
}

static void test_refused(void)
{
	g_autoptr(GError) error = NULL;
	const struct job_source silent[] = { { "one", FORMAT_FP32, correlated(in_fp32), NULL },
					     { "two", N_NUMBER_FORMATS, correlated(in_fp32),
					       NULL } };

	g_assert_null(precision_job_of(silent, 2, NULL, NULL, &error));
	g_assert_error(error, TACHO_PRECISION_ERROR, TACHO_PRECISION_ERROR_MATCH);
	g_assert_nonnull(strstr(error->message, "two: it does not say what it was recorded in"));
	g_clear_error(&error);
	g_assert_null(precision_job_of(NULL, 0, NULL, NULL, &error));
	g_assert_error(error, TACHO_PRECISION_ERROR, TACHO_PRECISION_ERROR_MATCH);
}

/* In bf16, with an update that takes so long. */
static TachoTimeline *with_update(guint us)
{
	g_autoptr(GString) text = g_string_new(in_bf16);
	g_autofree gchar *step = g_strdup_printf(" 0..%u\n    module", 40 + us);
	g_autofree gchar *update = g_strdup_printf(" 40..%u\n", 40 + us);

	g_string_replace(text, " 0..50\n    module", step, 1);
	g_string_replace(text, " 40..50\n", update, 2);
	return correlated(text->str);
}

static struct plan_prediction predict_bf16(const struct precision_job *job)
{
	guint8 formats[N_OF_JOB] = { FORMAT_FP32, FORMAT_BF16, FORMAT_BF16 };
	struct plan_prediction prediction;

	g_assert_nonnull(job);
	g_assert_true(plan_prediction_init(&prediction, job, formats, NULL));
	return prediction;
}

/* Of three recordings in bf16 the one whose step is the median counts, and predictions are wider by what they differ. */
static void test_several(void)
{
	const struct job_source sources[] = { { "slow", FORMAT_BF16, with_update(30), NULL },
					      { "fp32", FORMAT_FP32, correlated(in_fp32), NULL },
					      { "middle", FORMAT_BF16, with_update(20), NULL },
					      { "fast", FORMAT_BF16, with_update(6), NULL } };
	const struct job_source two[] = { { "fp32", FORMAT_FP32, correlated(in_fp32), NULL },
					  { "middle", FORMAT_BF16, with_update(20), NULL } };
	g_autoptr(precision_job) job = precision_job_of(sources, 4, NULL, NULL, NULL);
	g_autoptr(precision_job) alone = precision_job_of(two, 2, NULL, NULL, NULL);
	struct plan_prediction several = predict_bf16(job), one = predict_bf16(alone);
	gdouble spread_ns = 12 / 60.0 * one.step_ns;

	g_assert_cmpuint(job->runs->len, ==, 2);
	g_assert_cmpstr(job->reference->name, ==, "fp32");
	g_assert_cmpstr(job->run_of[FORMAT_BF16]->name, ==, "middle");
	g_assert_cmpfloat_with_epsilon(job->recordings_spread, 12 / 60.0, 1e-9);
	g_assert_cmpfloat(several.step_ns, ==, one.step_ns);
	g_assert_cmpfloat(several.interval_ns[0], <, one.step_ns - 0.99 * spread_ns);
	g_assert_cmpfloat(several.interval_ns[1], >, one.step_ns + 0.99 * spread_ns);
	g_assert_cmpfloat(several.interval_ns[1], >, one.interval_ns[1]);
	plan_prediction_release(&several);
	plan_prediction_release(&one);
}

/* The step without what recording took decides: the one that seems slow was the fastest. */
static void test_several_costs(void)
{
	TachoTimeline *costly = with_update(30);
	const struct job_source sources[] = { { "costly", FORMAT_BF16, costly, NULL },
					      { "fp32", FORMAT_FP32, correlated(in_fp32), NULL },
					      { "slow", FORMAT_BF16, with_update(20), NULL },
					      { "middle", FORMAT_BF16, with_update(6), NULL } };
	g_autoptr(precision_job) job = NULL;

	g_array_index(costly->processes, TachoProcess, 0).cost_ns = 300000;
	job = precision_job_of(sources, G_N_ELEMENTS(sources), NULL, NULL, NULL);
	g_assert_cmpstr(job->run_of[FORMAT_BF16]->name, ==, "middle");
}

/* Five steps of two ranks without collectives, whose forward passes take so long each; the rest takes 30. */
static TachoTimeline *of_two_ranks(const guint us[2])
{
	g_autoptr(GString) text = g_string_new("unit us\n");

	for (guint rank = 0; rank < 2; rank++) {
		g_string_append_printf(text, "rank %u thread 1000 main\n", rank);
		for (guint step = 0; step < 5; step++) {
			guint at = 200 * step, behind = at + us[rank];

			g_string_append_printf(
				text,
				"  annotation ProfilerStep#%u %u..%u\n    module Net %u..%u\n"
				"      module 'Net.a (Linear)' %u..%u\n"
				"        op aten::linear %u..%u seq=%u " X
				" in=float32[8,8]@0x2000 out=float32[4,8]@0x3000\n"
				"    op LinearBackward0 %u..%u backward seq=%u fwd=1\n"
				"    annotation Optimizer.step#SGD.step %u..%u\n"
				"      op aten::add_ %u..%u\n",
				step, at, behind + 30, at, behind, at, behind, at, behind, step,
				behind, behind + 20, step, behind + 20, behind + 30, behind + 20,
				behind + 30);
		}
	}
	return correlated(text->str);
}

/* Of what an operation takes in int8, a part does not go with the work: each rank changes by what it took itself. */
static void test_unequal_ranks(void)
{
	static const guint in_fp32_us[] = { 20, 40 }, in_int8_us[] = { 25, 30 };
	const struct job_source sources[] = {
		{ "fp32", FORMAT_FP32, of_two_ranks(in_fp32_us), NULL },
		{ "int8", FORMAT_INT8, of_two_ranks(in_int8_us), NULL }
	};
	g_autoptr(precision_job) job = precision_job_of(sources, 2, NULL, NULL, NULL);
	guint8 formats[2][2] = { { FORMAT_FP32, FORMAT_INT8 }, { FORMAT_FP32, FORMAT_FP32 } };
	struct rank_formats ranks;
	struct plan_prediction prediction;

	rank_formats_init(&ranks, 2, 2);
	for (guint32 rank = 0; rank < 2; rank++)
		rank_formats_set(&ranks, rank, formats[rank]);
	g_assert_true(plan_prediction_of_ranks(&prediction, job, &ranks, NULL));
	/* the mean over ranks */
	g_assert_cmpfloat_with_epsilon(prediction.step_ns / 1e3, (25 + 30 + 40 + 30) / 2.0, 0.01);
	plan_prediction_release(&prediction);
	rank_formats_release(&ranks);
}

#define GELUS 4u

/* A linear of 20, and fixed operations behind it that take so long each. */
static TachoTimeline *with_gelus(guint us)
{
	guint at = 20, end = at + GELUS * us;
	g_autoptr(GString) text = g_string_new("unit us\nrank 0 thread 1000 main\n");

	g_string_append_printf(text,
			       "  annotation ProfilerStep#0 0..%u\n    module Net 0..%u\n"
			       "      module 'Net.a (Linear)' 0..20\n"
			       "        op aten::linear 0..20 seq=0 " X
			       " in=float32[8,8]@0x2000 out=float32[4,8]@0x3000\n",
			       end + 30, end);
	for (guint i = 0; i < GELUS; i++, at += us)
		g_string_append_printf(text,
				       "      op aten::gelu %u..%u seq=%u in=float32[4,8]@0x%x000 "
				       "out=float32[4,8]@0x%x000\n",
				       at, at + us, i + 1, i + 3, i + 4);
	g_string_append_printf(text,
			       "    op LinearBackward0 %u..%u backward seq=0 fwd=1\n"
			       "    annotation Optimizer.step#SGD.step %u..%u\n"
			       "      op aten::add_ %u..%u\n",
			       end, end + 20, end + 20, end + 30, end + 20, end + 30);
	return correlated(text->str);
}

static struct identity *gelus_identity(void)
{
	g_autoptr(GString) text = g_string_new(
		"{\"tacho_precision_run\": 1, \"operations\": [{\"module\": \"\", \"kind\": "
		"\"input\", \"rule\": \"fixed\", \"elements_out\": 32, \"allowed\": [\"fp32\"]}, "
		"{\"module\": \"a\", \"kind\": \"linear\", \"rule\": \"chosen\", \"elements_in\": "
		"32, \"elements_out\": 32, \"weight\": 64, \"allowed\": [\"fp32\", \"int8\"], "
		"\"inputs\": [[0, 32]]}");
	struct identity *identity;

	for (guint i = 0; i < GELUS; i++)
		g_string_append_printf(text,
				       ", {\"module\": \"\", \"kind\": \"gelu\", \"ordinal\": "
				       "%u, \"rule\": \"fixed\", \"elements_in\": 32, "
				       "\"elements_out\": 32, \"allowed\": [\"fp32\"], "
				       "\"inputs\": [[%u, 32]]}",
				       i, i + 1);
	g_string_append(text, "]}");
	identity = identity_parse(text->str, text->len, NULL);
	g_assert_nonnull(identity);
	return identity;
}

/* What a linear takes in int8 by recordings in which what is fixed takes twice as long as in fp32. */
static gdouble linear_beside_gelus_ns(guint n_of_format)
{
	struct job_source sources[2 * 3];
	g_autoptr(precision_job) job = NULL;

	for (guint i = 0; i < n_of_format; i++) {
		sources[2 * i] = (struct job_source){ "fp32", FORMAT_FP32, with_gelus(10),
						      gelus_identity() };
		sources[2 * i + 1] = (struct job_source){ "int8", FORMAT_INT8, with_gelus(20),
							  gelus_identity() };
	}
	job = precision_job_of(sources, 2 * n_of_format, NULL, NULL, NULL);
	g_assert_nonnull(job);
	return layer_cost_pass_ns(precision_job_cost(job, 1, FORMAT_INT8), LAYER_FORWARD);
}

/* One recording that is slower all over was made while the machine was; three in each format have its usual pace. */
static void test_pace(void)
{
	g_assert_cmpfloat(linear_beside_gelus_ns(1), ==, 10000);
	g_assert_cmpfloat(linear_beside_gelus_ns(3), ==, 20000);
}

/* What the search is told gives the same by adding up. */
static void test_problem(void)
{
	g_autoptr(precision_job) job = job_of(in_bf16, NULL);
	g_autoptr(TachoPrecisionProblem) problem = precision_job_problem(job, NULL);
	const struct precision_cost *cost;
	guint8 plan[] = { FORMAT_FP32, FORMAT_BF16, FORMAT_FP32 };
	struct precision_prediction prediction = { 0 };

	g_assert_nonnull(problem);
	g_assert_true(precision_problem_check(problem, NULL));
	g_assert_cmpuint(problem->n_tensors, ==, 2);
	g_assert_cmpuint(problem->n_edges, ==, 2);
	cost = precision_cost_of(problem, 0, A, FORMAT_BF16);
	g_assert_true(cost->is_allowed);
	g_assert_cmpfloat(cost->forward_ns, ==, 8000);
	g_assert_false(precision_cost_of(problem, 0, A, FORMAT_INT8)->is_allowed);
	g_assert_cmpfloat(problem->workers[0].casts[1].forward_ns[FORMAT_BF16][FORMAT_FP32], ==,
			  2000);
	g_assert_cmpfloat(problem->workers[0].after_ns, ==, 10000);
	g_assert_true(problem->predictor.predict(problem->predictor.data, problem, plan,
						 &prediction, NULL));
	g_assert_cmpfloat(prediction.step_ns, ==, 74000);
}

/* --- kernels of one's own ------------------------------------------------------------------------- */

#define KERNEL(names, more)                                                                        \
	"kernel \"ours\" {\n match forward " names "\n precision bf16\n" more                      \
	"\n variant_of \"aten::linear\"\n}\n"

static struct precision_job *job_with(const gchar *fp32, const gchar *bf16, const gchar *kernels,
				      GError **error)
{
	const struct job_source sources[] = { { "fp32", FORMAT_FP32, correlated(fp32), NULL },
					      { "bf16", FORMAT_BF16, correlated(bf16), NULL } };
	KernelRegistry *registry =
		kernels ? kernel_registry_parse(kernels, strlen(kernels), NULL) : NULL;

	g_assert_true(!kernels == !registry);
	return precision_job_of(sources, G_N_ELEMENTS(sources), NULL, registry, error);
}

/* What a kernel gives out decides the casts behind it, and their gradients' */
static void test_registered(void)
{
	g_autoptr(precision_job) job =
		job_with(in_fp32, in_bf16, KERNEL("\"ours\"", "output y: fp32"), NULL);
	g_autoptr(precision_job) fused =
		job_with(in_fp32, in_bf16,
			 KERNEL("\"ours\"", "input x: bf16 fused_quant\n output y: fp32"), NULL);
	g_autoptr(precision_job) lean = job_with(
		in_fp32, in_bf16, KERNEL("\"ours\"", "output y: fp32\n saves x: bf16"), NULL);
	guint8 both[] = { FORMAT_FP32, FORMAT_BF16, FORMAT_BF16 };

	assert_step(job, FORMAT_FP32, FORMAT_FP32, 100);
	/* as test_plans(), without the casts of what a gave out */
	assert_step(job, FORMAT_BF16, FORMAT_FP32, 2 + 8 + 20 + 20 + 10 + 10);
	/* it is cast for b, and b gives its gradient out in fp32 */
	assert_step(job, FORMAT_FP32, FORMAT_BF16, 20 + 2 + 10 + 10 + 30 + 10);
	assert_step(fused, FORMAT_BF16, FORMAT_FP32, 8 + 20 + 20 + 10 + 10);
	assert_step(fused, FORMAT_FP32, FORMAT_BF16, 20 + 10 + 10 + 30 + 10);
	/* x and what a made in 16 bits; b's weight, unless the kernel says that it is not kept */
	g_assert_cmpfloat(saved_bytes_of_plan(job, both), ==, 2 * 32 * 2 + 64 * 2);
	g_assert_cmpfloat(saved_bytes_of_plan(lean, both), ==, 2 * 32 * 2);
}

/* The search is told the same. */
static void test_registered_problem(void)
{
	g_autoptr(precision_job) job = job_with(
		in_fp32, in_bf16,
		KERNEL("\"ours\"", "input x: bf16 fused_quant\n output y: fp32\n grad dw: bf16"),
		NULL);
	g_autoptr(TachoPrecisionProblem) problem = precision_job_problem(job, NULL);

	g_assert_cmpuint(problem->operations[A].result[FORMAT_BF16], ==, FORMAT_FP32);
	g_assert_cmpuint(problem->operations[A].gradient[FORMAT_BF16], ==, FORMAT_BF16);
	g_assert_cmpuint(problem->operations[A].gradient[FORMAT_FP32], ==, FORMAT_FP32);
	g_assert_cmpfloat(problem->workers[0].casts[1].forward_ns[FORMAT_FP32][FORMAT_BF16], ==, 0);
	g_assert_cmpfloat(problem->workers[0].casts[1].backward_ns[FORMAT_FP32][FORMAT_BF16], ==,
			  0);
}

#define PLAIN_STEP(name_a, name_b)                                                                 \
	"unit us\n"                                                                                \
	"rank 0 thread 1000 main\n"                                                                \
	"  annotation ProfilerStep#0 0..60\n" name_a " 0..10 seq=0 " X                             \
	" in=float32[8,8]@0x2000 out=float32[4,8]@0x3000\n" name_b                                 \
	" 10..20 seq=1 in=float32[4,8]@0x3000 in=float32[8,8]@0x4000 out=float32[4,8]@0x5000\n"    \
	"    op OursBackward 20..30 backward seq=1 fwd=1\n"                                        \
	"    op OursBackward 30..50 backward seq=0 fwd=1\n"                                        \
	"    op update 50..60\n"

/* A recording whose kernels are known by the file alone: by the operation's name, by an annotation, by the type of a module. */
static void test_own_names(void)
{
	static const gchar framework[] = PLAIN_STEP("op aten::linear", "op aten::linear");
	static const gchar named[] = PLAIN_STEP("op ours::matmul_bf16", "op ours::matmul_bf16");
	static const gchar annotated[] = PLAIN_STEP("annotation our-linear 0..10\n op aten::mm",
						    "annotation our-linear 10..20\n op aten::mm");
	static const gchar typed[] = PLAIN_STEP("module 'Net.a (OurLinear)' 0..10\n op aten::mm",
						"module 'Net.b (OurLinear)' 10..20\n op aten::mm");
	static const gchar kernels[] =
		KERNEL("\"ours::matmul_*\" \"our-linear\" \"Our?inear\"", "");
	g_autoptr(GError) error = NULL;
	g_autoptr(precision_job) by_name = job_with(framework, named, kernels, &error);
	g_autoptr(precision_job) by_annotation = NULL, by_type = NULL, unknown = NULL;

	g_assert_no_error(error);
	g_assert_cmpfloat(by_name->run_of[FORMAT_BF16]->layers.found_share, ==, 1);
	g_assert_nonnull(strstr(by_name->notes->pdata[by_name->notes->len - 1],
				"'ours' computes 2 operations in bf16"));
	by_annotation = job_with(framework, annotated, kernels, &error);
	g_assert_no_error(error);
	g_assert_cmpfloat(by_annotation->run_of[FORMAT_BF16]->layers.found_share, ==, 1);
	by_type = job_with(typed, typed, kernels, &error);
	g_assert_no_error(error);
	g_assert_cmpstr(identity_at(by_type->identity, A)->kind, ==, "linear");
	unknown = job_with(framework, named, NULL, &error);
	g_assert_null(unknown);
	g_assert_error(error, TACHO_PRECISION_ERROR, TACHO_PRECISION_ERROR_MATCH);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/predict_plan/aligned", test_aligned);
	g_test_add_func("/predict_plan/plans", test_plans);
	g_test_add_func("/predict_plan/saved", test_saved);
	g_test_add_func("/predict_plan/estimated", test_estimated);
	g_test_add_func("/predict_plan/refused", test_refused);
	g_test_add_func("/predict_plan/several", test_several);
	g_test_add_func("/predict_plan/several_costs", test_several_costs);
	g_test_add_func("/predict_plan/unequal_ranks", test_unequal_ranks);
	g_test_add_func("/predict_plan/pace", test_pace);
	g_test_add_func("/predict_plan/problem", test_problem);
	g_test_add_func("/predict_plan/registered", test_registered);
	g_test_add_func("/predict_plan/registered_problem", test_registered_problem);
	g_test_add_func("/predict_plan/own_names", test_own_names);
	return g_test_run();
}
