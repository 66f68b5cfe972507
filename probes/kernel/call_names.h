/* call_names: what system calls are called, by their numbers on this processor. */
#ifndef TACHO_CALL_NAMES_H
#define TACHO_CALL_NAMES_H

/* Static; NULL: the C library's headers that tacho was built with know none of that number. */
const char *call_name(int number);

#endif
