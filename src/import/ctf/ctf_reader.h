/* ctf_reader: the events of a CTF trace in the order of time, from the processes that decode a part of its streams
 * each, and their args later. */
#ifndef TACHO_CTF_READER_H
#define TACHO_CTF_READER_H

#include "import/ctf/ctf_part.h"

enum { CTF_MAX_PARTS = 8 };

struct ctf_reader;

/* Takes over the processes, at most CTF_MAX_PARTS. */
struct ctf_reader *ctf_reader_new(struct ctf_process *const *processes, guint n);
void ctf_reader_free(struct ctf_reader *reader);

enum ctf_next ctf_reader_next(struct ctf_reader *reader, struct ctf_event *event,
			      struct ctf_discarded *discarded);
/* What could not be read at the last CTF_NEXT_FAILURE, and why. */
const gchar *ctf_reader_failure(const struct ctf_reader *reader);
/* Note that the event at `end` ended what the one at `begin` began. */
void ctf_reader_set_partner(struct ctf_reader *reader, guint64 begin, guint64 end);
/* Add a number to the args of the event at `offset`. Not once args were asked for. */
void ctf_reader_add_number(struct ctf_reader *reader, guint64 offset, const gchar *key,
			   gdouble value);
/* The args of the event at `offset`, and of its partner, as a JSON object; NULL: there is none. */
gchar *ctf_reader_args_json(struct ctf_reader *reader, guint64 offset);

/* Whether events of that name may come: all classes of a stream are known before its first event. */
gboolean ctf_reader_has_class(const struct ctf_reader *reader, const gchar *name);

#endif
