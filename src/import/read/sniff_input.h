/* sniff_input: the beginning of a file, which tells what format it is of. */
#ifndef TACHO_SNIFF_INPUT_H
#define TACHO_SNIFF_INPUT_H

#include <glib.h>

/* What a sniff function may look at. */
struct sniff_input {
	const gchar *path;
	const gchar *name; /* its last part */
	gboolean is_folder;
	const gchar *head; /* the first bytes, decoded, with a NUL behind them; "" of a folder */
	gsize n_head;
};

#define SNIFF_BYTES (64 * 1024)

#endif
