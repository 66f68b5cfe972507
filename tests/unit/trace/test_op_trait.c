/* op_trait: operations of PyTorch in place; TensorFlow's gradients, and what applies them. */
#include "trace/op_trait.h"

static const struct {
	const gchar *name;
	enum op_trait trait;
} ops[] = {
	{ "aten::add_", OP_IN_PLACE },
	{ "aten::_foreach_addcdiv_", OP_IN_PLACE },
	{ "aten::add", OP_TRAIT_NONE },
	{ "aten::_softmax", OP_TRAIT_NONE },
	{ "gradients/dense/MatMul_grad/MatMul", OP_IN_GRADIENTS },
	{ "tower_0/gradients/AddN_1_", OP_IN_GRADIENTS },
	{ "my_gradients/AddN", OP_TRAIT_NONE },
	{ "ApplyMomentum", OP_APPLIES_GRADIENTS },
	{ "ResourceApplyAdam", OP_APPLIES_GRADIENTS },
	{ "SparseApplyAdagrad", OP_APPLIES_GRADIENTS },
	{ "ResourceSparseApplyFtrl", OP_APPLIES_GRADIENTS },
	{ "MatMul", OP_TRAIT_NONE },
	{ "", OP_TRAIT_NONE },
};

static void test_names(void)
{
	g_autoptr(TachoTimeline) timeline = tacho_timeline_new();

	for (guint i = 0; i < G_N_ELEMENTS(ops); i++) {
		guint32 name = tacho_timeline_intern(timeline, ops[i].name, -1);

		g_assert_cmpint(op_trait_of_name(timeline, name), ==, ops[i].trait);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/op_trait/names", test_names);
	return g_test_run();
}
