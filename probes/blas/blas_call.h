/* blas_call: one call of a BLAS routine, as its arguments came in, and what they say.
 *
 * All wrappers have one signature: so many words, then two floating-point numbers. On x86-64 and
 * 64-bit ARM the words take the integer registers and then the stack, the numbers the floating-point
 * registers, whatever their order in the routine's own signature; so this one signature receives and
 * hands on the arguments of every routine, in Fortran's calling convention (all pointers, behind them
 * the hidden lengths of the character arguments) and in C's (alpha and beta may be numbers).
 *
 * (1) Words behind a routine's last argument are whatever lies on the caller's stack. They are handed
 *     on and not looked at.
 * (2) A word that carries a 32-bit integer has anything in its upper half.
 * (3) Only arguments that the routine itself must read are looked at: options and sizes, never
 *     matrices. */
#ifndef TACHO_BLAS_CALL_H
#define TACHO_BLAS_CALL_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/trace_layout.h"

#if !defined(__x86_64__) && !defined(__aarch64__)
#error "check that integers and floating-point numbers are passed independently"
#endif

typedef intptr_t blas_word;

/* As many as the longest routine has: ?gemm_batch_strided in Fortran, with two hidden lengths. */
#define BLAS_N_WORDS 20
#define BLAS_PARAMETERS                                                                            \
	blas_word w0, blas_word w1, blas_word w2, blas_word w3, blas_word w4, blas_word w5,        \
		blas_word w6, blas_word w7, blas_word w8, blas_word w9, blas_word w10,             \
		blas_word w11, blas_word w12, blas_word w13, blas_word w14, blas_word w15,         \
		blas_word w16, blas_word w17, blas_word w18, blas_word w19, double x0, double x1
#define BLAS_WORDS                                                                                 \
	w0, w1, w2, w3, w4, w5, w6, w7, w8, w9, w10, w11, w12, w13, w14, w15, w16, w17, w18, w19
#define BLAS_ARGUMENTS BLAS_WORDS, x0, x1

typedef blas_word blas_function(BLAS_PARAMETERS);

/* Which arguments a routine has; a comment gives Fortran's. C has the layout before them. */
enum blas_shape {
	BLAS_GEMM,	   /* transa transb m n k alpha a lda b ldb beta c ldc */
	BLAS_GEMMT,	   /* uplo transa transb n k ... */
	BLAS_SYMM,	   /* side uplo m n ... */
	BLAS_SYRK,	   /* uplo trans n k ... */
	BLAS_SYR2K,	   /* uplo trans n k ... */
	BLAS_TRMM,	   /* side uplo transa diag m n ... */
	BLAS_GEMV,	   /* trans m n ... */
	BLAS_SYMV,	   /* uplo n ... */
	BLAS_GER,	   /* m n ... */
	BLAS_TRMV,	   /* uplo trans diag n ... */
	BLAS_GEMM_BATCH,   /* as gemm, each an array by group, then group_count group_size */
	BLAS_GEMM_STRIDED, /* as gemm, with a stride behind each matrix, then batch_size */
};

enum blas_language { BLAS_FORTRAN, BLAS_C };

/* A routine under one of its symbols. */
struct blas_routine {
	const char *symbol;
	const char *name; /* of the kernel */
	uint8_t shape;	  /* enum blas_shape */
	uint8_t dtype;	  /* enum trace_dtype: of what is multiplied */
	uint8_t language; /* enum blas_language */
	bool is_64bit;	  /* its integers */
};

#define BLAS_MAX_DIMS	4
#define BLAS_TEXT_BYTES 8

/* What a call does. */
struct blas_work {
	int64_t dims[BLAS_MAX_DIMS];
	uint32_t n_dims;
	uint64_t flops;
	uint64_t bytes;
	char text[BLAS_TEXT_BYTES]; /* layout (C) and options, as README.md says */
};

void blas_work_of_call(const struct blas_routine *routine, const blas_word *words,
		       struct blas_work *ret_work);

#endif
