/* Calls BLAS in every manner the probe tells apart, and prints a sum of all results with all its
 * digits: with and without the probe the output must be the same. */
#include <cblas.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define M 64
#define N 48
#define K 32

void sgemm_(const char *, const char *, const int *, const int *, const int *, const float *,
	    const float *, const int *, const float *, const int *, const float *, float *,
	    const int *);

static float left[M * K], right[K * N], product[M * N];
static double matrix[M * M], input[M], output[M];
static double complex_left[2 * M * K], complex_right[2 * K * N], complex_product[2 * M * N];

static void fill(void)
{
	for (int i = 0; i < M * K; i++)
		left[i] = (float)(i % 7);
	for (int i = 0; i < K * N; i++)
		right[i] = (float)(i % 5);
	for (int i = 0; i < M * M; i++)
		matrix[i] = i % 11 + (i % (M + 1) == 0) * 50;
	for (int i = 0; i < M; i++)
		input[i] = i;
	for (int i = 0; i < 2 * M * K; i++)
		complex_left[i] = i % 3;
	for (int i = 0; i < 2 * K * N; i++)
		complex_right[i] = i % 4;
}

static double sum(void)
{
	double sum = 0;

	for (int i = 0; i < M * N; i++)
		sum += product[i] + complex_product[2 * i] - complex_product[2 * i + 1];
	for (int i = 0; i < M; i++)
		sum += output[i];
	return sum;
}

int main(void)
{
	const int m = M, n = N, k = K;
	const float one = 1, zero = 0;
	const double complex_one[2] = { 1, 0.5 }, complex_zero[2] = { 0, 0 };
	double total;

	fill();
	errno = 4242;
	sgemm_("n", "T", &m, &n, &k, &one, left, &m, right, &n, &zero, product, &m);
	total = sum();
	cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, M, N, K, 2.0f, left, K, right, N,
		    0.5f, product, N);
	cblas_zgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, M, N, K, complex_one, complex_left,
		    M, complex_right, K, complex_zero, complex_product, M);
	cblas_dgemv(CblasColMajor, CblasTrans, M, M, 1.5, matrix, M, input, 1, 0.0, output, 1);
	cblas_dtrsm(CblasRowMajor, CblasLeft, CblasUpper, CblasNoTrans, CblasNonUnit, M, 1, 1.0,
		    matrix, M, output, 1);
	printf("%.17g errno %d\n", total + sum(), errno);
	return 0;
}
