/* partition_point: where rows in order stop being before a value, found by halving. */
#ifndef TACHO_PARTITION_POINT_H
#define TACHO_PARTITION_POINT_H

#include <glib.h>

/* The first `i` of [begin, end) for which `is_before`, an expression in `i`, does not hold; `end` where it holds for all.
 * Once it does not hold, it must not hold for any that follows. So it is also how many of [0, end) it holds for:
 *
 *     n_ended = PARTITION_POINT(i, 0, n, end_ns[i] <= time_ns); */
#define PARTITION_POINT(i, begin, end, is_before)                                                  \
	({                                                                                         \
		__typeof__((end) + 0) low_ = (begin), high_ = (end);                               \
                                                                                                   \
		while (low_ < high_) {                                                             \
			const __typeof__(low_) i = low_ + (high_ - low_) / 2;                      \
                                                                                                   \
			if (is_before)                                                             \
				low_ = i + 1;                                                      \
			else                                                                       \
				high_ = i;                                                         \
		}                                                                                  \
		low_;                                                                              \
	})

/* How many rows of a GArray in order hold so, `is_before` being an expression in `row`, a pointer to one of them. */
#define ROWS_BEFORE(rows, type, row, is_before)                                                    \
	PARTITION_POINT(i_, 0, (rows)->len, ({                                                     \
				const type *row = &g_array_index(rows, type, i_);                  \
				is_before;                                                         \
			}))

/* The last of these rows, or NULL. */
#define LAST_BEFORE(rows, type, row, is_before)                                                    \
	({                                                                                         \
		guint n_ = ROWS_BEFORE(rows, type, row, is_before);                                \
                                                                                                   \
		n_ > 0 ? &g_array_index(rows, type, n_ - 1) : NULL;                                \
	})

#endif
