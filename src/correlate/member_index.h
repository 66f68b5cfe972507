/* member_index: of which collective a slice is a member, and which member another process has. */
#ifndef TACHO_MEMBER_INDEX_H
#define TACHO_MEMBER_INDEX_H

#include <tacho/timeline.h>

struct member_index;

/* An index of the timeline's collectives, which stay as they are for as long as the index. The result is the
 * caller's, to end with member_index_free(). */
struct member_index *member_index_new(const TachoTimeline *timeline);
void member_index_free(struct member_index *index);

typedef struct member_index member_index;
G_DEFINE_AUTOPTR_CLEANUP_FUNC(member_index, member_index_free)

/* The row of the collective that the slice is a member of, or TACHO_NONE. */
guint32 member_index_row(const struct member_index *index, guint32 slice);
/* The member that `process` has of the same collective as `slice`, or TACHO_NONE. */
guint32 member_index_in(const struct member_index *index, guint32 slice, guint32 process);

#endif
