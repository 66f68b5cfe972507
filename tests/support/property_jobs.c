#include "property_jobs.h"

#include "exchange_jobs.h"
#include "job_text.h"
#include "pipeline_text.h"

#define GRADIENT "\"autograd::engine::evaluate_function: torch::autograd::AccumulateGrad\""
#define BACKWARD "\"autograd::engine::evaluate_function: AddmmBackward0\""
#define LOADER	 "\"enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__\""

/* Two hosts, two process groups, small and large all-reduces that overlap each other and the computing. */
#define GROUPS_OF_A_STEP(step, at, late)                                                           \
	"  annotation ProfilerStep#" #step " " at "000.." at "400\n"                               \
	"    op forward " at "000.." at "060\n"                                                    \
	"    collective gloo:all_reduce " at "060.." at "2" late                                   \
	" bytes=4194304 group=0 end_tid=8\n"                                                       \
	"    op backward " at "070.." at "1" late "\n"                                             \
	"    collective gloo:all_reduce " at "1" late ".." at                                      \
	"290 bytes=1048576 group=0 end_tid=9\n"                                                    \
	"    collective gloo:all_reduce " at "295.." at "299 bytes=64 group=1 end_tid=7\n"         \
	"    op optimizer " at "300.." at "390\n"
#define GROUPS_OF_A_RANK(rank, tid, host, late)                                                    \
	"rank " #rank " host=" host " thread " #tid " main\n" GROUPS_OF_A_STEP(0, "1", late)       \
		GROUPS_OF_A_STEP(1, "2", late) GROUPS_OF_A_STEP(2, "3", late)

static const gchar two_groups[] =
	"unit us\n" GROUPS_OF_A_RANK(0, 1000, "a", "20") GROUPS_OF_A_RANK(1, 1001, "a", "40")
		GROUPS_OF_A_RANK(2, 1002, "b", "60") GROUPS_OF_A_RANK(3, 1003, "b", "50");

/* Rank 0 gathers what the others have computed, updates, and sends it to all. */
#define WORKER(rank, tid, end)                                                                     \
	"rank " #rank " host=w" #rank " thread " #tid " main\n"                                    \
	"  annotation ProfilerStep#0 0..300\n"                                                     \
	"    op forward_backward 0.." #end "\n"                                                    \
	"    collective gloo:gather " #end "..180 bytes=2097152 end_tid=9\n"                       \
	"    collective gloo:broadcast 200..280 bytes=2097152 end_tid=9\n"                         \
	"    op use 280..300\n"

static const gchar parameter_server[] =
	"unit us\n"
	"rank 0 host=server thread 1000 main\n"
	"  annotation ProfilerStep#0 0..300\n"
	"    collective gloo:gather 10..180 bytes=2097152 end_tid=9\n"
	"    op update 180..200\n"
	"    collective gloo:broadcast 200..280 bytes=2097152 end_tid=9\n" WORKER(1, 1001, 90)
		WORKER(2, 1002, 110) WORKER(3, 1003, 100);

/* Two accelerators that compute, exchange gradients beside that, and copy the loss to the host. */
#define DEVICE_RANK(rank, tid, first)                                                              \
	"rank " #rank " host=h thread " #tid " main\n"                                             \
	"  device 0 'Tesla V100-SXM2-16GB'\n"                                                      \
	"  annotation ProfilerStep#0 0..1000\n"                                                    \
	"    op aten::mm 0..10 in=float32[1000,1000] in=float32[1000,1000] "                       \
	"out=float32[1000,1000]\n"                                                                 \
	"      runtime cudaLaunchKernel 0..10\n"                                                   \
	"    op aten::relu 10..20 in=float32[1000000] out=float32[1000000]\n"                      \
	"      runtime cudaLaunchKernel#2 10..20\n"                                                \
	"    op " BACKWARD " 20..40\n"                                                             \
	"      op aten::mm 20..30 in=float32[1000,1000] in=float32[1000,1000] "                    \
	"out=float32[1000,1000]\n"                                                                 \
	"        runtime cudaLaunchKernel#3 20..30\n"                                              \
	"    op " GRADIENT " 40..50\n"                                                             \
	"      runtime cudaLaunchKernel#4 40..50\n"                                                \
	"    runtime cudaMemcpyAsync 50..60\n"                                                     \
	"    runtime cudaDeviceSynchronize 60..900\n"                                              \
	"    op optimizer 900..1000\n"                                                             \
	"stream 7\n"                                                                               \
	"  kernel sgemm 100.." #first " launch=cudaLaunchKernel\n"                                 \
	"  kernel relu 300..400 launch=cudaLaunchKernel#2\n"                                       \
	"  kernel sgemm_backward 400..550 launch=cudaLaunchKernel#3\n"                             \
	"  memcpy \"Memcpy DtoH (Device -> Pageable)\" 810..830 launch=cudaMemcpyAsync\n"          \
	"stream 20\n"                                                                              \
	"  collective nccl:all_reduce 560..800 bytes=4000000 group=1 launch=cudaLaunchKernel#4\n"

