/* Which process group a collective is of, by what is told of it: an address, the thread that completes it, or nothing. */
#include <tacho/correlate.h>

#include "timeline_text.h"

/* The row of the nth slice of that name. */
static const TachoCollective *row_of(const TachoTimeline *timeline, const gchar *name, guint nth)
{
	guint32 slice = timeline_find(timeline, name, nth);

	for (guint i = 0; i < timeline->collectives->len; i++) {
		const TachoCollective *row =
			&g_array_index(timeline->collectives, TachoCollective, i);

		for (guint32 k = 0; k < row->n_members; k++)
			if (g_array_index(timeline->members, guint32, row->first_member + k) ==
			    slice)
				return row;
	}
	g_assert_not_reached();
}

static guint32 group_of(const TachoTimeline *timeline, const gchar *name)
{
	return row_of(timeline, name, 0)->group;
}

static guint32 size_of(const TachoTimeline *timeline, const gchar *name)
{
	return row_of(timeline, name, 0)->n_expected;
}

/* --- addresses ---------------------------------------------------------------------------------- */

/* An address that no mark told is of the group that owns the thread which completed the first collective of it, and stays so. */
static void test_owned_by_thread(void)
{
	g_autoptr(TachoTimeline) timeline = correlated(
		"world 8\nrank 0 thread 1 main\n"
		"mark process_group 1 text='ranks=0-3'\n"
		"mark process_group 2 text='ranks=0-1 tids=20-21,25'\n"
		"mark process_group 3 text='ranks=0-2 tids=30'\n"
		"collective barrier/a 10..20 group=700 end_tid=25\n"
		"collective barrier/b 30..40 group=700 end_tid=99\n"
		"collective barrier/c 50..60 group=800 end_tid=30\n"
		"collective barrier/d 70..80 end_tid=21\n" /* the thread tells it without address, too */
		"collective barrier/e 90..95 end_tid=99\n" /* which was seen to complete one of 700 */
		"collective barrier/f 96..97 end_tid=22\n"); /* nobody's: the first mark's */

	g_assert_cmpuint(size_of(timeline, "barrier/a"), ==, 2);
	g_assert_cmpuint(size_of(timeline, "barrier/b"), ==, 2);
	g_assert_cmpuint(size_of(timeline, "barrier/c"), ==, 3);
	g_assert_cmpuint(size_of(timeline, "barrier/d"), ==, 2);
	g_assert_cmpuint(size_of(timeline, "barrier/e"), ==, 2);
	g_assert_cmpuint(size_of(timeline, "barrier/f"), ==, 4);
	g_assert_cmpuint(group_of(timeline, "barrier/f"), ==, 0); /* as the marks were made */
	g_assert_cmpuint(group_of(timeline, "barrier/a"), ==, 1);
	g_assert_cmpuint(group_of(timeline, "barrier/d"), ==, 1);
	g_assert_cmpuint(group_of(timeline, "barrier/c"), ==, 2);
}

/* The address that a mark tells is the group's, whoever completes. */
static void test_marked_address(void)
{
	g_autoptr(TachoTimeline) timeline =
		correlated("world 8\nrank 0 thread 1 main\n"
			   "mark process_group 1 first=500 text='ranks=0-3 tids=50'\n"
			   "mark process_group 2 first=600 text='ranks=0-1 tids=60'\n"
			   "collective barrier/a 10..20 group=600 end_tid=50\n"
			   "collective barrier/b 30..40 group=500 end_tid=60\n"
			   "collective barrier/c 50..60 end_tid=60\n");

	g_assert_cmpuint(size_of(timeline, "barrier/a"), ==, 2);
	g_assert_cmpuint(size_of(timeline, "barrier/b"), ==, 4);
	g_assert_cmpuint(size_of(timeline, "barrier/c"), ==, 2);
}

#define TWO_MARKS                                                                                  \
	"mark process_group 2 text='ranks=0-2'\n"                                                  \
	"mark process_group 1 text='ranks=0-1'\n"

/* As many addresses as marks without one pair up: the address used first is of the mark made first. */
static void test_pairs_in_order(void)
{
	g_autoptr(TachoTimeline) timeline =
		correlated("world 8\nrank 0 thread 1 main\n" TWO_MARKS
			   "mark process_group 3 first=5 text='ranks=0-3'\n"
			   "collective barrier/late 70..80 group=700\n"
			   "collective barrier/early 10..20 group=900\n"
			   "collective barrier/known 90..95 group=5\n");

	g_assert_cmpuint(size_of(timeline, "barrier/early"), ==, 2);
	g_assert_cmpuint(size_of(timeline, "barrier/late"), ==, 3);
	g_assert_cmpuint(size_of(timeline, "barrier/known"), ==, 4);
}

