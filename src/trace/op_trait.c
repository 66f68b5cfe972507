/* TensorFlow's types that apply gradients: tensorflow/core/ops/training_ops.cc. Its gradients are in a scope "gradients",
 * tensorflow/python/ops/gradients_util.py. */
#include "trace/op_trait.h"

#include "trace/name_meaning.h"

static const struct name_rule rules[] = {
	{ NAME_BEGINS, "gradients/", NULL, OP_IN_GRADIENTS },
	{ NAME_HAS, "/gradients/", NULL, OP_IN_GRADIENTS },
	{ NAME_ENDS, "_", NULL, OP_IN_PLACE },
	{ NAME_BEGINS, "Apply", NULL, OP_APPLIES_GRADIENTS },
	{ NAME_BEGINS, "ResourceApply", NULL, OP_APPLIES_GRADIENTS },
	{ NAME_BEGINS, "SparseApply", NULL, OP_APPLIES_GRADIENTS },
	{ NAME_BEGINS, "ResourceSparseApply", NULL, OP_APPLIES_GRADIENTS },
};

static guint judge(const gchar *name)
{
	return name_judge(name, rules, G_N_ELEMENTS(rules));
}

enum op_trait op_trait_of_name(const TachoTimeline *timeline, guint32 name)
{
	return (enum op_trait)name_meaning(timeline, name, NAME_OF_OP_TRAIT, judge);
}