static const gchar devices[] = "unit us\n" DEVICE_RANK(0, 1000, 280) DEVICE_RANK(1, 1001, 300);

/* Experts: each rank sends to each, there and back. */
#define EXPERT_RANK(rank, tid, end)                                                                \
	"rank " #rank " host=h thread " #tid " main\n"                                             \
	"  annotation ProfilerStep#0 0..500\n"                                                     \
	"    runtime cudaLaunchKernel 0..10\n"                                                     \
	"    runtime cudaLaunchKernel#2 10..20\n"                                                  \
	"    runtime cudaLaunchKernel#3 20..30\n"                                                  \
	"    runtime cudaLaunchKernel#4 30..40\n"                                                  \
	"    runtime cudaDeviceSynchronize 40..490\n"                                              \
	"stream 7\n"                                                                               \
	"  kernel gate 20.." #end " launch=cudaLaunchKernel\n"                                     \
	"  collective nccl:all_to_all " #end "..200 bytes=1000000 group=1 "                        \
	"launch=cudaLaunchKernel#2\n"                                                              \
	"  kernel expert 205..3" #end " launch=cudaLaunchKernel#3\n"                               \
	"  collective nccl:all_to_all 3" #end "..480 bytes=1000000 group=1 "                       \
	"launch=cudaLaunchKernel#4\n"

static const gchar experts[] = "unit us\n" EXPERT_RANK(0, 1000, 60) EXPERT_RANK(1, 1001, 80)
	EXPERT_RANK(2, 1002, 70) EXPERT_RANK(3, 1003, 90);

/* Waits for workers that make a batch in 100, then passes of 60, on a host alone; three steps that differ. */
#define LOADED_STEP(step, at, wait)                                                                \
	"  annotation ProfilerStep#" #step " " at "00.." at "99\n"                                 \
	"    annotation " LOADER " " at "00.." at wait "\n"                                        \
	"    op forward " at wait ".." at "70\n"                                                   \
	"    op " BACKWARD " " at "70.." at "90\n"                                                 \
	"    op " GRADIENT " " at "90.." at "92\n"                                                 \
	"    op optimizer " at "92.." at "99\n"

static const gchar loaded[] =
	"unit us\n"
	"rank 0 thread 1000 main\n" LOADED_STEP(0, "1", "40") LOADED_STEP(1, "2", "45")
		LOADED_STEP(2, "3", "35") LOADED_STEP(3, "4", "42");

static void add(GPtrArray *jobs, const gchar *name, gchar *text)
{
	struct made_up_job *job = g_new0(struct made_up_job, 1);

	job->name = name;
	job->text = text;
	g_ptr_array_add(jobs, job);
}

static void add_exchange(GPtrArray *jobs, const gchar *name, struct exchange *exchange)
{
	exchange_play(exchange);
	add(jobs, name, exchange_text(exchange));
	exchange_release(exchange);
}

static void free_job(gpointer data)
{
	struct made_up_job *job = data;

	g_free(job->text);
	g_free(job);
}

GPtrArray *made_up_jobs(void)
{
	static const gint64 compute_us[] = { 300, 200, 250, 220 };
	const struct pipeline stages = { .n_stages = 3,
					 .n_micro_batches = 6,
					 .seed = 1,
					 .forward_us = 100,
					 .backward_us = 200,
					 .transfer_us = 30 };
	GPtrArray *jobs = g_ptr_array_new_with_free_func(free_job);
	struct exchange exchange;

	add(jobs, "late rank", g_strdup(job_late_rank));
	add(jobs, "shared link", g_strdup(job_shared_link));
	add(jobs, "buckets", g_strdup(job_buckets));
	add(jobs, "two groups", g_strdup(two_groups));
	add(jobs, "parameter server", g_strdup(parameter_server));
	add(jobs, "devices", g_strdup(devices));
	add(jobs, "experts", g_strdup(experts));
	add(jobs, "loaded", g_strdup(loaded));
	add(jobs, "pipeline", pipeline_text(&stages, NULL));
	exchange_ring(&exchange, 4, 3, compute_us);
	add_exchange(jobs, "ring of exchange", &exchange);
	exchange_two_stages(&exchange, 4, compute_us);
	add_exchange(jobs, "two stages", &exchange);
	return jobs;
}