/* Of more or fewer addresses than marks nobody knows which is which: each is a group of its own, of all ranks. */
static void test_strangers(void)
{
	g_autoptr(TachoTimeline) more = correlated("world 8\nrank 0 thread 1 main\n" TWO_MARKS
						   "collective barrier/a 10..20 group=700\n"
						   "collective barrier/b 30..40 group=800\n"
						   "collective barrier/c 50..60 group=900\n"
						   "collective barrier/d 70..80 group=700\n");
	g_autoptr(TachoTimeline) fewer = correlated("world 8\nrank 0 thread 1 main\n" TWO_MARKS
						    "collective barrier/a 10..20 group=700\n"
						    "collective barrier/b 30..40\n");

	g_assert_cmpuint(size_of(more, "barrier/a"), ==, 8);
	g_assert_cmpuint(size_of(more, "barrier/b"), ==, 8);
	g_assert_cmpuint(size_of(more, "barrier/c"), ==, 8);
	g_assert_cmpuint(group_of(more, "barrier/a"), ==, 0); /* unused groups have no number */
	g_assert_cmpuint(group_of(more, "barrier/b"), ==, 1);
	g_assert_cmpuint(group_of(more, "barrier/c"), ==, 2);
	g_assert_cmpuint(group_of(more, "barrier/d"), ==, 0);
	g_assert_cmpuint(size_of(fewer, "barrier/a"), ==, 8);
	g_assert_cmpuint(size_of(fewer, "barrier/b"), ==, 2); /* the first mark's */
}

/* --- no address --------------------------------------------------------------------------------- */

/* Without marks: of the only group there is; of several, of the one that the thread completes for; else of one of its own. */
static void test_no_marks(void)
{
	g_autoptr(TachoTimeline) one = correlated("rank 0 thread 1 main\n"
						  "collective barrier/a 10..20 group=7 end_tid=20\n"
						  "collective barrier/b 30..40 end_tid=21\n"
						  "collective barrier/c 50..60\n");
	g_autoptr(TachoTimeline) several =
		correlated("rank 0 thread 1 main\n"
			   "collective barrier/a 10..20 group=7 end_tid=20\n"
			   "collective barrier/b 30..40 group=8 end_tid=21\n"
			   "collective barrier/c 50..60 group=8 end_tid=20\n"
			   "collective barrier/d 70..80 end_tid=20\n"
			   "collective barrier/e 90..95 end_tid=21\n"
			   "collective barrier/f 100..110 end_tid=22\n"
			   "collective barrier/g 120..130\n");
	g_autoptr(TachoTimeline) none = correlated("rank 0 thread 1 main\n"
						   "collective barrier/a 10..20 end_tid=20\n"
						   "collective barrier/b 30..40 end_tid=21\n"
						   "collective barrier/c 50..60\n");

	g_assert_cmpuint(group_of(one, "barrier/b"), ==, group_of(one, "barrier/a"));
	g_assert_cmpuint(group_of(one, "barrier/c"), ==, group_of(one, "barrier/a"));
	g_assert_cmpuint(row_of(one, "barrier/c", 0)->sequence, ==, 2);

	g_assert_cmpuint(group_of(several, "barrier/a"), ==, 0);
	g_assert_cmpuint(group_of(several, "barrier/b"), ==, 1);
	g_assert_cmpuint(group_of(several, "barrier/c"), ==, 1); /* by its address */
	g_assert_cmpuint(group_of(several, "barrier/d"), ==, 0); /* 20 was first seen there */
	g_assert_cmpuint(group_of(several, "barrier/e"), ==, 1);
	g_assert_cmpuint(group_of(several, "barrier/f"), ==, 2);
	g_assert_cmpuint(group_of(several, "barrier/g"), ==, 2);

	g_assert_cmpuint(group_of(none, "barrier/a"), ==, 0);
	g_assert_cmpuint(group_of(none, "barrier/b"), ==, 0);
	g_assert_cmpuint(group_of(none, "barrier/c"), ==, 0);
	g_assert_cmpuint(row_of(none, "barrier/c", 0)->sequence, ==, 2);
}

