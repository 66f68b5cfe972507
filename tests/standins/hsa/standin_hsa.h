/* standin_hsa: what a program of ours tells the stand-in for the HSA runtime of a kernel: in place of an executable's symbol, and of the
 * object behind it. */
#ifndef STANDIN_HSA_H
#define STANDIN_HSA_H

#include "hsa/hsa_abi.h"

struct standin_hsa_kernel {
	const char *name;
	uint64_t ns;
};

#endif
