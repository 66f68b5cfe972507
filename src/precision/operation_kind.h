/* operation_kind: what operations are called in identities, and what they keep for their backward pass, by the names that frameworks
 * give them (operation_kinds.def). The only place of this room that looks at the text of names. */
#ifndef TACHO_OPERATION_KIND_H
#define TACHO_OPERATION_KIND_H

#include <tacho/timeline.h>

/* What an operation keeps from its forward pass for its backward one. */
enum kept_for_backward {
	KEEPS_NOTHING = 0,
	KEEPS_INPUTS = 1 << 0, /* all tensors that it reads from other operations */
	KEEPS_WEIGHT = 1 << 1,
	KEEPS_OUTPUT = 1 << 2,
	KEEPS_MASK = 1 << 3, /* a byte for each number of the output */
	KEEPS_UNKNOWN = 1 << 4,
	KEEPS_STORAGE = 1 << 5, /* nothing itself, but its output may be the memory that it reads */
	KEEPS_WEIGHT_ALWAYS =
		1 << 6, /* ... whether the gradient of what it reads is wanted or not */
};

/* What casts do: the operation changes the format of numbers, and nothing else. */
enum cast_kind {
	CAST_NONE,
	CAST_CONVERTS, /* where the types of what it reads and writes differ */
	CAST_QUANTIZES,
	CAST_DEQUANTIZES,
};

/* The kind of an operation of that name: without its namespace ("aten::") and the underscores of variants, and the same for all
 * names of one thing: "addmm" and "linear" are "linear". `ret_kind` has room for OPERATION_KIND_BYTES. */
#define OPERATION_KIND_BYTES 64
void operation_kind_of_name(const gchar *name, gchar ret_kind[OPERATION_KIND_BYTES]);

/* enum kept_for_backward, by kind. */
guint operation_kind_keeps(const gchar *kind);
/* It multiplies matrices, or convolves: whose format is chosen where nothing tells. */
gboolean operation_kind_is_product(const gchar *kind);

enum cast_kind operation_cast_kind(const gchar *name);
/* It is autograd's node of a cast ("ToCopyBackward0"). */
gboolean operation_is_cast_node(const gchar *name);

/* The path of a module that a MODULE slice of that name stands for: "Net.layers.0.ffn (Linear)" is "layers.0.ffn", "Net" is "". Of
 * another root, "Critic" (roots: class -> name), "Critic:layers.0.ffn". To be freed with g_free(). */
gchar *operation_module_path(const gchar *name, GHashTable *roots);
/* Its type: "Linear"; of a root the whole name. To be freed with g_free(). */
gchar *operation_module_type(const gchar *name);

#endif
