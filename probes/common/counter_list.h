/* counter_list: the counters that are asked for, as `tacho record --counters` says: NAME,NAME..., by the vendor's names. Where a chip
 * may know a counter by one name or another, names stand with a | between them, and the first that it knows is counted. */
#ifndef TACHO_COUNTER_LIST_H
#define TACHO_COUNTER_LIST_H

#include <stdbool.h>

#define COUNTERS_MOST	    32
#define COUNTERS_TEXT_BYTES 4096

struct counter_list {
	char text[COUNTERS_TEXT_BYTES];
	const char *names[COUNTERS_MOST]; /* in text; "A|B" is one */
	unsigned n;
	bool is_default; /* nobody has named them: those that a chip has not are not missed */
};

/* "default": `default_text` stands for it. False: the text is too long, or names too many; then as many as fit are there. */
bool counter_list_parse(struct counter_list *list, const char *text, const char *default_text);

#endif
