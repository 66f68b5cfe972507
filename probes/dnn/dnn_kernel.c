#include "dnn/dnn_kernel.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/probe.h"

#define N_BUCKETS   1024 /* a power of 2 */
#define MAX_KERNELS 16384

static struct dnn_kernel *buckets[N_BUCKETS]; /* atomic heads */
static uint32_t n_kernels;

static const struct {
	const char *name;
	enum trace_dtype dtype;
} data_types[] = {
	[0] = { "undef", TRACE_DTYPE_UNKNOWN },
	[DNN_F16] = { "f16", TRACE_DTYPE_F16 },
	[DNN_BF16] = { "bf16", TRACE_DTYPE_BF16 },
	[DNN_F32] = { "f32", TRACE_DTYPE_F32 },
	[DNN_S32] = { "s32", TRACE_DTYPE_I32 },
	[DNN_S8] = { "s8", TRACE_DTYPE_I8 },
	[DNN_U8] = { "u8", TRACE_DTYPE_U8 },
	[DNN_F64] = { "f64", TRACE_DTYPE_F64 },
	[DNN_BOOLEAN] = { "boolean", TRACE_DTYPE_BOOL },
};

static const struct {
	enum dnn_role role;
	const char *name; /* as in oneDNN's verbose output */
} roles[] = {
	{ DNN_SRC, "src" },	{ DNN_DIFF_SRC, "diff_src" },
	{ DNN_WEIGHTS, "wei" }, { DNN_DIFF_WEIGHTS, "diff_wei" },
	{ DNN_DST, "dst" },	{ DNN_DIFF_DST, "diff_dst" },
};

#define N_ROLES	     (sizeof(roles) / sizeof(*roles))
#define N_DATA_TYPES ((int)(sizeof(data_types) / sizeof(*data_types)))

static int known_data_type(int data_type)
{
	return data_type > 0 && data_type < N_DATA_TYPES ? data_type : 0;
}

/* --- the signature ---------------------------------------------------------------------------- */

static uint32_t add_to_hash(uint32_t hash, uint64_t value)
{
	return (hash ^ (uint32_t)(value ^ value >> 32)) *
	       16777619u; /* as FNV-1a, a word at a time */
}

static uint32_t hash_of(const struct dnn_signature *signature)
{
	uint32_t hash = add_to_hash(2166136261u, (uintptr_t)signature->kind);

	hash = add_to_hash(hash, (uintptr_t)signature->propagation);
	for (uint32_t i = 0; i < signature->n_tensors; i++) {
		const struct dnn_tensor *tensor = &signature->tensors[i].tensor;

		for (int32_t d = 0; d < tensor->n_dims; d++)
			hash = add_to_hash(hash, (uint64_t)tensor->dims[d]);
	}
	return hash ^ hash >> 15;
}

bool dnn_signature_read(const struct dnn_api *api, const struct dnnl_primitive *primitive,
			struct dnn_signature *ret_signature)
{
	const struct dnnl_primitive_desc *desc = dnn_api_desc(api, primitive);
	struct dnn_signature *signature = ret_signature;
	const char *implementation;
	size_t length;

	if (!desc)
		return false;
	signature->kind = dnn_api_kind(api, desc);
	signature->propagation = dnn_api_propagation(api, desc);
	implementation = dnn_api_implementation(api, desc);
	length = strnlen(implementation, sizeof(signature->implementation) - 1);
	memcpy(signature->implementation, implementation, length);
	signature->implementation[length] = '\0';
	signature->n_tensors = 0;
	for (size_t i = 0; i < N_ROLES; i++) {
		for (int index = 0; signature->n_tensors < DNN_MAX_TENSORS; index++) {
			uint32_t place = signature->n_tensors;

			if (!dnn_api_tensor(api, desc, roles[i].role, index,
					    &signature->tensors[place].tensor))
				break;
			signature->tensors[place].role = roles[i].role;
			signature->n_tensors++;
		}
	}
	signature->hash = hash_of(signature);
	return true;
}

