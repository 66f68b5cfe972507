/* live_internal: what the files of this room share. */
#ifndef TACHO_LIVE_INTERNAL_H
#define TACHO_LIVE_INTERNAL_H

#include <tacho/live.h>
#include <tacho/info.h>

#endif
