/* registry: kernels of one's own, told by a file (docs/precision-registry.md): which names they have in recordings, with what numbers they
 * compute, and what they read, give out and keep.
 *
 * (1) A file is read whole or not at all; an error names the line.
 * (2) Names are matched by globs ('*', '?'); of several kernels that match, the first in the file counts. */
#ifndef TACHO_KERNEL_REGISTRY_H
#define TACHO_KERNEL_REGISTRY_H

#include <tacho/precision.h>

#include "precision/number_format.h"

#define REGISTRY_MAX_BYTES   (4u << 20)
#define REGISTRY_MAX_KERNELS 65536u

enum kernel_scale {
	KERNEL_SCALE_NONE, /* nothing was said: a floating format, or one scale for each tensor */
	KERNEL_PER_TENSOR,
	KERNEL_PER_CHANNEL,
	KERNEL_PER_BLOCK,
};

/* A tensor that a kernel reads; format N_NUMBER_FORMATS: the file does not say, it is that of the kernel. */
struct kernel_operand {
	enum number_format format;
	enum kernel_scale scale;
};

enum kernel_operand_name {
	KERNEL_X,
	KERNEL_W,
	KERNEL_Y,
	KERNEL_DY,
	KERNEL_DX,
	KERNEL_DW,
	N_KERNEL_OPERANDS
};

struct registered_kernel {
	gchar *name;
	GPtrArray *patterns; /* gchar: of annotations, operations or types of modules */
	enum number_format precision;
	struct kernel_operand operands[N_KERNEL_OPERANDS];
	gboolean fuses_quantize,
		fuses_dequantize; /* it casts what it reads, what it gives: no cast before, behind */
	gboolean has_saves;	  /* the file says what is kept for the backward pass: */
	enum number_format saved[N_KERNEL_OPERANDS]; /* N_NUMBER_FORMATS: it is not kept */
	gboolean saves_scales;
	gchar *variant_of; /* the operation that it is another form of: "aten::linear"; NULL: none */
	guint align_n, align_k, align_m; /* 0: any */
	guint line;			 /* where it begins */
};

typedef struct _KernelRegistry KernelRegistry;

/* The registry in a file, which the message of an error names. TACHO_PRECISION_ERROR_FORMAT, G_FILE_ERROR. */
KernelRegistry *kernel_registry_read(const gchar *path, GError **error);
KernelRegistry *kernel_registry_parse(const gchar *text, gsize n, GError **error);
void kernel_registry_free(KernelRegistry *registry);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(KernelRegistry, kernel_registry_free)

guint kernel_registry_n(const KernelRegistry *registry);
const struct registered_kernel *kernel_registry_at(const KernelRegistry *registry, guint index);
/* The first kernel one of whose patterns matches the name; NULL: none does. */
const struct registered_kernel *kernel_registry_find(const KernelRegistry *registry,
						     const gchar *name);
/* Whether it computes operations of that kind: of the one that it is a variant of, else of one that its names fit. */
gboolean registered_kernel_computes(const struct registered_kernel *kernel, const gchar *kind);
/* The format of an operand: as the file says, else that of the kernel; of y and gradients what number_format_result() and fp32 for dw say. */
enum number_format kernel_operand_format(const struct registered_kernel *kernel,
					 enum kernel_operand_name operand);

#endif
