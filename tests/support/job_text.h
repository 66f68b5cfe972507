/* job_text: small jobs as timelines (timeline_text.h), for tests of the replay. Times are microseconds. */
#ifndef TACHO_JOB_TEXT_H
#define TACHO_JOB_TEXT_H

#include <glib.h>

/* Rank 1 comes 20 us late to an all-reduce of 1024 bytes that takes 9 us, all of it bytes. */
extern const gchar job_late_rank[];

/* Two all-reduces at once, by two workers, on one link: 10 us each alone. */
extern const gchar job_shared_link[];

/* Gradients of 1 MiB come at 10, 20, 30 and 40; a bucket of one and a bucket of three, which take 2 us
 * and 4 us a MiB on the wire; everybody waits for both, then updates. */
extern const gchar job_buckets[];

/* The same 5 us later, where a call of 2 us queues each bucket, behind the gradient that completes it. */
extern const gchar job_bucket_calls[];

/* A gradient of 1 MiB on a rank's thread. */
#define JOB_MIB_GRADIENT(begin, end)                                                               \
	"    op autograd::engine::evaluate_function:AccumulateGrad " #begin ".." #end "\n"         \
	"      op torch::autograd::AccumulateGrad " #begin ".." #end                               \
	" backward in=float32[262144]\n"

/* The step of a rank of job_buckets. */
#define JOB_BUCKETS_OF_A_RANK                                                                      \
	"  annotation ProfilerStep#0 0..60\n" JOB_MIB_GRADIENT(0, 10) JOB_MIB_GRADIENT(10, 20)     \
		JOB_MIB_GRADIENT(20, 30) JOB_MIB_GRADIENT(                                         \
			30, 40) "    collective gloo:all_reduce 10..16 bytes=1048576 end_tid=9\n"  \
				"    collective gloo:all_reduce 40..54 bytes=3145728 end_tid=9\n"  \
				"    op optimizer 54..60\n"

#endif
