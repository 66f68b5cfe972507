/* A libtorch_cpu.so that has its kernels linked in: it calls neither BLAS nor oneDNN. */
int static_torch(void);
int static_torch(void)
{
	return 42;
}
