/* ctf_event_args: the fields of an event, of the packet it is in and of the event that ended what it began, as a JSON
 * object. */
#ifndef TACHO_CTF_EVENT_ARGS_H
#define TACHO_CTF_EVENT_ARGS_H

#include "import/ctf/ctf_part.h"

/* `part` is that of the event; `end` NULL: nothing ended it. */
gchar *ctf_event_args_json(const struct ctf_part *part, const struct ctf_event *event,
			   const struct ctf_event *end);

#endif
