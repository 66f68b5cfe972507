/* Problems, registries and bit plans in files: what is read is written again, and what cannot be is refused. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "precision/plan_bits.h"
#include "precision/problem_json.h"
#include "precision/registry.h"
#include "random_problem.h"

static gchar *written(const TachoPrecisionProblem *problem)
{
	gchar *text = NULL;
	gsize n;
	FILE *out = open_memstream(&text, &n);

	g_assert_true(tacho_precision_problem_write(problem, out));
	fclose(out);
	return text;
}

static void assert_refused(const gchar *what, GError *error, const gchar *reason)
{
	g_assert_nonnull(error);
	if (!strstr(error->message, reason))
		g_error("'%s' is refused with '%s'", what, error->message);
	g_error_free(error);
}

/* --- problems ------------------------------------------------------------------------------------ */

static void test_round_trip(void)
{
	g_autoptr(GRand) rand = g_rand_new_with_seed(8);

	for (guint i = 0; i < 8; i++) {
		struct random_problem wanted = { .n_chosen = 5,
						 .n_workers = 1 + i % 2,
						 .n_collectives = i % 3,
						 .has_ties = i % 2,
						 .has_shared = TRUE,
						 .has_followers = i > 3,
						 .formats = 0x7f };
		g_autoptr(TachoPrecisionProblem) problem = random_problem(rand, &wanted),
						 again = NULL;
		g_autoptr(GError) error = NULL;
		gchar *text, *same;

		problem->operations[1].harm[FORMAT_INT8] = INFINITY;
		text = written(problem);
		again = precision_problem_parse(text, strlen(text), &error);
		g_assert_no_error(error);
		same = written(again);
		g_assert_cmpstr(text, ==, same);
		g_assert_true(isinf(again->operations[1].harm[FORMAT_INT8]));
		free(text);
		free(same);
	}
}

#define PROBLEM "{\"tacho_precision_problem\": 1, "
#define INPUT                                                                                      \
	"{\"module\": \"\", \"kind\": \"input\", \"ordinal\": 0, \"rule\": \"fixed\", "            \
	"\"recorded\": \"fp32\"}"
#define LINEAR                                                                                     \
	"{\"module\": \"a\", \"kind\": \"linear\", \"ordinal\": 0, \"rule\": \"chosen\", "         \
	"\"recorded\": \"fp32\"}"
#define WORKER(costs)                                                                              \
	"\"workers\": [{\"name\": \"w\", \"ranks\": 1, \"share\": 1, \"costs\": [" costs "]}]}"

static void test_problems_refused(void)
{
	static const struct {
		const gchar *text, *reason;
	} wrong[] = {
		{ "[]", "is not an object" },
		{ PROBLEM "\"operations\": [], \"workers\": []}", "no operations" },
		{ "{\"tacho_precision_problem\": 9}", "later tacho" },
		{ PROBLEM "\"operations\": [" LINEAR "," LINEAR
			  "], " WORKER("{\"fp32\": {}}, {\"fp32\": {}}"),
		  "stands twice" },
		{ PROBLEM "\"operations\": [" LINEAR "], " WORKER("{}"), "has 0 formats" },
		{ PROBLEM "\"operations\": [" LINEAR "], " WORKER(""), "fewer costs" },
		{ PROBLEM "\"operations\": [" LINEAR "], " WORKER("{\"fp32\": {}}, {\"fp32\": {}}"),
		  "more costs" },
		{ PROBLEM "\"operations\": [" INPUT "], " WORKER("{\"fp32\": {}, \"bf16\": {}}"),
		  "has 2 formats" },
		{ PROBLEM "\"operations\": [" LINEAR
			  "], " WORKER("{\"fp32\": {\"forward_ns\": -1}}"),
		  "not from" },
		{ PROBLEM "\"operations\": [" LINEAR "], " WORKER("{\"fp99\": {}}"), "'fp99'" },
		{ PROBLEM "\"workers\": [], \"operations\": []}", "stands before" },
		{ PROBLEM
		  "\"operations\": [" LINEAR "], \"tensors\": [{\"producer\": 0, \"readers\": "
		  "[{\"operation\": 0}]}], \"workers\": [{\"name\": \"w\", \"ranks\": 1, "
		  "\"share\": 1, \"costs\": [{\"fp32\": {}}], \"tensors\": [{\"elements\": 1}]}]}",
		  "does not come after" },
		{ PROBLEM
		  "\"operations\": [" LINEAR "], \"collectives\": [{\"after\": 7, \"operations\": "
		  "[]}], \"workers\": [{\"name\": \"w\", \"ranks\": 1, \"share\": 1, \"costs\": "
		  "[{\"fp32\": {}}], \"collectives\": [{}]}]}",
		  "waits for no operation" },
		{ PROBLEM "\"operations\": [" LINEAR
			  "], \"workers\": [{\"name\": \"w\", \"ranks\": 1, "
			  "\"share\": 0.5, \"costs\": [{\"fp32\": {}}]}]}",
		  "not 1 together" },
		{ PROBLEM "\"operations\": [" LINEAR "], \"error\": 2}", "not from 0 to 1" },
	};

	for (guint i = 0; i < G_N_ELEMENTS(wrong); i++) {
		GError *error = NULL;

		g_assert_null(
			precision_problem_parse(wrong[i].text, strlen(wrong[i].text), &error));
		assert_refused(wrong[i].text, error, wrong[i].reason);
	}
}

