/* concrete_inputs: what PyTorch's profiler tells of the inputs of an operation that are no tensors: the member "Concrete
 * Inputs" of its args, a list of texts, "" of a tensor: ["", "", "[2, 2]", "False"]. */
#ifndef TACHO_CONCRETE_INPUTS_H
#define TACHO_CONCRETE_INPUTS_H

#include "trace/source.h"

/* `numbers` of a reader that has `args_json` (trace/source.h). */
gboolean concrete_inputs_numbers(struct foreign_reader *reader, guint64 place, guint n,
				 TachoNumbers *numbers);

#endif
