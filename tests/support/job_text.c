#include "job_text.h"

const gchar job_late_rank[] = "unit us\n"
			      "rank 0 thread 1000 main\n"
			      "  annotation ProfilerStep#0 0..100\n"
			      "    op a 0..30\n"
			      "    op c10d::allreduce_ 30..31\n"
			      "    op b 60..100\n"
			      "    collective gloo:all_reduce 31..60 bytes=1024 end_tid=9\n"
			      "rank 1 thread 1001 main\n"
			      "  annotation ProfilerStep#0 0..100\n"
			      "    op a 0..50\n"
			      "    op c10d::allreduce_ 50..51\n"
			      "    op b 60..100\n"
			      "    collective gloo:all_reduce 51..60 bytes=1024 end_tid=9\n";

const gchar job_shared_link[] = "unit us\n"
				"rank 0 thread 1000 main\n"
				"  annotation ProfilerStep#0 0..40\n"
				"    op a 0..10\n"
				"    collective gloo:all_reduce 10..30 bytes=1024 end_tid=8\n"
				"    collective gloo:all_reduce 10..30 bytes=1024 end_tid=9\n"
				"    op b 30..40\n"
				"rank 1 thread 1001 main\n"
				"  annotation ProfilerStep#0 0..40\n"
				"    op a 0..10\n"
				"    collective gloo:all_reduce 10..30 bytes=1024 end_tid=8\n"
				"    collective gloo:all_reduce 10..30 bytes=1024 end_tid=9\n"
				"    op b 30..40\n";

const gchar job_buckets[] = "unit us\n"
			    "rank 0 thread 1000 main\n" JOB_BUCKETS_OF_A_RANK
			    "rank 1 thread 1001 main\n" JOB_BUCKETS_OF_A_RANK;

/* Queued by a call of 2 us, in the hook of the gradient. */
#define GRADIENT_WITH_CALL(begin, ready, end)                                                      \
	"    op autograd::engine::evaluate_function:AccumulateGrad " #begin ".." #end "\n"         \
	"      op torch::autograd::AccumulateGrad " #begin ".." #ready                             \
	" backward in=float32[262144]\n"                                                           \
	"      op c10d::allreduce_ " #ready ".." #end " in=float32[4]@0x1000\n"

#define CALLS_OF_A_RANK                                                                            \
	"  annotation ProfilerStep#0 0..68\n"                                                      \
	"    op forward 0..5\n" GRADIENT_WITH_CALL(5, 15, 17) JOB_MIB_GRADIENT(17, 27)             \
		JOB_MIB_GRADIENT(27, 37) GRADIENT_WITH_CALL(                                       \
			37, 47, 49) "    collective gloo:all_reduce 16..22 bytes=1048576 "         \
				    "end_tid=9 in=float32[4]@0x1000\n"                             \
				    "    collective gloo:all_reduce 48..62 bytes=3145728 "         \
				    "end_tid=9 in=float32[4]@0x1000\n"                             \
				    "    op optimizer 62..68\n"

const gchar job_bucket_calls[] =
	"unit us\n"
	"rank 0 thread 1000 main\n" CALLS_OF_A_RANK "rank 1 thread 1001 main\n" CALLS_OF_A_RANK;
