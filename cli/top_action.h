/* top_action: what `tacho top` does to a job when asked: it runs `tacho stop` or `tacho attach`. */
#ifndef TACHO_TOP_ACTION_H
#define TACHO_TOP_ACTION_H

#include "live/top_screen.h"

/* A TachoTopDo. */
gchar *top_action(const TachoJob *job, TachoTopAction action);

#endif