/* Marks and collectives of another process than the main one are no rank's. */
static void test_other_process(void)
{
	g_autoptr(TachoTimeline) timeline = correlated("world 4\nrank 0 thread 1 main\n"
						       "collective barrier/a 10..20\n"
						       "process 77 thread 77 helper\n"
						       "mark process_group 1 text='ranks=0-1'\n"
						       "collective barrier/b 10..20\n");

	g_assert_cmpuint(timeline->collectives->len, ==, 1);
	g_assert_cmpuint(size_of(timeline, "barrier/a"), ==, 4);
}

/* --- members ------------------------------------------------------------------------------------ */

/* How many members a group has of which `ranks` are listed, in a job of `world`. */
static guint32 n_listed(const gchar *ranks, guint world)
{
	g_autofree gchar *text = g_strdup_printf("world %u\nrank 0 thread 1 main\n"
						 "mark process_group 1 text='ranks=%s'\n"
						 "collective barrier 10..20\n",
						 world, ranks);
	g_autoptr(TachoTimeline) timeline = correlated(text);

	return size_of(timeline, "barrier");
}

/* Each once, however they are listed; what is no number says nothing; no more than 65536 are read. */
static void test_lists(void)
{
	g_assert_cmpuint(n_listed("0,2,4", 9), ==, 3);
	g_assert_cmpuint(n_listed("0-3", 9), ==, 4);
	g_assert_cmpuint(n_listed("0-3,2-5", 9), ==, 6);
	g_assert_cmpuint(n_listed("4,0-3", 9), ==, 5);
	g_assert_cmpuint(n_listed("1-6,2-3,7", 9), ==, 7);
	g_assert_cmpuint(n_listed("5-2,0,3", 9), ==, 2);
	g_assert_cmpuint(n_listed("[0;7]", 9), ==, 2);
	g_assert_cmpuint(n_listed("0-8", 9), ==, 9);
	g_assert_cmpuint(n_listed("", 9), ==, 9); /* not told: all */
	g_assert_cmpuint(n_listed("all", 9), ==, 9);
	g_assert_cmpuint(n_listed("5-70000", 90000), ==, 65536);
	g_assert_cmpuint(n_listed("0-65534,65536,65538", 90000), ==, 65536);
	g_assert_cmpuint(n_listed("0-18446744073709551615", 90000), ==, 65536);
	g_assert_cmpuint(n_listed("18446744073709551615", 9), ==, 1);
}

#define OF_RANK(rank, ranks, time)                                                                 \
	"rank " #rank " thread " #rank "1 main\n"                                                  \
	"mark process_group 1 first=" #rank "1 text='ranks=" ranks "'\n"                           \
	"collective barrier " time " group=" #rank "1\n"

/* Who lists the same ranks, in whatever way, is in one group; all ranks are the same as none said. */
static void test_alike(void)
{
	g_autoptr(TachoTimeline) lists =
		correlated("world 5\n" OF_RANK(0, "0-1,2", "10..20") OF_RANK(1, "2,0,1", "11..20")
				   OF_RANK(2, "0-2", "12..20") OF_RANK(3, "0-3", "13..20"));
	g_autoptr(TachoTimeline) all = correlated("world 3\n" OF_RANK(0, "0-2", "10..20") OF_RANK(
		1, "", "11..20") OF_RANK(2, "0,1,2,3", "12..20"));

	g_assert_cmpuint(row_of(lists, "barrier", 0)->n_members, ==, 3);
	g_assert_true(row_of(lists, "barrier", 1) == row_of(lists, "barrier", 0));
	g_assert_true(row_of(lists, "barrier", 2) == row_of(lists, "barrier", 0));
	g_assert_cmpuint(row_of(lists, "barrier", 3)->n_members, ==, 1);
	g_assert_cmpuint(row_of(lists, "barrier", 3)->n_expected, ==, 4);
	g_assert_cmpuint(row_of(all, "barrier", 0)->n_members, ==, 3);
}