/* --- registries ---------------------------------------------------------------------------------- */

static const gchar registry_text[] =
	"# kernels\n"
	"kernel \"my_linear\" {\n"
	"  match forward \"my::linear_int8\" \"My?inear*\"  # two\n"
	"  precision int8\n"
	"  input x: int8 per_tensor w:int8 per_channel\n"
	"  output y: fp32 fused_dequant\n"
	"  grad dy: bf16 dx: bf16\n"
	"  saves x:int8 w:int8 scales\n"
	"  variant_of \"aten::linear\"\n"
	"  align k:16\n"
	"}\n"
	"\n"
	"kernel \"all\" { match forward \"*linear*\"\n precision tf32 }\n";

static void test_registry(void)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(KernelRegistry) registry =
		kernel_registry_parse(registry_text, strlen(registry_text), &error);
	const struct registered_kernel *kernel;

	g_assert_no_error(error);
	g_assert_cmpuint(kernel_registry_n(registry), ==, 2);
	kernel = kernel_registry_find(registry, "my::linear_int8");
	g_assert_cmpstr(kernel->name, ==, "my_linear");
	g_assert_true(kernel == kernel_registry_find(registry, "MyLinear_2"));
	g_assert_cmpint(kernel->precision, ==, FORMAT_INT8);
	g_assert_cmpint(kernel->operands[KERNEL_W].scale, ==, KERNEL_PER_CHANNEL);
	g_assert_true(kernel->fuses_dequantize && !kernel->fuses_quantize);
	g_assert_true(kernel->has_saves && kernel->saves_scales);
	g_assert_cmpint(kernel->saved[KERNEL_X], ==, FORMAT_INT8);
	g_assert_cmpint(kernel->saved[KERNEL_Y], ==, N_NUMBER_FORMATS);
	g_assert_cmpstr(kernel->variant_of, ==, "aten::linear");
	g_assert_cmpuint(kernel->align_k, ==, 16);
	g_assert_cmpint(kernel_operand_format(kernel, KERNEL_DY), ==, FORMAT_BF16);
	g_assert_cmpint(kernel_operand_format(kernel, KERNEL_DW), ==, FORMAT_FP32);
	g_assert_true(registered_kernel_computes(kernel, "linear"));
	g_assert_false(registered_kernel_computes(kernel, "my::linear_int8"));
	kernel = kernel_registry_find(registry, "aten::linear");
	g_assert_cmpstr(kernel->name, ==, "all");
	g_assert_cmpint(kernel_operand_format(kernel, KERNEL_X), ==, FORMAT_FP32);
	g_assert_true(registered_kernel_computes(kernel, "bilinear"));
	g_assert_null(kernel_registry_find(registry, "aten::conv2d"));
	g_assert_null(kernel_registry_find(registry, "\x80\x80Linear_2"));
}

