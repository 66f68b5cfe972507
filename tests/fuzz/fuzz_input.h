/* fuzz_input: what every fuzz target has, and who calls it: libFuzzer, or seed_runner.c. */
#ifndef TACHO_FUZZ_INPUT_H
#define TACHO_FUZZ_INPUT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A find: say what is wrong and end. (What g_error() raises, libFuzzer does not take for one.) */
#define FUZZ_FAIL(...) (fprintf(stderr, __VA_ARGS__), fputc('\n', stderr), abort())

#endif