/* Groups of the same ranks are told apart by the order in which they were made, also those that are not used. */
static void test_many_of_the_same(void)
{
	g_autoptr(TachoTimeline) timeline =
		correlated("world 4\n"
			   "rank 0 thread 1 main\n"
			   "mark process_group 3 first=13 text='ranks=0-1'\n"
			   "mark process_group 1 first=11 text='ranks=0-1'\n"
			   "mark process_group 2 first=12 text='ranks=0-1'\n"
			   "collective barrier 10..20 group=11\n"
			   "collective barrier 30..40 group=12\n"
			   "collective barrier 50..60 group=13\n"
			   "rank 1 thread 2 main\n"
			   "mark process_group 1 first=21 text='ranks=0-1'\n"
			   "mark process_group 2 first=22 text='ranks=0-1'\n"
			   "mark process_group 3 first=23 text='ranks=0-1'\n"
			   "collective barrier 50..60 group=23\n");

	g_assert_true(row_of(timeline, "barrier", 3) == row_of(timeline, "barrier", 2));
	g_assert_cmpuint(row_of(timeline, "barrier", 2)->n_members, ==, 2);
	g_assert_cmpuint(row_of(timeline, "barrier", 0)->n_members, ==, 1);
	g_assert_cmpuint(row_of(timeline, "barrier", 1)->n_members, ==, 1);
	g_assert_cmpuint(row_of(timeline, "barrier", 0)->group, ==, 0);
	g_assert_cmpuint(row_of(timeline, "barrier", 1)->group, ==, 1);
	g_assert_cmpuint(row_of(timeline, "barrier", 2)->group, ==, 2);
}

/* Groups are numbered by when the first of their ranks made them. */
static void test_numbers(void)
{
	g_autoptr(TachoTimeline) timeline =
		correlated("world 4\n"
			   "rank 0 thread 1 main\n"
			   "mark process_group 5 first=1 text='ranks=0-1'\n"
			   "mark process_group 3 first=2 text='ranks=0-2'\n"
			   "collective barrier 10..20 group=1\n"
			   "collective barrier 30..40 group=2\n"
			   "rank 1 thread 2 main\n"
			   "mark process_group 2 first=3 text='ranks=0-1'\n"
			   "mark process_group 4 first=4 text='ranks=0-2'\n"
			   "collective barrier 10..20 group=3\n"
			   "collective barrier 30..40 group=4\n");

	g_assert_cmpuint(row_of(timeline, "barrier", 0)->group, ==, 0);
	g_assert_cmpuint(row_of(timeline, "barrier", 2)->group, ==, 0);
	g_assert_cmpuint(row_of(timeline, "barrier", 1)->group, ==, 1);
	g_assert_cmpuint(row_of(timeline, "barrier", 3)->group, ==, 1);
}

/* What a backend calls alike on all its ranks is one group, of as many as the mark says, although nobody tells who they are; what it calls
 * differently is not, although both are the first of two. */
static void test_communicators(void)
{
	g_autoptr(TachoTimeline) timeline = correlated("world 4\nrank 0 thread 1 main\n"
						       "mark process_group 1 first=170 second=2 "
						       "text='backend=nccl communicator=aa name='\n"
						       "collective barrier 10..20 group=170\n"
						       "rank 1 thread 2 main\n"
						       "mark process_group 1 first=187 second=2 "
						       "text='backend=nccl communicator=bb name='\n"
						       "collective barrier 12..22 group=187\n"
						       "rank 2 thread 3 main\n"
						       "mark process_group 1 first=170 second=2 "
						       "text='backend=nccl communicator=aa name='\n"
						       "collective barrier 11..20 group=170\n"
						       "rank 3 thread 4 main\n"
						       "mark process_group 1 first=187 second=2 "
						       "text='backend=nccl communicator=bb name='\n"
						       "collective barrier 13..22 group=187\n");

	g_assert_cmpuint(timeline->collectives->len, ==, 2);
	g_assert_cmpuint(row_of(timeline, "barrier", 0)->n_expected, ==, 2);
	g_assert_cmpuint(row_of(timeline, "barrier", 0)->group, ==,
			 row_of(timeline, "barrier", 2)->group);
	g_assert_cmpuint(row_of(timeline, "barrier", 1)->group, ==,
			 row_of(timeline, "barrier", 3)->group);
	g_assert_cmpuint(row_of(timeline, "barrier", 0)->group, !=,
			 row_of(timeline, "barrier", 1)->group);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/process_groups/owned_by_thread", test_owned_by_thread);
	g_test_add_func("/process_groups/marked_address", test_marked_address);
	g_test_add_func("/process_groups/pairs_in_order", test_pairs_in_order);
	g_test_add_func("/process_groups/strangers", test_strangers);
	g_test_add_func("/process_groups/no_marks", test_no_marks);
	g_test_add_func("/process_groups/other_process", test_other_process);
	g_test_add_func("/process_groups/lists", test_lists);
	g_test_add_func("/process_groups/alike", test_alike);
	g_test_add_func("/process_groups/many_of_the_same", test_many_of_the_same);
	g_test_add_func("/process_groups/numbers", test_numbers);
	g_test_add_func("/process_groups/communicators", test_communicators);
	return g_test_run();
}
