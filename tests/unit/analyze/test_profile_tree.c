/* The model of TensorFlow's tfprof documentation, by hand: six operations of one step. */
#include "analyze/profile_tree.h"

#include <string.h>

#include "analyze/op_flops.h"
#include "timeline_text.h"

struct model {
	TachoTimeline *timeline;
	TachoProfileOptions *options;
	TachoFilter filter;
	struct selection selection;
	struct profile_tree tree;
	guint32 x, w, matmul, relu, loss, side;
};

static guint32 add(struct profile_tree *tree, const gchar *name, const gchar *type, gdouble host_us,
		   gdouble device_us, gdouble flops, gdouble params)
{
	guint32 node = profile_tree_add(tree, name, name, type);
	struct profile_node *at = profile_node_at(tree, node);

	at->self[TACHO_METRIC_HOST] = host_us * 1e3;
	at->self[TACHO_METRIC_DEVICE] = device_us * 1e3;
	at->self[TACHO_METRIC_TIME] = (host_us + device_us) * 1e3;
	at->self[TACHO_METRIC_FLOPS] = flops;
	at->self[TACHO_METRIC_PARAMS] = params;
	at->self[TACHO_METRIC_RUNS] = 1;
	profile_tree_mark_present(tree, node, 0);
	return node;
}

static void set(struct model *model, const gchar *name, const gchar *value)
{
	GError *error = NULL;

	tacho_profile_options_set(model->options, name, value, &error);
	g_assert_no_error(error);
}

/* options: NAME, VALUE ..., NULL */
static void model_init(struct model *model, const gchar *const *options)
{
	*model = (struct model){ .timeline = timeline_from_text("rank 0 thread 1 main\n"),
				 .options = tacho_profile_options_new(),
				 .filter = TACHO_FILTER_INIT };
	for (guint i = 0; options && options[i]; i += 2)
		set(model, options[i], options[i + 1]);
	selection_init(&model->selection, model->timeline, &model->filter);
	profile_tree_init(&model->tree, model->options, &model->selection);
	model->x = add(&model->tree, "x", "Placeholder", 2, 0, 0, 0);
	model->w = add(&model->tree, "w", "VariableV2", 1, 0, 0, 12);
	model->matmul = add(&model->tree, "layer/MatMul", "MatMul", 10, 50, 192, 0);
	model->relu = add(&model->tree, "layer/Relu", "Relu", 5, 20, 0, 0);
	model->loss = add(&model->tree, "loss", "L2Loss", 4, 6, 71, 0);
	model->side = add(&model->tree, "side", "Identity", 3, 0, 0, 0);
}

static void model_release(struct model *model)
{
	profile_tree_release(&model->tree);
	selection_release(&model->selection);
	tacho_profile_options_free(model->options);
	tacho_timeline_free(model->timeline);
}

static void link_scope(struct model *model)
{
	guint32 layer = profile_tree_add(&model->tree, "layer", "layer", NULL);

	model->tree.keeps_prefixes = TRUE;
	profile_tree_link(&model->tree, 0, layer);
	profile_tree_link(&model->tree, layer, model->matmul);
	profile_tree_link(&model->tree, layer, model->relu);
	profile_tree_link(&model->tree, 0, model->loss);
	profile_tree_link(&model->tree, 0, model->side);
	profile_tree_link(&model->tree, 0, model->w);
	profile_tree_link(&model->tree, 0, model->x);
}

static void link_graph(struct model *model)
{
	profile_tree_link(&model->tree, 0, model->loss);
	profile_tree_link(&model->tree, 0, model->side);
	profile_tree_link(&model->tree, model->loss, model->relu);
	profile_tree_link(&model->tree, model->relu, model->matmul);
	profile_tree_link(&model->tree, model->matmul, model->x);
	profile_tree_link(&model->tree, model->matmul, model->w);
	profile_tree_link(&model->tree, model->side, model->matmul);
}

/* "name self/total" a line, indented by depth; microseconds. */
static void expect_rows(struct model *model, const gchar *expected)
{
	g_autoptr(GString) rows = g_string_new(NULL);

	profile_tree_select(&model->tree, &model->selection);
	for (guint i = 0; i < model->tree.rows->len; i++) {
		const struct profile_node *node =
			profile_node_at(&model->tree, g_array_index(model->tree.rows, guint32, i));

		g_string_append_printf(rows, "%*s%s ", (gint)node->depth, "", node->label);
		if (node->is_accounted)
			g_string_append_printf(rows, "%g", node->self[TACHO_METRIC_TIME] / 1e3);
		else
			g_string_append(rows, "--");
		g_string_append_printf(rows, "/%g\n", node->total[TACHO_METRIC_TIME] / 1e3);
	}
	g_assert_cmpstr(rows->str, ==, expected);
}

