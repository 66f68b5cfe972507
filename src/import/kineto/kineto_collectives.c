/* What a collective does, of how much, and in which group, where it does not say so itself: files before 2024 have that at
 * the op or the region that asked for it ("record_param_comms", "nccl:all_to_all"), around the call that launched its
 * kernel. If several lie within each other, each of these facts comes from the innermost that knows it. */
#include "base/order.h"
#include "base/partition_point.h"
#include "import/kineto/kineto_merge.h"
#include "trace/launch_index.h"

enum { MAX_NESTED = 8 };

/* An op that knows something of what it asks for. */
struct asking {
	guint32 track; /* the timeline's */
	gint64 start_ns, end_ns;
	guint64 n_elements, bytes;
	guint32 group;
	guint8 operation;
};

static struct kineto_extra *extra_of(const struct kineto_merge *merge,
				     const struct kineto_rows *rows, const struct kineto_row *row)
{
	if (!(row->place & KINETO_PLACE_EXTRA))
		return NULL;
	return &g_array_index(merge->parts[rows->file].extras, struct kineto_extra,
			      rows->first_extra + (row->place & ~KINETO_PLACE_EXTRA));
}

static gint compare_asking(gconstpointer first, gconstpointer second)
{
	const struct asking *a = first, *b = second;

	return ORDER(a->track, b->track) ?: ORDER(a->start_ns, b->start_ns);
}

static void add_asking(const struct kineto_merge *merge, const struct kineto_rows *rows,
		       GArray *all)
{
	const struct kineto_row *slices = rows->slices.rows;
	const guint32 *tracks = kineto_merge_numbers(merge, rows)->tracks;

	for (gsize i = 0; i < rows->slices.n; i++) {
		const struct kineto_extra *extra = extra_of(merge, rows, &slices[i]);
		struct asking asking = { .start_ns = slices[i].start_ns };

		if (!extra || !extra->is_collective ||
		    (!extra->n_elements && !extra->bytes && !extra->operation && !extra->group) ||
		    slices[i].kind == TACHO_SLICE_COLLECTIVE || slices[i].duration_ns < 0 ||
		    __builtin_add_overflow(slices[i].start_ns, slices[i].duration_ns,
					   &asking.end_ns))
			continue;
		asking.track = tracks[slices[i].track];
		asking.n_elements = extra->n_elements;
		asking.bytes = extra->bytes;
		asking.group = extra->group;
		asking.operation = extra->operation;
		g_array_append_val(all, asking);
	}
}

static void take_bytes(struct kineto_extra *extra, const struct asking *asking)
{
	extra->bytes = asking->bytes;
	if (!asking->bytes && __builtin_mul_overflow(asking->n_elements,
						     (guint64)extra->element_bytes, &extra->bytes))
		extra->bytes = 0;
}

/* Let what is asked on that track at `time_ns` tell what the collective does not; few ops lie within each other. */
static void take_asked(struct kineto_extra *extra, const GArray *all, guint32 track, gint64 time_ns)
{
	const struct asking key = { .track = track, .start_ns = time_ns };
	guint n = ROWS_BEFORE(all, struct asking, row, compare_asking(row, &key) <= 0);
	gboolean has_amount = extra->bytes > 0;

	for (guint i = 0; i < MAX_NESTED && i < n; i++) {
		const struct asking *asking = &g_array_index(all, struct asking, n - 1 - i);

		if (asking->track != track)
			break;
		if (time_ns > asking->end_ns)
			continue;
		if (!has_amount && (asking->n_elements || asking->bytes)) {
			take_bytes(extra, asking);
			has_amount = TRUE;
		}
		if (extra->operation == OPERATION_WANTED && asking->operation)
			extra->operation = asking->operation;
		if (!extra->group)
			extra->group = asking->group;
	}
}

/* The piece of the file that holds the slice numbered `row`. */
static const struct kineto_rows *find_rows(const struct kineto_merge *merge,
					   const struct kineto_part *part, guint32 row)
{
	guint next = PARTITION_POINT(i, part->first_piece + 1, part->first_piece + part->n_pieces,
				     kineto_files_rows(&merge->files, i)->first_row <= row);

	return kineto_files_rows(&merge->files, next - 1);
}

static void fill_row(const struct kineto_merge *merge, const struct kineto_rows *rows,
		     const struct kineto_row *row, const GArray *all)
{
	struct kineto_extra *extra = extra_of(merge, rows, row);
	const struct kineto_rows *calls;
	const struct kineto_row *call;
	guint32 launch;

	if (!extra || row->link < 0 ||
	    (extra->bytes && extra->group && extra->operation != OPERATION_WANTED))
		return;
	launch = launch_index_find(merge->parts[rows->file].calls, row->link, row->start_ns);
	if (launch == TACHO_NONE)
		return;
	calls = find_rows(merge, &merge->parts[rows->file], launch);
	call = (const struct kineto_row *)calls->slices.rows + (launch - calls->first_row);
	take_asked(extra, all, kineto_merge_numbers(merge, calls)->tracks[call->track],
		   call->start_ns);
}

void kineto_collectives_fill(struct kineto_merge *merge, const struct kineto_part *part)
{
	g_autoptr(GArray) all = g_array_new(FALSE, FALSE, sizeof(struct asking));
	guint end = part->first_piece + part->n_pieces;

	for (guint i = part->first_piece; i < end; i++)
		add_asking(merge, kineto_files_rows(&merge->files, i), all);
	if (!all->len)
		return;
	g_array_sort(all, compare_asking);
	for (guint i = part->first_piece; i < end; i++) {
		const struct kineto_rows *rows = kineto_files_rows(&merge->files, i);
		const struct kineto_row *slices = rows->slices.rows;

		for (gsize k = 0; k < rows->slices.n; k++)
			if (slices[k].kind == TACHO_SLICE_COLLECTIVE)
				fill_row(merge, rows, &slices[k], all);
	}
}
