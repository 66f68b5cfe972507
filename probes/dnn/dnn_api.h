/* dnn_api: the few functions of a oneDNN library that tell what a primitive does, found in that
 * library by name. Versions 2 and 3 differ in the values of some enumerations and in how a memory
 * descriptor is read; that difference ends here. No header of oneDNN is needed to build. */
#ifndef TACHO_DNN_API_H
#define TACHO_DNN_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DNN_MAX_DIMS 12 /* of a tensor, in both versions */

struct dnnl_primitive;
struct dnnl_primitive_desc;
struct dnnl_stream;
struct dnnl_exec_arg;
struct dnnl_memory_desc;

typedef int dnn_execute(const struct dnnl_primitive *primitive, struct dnnl_stream *stream,
			int n_arguments, const struct dnnl_exec_arg *arguments);

/* One of a primitive's tensors. `n_dims` 0: it has no such tensor. */
struct dnn_tensor {
	uint64_t bytes; /* 0: known only when executed */
	int64_t dims[DNN_MAX_DIMS];
	int32_t n_dims;
	int32_t data_type; /* enum dnn_data_type */
};

/* The same in both versions. */
enum dnn_data_type {
	DNN_F16 = 1,
	DNN_BF16,
	DNN_F32,
	DNN_S32,
	DNN_S8,
	DNN_U8,
	DNN_F64,
	DNN_BOOLEAN,
};

/* The tensors of a primitive by role: values of the query, the same in both versions. */
enum dnn_role {
	DNN_SRC = 129,
	DNN_DIFF_SRC,
	DNN_WEIGHTS,
	DNN_DIFF_WEIGHTS,
	DNN_DST,
	DNN_DIFF_DST,
};

struct dnn_api {
	dnn_execute *execute; /* whose library this is; NULL: not filled in */
	int major;	      /* 2 or 3; 0: none we know how to ask */
	int (*get_desc)(const struct dnnl_primitive *, const struct dnnl_primitive_desc **);
	int (*query)(const struct dnnl_primitive_desc *, int what, int index, void *result);
	const struct dnnl_memory_desc *(*query_tensor)(const struct dnnl_primitive_desc *, int what,
						       int index);
	size_t (*tensor_bytes)(const struct dnnl_memory_desc *);
	int (*tensor_query)(const struct dnnl_memory_desc *, int what,
			    void *result); /* from 3 on */
};

/* Find the functions in the library that defines `execute`. False: it cannot be asked; `ret_api`
 * then has major 0. */
bool dnn_api_init(dnn_execute *execute, struct dnn_api *ret_api);

/* What `primitive` is; the strings are the library's, the kind's is static. "" where not known. */
const struct dnnl_primitive_desc *dnn_api_desc(const struct dnn_api *api,
					       const struct dnnl_primitive *primitive);
const char *dnn_api_kind(const struct dnn_api *api, const struct dnnl_primitive_desc *desc);
const char *dnn_api_propagation(const struct dnn_api *api, const struct dnnl_primitive_desc *desc);
const char *dnn_api_implementation(const struct dnn_api *api,
				   const struct dnnl_primitive_desc *desc);

/* The `index`th tensor of that role. False: there is none. */
bool dnn_api_tensor(const struct dnn_api *api, const struct dnnl_primitive_desc *desc,
		    enum dnn_role role, int index, struct dnn_tensor *ret_tensor);

#endif
