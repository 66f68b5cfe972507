/* cost_model: a world whose times are known: what is learned of it, on what was held out; its file; corrections and communication. */
#include <math.h>
#include <string.h>

#include <glib/gstdio.h>
#include <tacho/cost.h>

#include "base/json_memory.h"
#include "learn/correction.h"
#include "learn/cost_model.h"
#include "learn/cost_model_file.h"
#include "learn/link_cost.h"

/* Half of the peak rate and 0.8 of the bandwidth, 3 us floor; and where rows are no multiple of 8, twice as long. */
static gdouble true_us(const struct device_peak *device, guint m, guint n, guint k)
{
	gdouble ops_us = 2.0 * m * n * k / (device_ops_per_ns(device, DEVICE_FP32) * 0.5) / 1e3;
	gdouble bytes_us = 4.0 * (m * k + k * n + m * n) / (device->gb_per_s * 0.8) / 1e3;

	return (3 + MAX(ops_us, bytes_us)) * (n % 8 ? 2 : 1);
}

static const gchar *const devices[] = { "V100", "A100-40GB", "H100", "T4" };

static gchar *write_table(void)
{
	g_autoptr(GString) text = g_string_new("device,op,shapes,type,time_us\n");
	gchar *path = g_build_filename(g_get_tmp_dir(), "tacho-test-cost-XXXXXX", NULL);
	int fd = g_mkstemp(path);

	for (guint d = 0; d < G_N_ELEMENTS(devices); d++)
		for (guint i = 0; i < 150; i++) {
			guint m = 64 + 64 * (i % 15), k = 32 << i % 6;
			guint n = 128 * (1 + i % 11) + (i % 2 ? 1 : 0);

			g_string_append_printf(
				text, "%s,aten::mm,\"[[%u,%u],[%u,%u]]\",fp32,%.4f\n", devices[d],
				m, k, k, n, true_us(device_find(devices[d]), m, n, k));
		}
	g_assert_cmpint(fd, >=, 0);
	close(fd);
	g_assert_true(g_file_set_contents(path, text->str, -1, NULL));
	return path;
}

static TachoCostModel *train(void)
{
	g_autofree gchar *path = write_table();
	TachoCostModel *model = tacho_cost_model_new();
	TachoCostTraining how = tacho_cost_training_default();
	GError *error = NULL;

	tacho_cost_model_add_table(model, path, &error);
	g_assert_no_error(error);
	tacho_cost_model_train(model, &how);
	g_unlink(path);
	return model;
}

/* A roofline knows nothing of rows that are no multiple of 8; trees and neighbours do. */
static void test_held_out(void)
{
	g_autoptr(TachoCostModel) model = train();
	const struct cost_class *gemm = &model->classes[KERNEL_GEMM];

	g_assert_cmpuint(gemm->n_devices, ==, 4);
	g_assert_true(gemm->has_trees);
	for (guint fold = 0; fold < N_COST_FOLDS; fold++) {
		g_assert_cmpuint(gemm->errors[fold][COST_BY_TREES].n_calls, ==, gemm->n_calls);
		g_assert_cmpfloat(gemm->errors[fold][COST_BY_ROOFLINE].mean_pct, >, 20);
		g_assert_cmpfloat(gemm->errors[fold][COST_BY_TREES].mean_pct, <, 10);
	}
}

static gdouble ask(TachoCostModel *model, const gchar *op, const gchar *shapes, const gchar *device,
		   const gchar *by, GError **error)
{
	TachoCostQuestion question = { op, shapes, "fp32", device, by };
	g_autoptr(TachoTable) table = tacho_cost_predict(model, &question, error);

	return table ? tacho_table_cell_number(table, 0, "time_us") : NAN;
}

static void test_asked(void)
{
	g_autoptr(TachoCostModel) model = train();
	gdouble known_us = true_us(device_find("V100"), 64, 128, 32);
	gdouble new_us = true_us(device_find("L4"), 1000, 2048, 512);

	/* of the table, exactly; on a device that no call is of, nearly */
	g_assert_cmpfloat_with_epsilon(
		ask(model, "aten::mm", "[[64,32],[32,128]]", "V100", NULL, NULL), known_us, 1e-3);
	g_assert_cmpfloat_with_epsilon(
		ask(model, "aten::mm", "[[1000,512],[512,2048]]", "L4", NULL, NULL), new_us,
		0.25 * new_us);
	/* one kernel for both is shorter than two, and not shorter than one */
	g_assert_cmpfloat(
		ask(model, "aten::mm+aten::mm", "[[64,32],[32,128]];[[64,128],[128,32]]", "V100",
		    "roofline", NULL),
		<,
		ask(model, "aten::mm", "[[64,32],[32,128]]", "V100", "roofline", NULL) +
			ask(model, "aten::mm", "[[64,128],[128,32]]", "V100", "roofline", NULL));
}

