/* ctf_part: what one process decoded of a CTF trace (ctf_records.h), record after record, each checked before it is
 * believed: what traces, streams, packets and classes there are is kept; events are handed out. */
#ifndef TACHO_CTF_PART_H
#define TACHO_CTF_PART_H

#include "base/mapped_file.h"
#include "import/ctf/ctf_event.h"
#include "import/ctf/ctf_process.h"

enum ctf_next {
	CTF_NEXT_EVENT,
	CTF_NEXT_DISCARDED,
	CTF_NEXT_FAILURE, /* something could not be read; more may come */
	CTF_NEXT_END,
};

struct ctf_part;

/* Takes over `process`. What classes of events there are is added to `names`, good as long as the part. */
struct ctf_part *ctf_part_new(struct ctf_process *process, GHashTable *names);
void ctf_part_free(struct ctf_part *part);

/* What comes next, in the order of time. An event's offset is that of its record. */
enum ctf_next ctf_part_next(struct ctf_part *part, struct ctf_event *event,
			    struct ctf_discarded *discarded);
/* What failed at the last CTF_NEXT_FAILURE, and why. */
const gchar *ctf_part_failure(const struct ctf_part *part);

/* Once nothing more comes: have the records again, in a file. False: they cannot be had. */
gboolean ctf_part_open_all(struct ctf_part *part);
/* After that: the event at `offset`. False: there is none. */
gboolean ctf_part_event_at(const struct ctf_part *part, guint64 offset, struct ctf_event *event);
/* And the packet that it is in, if its class has a context; NULL: none. */
const struct ctf_packet_record *ctf_part_packet_of(const struct ctf_part *part,
						   const struct ctf_event *event,
						   const struct ctf_class **ret_class);

#endif
