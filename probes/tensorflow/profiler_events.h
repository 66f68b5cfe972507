/* profiler_events: the events of TensorFlow's own profiler, before it has them.
 *
 * What begins in one function and ends in another, as an asynchronous operation does, is two events there: one with a name, and one without
 * that ends it. The profiler puts them together when it is stopped. Where they are of two threads, it keeps the address of the second
 * in a queue (std::deque) that is in a vector; where the vector grows, it copies its queues, since libstdc++'s may throw when it is
 * moved. So the name is written into memory that has been freed, and the job crashes now and then (TensorFlow to 2.21:
 * tsl/profiler/backends/cpu/traceme_recorder.cc).
 *
 *     begin(id, name) --> stays here;     end(id) --> one event, which is whole, to the profiler
 *
 * (1) So it has none to put together, and what begins and ends in two threads is always in the profile.
 * (2) What ends without having begun is left out, as the profiler would do. So is what begins when too many others have.
 * (3) Takes no lock. A process may have several TensorFlows, each of which has numbers of its own: they are not told apart. */
#ifndef TACHO_TENSORFLOW_PROFILER_EVENTS_H
#define TACHO_TENSORFLOW_PROFILER_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "tensorflow/tensorflow_abi.h"

/* What frees memory of C++'s `new`. */
typedef void profiler_free(void *memory);

/* Whether the event is for the profiler: changed then, if it was the second of two. The first one's name is moved from it. */
bool profiler_event_pass(struct tensorflow_event *event);

/* The profiler was stopped: forget what has begun. */
void profiler_events_forget(profiler_free *free_name);

#endif