static void check(gboolean is_graph, const gchar *const *options, const gchar *expected)
{
	struct model model;

	model_init(&model, options);
	if (is_graph)
		link_graph(&model);
	else
		link_scope(&model);
	expect_rows(&model, expected);
	model_release(&model);
}

#define OPTIONS(...) ((const gchar *const[]){ __VA_ARGS__, NULL })

static void test_scope(void)
{
	check(FALSE, NULL,
	      "(all) --/101\n"
	      " layer --/85\n"
	      "  layer/MatMul 60/60\n"
	      "  layer/Relu 25/25\n"
	      " loss 10/10\n"
	      " side 3/3\n"
	      " x 2/2\n"
	      " w 1/1\n");
	check(FALSE, OPTIONS("account", "MatMul,Relu"),
	      "(all) --/85\n"
	      " layer --/85\n"
	      "  layer/MatMul 60/60\n"
	      "  layer/Relu 25/25\n");
	check(FALSE, OPTIONS("order_by", "name", "max_depth", "2"),
	      "(all) --/101\n"
	      " layer --/85\n"
	      " loss 10/10\n"
	      " side 3/3\n"
	      " w 1/1\n"
	      " x 2/2\n");
	check(FALSE, OPTIONS("max_depth", "1"), "(all) --/101\n");
}

static void test_graph(void)
{
	check(TRUE, NULL,
	      "(all) --/101\n"
	      " loss 10/98\n"
	      "  layer/Relu 25/88\n"
	      "   layer/MatMul 60/63\n"
	      "    x 2/2\n"
	      "    w 1/1\n"
	      " side 3/3\n");
	check(TRUE, OPTIONS("account", "MatMul,Relu"),
	      "(all) --/85\n"
	      " layer/Relu 25/85\n"
	      "  layer/MatMul 60/60\n");
	check(TRUE, OPTIONS("hide", "layer/Relu"),
	      "(all) --/101\n"
	      " loss 10/98\n"
	      "  layer/MatMul 60/63\n"
	      "   x 2/2\n"
	      "   w 1/1\n"
	      " side 3/3\n");
	check(TRUE, OPTIONS("hide", "layer/Relu", "displayed_only", "yes"),
	      "(all) --/76\n"
	      " loss 10/73\n"
	      "  layer/MatMul 60/63\n"
	      "   x 2/2\n"
	      "   w 1/1\n"
	      " side 3/3\n");
}

static void test_start_trim_show(void)
{
	/* the root keeps the totals of the whole */
	check(TRUE, OPTIONS("start", "layer/.*"),
	      "(all) --/101\n"
	      " layer/Relu 25/88\n"
	      "  layer/MatMul 60/63\n"
	      "   x 2/2\n"
	      "   w 1/1\n");
	check(TRUE, OPTIONS("start", "layer/.*", "trim", "layer/MatMul"),
	      "(all) --/101\n"
	      " layer/Relu 25/88\n"
	      "  layer/MatMul 60/63\n");
	check(TRUE, OPTIONS("show", "x,side"),
	      "(all) --/101\n"
	      " side 3/3\n"
	      " x 2/2\n");
	/* a whole match, so "lay" is none */
	check(FALSE, OPTIONS("show", "lay"), "(all) --/101\n");
}

/* One meaning in every view: min METRIC is of totals, min self_METRIC of the node alone. */
static void test_minimums(void)
{
	check(FALSE, OPTIONS("min", "micros=25"),
	      "(all) --/101\n"
	      " layer --/85\n"
	      "  layer/MatMul 60/60\n"
	      "  layer/Relu 25/25\n");
	check(FALSE, OPTIONS("min", "self_micros=10"),
	      "(all) --/101\n"
	      " layer/MatMul 60/60\n"
	      " layer/Relu 25/25\n"
	      " loss 10/10\n");
	check(FALSE, OPTIONS("min", "float_ops=1", "order_by", "float_ops", "displayed_only", "1"),
	      "(all) --/70\n"
	      " layer --/60\n"
	      "  layer/MatMul 60/60\n"
	      " loss 10/10\n");
	check(FALSE, OPTIONS("account", "_trainable_variables"), "(all) --/1\n w 1/1\n");
	check(FALSE, OPTIONS("account", "device", "max_depth", "2"),
	      "(all) --/95\n layer --/85\n loss 10/10\n");
}