static void test_registries_refused(void)
{
	static const struct {
		const gchar *text, *reason;
	} wrong[] = {
		{ "linear", "line 1: a kernel begins with" },
		{ "kernel \"a\" {\n precision int8\n}", "line 3: the kernel 'a' matches nothing" },
		{ "kernel \"a\" {\n match forward \"a\"\n}", "has no 'precision'" },
		{ "kernel \"a\" {\n match backward \"a\"\n}", "followed by forward" },
		{ "kernel \"a\" {\n precision int7\n}", "line 2: 'int7' is no number format" },
		{ "kernel \"a\" {\n precision int8 int8\n}", "stands behind" },
		{ "kernel \"a\" {\n colour red\n}", "has no 'colour'" },
		{ "kernel \"a\" {\n align q:2\n}", "knows n, k and m" },
		{ "kernel \"a\" {\n align k:0\n}", "from 1 to" },
		{ "kernel \"a\" {\n match forward \"a\"\n", "does not end" },
		{ "kernel \"a", "a text does not end" },
		{ "kernel \"\" {", "a text is empty" },
		{ "kernel \"a\" { match forward \"a\"\n precision int8 }\nkernel \"a\" { match "
		  "forward "
		  "\"b\"\n precision int8 }",
		  "stands on line 1 already" },
		{ "kernel \"a\" { input y: int8 }", "may not stand here" },
		{ "kernel \"a\" { input x: int8 x: int8 }", "stands twice" },
		{ "kernel \"a\" { $ }", "0x24" },
		{ "kernel \"a\" {\n match forward \"*\x80?*\"\n precision int8\n}",
		  "not UTF-8 at byte 30" },
	};

	for (guint i = 0; i < G_N_ELEMENTS(wrong); i++) {
		GError *error = NULL;

		g_assert_null(kernel_registry_parse(wrong[i].text, strlen(wrong[i].text), &error));
		assert_refused(wrong[i].text, error, wrong[i].reason);
	}
}

/* --- bit plans ------------------------------------------------------------------------------------ */

#define NPY_HEAD                                                                                   \
	"\x93NUMPY\x01\x00\x76\x00{'descr': '|O', 'fortran_order': False, 'shape': (), }"          \
	"                                                               \n"

/* The file that numpy.save() of version 2.4 makes of numpy.array({"linear_0": 8, "conv_12": 16}, dtype=object). */
static const gchar numpy_file[] = NPY_HEAD
	"\x80\x04\x95\xa3\x00\x00\x00\x00\x00\x00\x00"
	"\x8c\x16numpy._core.multiarray\x94\x8c\x0c_reconstruct\x94\x93\x94\x8c\x05numpy\x94"
	"\x8c\x07ndarray\x94\x93\x94K\x00\x85\x94"
	"C\x01"
	"b\x94\x87\x94R\x94(K\x01)h\x03\x8c\x05"
	"dtype\x94\x93\x94\x8c\x02O8\x94\x89\x88\x87\x94R\x94(K\x03\x8c\x01|\x94NNN"
	"J\xff\xff\xff\xffJ\xff\xff\xff\xffK?t\x94"
	"b\x89]\x94}\x94(\x8c\x08linear_0\x94K\x08\x8c\x07"
	"conv_12\x94K\x10uat\x94"
	"b.";

static void test_bits(void)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(GArray) bits =
		plan_bits_parse((const guint8 *)numpy_file, sizeof(numpy_file) - 1, &error);
	g_autoptr(GArray) again = NULL;
	g_autoptr(GByteArray) bytes = NULL;

	g_assert_no_error(error);
	g_assert_cmpuint(bits->len, ==, 2);
	g_assert_cmpstr(g_array_index(bits, struct plan_bit, 0).layer, ==, "linear_0");
	g_assert_cmpint(g_array_index(bits, struct plan_bit, 0).bits, ==, 8);
	g_assert_cmpstr(g_array_index(bits, struct plan_bit, 1).layer, ==, "conv_12");
	g_assert_cmpint(g_array_index(bits, struct plan_bit, 1).bits, ==, 16);
	bytes = plan_bits_bytes(bits);
	g_assert_cmpuint((sizeof(NPY_HEAD) - 1) % 64, ==, 0);
	again = plan_bits_parse(bytes->data, bytes->len, &error);
	g_assert_no_error(error);
	g_assert_cmpuint(again->len, ==, 2);
	g_assert_cmpstr(g_array_index(again, struct plan_bit, 1).layer, ==, "conv_12");
}