static bool tensors_are_equal(const struct dnn_tensor *one, const struct dnn_tensor *other)
{
	return one->n_dims == other->n_dims && one->data_type == other->data_type &&
	       one->bytes == other->bytes &&
	       !memcmp(one->dims, other->dims, (size_t)one->n_dims * sizeof(*one->dims));
}

static bool signatures_are_equal(const struct dnn_signature *one, const struct dnn_signature *other)
{
	if (one->hash != other->hash || one->kind != other->kind ||
	    one->propagation != other->propagation || one->n_tensors != other->n_tensors ||
	    strcmp(one->implementation, other->implementation) != 0)
		return false;
	for (uint32_t i = 0; i < one->n_tensors; i++)
		if (one->tensors[i].role != other->tensors[i].role ||
		    !tensors_are_equal(&one->tensors[i].tensor, &other->tensors[i].tensor))
			return false;
	return true;
}

/* --- what it says ----------------------------------------------------------------------------- */

/* The first tensor of either role, or NULL. */
static const struct dnn_tensor *tensor_of(const struct dnn_signature *signature, enum dnn_role role,
					  enum dnn_role other_role)
{
	for (uint32_t i = 0; i < signature->n_tensors; i++)
		if (signature->tensors[i].role == role || signature->tensors[i].role == other_role)
			return &signature->tensors[i].tensor;
	return NULL;
}

/* 0 where a size is known only when executed. */
static uint64_t n_elements(const struct dnn_tensor *tensor)
{
	uint64_t n = 1;

	for (int32_t i = 0; i < tensor->n_dims; i++)
		n *= tensor->dims[i] > 0 ? (uint64_t)tensor->dims[i] : 0;
	return n;
}

/* Each element of `result` is a sum over the weights of its channel. */
static uint64_t flops_by_channel(const struct dnn_tensor *result, const struct dnn_tensor *weights)
{
	if (!result || !weights || result->n_dims < 2 || result->dims[1] <= 0)
		return 0;
	return 2 * n_elements(result) * (n_elements(weights) / (uint64_t)result->dims[1]);
}

/* Multiplications and additions, padding counted as if it were data. 0: not known for this kind. */
static uint64_t flops_of(const struct dnn_signature *signature)
{
	const struct dnn_tensor *src = tensor_of(signature, DNN_SRC, DNN_DIFF_SRC);
	const struct dnn_tensor *weights = tensor_of(signature, DNN_WEIGHTS, DNN_DIFF_WEIGHTS);
	const struct dnn_tensor *dst = tensor_of(signature, DNN_DST, DNN_DIFF_DST);

	if (!strcmp(signature->kind, "convolution") || !strcmp(signature->kind, "inner_product"))
		return flops_by_channel(dst, weights);
	if (!strcmp(signature->kind, "deconvolution"))
		return flops_by_channel(src, weights);
	if (!strcmp(signature->kind, "matmul") && src && dst && src->n_dims >= 2 &&
	    src->dims[src->n_dims - 1] > 0)
		return 2 * n_elements(dst) * (uint64_t)src->dims[src->n_dims - 1];
	return 0;
}

struct text {
	char *bytes;
	size_t size, length;
};

static void __attribute__((format(printf, 2, 3))) append(struct text *text, const char *format, ...)
{
	va_list arguments;
	int added;

	va_start(arguments, format);
	added = vsnprintf(text->bytes + text->length, text->size - text->length, format, arguments);
	va_end(arguments);
	if (added > 0)
		text->length += (size_t)added;
	if (text->length >= text->size)
		text->length = text->size - 1; /* cut */
}

/* A second tensor of weights is the bias, but for the kinds that have more of both. */
static const char *tensor_name(const struct dnn_signature *signature, uint32_t place)
{
	enum dnn_role role = signature->tensors[place].role;
	bool is_second = place && signature->tensors[place - 1].role == role;

	if (is_second && strcmp(signature->kind, "rnn") != 0 && role == DNN_WEIGHTS)
		return "bia";
	if (is_second && strcmp(signature->kind, "rnn") != 0 && role == DNN_DIFF_WEIGHTS)
		return "diff_bia";
	for (size_t i = 0; i < N_ROLES; i++)
		if (roles[i].role == role)
			return roles[i].name;
	return "";
}

