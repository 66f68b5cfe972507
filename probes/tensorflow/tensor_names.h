/* tensor_names: classes of what is recorded of a tensor. */
#ifndef TACHO_TENSORFLOW_TENSOR_NAMES_H
#define TACHO_TENSORFLOW_TENSOR_NAMES_H

#include "common/probe.h"
#include "tensorflow/rendezvous_key.h"

/* "WHAT: TENSOR"; of a process's tensors beyond the first thousands, and where `key` is NULL, "WHAT". 0: it could not be declared. */
uint32_t tensor_class(enum trace_kind kind, const char *what, const struct rendezvous_key *key);

#endif
