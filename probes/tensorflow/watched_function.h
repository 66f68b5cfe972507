/* watched_function: have a function of ours called before one of the program's, a std::function that TensorFlow will call when something
 * that goes on has ended. */
#ifndef TACHO_TENSORFLOW_WATCHED_FUNCTION_H
#define TACHO_TENSORFLOW_WATCHED_FUNCTION_H

#include "tensorflow/tensorflow_abi.h"

/* Called each time before the function is; once more, with `is_dropped`, when the last copy of the function is gone. */
typedef void watched_called(void *data, bool is_dropped);

/* Put one that calls `called` in `function`'s place; `data` must live until it is told that it is dropped. False: there is no memory, and
 * the function is as it was. */
bool function_watch(struct tensorflow_function *function, watched_called *called, void *data);

#endif