/* "src:f32:16x3x32x32 wei:f32:8x3x3x3 dst:f32:16x8x30x30" */
static void write_tensors(const struct dnn_signature *signature, struct text *text)
{
	for (uint32_t i = 0; i < signature->n_tensors; i++) {
		const struct dnn_tensor *tensor = &signature->tensors[i].tensor;

		append(text, "%s%s:%s:", i ? " " : "", tensor_name(signature, i),
		       data_types[known_data_type(tensor->data_type)].name);
		for (int32_t d = 0; d < tensor->n_dims; d++) {
			if (tensor->dims[d] < 0)
				append(text, "%s*", d ? "x" : "");
			else
				append(text, "%s%lld", d ? "x" : "", (long long)tensor->dims[d]);
		}
	}
}

static void fill_kernel(struct dnn_kernel *kernel, const struct dnn_signature *signature)
{
	const struct dnn_tensor *dst = tensor_of(signature, DNN_DST, DNN_DIFF_DST);
	struct text name = { kernel->name, sizeof(kernel->name), 0 };
	struct text text = { kernel->text, sizeof(kernel->text), 0 };

	memset(kernel, 0, sizeof(*kernel));
	kernel->signature = *signature;
	append(&name, "%s", *signature->kind ? signature->kind : "primitive");
	if (*signature->propagation)
		append(&name, " %s", signature->propagation);
	if (*signature->implementation)
		append(&name, " %s", signature->implementation);
	write_tensors(signature, &text);
	kernel->n_text = (uint32_t)((text.length + 7) & ~(size_t)7);
	kernel->flops = flops_of(signature);
	for (uint32_t i = 0; i < signature->n_tensors; i++)
		kernel->bytes += signature->tensors[i].tensor.bytes;
	if (signature->n_tensors)
		kernel->dtype =
			data_types[known_data_type(signature->tensors[0].tensor.data_type)].dtype;
	if (!dst)
		return;
	kernel->n_dims = (uint32_t)dst->n_dims;
	memcpy(kernel->dims, dst->dims, (size_t)dst->n_dims * sizeof(*dst->dims));
}

struct new_kernel {
	const struct dnn_signature *signature;
	struct dnn_kernel *kernel; /* what it is to be made of, then what it is */
};

static void add_kernel(void *new_pointer)
{
	struct new_kernel *new = new_pointer;
	struct dnn_kernel **bucket = &buckets[new->signature->hash % N_BUCKETS];
	struct dnn_kernel *head = __atomic_load_n(bucket, __ATOMIC_ACQUIRE), *kernel = NULL;

	if (__atomic_load_n(&n_kernels, __ATOMIC_RELAXED) < MAX_KERNELS)
		kernel = malloc(sizeof(*kernel));
	fill_kernel(kernel ? kernel : new->kernel, new->signature);
	if (!kernel)
		return;
	new->kernel = kernel;
	__atomic_fetch_add(&n_kernels, 1, __ATOMIC_RELAXED);
	/* Another thread may add the same: then it is there twice, and both are right. */
	do {
		kernel->next = head;
	} while (!__atomic_compare_exchange_n(bucket, &head, kernel, false, __ATOMIC_RELEASE,
					      __ATOMIC_ACQUIRE));
}

struct dnn_kernel *dnn_kernel_find(const struct dnn_signature *signature, struct dnn_kernel *spare)
{
	struct new_kernel new = { .signature = signature, .kernel = spare };

	for (struct dnn_kernel *known =
		     __atomic_load_n(&buckets[signature->hash % N_BUCKETS], __ATOMIC_ACQUIRE);
	     known; known = known->next)
		if (signatures_are_equal(&known->signature, signature))
			return known;
	return tacho_run_aside(add_kernel, &new) ? new.kernel : NULL;
}
