/* A kernel of a library for experts is known by its namespace, or, where that has no name, by the name of its function. What
 * they only compute (DeepEP's layouts) is no communication. */
#include "trace/collective_names.h"

#include <string.h>

/* A piece of text that is not terminated. */
struct piece {
	const gchar *at;
	gsize n;
};

static gboolean begins_with(struct piece text, const gchar *prefix)
{
	gsize n = strlen(prefix);

	return text.n >= n && memcmp(text.at, prefix, n) == 0;
}

static gboolean has(struct piece text, const gchar *word)
{
	return memmem(text.at, text.n, word, strlen(word)) != NULL;
}

static struct piece without(struct piece text, const gchar *prefix)
{
	gsize n = strlen(prefix);

	return begins_with(text, prefix) ? (struct piece){ text.at + n, text.n - n } : text;
}

/* "tensorrt_llm::kernels::f<a::b>(c)" is f: what stands before its arguments, behind the last "::". */
static struct piece function_of(struct piece name)
{
	static const gchar unnamed[] = "(anonymous namespace)::";
	const gchar *found = memmem(name.at, name.n, unnamed, strlen(unnamed));
	gsize begin = found ? (gsize)(found - name.at) + strlen(unnamed) : 0, end = begin;

	while (end < name.n && name.at[end] != '<' && name.at[end] != '(') {
		if (name.at[end] == ':')
			begin = end + 1;
		end++;
	}
	return (struct piece){ name.at + begin, end - begin };
}

static gboolean is_expert_function(struct piece function)
{
	static const gchar *const functions[] = {
		"dispatchKernel",
		"combineKernel", /* pplx */
		"moeA2ADispatchKernel",
		"moeA2ACombineKernel",
		"moeAllToAllKernel", /* TensorRT-LLM */
		"allToAllV",
		"allToAllV_2d", /* PyTorch's symmetric memory */
	};

	for (guint i = 0; i < G_N_ELEMENTS(functions); i++)
		if (function.n == strlen(functions[i]) && begins_with(function, functions[i]))
			return TRUE;
	return begins_with(function, "EpDispatch") || begins_with(function, "EpCombine"); /* mori */
}

/* What the names of such functions begin with, namespaces included: there are many kernels, and few of these. */
static gboolean may_be_expert(struct piece name)
{
	static const gchar *const beginnings[] = {
		"(anonymous namespace)::", "dispatchKernel", "combineKernel", "c10d::", "allToAllV",
		"tensorrt_llm::",	   "moeA",	     "mori::",	      "Ep"
	};

	for (guint i = 0; i < G_N_ELEMENTS(beginnings); i++)
		if (name.at[0] == beginnings[i][0] && begins_with(name, beginnings[i]))
			return TRUE;
	return FALSE;
}

gboolean is_communication_kernel(const gchar *name, gsize n)
{
	struct piece text = without((struct piece){ name, n }, "void ");

	if (text.n == 0)
		return FALSE;
	if (begins_with(text, "nccl") || begins_with(text, "rccl") ||
	    begins_with(text, "mscclKernel"))
		return TRUE;
	if (begins_with(text, "deep_ep::"))
		return !begins_with(text, "deep_ep::layout::");
	return may_be_expert(text) && is_expert_function(function_of(text));
}

gboolean is_generic_kernel(const gchar *name, gsize n)
{
	struct piece text = without((struct piece){ name, n }, "void ");

	return (begins_with(text, "nccl") || begins_with(text, "rccl")) &&
	       (has(text, "_Generic") || has(text, "SendRecv"));
}