static void test_totals(void)
{
	struct model model;
	const struct profile_node *root;

	model_init(&model, NULL);
	link_scope(&model);
	profile_tree_select(&model.tree, &model.selection);
	root = profile_node_at(&model.tree, 0);
	g_assert_cmpfloat(root->total[TACHO_METRIC_FLOPS], ==, 263);
	g_assert_cmpfloat(root->total[TACHO_METRIC_PARAMS], ==, 12);
	g_assert_cmpfloat(root->total[TACHO_METRIC_RUNS], ==, 6);
	g_assert_cmpuint(root->definitions, ==, 6); /* "layer" is none */
	model_release(&model);
}

/* 10 us in one step, 30 in another, absent in a third. */
static void test_means(void)
{
	static const struct {
		const gchar *mean;
		gdouble us;
	} cases[] = { { "present", 20 }, { "all", 40.0 / 3 }, { "none", 40 } };

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(TachoTimeline) timeline = timeline_from_text("rank 0 thread 1\n"
								       "rank 1 thread 1\n"
								       "rank 2 thread 1\n");
		g_autoptr(TachoProfileOptions) options = tacho_profile_options_new();
		TachoFilter filter = TACHO_FILTER_INIT;
		struct selection selection;
		struct profile_tree tree;
		guint32 node;

		tacho_profile_options_set(options, "mean", cases[i].mean, NULL);
		selection_init(&selection, timeline, &filter);
		profile_tree_init(&tree, options, &selection);
		node = add(&tree, "a", "A", 40, 0, 0, 0);
		profile_tree_mark_present(&tree, node, 1);
		profile_tree_link(&tree, 0, node);
		profile_tree_select(&tree, &selection);
		g_assert_cmpfloat_with_epsilon(profile_node_at(&tree, 0)->total[TACHO_METRIC_TIME],
					       cases[i].us * 1e3, 1e-9);
		profile_tree_release(&tree);
		selection_release(&selection);
	}
}

static void test_deep(void)
{
	struct model model;
	guint32 above = 0;

	model_init(&model, NULL);
	for (guint i = 0; i < 200000; i++) {
		guint32 node = add(&model.tree, "n", "N", 1, 0, 0, 0);

		profile_tree_link(&model.tree, above, node);
		above = node;
	}
	profile_tree_select(&model.tree, &model.selection);
	g_assert_cmpfloat(profile_node_at(&model.tree, 0)->total[TACHO_METRIC_TIME], ==, 2e8);
	g_assert_cmpuint(model.tree.rows->len, ==, 200001);
	model_release(&model);
}

static void test_bad_options(void)
{
	static const gchar *const bad[][2] = {
		{ "colour", "red" },	       { "select", "micros,weight" },
		{ "order_by", "weight" },      { "min", "micros" },
		{ "min", "weight=1" },	       { "min", "micros=x" },
		{ "max_depth", "-1" },	       { "show", "(" },
		{ "displayed_only", "maybe" }, { "mean", "geometric" },
	};
	g_autoptr(TachoProfileOptions) options = tacho_profile_options_new();

	for (guint i = 0; i < G_N_ELEMENTS(bad); i++) {
		g_autoptr(GError) error = NULL;

		g_assert_false(tacho_profile_options_set(options, bad[i][0], bad[i][1], &error));
		g_assert_nonnull(error);
		g_assert_true(g_str_has_prefix(error->message, bad[i][0]));
	}
	g_assert_cmpuint(options->order, ==, TACHO_METRIC_TIME);
	g_assert_true(tacho_profile_options_set(options, "order_by", "depth", NULL));
	g_assert_true(tacho_profile_options_set(options, "order_by", "occurrence", NULL));
	g_assert_true(tacho_profile_options_set(options, "show", ".*", NULL));
	g_assert_null(options->show);
}

/* --- floating-point operations ---------------------------------------------------------------- */

