/* The stack has the slices that will have time again, the one that began last on top. Each ends later than
 * all above it: what ends earlier has no time of its own any more. */
#include "trace/own_time.h"

struct open_slice {
	guint32 place;
	gint64 end_ns;
};

/* `next` begins at `start_ns`: from then on it takes the time of those that are open. */
static void take_time(GArray *open, gint64 *own_ns, gint64 start_ns, struct open_slice next)
{
	gint64 at_ns = start_ns;

	while (open->len) {
		struct open_slice top = g_array_index(open, struct open_slice, open->len - 1);

		if (top.end_ns > next.end_ns) {
			own_ns[top.place] -= next.end_ns - at_ns;
			break;
		}
		if (top.end_ns > at_ns) {
			own_ns[top.place] -= top.end_ns - at_ns;
			at_ns = top.end_ns;
		}
		g_array_set_size(open, open->len - 1);
	}
	g_array_append_val(open, next);
}

gint64 *own_times(const TachoSlices *slices, guint32 first, guint32 n, const guint8 *is_counted)
{
	gint64 *own_ns = g_new0(gint64, MAX(n, 1u));
	g_autoptr(GArray) open = g_array_new(FALSE, FALSE, sizeof(struct open_slice));

	for (guint32 place = 0; place < n; place++) {
		gint64 start_ns = slices->start_ns[first + place];
		gint64 duration_ns = slices->duration_ns[first + place];
		struct open_slice next = { place, start_ns + duration_ns };

		if (is_counted && !is_counted[place])
			continue;
		own_ns[place] = duration_ns;
		if (duration_ns > 0)
			take_time(open, own_ns, start_ns, next);
	}
	return own_ns;
}
