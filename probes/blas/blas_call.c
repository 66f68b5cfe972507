#include "blas/blas_call.h"

#include <string.h>

/* Values of CBLAS's enumerations. */
#define CBLAS_ROW_MAJOR 101

#define CBLAS_FIRST_OPTION 111
static const char cblas_options[] = {
	[111 - CBLAS_FIRST_OPTION] = 'N', /* CblasNoTrans */
	[112 - CBLAS_FIRST_OPTION] = 'T', /* CblasTrans */
	[113 - CBLAS_FIRST_OPTION] = 'C', /* CblasConjTrans */
	[114 - CBLAS_FIRST_OPTION] = 'R', /* CblasConjNoTrans, of OpenBLAS */
	[121 - CBLAS_FIRST_OPTION] = 'U', /* CblasUpper */
	[122 - CBLAS_FIRST_OPTION] = 'L', /* CblasLower */
	[131 - CBLAS_FIRST_OPTION] = 'N', /* CblasNonUnit */
	[132 - CBLAS_FIRST_OPTION] = 'U', /* CblasUnit */
	[141 - CBLAS_FIRST_OPTION] = 'L', /* CblasLeft */
	[142 - CBLAS_FIRST_OPTION] = 'R', /* CblasRight */
};

/* How many options and sizes stand at the head of a routine's arguments. */
static const struct {
	uint8_t n_options, n_sizes;
} heads[] = {
	[BLAS_GEMM] = { 2, 3 }, [BLAS_GEMMT] = { 3, 2 },      [BLAS_SYMM] = { 2, 2 },
	[BLAS_SYRK] = { 2, 2 }, [BLAS_SYR2K] = { 2, 2 },      [BLAS_TRMM] = { 4, 2 },
	[BLAS_GEMV] = { 1, 2 }, [BLAS_SYMV] = { 1, 1 },	      [BLAS_GER] = { 0, 2 },
	[BLAS_TRMV] = { 3, 1 }, [BLAS_GEMM_BATCH] = { 2, 3 }, [BLAS_GEMM_STRIDED] = { 2, 3 },
};

static const uint8_t element_bytes[] = {
#define DTYPE_BYTES(enumerator, name, bytes) bytes,
	TRACE_DTYPES(DTYPE_BYTES)
#undef DTYPE_BYTES
};

static char option_letter(const struct blas_routine *routine, blas_word word)
{
	char letter;

	if (routine->language == BLAS_C) {
		uint32_t place = (uint32_t)word - CBLAS_FIRST_OPTION;

		letter = place < sizeof(cblas_options) ? cblas_options[place] : '\0';
		return letter ? letter : '?';
	}
	letter = *(const char *)word;
	if (letter >= 'a' && letter <= 'z')
		letter -= 'a' - 'A';
	return letter >= 'A' && letter <= 'Z' ? letter : '?';
}

static int64_t load_integer(const struct blas_routine *routine, const void *address, int64_t index)
{
	return routine->is_64bit ? ((const int64_t *)address)[index]
				 : ((const int32_t *)address)[index];
}

/* The integer argument in `word`; nothing is ever negative. */
static int64_t size_of(const struct blas_routine *routine, blas_word word)
{
	int64_t size;

	if (routine->language == BLAS_FORTRAN)
		size = load_integer(routine, (const void *)word, 0);
	else
		size = routine->is_64bit ? (int64_t)word : (int32_t)word;
	return size > 0 ? size : 0;
}

/* Multiplications, each with its addition, and elements touched. Side is 'L' or 'R' where there is
 * one. The products follow LAPACK's working note 41, without its terms of lower order. */
static void count(enum blas_shape shape, char side, const int64_t *dims, uint64_t *ret_products,
		  uint64_t *ret_elements)
{
	uint64_t first = (uint64_t)dims[0], second = (uint64_t)dims[1], third = (uint64_t)dims[2];
	uint64_t order = side == 'R' ? second : first; /* of the triangular or symmetric matrix */

	switch (shape) {
	case BLAS_GEMM:
	case BLAS_GEMM_BATCH:
	case BLAS_GEMM_STRIDED:
		*ret_products = first * second * third;
		*ret_elements = first * third + third * second + first * second;
		break;
	case BLAS_GEMMT:
		*ret_products = first * (first + 1) / 2 * second;
		*ret_elements = 2 * first * second + first * (first + 1) / 2;
		break;
	case BLAS_SYMM:
		*ret_products = order * first * second;
		*ret_elements = order * (order + 1) / 2 + 2 * first * second;
		break;
	case BLAS_SYRK:
		*ret_products = first * (first + 1) / 2 * second;
		*ret_elements = first * second + first * (first + 1) / 2;
		break;
	case BLAS_SYR2K:
		*ret_products = first * (first + 1) * second;
		*ret_elements = 2 * first * second + first * (first + 1) / 2;
		break;
	case BLAS_TRMM:
		*ret_products = order * first * second / 2;
		*ret_elements = order * (order + 1) / 2 + first * second;
		break;
	case BLAS_GEMV:
	case BLAS_GER:
		*ret_products = first * second;
		*ret_elements = first * second + first + second;
		break;
	case BLAS_SYMV:
		*ret_products = first * first;
		*ret_elements = first * (first + 1) / 2 + 2 * first;
		break;
	case BLAS_TRMV:
		*ret_products = first * first / 2;
		*ret_elements = first * (first + 1) / 2 + first;
		break;
	}
}