static void test_flops(void)
{
	static const struct {
		const gchar *op;
		gdouble flops;
	} cases[] = {
		{ "MatMul 0..1 in=float32[8,4] in=float32[4,3] out=float32[8,3]", 192 },
		{ "MatMul 0..1 in=float32[4,8] in=float32[4,3] out=float32[8,3]", 192 },
		{ "L2Loss 0..1 in=float32[8,3] out=float32[]", 71 },
		{ "aten::addmm 0..1 in=float32[3] in=float32[8,4] in=float32[4,3] out=float32[8,3]",
		  192 },
		{ "aten::bmm 0..1 in=float32[5,8,4] in=float32[5,4,3] out=float32[5,8,3]", 960 },
		{ "aten::mkldnn_convolution 0..1 in=float32[2,3,8,8] in=float32[4,3,3,3] "
		  "out=float32[2,4,6,6]",
		  2 * 288 * 27 },
		{ "aten::convolution_backward 0..1 in=float32[2,4,6,6] in=float32[2,3,8,8] "
		  "in=float32[4,3,3,3] out=float32[4,3,3,3] out=float32[4]",
		  2 * 288 * 27 },
		{ "aten::_softmax 0..1 in=float32[8,3] out=float32[8,3]", 120 },
		{ "aten::add_ 0..1 in=float32[8,3] in=float32[8,3] out=float32[8,3]", 24 },
		{ "aten::sum 0..1 in=float32[8,3] out=float32[3]", 21 },
		{ "AddN 0..1 in=float32[8] in=float32[8] in=float32[8] out=float32[8]", 16 },
		{ "aten::view 0..1 in=float32[8,3] out=float32[24]", 0 },
		{ "L2Loss 0..1 in=float32[0] out=float32[]", 0 },
		{ "aten::mm 0..1 in=float32[0,4] in=float32[4,3] out=float32[0,3]", 0 },
		{ "aten::convolution 0..1 in=float32[2,3,8,8] in=float32[4,3] out=float32[2,4,6,6]",
		  -1 },
		{ "aten::convolution_backward 0..1 in=float32[2,4,6,6] in=float32[2,3,8,8] "
		  "in=float32[4,3,3,3] out=float32[2,3,8,8] out=float32[4,3,3,3] out=float32[4]",
		  2 * 2 * 288 * 27 },
		/* of each of 2 x 4 x 8 queries with 32 keys of 16 numbers: two products */
		{ "aten::scaled_dot_product_attention 0..1 in=float32[2,4,8,16] "
		  "in=float32[2,4,32,16] in=float32[2,4,32,16] out=float32[2,4,8,16]",
		  2 * 2 * (2 * 4 * 8) * 32 * 16 },
		{ "aten::_scaled_dot_product_flash_attention 0..1 in=float32[2,4,8,16]", -1 },
		/* height, width, 3 channels, 4 maps: 6 x 6 places of 3 x 3 x 3 */
		{ "Conv2D 0..1 in=float32[2,8,8,3] in=float32[3,3,3,4] out=float32[2,6,6,4]",
		  2 * 288 * 27 },
		{ "Conv2D 0..1 in=float32[2,8,8,3] in=float32[3,4] out=float32[2,6,6,4]", -1 },
		{ "Conv2D 0..1 in=float32[2,8,8,3] in=float32[3,3,3,0] out=float32[2,6,6,0]", 0 },
		{ "DepthwiseConv2dNative 0..1 in=float32[2,8,8,4] in=float32[3,3,4,1] "
		  "out=float32[2,6,6,4]",
		  2 * 288 * 9 },
		{ "Conv2DBackpropInput 0..1 in=float32[4] in=float32[3,3,3,4] in=float32[2,6,6,4]",
		  2 * 288 * 27 },
		{ "Conv2DBackpropInput 0..1 in=float32[4] in=float32[3,3,3,4]", -1 },
		{ "Conv2DBackpropFilter 0..1 in=float32[2,8,8,3] in=float32[4] "
		  "in=float32[2,6,6,4] out=float32[3,3,3,4]",
		  2 * 288 * 27 },
		{ "Conv2DBackpropFilter 0..1 in=float32[2,8,8,3] in=float32[4] "
		  "in=float32[2,6,6,4]",
		  -1 },
		{ "avg_pool2d_backward 0..1 in=float32[2] out=float32[8,3]", 24 },
		{ "c10d::mul 0..1 in=float32[8,3] out=float32[8,3]", -1 },
		{ "aten::mystery 0..1 in=float32[8,3] out=float32[24]", -1 },
		{ "aten::mul 0..1", -1 },
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree gchar *text = g_strdup_printf("rank 0 thread 1\nop %s\n", cases[i].op);
		g_autoptr(TachoTimeline) timeline = timeline_from_text(text);

		g_assert_cmpfloat_with_epsilon(op_flops(timeline, 0), cases[i].flops, 1e-6);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/profile_tree/scope", test_scope);
	g_test_add_func("/profile_tree/graph", test_graph);
	g_test_add_func("/profile_tree/start_trim_show", test_start_trim_show);
	g_test_add_func("/profile_tree/minimums", test_minimums);
	g_test_add_func("/profile_tree/totals", test_totals);
	g_test_add_func("/profile_tree/means", test_means);
	g_test_add_func("/profile_tree/deep", test_deep);
	g_test_add_func("/profile_tree/bad_options", test_bad_options);
	g_test_add_func("/op_flops/formulas", test_flops);
	return g_test_run();
}
