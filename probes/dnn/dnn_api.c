#include "dnn/dnn_api.h"

#include <dlfcn.h>
#include <string.h>

/* Queries: the same in both versions up to 128, and those of tensors from version 3 on. */
enum query {
	QUERY_PRIMITIVE_KIND = 2,
	QUERY_IMPLEMENTATION = 8,
	QUERY_PROPAGATION = 11,
	QUERY_TENSOR_N_DIMS = 256,
	QUERY_TENSOR_DIMS,
	QUERY_TENSOR_DATA_TYPE,
};

static const char *const kinds_2[] = {
	"",
	"reorder",
	"shuffle",
	"concat",
	"sum",
	"convolution",
	"deconvolution",
	"eltwise",
	"softmax",
	"pooling",
	"lrn",
	"batch_normalization",
	"layer_normalization",
	"inner_product",
	"rnn",
	"gemm",
	"binary",
	"logsoftmax",
	"matmul",
	"resampling",
	"pooling_v2",
	"reduction",
	"prelu",
	"softmax_v2",
};

static const char *const kinds_3[] = {
	"",
	"reorder",
	"shuffle",
	"concat",
	"sum",
	"convolution",
	"deconvolution",
	"eltwise",
	"lrn",
	"batch_normalization",
	"inner_product",
	"rnn",
	"gemm",
	"binary",
	"matmul",
	"resampling",
	"pooling",
	"reduction",
	"prelu",
	"softmax",
	"layer_normalization",
	"group_normalization",
};

#define N_KINDS(kinds) ((int)(sizeof(kinds) / sizeof(*(kinds))))

/* The head of version 2's memory descriptor; version 3 has made it opaque. */
struct memory_desc_2 {
	int n_dims;
	int64_t dims[DNN_MAX_DIMS];
	int data_type;
};

struct version {
	int major, minor, patch;
};

bool dnn_api_init(dnn_execute *execute, struct dnn_api *ret_api)
{
	const struct version *(*get_version)(void);
	struct dnn_api api = { .execute = execute };
	Dl_info info;
	void *library;

	*ret_api = api;
	if (!dladdr((void *)execute, &info))
		return false;
	library = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
	if (!library)
		return false;
	get_version = dlsym(library, "dnnl_version");
	api.get_desc = dlsym(library, "dnnl_primitive_get_primitive_desc");
	api.query = dlsym(library, "dnnl_primitive_desc_query");
	api.query_tensor = dlsym(library, "dnnl_primitive_desc_query_md");
	api.tensor_bytes = dlsym(library, "dnnl_memory_desc_get_size");
	api.tensor_query = dlsym(library, "dnnl_memory_desc_query");
	if (get_version && api.get_desc && api.query && api.query_tensor && api.tensor_bytes)
		api.major = get_version()->major;
	dlclose(library); /* the caller's real_function keeps it */
	if (api.major != 2 && !(api.major == 3 && api.tensor_query))
		return false;
	*ret_api = api;
	return true;
}

const struct dnnl_primitive_desc *dnn_api_desc(const struct dnn_api *api,
					       const struct dnnl_primitive *primitive)
{
	const struct dnnl_primitive_desc *desc = NULL;

	return primitive && api->get_desc(primitive, &desc) == 0 ? desc : NULL;
}

const char *dnn_api_kind(const struct dnn_api *api, const struct dnnl_primitive_desc *desc)
{
	const char *const *kinds = api->major == 2 ? kinds_2 : kinds_3;
	int n_kinds = api->major == 2 ? N_KINDS(kinds_2) : N_KINDS(kinds_3);
	int kind = 0;

	if (api->query(desc, QUERY_PRIMITIVE_KIND, 0, &kind) != 0 || kind < 0 || kind >= n_kinds)
		return "";
	return kinds[kind];
}

const char *dnn_api_propagation(const struct dnn_api *api, const struct dnnl_primitive_desc *desc)
{
	int propagation = 0;

	if (api->query(desc, QUERY_PROPAGATION, 0, &propagation) != 0)
		return "";
	switch (propagation) {
	case 64:
		return "forward_training";
	case 96:
		return "forward_inference";
	case 128:
		return "backward";
	case 160:
		return "backward_data";
	case 192:
		return "backward_weights";
	case 193:
		return "backward_bias";
	}
	return "";
}

const char *dnn_api_implementation(const struct dnn_api *api,
				   const struct dnnl_primitive_desc *desc)
{
	const char *name = NULL;

	return api->query(desc, QUERY_IMPLEMENTATION, 0, &name) == 0 && name ? name : "";
}

static bool read_tensor_2(const struct dnnl_memory_desc *memory, struct dnn_tensor *tensor)
{
	const struct memory_desc_2 *desc = (const struct memory_desc_2 *)memory;

	tensor->n_dims = desc->n_dims;
	if (desc->n_dims <= 0 || desc->n_dims > DNN_MAX_DIMS)
		return false;
	memcpy(tensor->dims, desc->dims, (size_t)desc->n_dims * sizeof(*desc->dims));
	tensor->data_type = desc->data_type;
	return true;
}

static bool read_tensor_3(const struct dnn_api *api, const struct dnnl_memory_desc *memory,
			  struct dnn_tensor *tensor)
{
	const int64_t *dims = NULL; /* the library hands out the array's address */

	if (api->tensor_query(memory, QUERY_TENSOR_N_DIMS, &tensor->n_dims) != 0 ||
	    tensor->n_dims <= 0 || tensor->n_dims > DNN_MAX_DIMS)
		return false;
	if (api->tensor_query(memory, QUERY_TENSOR_DIMS, &dims) != 0 || !dims ||
	    api->tensor_query(memory, QUERY_TENSOR_DATA_TYPE, &tensor->data_type) != 0)
		return false;
	memcpy(tensor->dims, dims, (size_t)tensor->n_dims * sizeof(*dims));
	return true;
}

bool dnn_api_tensor(const struct dnn_api *api, const struct dnnl_primitive_desc *desc,
		    enum dnn_role role, int index, struct dnn_tensor *ret_tensor)
{
	const struct dnnl_memory_desc *memory = api->query_tensor(desc, role, index);
	struct dnn_tensor tensor = { 0 };

	if (!memory)
		return false;
	if (!(api->major == 2 ? read_tensor_2(memory, &tensor)
			      : read_tensor_3(api, memory, &tensor)))
		return false;
	tensor.bytes = api->tensor_bytes(memory);
	if (tensor.bytes > INT64_MAX) /* DNNL_RUNTIME_SIZE_VAL */
		tensor.bytes = 0;
	*ret_tensor = tensor;
	return true;
}
