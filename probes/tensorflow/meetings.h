/* meetings: who hands a tensor over, and who wants it, meet at a rendezvous of TensorFlow's; whoever is there first waits. */
#ifndef TACHO_TENSORFLOW_MEETINGS_H
#define TACHO_TENSORFLOW_MEETINGS_H

#include <stdint.h>

#include "tensorflow/rendezvous_key.h"

enum meeting_side { MEETING_SENDER, MEETING_RECEIVER };

/* Somebody has come to the place `rendezvous`, where `key` is handed over. The wait is a SPAN "rendezvous: TENSOR", from the first one's
 * coming to the other's, whose `id` is the tensor's bytes where the sender was first. Any thread; takes no lock. */
void meeting_come(const void *rendezvous, const struct rendezvous_key *key, enum meeting_side side,
		  uint64_t bytes);

#endif