/* A program in a pickle, or what is no bit plan. */
static void test_bits_refused(void)
{
#define FILE_OF(pickle)                                                                            \
	{                                                                                          \
		NPY_HEAD pickle, sizeof(NPY_HEAD pickle) - 1, NULL                                 \
	}
	static struct {
		const gchar *bytes;
		gsize n;
		const gchar *reason;
	} wrong[] = {
		FILE_OF("\x80\x03"
			"cos\nsystem\nX\x02\x00\x00\x00id\x85R."),
		FILE_OF("\x80\x04\x8c\x02os\x8c\x06system\x93\x8c\x02id\x85R."),
		FILE_OF("\x80\x03"
			"cnumpy\nload\nX\x02\x00\x00\x00id\x85R."),
		FILE_OF("\x80\x03}(X\x01\x00\x00\x00"
			"aK\x08u."),
		FILE_OF("\x80\x03"
			"cnumpy\nndarray\n)R."),
		FILE_OF("\x80\x03"),
	};
	static const gchar *const reasons[] = { "0x63",		 "0x93",	  "0x63",
						"no dictionary", "no dictionary", "ends inside" };

	for (guint i = 0; i < G_N_ELEMENTS(wrong); i++) {
		GError *error = NULL;

		g_assert_null(plan_bits_parse((const guint8 *)wrong[i].bytes, wrong[i].n, &error));
		assert_refused(reasons[i], error, reasons[i]);
	}
	for (gsize n = 0; n + 1 < sizeof(numpy_file); n++) { /* cut anywhere */
		g_autoptr(GError) error = NULL;

		g_assert_null(plan_bits_parse((const guint8 *)numpy_file, n, &error));
		g_assert_nonnull(error);
	}
}

/* A plan of a model as bits, and back. */
static void test_bits_of_model(void)
{
	g_autoptr(TachoPrecisionProblem) problem = transformer_problem(1, 1);
	g_autofree guint8 *formats = g_new0(guint8, problem->n_operations);
	g_autofree guint8 *again = NULL;
	g_autoptr(GArray) bits = NULL;
	g_autoptr(GError) error = NULL;
	guint32 last = 0;

	for (guint32 i = 0; i < problem->n_operations; i++)
		formats[i] = FORMAT_FP32;
	again = g_memdup2(formats, problem->n_operations);
	for (guint32 i = 0, n = 0; i < problem->n_operations; i++)
		if (problem->operations[i].rule == PRECISION_CHOSEN) {
			formats[i] = n++ % 2 ? FORMAT_INT8 : FORMAT_BF16;
			last = i;
		}
	bits = plan_bits_of(problem, formats);
	g_assert_cmpuint(bits->len, ==, 7);
	g_assert_cmpstr(g_array_index(bits, struct plan_bit, 6).layer, ==, "linear_6");
	g_assert_true(plan_bits_apply(bits, problem, 0, again, &error));
	g_assert_no_error(error);
	g_assert_cmpmem(again, problem->n_operations, formats, problem->n_operations);

	precision_cost_of(problem, 0, last, FORMAT_BF16)->is_allowed = FALSE;
	precision_cost_of(problem, 0, last, FORMAT_INT8)->is_allowed = FALSE;
	g_assert_false(plan_bits_apply(bits, problem, 0, again, &error));
	g_assert_nonnull(strstr(error->message, "'linear_6' cannot"));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/precision_files/round_trip", test_round_trip);
	g_test_add_func("/precision_files/problems_refused", test_problems_refused);
	g_test_add_func("/precision_files/registry", test_registry);
	g_test_add_func("/precision_files/registries_refused", test_registries_refused);
	g_test_add_func("/precision_files/bits", test_bits);
	g_test_add_func("/precision_files/bits_refused", test_bits_refused);
	g_test_add_func("/precision_files/bits_of_model", test_bits_of_model);
	return g_test_run();
}
