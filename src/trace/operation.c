#include "trace/operation.h"

#include "trace/source.h"

static const gchar *const names[N_OPERATIONS] = {
#define COLLECTIVE_OPERATION_NAME(enumerator, name) [OPERATION_##enumerator] = #name,
	COLLECTIVE_OPERATIONS(COLLECTIVE_OPERATION_NAME)
#undef COLLECTIVE_OPERATION_NAME
};

enum collective_operation slice_operation(const TachoTimeline *timeline, guint32 slice)
{
	guint64 place;
	struct foreign_reader *reader = tacho_source_borrow_foreign(
		timeline->source, timeline->slices.source[slice], &place);
	guint operation = reader && reader->operation ? reader->operation(reader, place) : 0;

	return operation < N_OPERATIONS ? (enum collective_operation)operation : OPERATION_UNTOLD;
}

const gchar *collective_name(const TachoTimeline *timeline, guint32 slice)
{
	enum collective_operation operation = slice_operation(timeline, slice);

	return operation ? names[operation] : tacho_slice_name(timeline, slice);
}

guint32 collective_name_id(TachoTimeline *timeline, guint32 slice)
{
	enum collective_operation operation = slice_operation(timeline, slice);

	return operation ? tacho_timeline_intern(timeline, names[operation], -1)
			 : timeline->slices.name[slice];
}
