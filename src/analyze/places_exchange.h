/* places_exchange: the tree of places of several processes (scope_places.h), each of which has placed its own ranks' slices. */
#ifndef TACHO_PLACES_EXCHANGE_H
#define TACHO_PLACES_EXCHANGE_H

#include "analyze/scope_places.h"

/* Make the tree that of all processes' ranks: its nodes stand as one process makes them. To be called once all is counted, by
 * all; `view` is named in messages. Where there are several processes, `places->nodes` means nothing any more. */
void places_exchange(struct scope_places *places, const gchar *view);

#endif
