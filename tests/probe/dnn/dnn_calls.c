/* Executes a convolution and a matrix product by oneDNN's C interface, and prints sums of the
 * results: with and without the probe the output must be the same. */
#include <oneapi/dnnl/dnnl.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(call)                                                                                \
	do {                                                                                       \
		dnnl_status_t status_ = (call);                                                    \
                                                                                                   \
		if (status_ != dnnl_success) {                                                     \
			fprintf(stderr, "%s: %d\n", #call, status_);                               \
			exit(2);                                                                   \
		}                                                                                  \
	} while (0)

static dnnl_engine_t engine;
static dnnl_stream_t stream;

static dnnl_memory_desc_t describe(int n_dims, const dnnl_dim_t *dims)
{
	static const dnnl_format_tag_t tags[] = { 0, dnnl_a, dnnl_ab, dnnl_abc, dnnl_abcd };
	dnnl_memory_desc_t desc;

	CHECK(dnnl_memory_desc_init_by_tag(&desc, n_dims, dims, dnnl_f32, tags[n_dims]));
	return desc;
}

static dnnl_memory_t allocate(const dnnl_memory_desc_t *desc, int seed)
{
	size_t n = dnnl_memory_desc_get_size(desc) / sizeof(float);
	dnnl_memory_t memory;
	float *values;

	CHECK(dnnl_memory_create(&memory, desc, engine, DNNL_MEMORY_ALLOCATE));
	CHECK(dnnl_memory_get_data_handle(memory, (void **)&values));
	for (size_t i = 0; i < n; i++)
		values[i] = (float)((i * 7 + (size_t)seed) % 13);
	return memory;
}

static double sum(dnnl_memory_t memory, const dnnl_memory_desc_t *desc)
{
	size_t n = dnnl_memory_desc_get_size(desc) / sizeof(float);
	double sum = 0;
	float *values;

	CHECK(dnnl_memory_get_data_handle(memory, (void **)&values));
	for (size_t i = 0; i < n; i++)
		sum += values[i];
	return sum;
}

/* Execute what `op` describes, with these tensors, and print the sum of the result. */
static void execute(const_dnnl_op_desc_t op, dnnl_memory_desc_t src, dnnl_memory_desc_t weights,
		    dnnl_memory_desc_t dst)
{
	dnnl_exec_arg_t arguments[] = {
		{ DNNL_ARG_SRC, allocate(&src, 1) },
		{ DNNL_ARG_WEIGHTS, allocate(&weights, 2) },
		{ DNNL_ARG_DST, allocate(&dst, 3) },
	};
	dnnl_primitive_desc_t desc;
	dnnl_primitive_t primitive;

	CHECK(dnnl_primitive_desc_create(&desc, op, NULL, engine, NULL));
	CHECK(dnnl_primitive_create(&primitive, desc));
	CHECK(dnnl_primitive_execute(primitive, stream, 3, arguments));
	CHECK(dnnl_stream_wait(stream));
	printf("%.17g\n", sum(arguments[2].memory, &dst));
	for (int i = 0; i < 3; i++)
		dnnl_memory_destroy(arguments[i].memory);
	dnnl_primitive_destroy(primitive);
	dnnl_primitive_desc_destroy(desc);
}

static void convolve(void)
{
	dnnl_memory_desc_t src = describe(4, (dnnl_dims_t){ 2, 16, 10, 10 });
	dnnl_memory_desc_t weights = describe(4, (dnnl_dims_t){ 8, 16, 3, 3 });
	dnnl_memory_desc_t dst = describe(4, (dnnl_dims_t){ 2, 8, 8, 8 });
	dnnl_dims_t strides = { 1, 1 }, padding = { 0, 0 };
	dnnl_convolution_desc_t op;

	CHECK(dnnl_convolution_forward_desc_init(&op, dnnl_forward_inference,
						 dnnl_convolution_direct, &src, &weights, NULL,
						 &dst, strides, padding, padding));
	execute(&op, src, weights, dst);
}

static void multiply(void)
{
	dnnl_memory_desc_t src = describe(3, (dnnl_dims_t){ 5, 20, 30 });
	dnnl_memory_desc_t weights = describe(3, (dnnl_dims_t){ 5, 30, 40 });
	dnnl_memory_desc_t dst = describe(3, (dnnl_dims_t){ 5, 20, 40 });
	dnnl_matmul_desc_t op;

	CHECK(dnnl_matmul_desc_init(&op, &src, &weights, NULL, &dst));
	execute(&op, src, weights, dst);
}

int main(void)
{
	CHECK(dnnl_engine_create(&engine, dnnl_cpu, 0));
	CHECK(dnnl_stream_create(&stream, engine, dnnl_stream_default_flags));
	convolve();
	multiply();
	multiply();
	dnnl_stream_destroy(stream);
	dnnl_engine_destroy(engine);
	return 0;
}
