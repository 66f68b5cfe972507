/* tensor_record: how a tensor stands in a record, whoever has read it: libtorch's headers (tensor_list.h) or
 * the places that were found in the process (plain_tensors.h).
 *
 * C and C++; libc only. */
#ifndef TACHO_TENSOR_RECORD_H
#define TACHO_TENSOR_RECORD_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/probe.h"

/* The tensors of an operation, one behind the other: each a struct record_tensor and its shape. */
struct tensor_list {
	uint64_t *end; /* behind the last one */
	uint32_t n;
	bool is_cut;
};

/* What a list may take: of as many tensors as a record holds, with as many dimensions. */
#define TENSOR_LIST_WORDS                                                                          \
	(TRACE_MAX_TENSORS * (sizeof(struct record_tensor) / sizeof(uint64_t) + TRACE_MAX_DIMS))
#define TENSOR_LIST_BYTES (TENSOR_LIST_WORDS * sizeof(uint64_t))

struct tensor_dtype {
	uint8_t dtype; /* enum trace_dtype */
	uint8_t bytes; /* 0: not known */
};

/* By c10::ScalarType, whose numbers are part of PyTorch's file formats. */
static const struct tensor_dtype tensor_dtypes[] = {
	{ TRACE_DTYPE_U8, 1 },
	{ TRACE_DTYPE_I8, 1 },
	{ TRACE_DTYPE_I16, 2 },
	{ TRACE_DTYPE_I32, 4 },
	{ TRACE_DTYPE_I64, 8 },
	{ TRACE_DTYPE_F16, 2 },
	{ TRACE_DTYPE_F32, 4 },
	{ TRACE_DTYPE_F64, 8 },
	{ TRACE_DTYPE_C32, 4 },
	{ TRACE_DTYPE_C64, 8 },
	{ TRACE_DTYPE_C128, 16 },
	{ TRACE_DTYPE_BOOL, 1 },
	{ TRACE_DTYPE_QI8, 1 },
	{ TRACE_DTYPE_QU8, 1 },
	{ TRACE_DTYPE_QI32, 4 },
	{ TRACE_DTYPE_BF16, 2 },
#define SMALL                                                                                      \
	{                                                                                          \
		TRACE_DTYPE_UNKNOWN, 1                                                             \
	}
	/* 16: numbers of four and two bits, then bits */
	SMALL,
	SMALL,
	SMALL,
	SMALL,
	SMALL,
	SMALL,
	{ TRACE_DTYPE_UNKNOWN, 2 },
	/* 23: four kinds of float8, then unsigned ones */
	SMALL,
	SMALL,
	SMALL,
	SMALL,
	{ TRACE_DTYPE_UNKNOWN, 2 },
	{ TRACE_DTYPE_UNKNOWN, 4 },
	{ TRACE_DTYPE_UNKNOWN, 8 },
	/* 30: integers of less than eight bits; 44: float8 and float4 for scales */
	SMALL,
	SMALL,
	SMALL,
	SMALL,
	SMALL,
	SMALL,
	SMALL,
	SMALL,
	SMALL,
	SMALL,
	SMALL,
	SMALL,
	SMALL,
	SMALL,
	SMALL,
	SMALL,
#undef SMALL
};

#define TENSOR_N_DTYPES (sizeof(tensor_dtypes) / sizeof(*tensor_dtypes))

/* By the number of c10::DeviceType. */
static inline enum trace_device tensor_device(int type)
{
	switch (type) {
	case 0:
		return TRACE_DEVICE_CPU;
	case 1:
		return TRACE_DEVICE_CUDA;
	case 6:
		return TRACE_DEVICE_HIP;
	case 14:
		return TRACE_DEVICE_META;
	default:
		return TRACE_DEVICE_OTHER;
	}
}

/* The last eight bytes of a record_tensor, which is little endian. */
static inline uint64_t tensor_rest(uint8_t dtype, uint8_t device, size_t n_dims, uint32_t argument)
{
	static_assert(offsetof(struct record_tensor, dtype) == 16 &&
			      offsetof(struct record_tensor, device) == 17 &&
			      offsetof(struct record_tensor, n_dims) == 18 &&
			      offsetof(struct record_tensor, argument) == 20,
		      "struct record_tensor");
	return dtype | (uint64_t)device << 8 | (uint64_t)n_dims << 16 | (uint64_t)argument << 32;
}

/* Publish a record as large as it has become with its tensors, the last of it. It was begun with room
 * for TENSOR_LIST_BYTES of them. */
static inline void commit_with_tensors(struct record_header *record,
				       const struct tensor_list *tensors)
{
	record->size_bytes = (uint32_t)((char *)tensors->end - (char *)record);
	tacho_record_commit(record);
}

/* Publish the results of `op`, written behind `record`; without any the record is given up. Returns
 * the record's stamp. */
static inline uint64_t commit_outputs(struct record_outputs *record, const struct record_op *op,
				      const struct tensor_list *outputs)
{
	uint64_t stamp = record->header.stamp;

	if (TACHO_UNLIKELY(!outputs->n)) {
		tacho_record_abandon();
		return stamp;
	}
	record->begin_stamp = op->header.stamp;
	record->n_outputs = outputs->n;
	record->reserved = 0;
	commit_with_tensors(&record->header, outputs);
	return stamp;
}

#endif
