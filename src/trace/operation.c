#include "trace/operation.h"

#include <string.h>

#include "trace/name_meaning.h"
#include "trace/source.h"

#define MAX_LETTERS 48 /* of a word that are looked at */

static const gchar *const names[N_OPERATIONS] = {
#define COLLECTIVE_OPERATION_NAME(enumerator, name) [OPERATION_##enumerator] = #name,
	COLLECTIVE_OPERATIONS(COLLECTIVE_OPERATION_NAME)
#undef COLLECTIVE_OPERATION_NAME
};

enum collective_operation operation_of_word(const gchar *word, gsize n)
{
	/* longer words before those that they contain */
	static const struct {
		const gchar *part;
		enum collective_operation operation;
	} parts[] = { { "barrier", OPERATION_BARRIER },
		      { "pushpull", OPERATION_PUSH_PULL },
		      { "allreduce", OPERATION_ALL_REDUCE },
		      { "allgather", OPERATION_ALL_GATHER },
		      { "reducescatter", OPERATION_REDUCE_SCATTER },
		      { "alltoall", OPERATION_ALL_TO_ALL },
		      { "broadcast", OPERATION_BROADCAST },
		      { "bcast", OPERATION_BROADCAST },
		      { "reduce", OPERATION_REDUCE },
		      { "gather", OPERATION_GATHER },
		      { "scatter", OPERATION_SCATTER } };
	gchar plain[MAX_LETTERS + 1];
	gsize length = 0;

	for (gsize i = 0; i < n && length < MAX_LETTERS; i++)
		if (g_ascii_isalpha(word[i]))
			plain[length++] = g_ascii_tolower(word[i]);
	plain[length] = '\0';
	for (guint i = 0; i < G_N_ELEMENTS(parts); i++)
		if (strstr(plain, parts[i].part))
			return parts[i].operation;
	return OPERATION_UNTOLD;
}

static guint judge(const gchar *name)
{
	return operation_of_word(name, strlen(name));
}

enum collective_operation operation_of_name(const TachoTimeline *timeline, guint32 name)
{
	return (enum collective_operation)name_meaning(timeline, name, NAME_OF_COLLECTIVE, judge);
}

static guint judge_way(const gchar *name)
{
	gboolean sends = strcasestr(name, "send") != NULL;
	gboolean receives = strcasestr(name, "recv") != NULL || strcasestr(name, "receive") != NULL;

	if (sends && receives)
		return TACHO_WAY_BOTH;
	return sends ? TACHO_WAY_SEND : receives ? TACHO_WAY_RECEIVE : TACHO_WAY_BY_NAME;
}

TachoWay way_of_name(const TachoTimeline *timeline, guint32 name)
{
	return (TachoWay)name_meaning(timeline, name, NAME_OF_WAY, judge_way);
}

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

enum collective_operation collective_operation_of(const TachoTimeline *timeline, guint32 slice)
{
	enum collective_operation operation = slice_operation(timeline, slice);

	return operation ? operation : operation_of_name(timeline, timeline->slices.name[slice]);
}

gboolean operation_waits_for_all(enum collective_operation operation)
{
	switch (operation) {
	case OPERATION_ALL_REDUCE:
	case OPERATION_ALL_GATHER:
	case OPERATION_REDUCE_SCATTER:
	case OPERATION_ALL_TO_ALL:
	case OPERATION_BARRIER:
	case OPERATION_PUSH_PULL:
		return TRUE;
	default:
		return FALSE;
	}
}

gboolean operation_has_equal_bytes(enum collective_operation operation)
{
	return operation != OPERATION_SCATTER && operation != OPERATION_GATHER &&
	       operation != OPERATION_ALL_TO_ALL;
}