static void test_not_known(void)
{
	static const struct {
		const gchar *op, *shapes, *device, *by;
	} questions[] = {
		{ "aten::mm", "[[64,32],[32,128]]", "Abacus", NULL },
		{ "aten::mm", "[[64,32],[32,128]]", "V100", "magic" },
		{ "aten::mm", "64x32", "V100", NULL },
		{ "aten::mm", "[[64,32]", "V100", NULL },
		{ "aten::mm", "[[99999999999999999999]]", "V100", NULL },
		{ "aten::frobnicate", "[[64,32]]", "V100", NULL },
		{ "aten::_softmax", "[[64,32]]", "V100", NULL }, /* no such class was seen */
		{ "aten::mm+aten::mm", "[[64,32],[32,128]]", "V100", NULL },
		{ "aten::mm", "[[64,32],[32,128]]", "L4", "table" },
	};
	g_autoptr(TachoCostModel) model = train();

	for (guint i = 0; i < G_N_ELEMENTS(questions); i++) {
		g_autoptr(GError) error = NULL;

		g_assert_true(isnan(ask(model, questions[i].op, questions[i].shapes,
					questions[i].device, questions[i].by, &error)));
		g_assert_nonnull(error);
	}
}

static gchar *write_text(const struct cost_model *model)
{
	struct json_memory memory;
	JsonWriter *json = json_memory_begin(&memory);

	cost_model_write_json(model, json);
	return json_memory_take(&memory, json);
}

/* Training twice gives the same bytes; what is read gives the same answers, and the same bytes again. */
static void test_file(void)
{
	g_autoptr(TachoCostModel) model = train(), other = train(), read = tacho_cost_model_new();
	g_autofree gchar *text = NULL, *text_of_other = NULL, *again = NULL;
	GError *error = NULL;

	g_array_set_size(model->calls.sources, 0); /* the table's name is another each time */
	g_array_set_size(other->calls.sources, 0);
	text = write_text(model);
	text_of_other = write_text(other);
	g_assert_cmpstr(text, ==, text_of_other);
	cost_model_parse(read, text, strlen(text), &error);
	g_assert_no_error(error);
	again = write_text(read);
	g_assert_cmpstr(text, ==, again);
	g_assert_cmpfloat(ask(model, "aten::mm", "[[500,96],[96,777]]", "L4", "trees", NULL), ==,
			  ask(read, "aten::mm", "[[500,96],[96,777]]", "L4", "trees", NULL));
}

static void test_refused(void)
{
#define HEAD "{\"format\":\"tacho-cost-model\",\"version\":1,"
	static const gchar *const texts[] = {
		"",
		"null",
		"{",
		"[]",
		"{\"format\":\"tacho-cost-model\"}",
		"{\"format\":\"tacho-cost-model\",\"version\":2}",
		"{\"version\":1,\"format\":\"another\"}",
		HEAD "\"devices\":[{\"name\":\"x\"}]}",
		HEAD "\"unknown\":[]}",
		HEAD "\"calls\":[[0,\"aten::mm\",\"[[1,1],[1,1]]\",\"fp32\",\"gemm\",1,1,1,1,1]]}",
		HEAD
		"\"rooflines\":[{\"class\":\"gemm\",\"type\":\"fp32\",\"device\":7,\"floor_ns\":1,"
		"\"operations_share\":1,\"bytes_share\":1,\"calls\":1}]}",
		HEAD "\"rooflines\":[{\"class\":\"gemm\",\"type\":\"fp32\",\"floor_ns\":1,"
		     "\"operations_share\":1,\"bytes_share\":0,\"calls\":1}]}",
		HEAD
		"\"communication\":[{\"host\":\"a\",\"backend\":\"\",\"operation\":\"all_reduce\","
		"\"ranks\":1,\"is_calibrated\":true,\"points\":[]}]}",
		HEAD "\"communication\":[{\"host\":\"a\",\"backend\":\"\",\"operation\":\"hug\","
		     "\"ranks\":2,\"is_calibrated\":true,\"points\":[]}]}",
		HEAD "\"corrections\":[{\"host\":\"a\",\"device\":\"b\",\"change\":\"c\","
		     "\"predicted_gain_pct\":100,\"measured_gain_pct\":1,\"low_gain_pct\":1,"
		     "\"high_gain_pct\":1,\"pairs\":1,\"unix_s\":1}]}",
		HEAD "\"sources\":[]} more",
	};

	for (guint i = 0; i < G_N_ELEMENTS(texts); i++) {
		g_autoptr(TachoCostModel) model = tacho_cost_model_new();
		g_autoptr(GError) error = NULL;

		if (cost_model_parse(model, texts[i], strlen(texts[i]), &error))
			g_error("text %u is taken", i);
		g_assert_nonnull(error);
	}
}

