/* fuzz_input: what every fuzz target has, and who calls it: libFuzzer, or seed_runner.c. */
#ifndef TACHO_FUZZ_INPUT_H
#define TACHO_FUZZ_INPUT_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
