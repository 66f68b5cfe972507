/* clock_map: from the time of one clock to that of another, where both run at a constant rate.
 *
 *     time' = time + shift_ns + drift * (time - pivot_ns), rounded
 *
 * (1) Later times never become earlier: |drift| <= CLOCK_MAP_MAX_DRIFT, which clock_map_compose() sees
 *     to where a hundred wrong clocks make one.
 * (2) Nothing overflows: what would lie beyond TACHO_MAX_TIME_NS is put there. Times, pivots and shifts
 *     are within it. */
#ifndef TACHO_CLOCK_MAP_H
#define TACHO_CLOCK_MAP_H

#include <math.h>

#include <tacho/timeline.h>

#define CLOCK_MAP_MAX_DRIFT 0.1

struct clock_map {
	gint64 pivot_ns, shift_ns;
	gdouble drift;
};

static inline gint64 clock_map_add(gint64 a, gint64 b)
{
	gint64 sum;

	if (__builtin_add_overflow(a, b, &sum))
		return a < 0 ? -TACHO_MAX_TIME_NS : TACHO_MAX_TIME_NS;
	return CLAMP(sum, -TACHO_MAX_TIME_NS, TACHO_MAX_TIME_NS);
}

static inline gint64 clock_map_apply(const struct clock_map *map, gint64 time_ns)
{
	gdouble since_ns = (gdouble)clock_map_add(time_ns, -map->pivot_ns);

	return clock_map_add(clock_map_add(time_ns, map->shift_ns), llrint(map->drift * since_ns));
}

/* First `inner`, then `outer`. */
static inline struct clock_map clock_map_compose(const struct clock_map *outer,
						 const struct clock_map *inner)
{
	struct clock_map both = { .pivot_ns = inner->pivot_ns };

	both.shift_ns = clock_map_add(
		clock_map_apply(outer, clock_map_apply(inner, inner->pivot_ns)), -inner->pivot_ns);
	both.drift = inner->drift + outer->drift + inner->drift * outer->drift;
	both.drift = CLAMP(both.drift, -CLOCK_MAP_MAX_DRIFT, CLOCK_MAP_MAX_DRIFT);
	return both;
}

static inline struct clock_map clock_map_invert(const struct clock_map *map)
{
	return (struct clock_map){ .pivot_ns = clock_map_apply(map, map->pivot_ns),
				   .shift_ns = -map->shift_ns,
				   .drift = -map->drift / (1 + map->drift) };
}

#endif
