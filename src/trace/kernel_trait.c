/* ROCm's kernels: rocclr/device/blitcl.cpp. cuBLAS and CUTLASS have the formats of numbers in the names of their kernels. */
#include "trace/kernel_trait.h"

#include "trace/name_meaning.h"

static const struct name_rule rules[] = {
	{ NAME_HAS, "__amd_rocclr_copyBuffer", NULL, KERNEL_COPIES },
	{ NAME_HAS, "__amd_rocclr_fillBuffer", NULL, KERNEL_FILLS },
	{ NAME_HAS, "nchwToNhwc", NULL, KERNEL_CONVERTS_LAYOUT },
	{ NAME_HAS, "nhwcToNchw", NULL, KERNEL_CONVERTS_LAYOUT },
	{ NAME_HAS, "tf32", NULL, KERNEL_IN_TF32 },
	{ NAME_HAS, "bf16", NULL, KERNEL_IN_BF16 },
	{ NAME_HAS, "BFloat16", NULL, KERNEL_IN_BF16 },
	{ NAME_HAS, "f16", NULL, KERNEL_IN_FP16 },
	{ NAME_HAS, "h884", NULL, KERNEL_IN_FP16 },
	{ NAME_HAS, "h1688", NULL, KERNEL_IN_FP16 },
	{ NAME_HAS, "s884", NULL, KERNEL_IN_FP16 },
	{ NAME_HAS, "Half", NULL, KERNEL_IN_FP16 },
	{ NAME_HAS, "hgemm", NULL, KERNEL_IN_FP16 },
	{ NAME_HAS, "s1688", NULL, KERNEL_ON_TILES },
};

static guint judge(const gchar *name)
{
	return name_judge(name, rules, G_N_ELEMENTS(rules));
}

enum kernel_trait kernel_trait_of_name(const TachoTimeline *timeline, guint32 name)
{
	return (enum kernel_trait)name_meaning(timeline, name, NAME_OF_KERNEL_TRAIT, judge);
}
