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
