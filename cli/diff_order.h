/* diff_order: `tacho diff --order`: whether runs did the same work in the same order. */
#ifndef TACHO_CLI_DIFF_ORDER_H
#define TACHO_CLI_DIFF_ORDER_H

#include <tacho/analyze.h>

struct diff_order {
	TachoFilter filter;
	gboolean is_json;
	gint limit; /* 0: all rows */
};

/* Compare the runs at `paths` with the first. CLI_DONE: the same; CLI_NO: not; CLI_BAD: they cannot be compared, which
 * has been said. */
int diff_order(const struct diff_order *options, gchar *const *paths, guint n_paths);

#endif