/* A complex multiplication and addition is four real ones of each. */
static uint64_t flops_of(const struct blas_routine *routine, uint64_t products)
{
	bool is_complex = routine->dtype == TRACE_DTYPE_C64 || routine->dtype == TRACE_DTYPE_C128;

	return products * (is_complex ? 8 : 2);
}

static uint64_t bytes_of(const struct blas_routine *routine, const int64_t *dims, uint64_t elements)
{
	uint64_t bytes = elements * element_bytes[routine->dtype];

	/* bfloat16 matrices are multiplied into a float32 one. */
	if (routine->dtype == TRACE_DTYPE_BF16)
		bytes += 2 * (uint64_t)dims[0] * (uint64_t)dims[1];
	return bytes;
}

/* The sum over all groups of a batch; dims are the first group's, then the number of products. The
 * options, an array each, are the first group's too. */
static void add_groups(const struct blas_routine *routine, const blas_word *arguments,
		       struct blas_work *work)
{
	int64_t n_groups = size_of(routine, arguments[13]);
	const void *group_sizes = (const void *)arguments[14];

	for (int64_t group = 0; group < n_groups; group++) {
		int64_t n_products = load_integer(routine, group_sizes, group);
		uint64_t products = 0, elements = 0;
		int64_t dims[3];

		for (int i = 0; i < 3; i++)
			dims[i] = load_integer(routine, (const void *)arguments[2 + i], group);
		if (n_products <= 0 || dims[0] < 0 || dims[1] < 0 || dims[2] < 0)
			continue;
		if (!work->n_dims) {
			memcpy(work->dims, dims, sizeof(dims));
			work->n_dims = 4;
		}
		work->dims[3] += n_products;
		count(BLAS_GEMM, '\0', dims, &products, &elements);
		work->flops += flops_of(routine, products) * (uint64_t)n_products;
		work->bytes += bytes_of(routine, dims, elements) * (uint64_t)n_products;
	}
}

/* Where the number of products of a strided batch stands: in C, behind the layout, but without
 * alpha and beta where these are numbers. */
static blas_word strided_count(const struct blas_routine *routine, const blas_word *words)
{
	bool is_complex = routine->dtype == TRACE_DTYPE_C64 || routine->dtype == TRACE_DTYPE_C128;

	if (routine->language == BLAS_FORTRAN)
		return words[16];
	return words[is_complex ? 17 : 15];
}

/* Layout and options, as text. `is_batch`: each option is an array, of which the first counts. */
static void write_text(const struct blas_routine *routine, const blas_word *words, bool is_batch,
		       char *text)
{
	const blas_word *arguments = words;
	unsigned int n_options = heads[routine->shape].n_options;

	if (routine->language == BLAS_C) {
		memcpy(text, (int32_t)words[0] == CBLAS_ROW_MAJOR ? "row " : "col ", 4);
		text += 4;
		arguments++;
	}
	for (unsigned int i = 0; i < n_options; i++) {
		blas_word option = arguments[i];

		if (is_batch && routine->language == BLAS_C)
			option = *(const int32_t *)option;
		text[i] = option_letter(routine, option);
	}
}

void blas_work_of_call(const struct blas_routine *routine, const blas_word *words,
		       struct blas_work *ret_work)
{
	const blas_word *arguments = routine->language == BLAS_C ? words + 1 : words;
	enum blas_shape shape = (enum blas_shape)routine->shape;
	unsigned int n_options = heads[shape].n_options, n_sizes = heads[shape].n_sizes;
	uint64_t products = 0, elements = 0, n_calls;
	char side = '\0';

	memset(ret_work, 0, sizeof(*ret_work));
	if (shape == BLAS_GEMM_BATCH) {
		add_groups(routine, arguments, ret_work);
		if (ret_work->n_dims)
			write_text(routine, words, true, ret_work->text);
		return;
	}
	write_text(routine, words, false, ret_work->text);
	if (shape == BLAS_SYMM || shape == BLAS_TRMM)
		side = ret_work->text[arguments == words ? 0 : 4];
	for (unsigned int i = 0; i < n_sizes; i++)
		ret_work->dims[i] = size_of(routine, arguments[n_options + i]);
	ret_work->n_dims = n_sizes;
	count(shape, side, ret_work->dims, &products, &elements);
	ret_work->flops = flops_of(routine, products);
	ret_work->bytes = bytes_of(routine, ret_work->dims, elements);
	if (shape == BLAS_GEMM_STRIDED) {
		n_calls = (uint64_t)size_of(routine, strided_count(routine, words));
		ret_work->dims[ret_work->n_dims++] = (int64_t)n_calls;
		ret_work->flops *= n_calls;
		ret_work->bytes *= n_calls;
	}
}