static void add_difference(TachoCostModel *model, const gchar *change, gdouble predicted,
			   gdouble measured)
{
	TachoCostDifference difference = { "here",	 "cpu",	       change, predicted, measured,
					   measured - 1, measured + 1, 5,      1000 };

	g_assert_true(tacho_cost_model_add_difference(model, &difference));
}

/* One plan: half of the logarithm of 0.9 / 0.8; the others stay as they are. */
static void test_corrections(void)
{
	g_autoptr(TachoCostModel) model = tacho_cost_model_new();
	gdouble factor, spread;
	TachoCostDifference none = { "here", "cpu", "buckets", NAN, 1, 1, 1, 5, 1000 };

	g_assert_false(tacho_cost_model_add_difference(model, &none));
	add_difference(model, "buckets", 20, 10);
	g_assert_cmpuint(tacho_cost_model_bias(model, "here", "cpu", "buckets", &factor, &spread),
			 ==, 1);
	g_assert_cmpfloat_with_epsilon(factor, sqrt(0.9 / 0.8), 1e-12);
	g_assert_cmpfloat_with_epsilon(spread, log(0.9 / 0.8) / 2, 1e-12);
	for (guint i = 0; i < 9; i++)
		add_difference(model, "buckets", 20, 10);
	g_assert_cmpuint(tacho_cost_model_bias(model, "here", "cpu", "buckets", &factor, &spread),
			 ==, 10);
	g_assert_cmpfloat_with_epsilon(log(factor), log(0.9 / 0.8) * 10 / 11, 1e-12);
	g_assert_cmpuint(tacho_cost_model_bias(model, "there", "cpu", "buckets", &factor, &spread),
			 ==, 0);
	g_assert_cmpfloat(factor, ==, 1);
	g_assert_cmpuint(tacho_cost_model_bias(model, "here", "cpu", "partition", &factor, &spread),
			 ==, 0);
}

/* 100 us and 2 ns a byte on the wire, of which 2 (n - 1) / n times the input go. */
static void test_communication(void)
{
	g_autoptr(TachoCostModel) model = tacho_cost_model_new();
	guint64 bytes[] = { 1024, 65536, 1 << 20, 1 << 24 }, counts[] = { 9, 9, 9, 9 };
	gdouble time_us[G_N_ELEMENTS(bytes)];
	const struct link_cost *link;
	GError *error = NULL;

	for (guint i = 0; i < G_N_ELEMENTS(bytes); i++)
		time_us[i] = 100 + 2e-3 * 1.5 * (gdouble)bytes[i];
	tacho_cost_model_add_collective(model, "here", "gloo", "all_reduce", 4, bytes, time_us,
					counts, G_N_ELEMENTS(bytes), &error);
	g_assert_no_error(error);
	link = link_costs_find(model->links, "elsewhere", OPERATION_ALL_REDUCE, 4);
	g_assert_nonnull(link);
	g_assert_cmpfloat_with_epsilon(link->cost.fixed_ns, 1e5, 1);
	g_assert_cmpfloat_with_epsilon(link->cost.ns_per_byte, 2, 1e-6);
	g_assert_null(link_costs_find(model->links, "here", OPERATION_ALL_REDUCE, 8));
	/* the same again takes its place */
	tacho_cost_model_add_collective(model, "here", "gloo", "all_reduce", 4, bytes, time_us,
					counts, G_N_ELEMENTS(bytes), &error);
	g_assert_cmpuint(model->links->len, ==, 1);
	g_assert_false(tacho_cost_model_add_collective(model, "here", "gloo", "hug", 4, bytes,
						       time_us, counts, 1, NULL));
	time_us[0] = NAN;
	g_assert_false(tacho_cost_model_add_collective(model, "here", "gloo", "broadcast", 4, bytes,
						       time_us, counts, 1, NULL));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/cost_model/held_out", test_held_out);
	g_test_add_func("/cost_model/asked", test_asked);
	g_test_add_func("/cost_model/not_known", test_not_known);
	g_test_add_func("/cost_model/file", test_file);
	g_test_add_func("/cost_model/refused", test_refused);
	g_test_add_func("/cost_model/corrections", test_corrections);
	g_test_add_func("/cost_model/communication", test_communication);
	return g_test_run();
}
