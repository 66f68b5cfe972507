/* make_ctf_seeds: write the seeds of fuzz_ctf: what the decoder makes of small traces. */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "ctf_lines.h"
#include "import/ctf_records.h"

static const struct {
	const gchar *name, *text;
} seeds[] = {
	{ "pairs", "env hostname a\npid 10\n"
		   "100 7 app:load_entry file=x.bin\n"
		   "200 7 app:note text=hello level=i:-3 share=f:0.25 mask=x:255\n"
		   "300 7 app:load_exit result=i:5\n"
		   "stream cpu=1 discarded=2\n"
		   "150 8 lttng_ust_libc:malloc size=u:64 ptr=x:4096\n" },
	{ "kernel", "env domain kernel\ncontext\nstream cpu=1\n"
		    "100 0 sched_switch prev_comm=a prev_tid=i:1 next_comm=b next_tid=i:2\n"
		    "150 0 syscall_entry_read fd=i:3\n"
		    "160 0 lttng_statedump_process_state tid=i:2 pid=i:2 name=b\n"
		    "250 0 syscall_exit_read ret=i:100\n" },
	{ "tensorflow",
	  "100 7 tensorflowTracer:session_start name=run count=i:4\n"
	  "120 7 tensorflowTracer:operation_start placement=/cpu:0 name=conv\n"
	  "140 7 tensorflowTracer:operation_end placement=/cpu:0 name=conv\n"
	  "170 8 tensorflowTracer:rdv_recv name='a;1;b;edge;0:0'\n"
	  "190 7 tensorflowTracer:rdv_send name='a;1;b;edge;0:0'\n"
	  "191 7 grpcTracer:send_RecvTensor_request rendezvous_key=k\n"
	  "192 8 grpcTracer:receive_RecvTensor_request rendezvous_key=k\n"
	  "195 7 tensorflowTracer:bfc_allocator_stats allocator_name=g num_allocs=u:3\n" },
	{ "device", "100 7 openclTracer:function_entry name=clEnqueueNDRangeKernel\n"
		    "110 7 openclTracer:function_exit name=clEnqueueNDRangeKernel\n"
		    "140 9 openclTracer:callback\n"
		    "141 9 openclTracer:kernel_begin name=add timestamp=u:1120\n"
		    "142 9 openclTracer:kernel_queued name=add timestamp=u:1101\n"
		    "144 9 openclTracer:kernel_end name=add timestamp=u:1139\n"
		    "145 9 hcTracer:kernel_begin timestamp=u:20 name=gemm\n"
		    "146 9 hcTracer:kernel_end timestamp=u:30 name=gemm\n" },
	{ "otf2", "100 0 GlobalDef_String self=u:1 stringValue=main\n"
		  "100 0 GlobalDef_Region self=u:4 name=u:1\n"
		  "100 0 GlobalDef_Location self=u:0 name=u:1 locationGroup=u:0\n"
		  "100 0 GlobalDef_LocationGroup self=u:0 name=u:1 locationGroupType=u:1\n"
		  "110 0 Event_Enter locationID=u:0 region=u:4\n"
		  "120 0 MetricValue_UInt64 locationID=u:0 metric=u:0 index=u:0 metricValue=u:9\n"
		  "130 0 Event_Leave locationID=u:0 region=u:4\n" },
};

static void write_seed(const gchar *folder, const gchar *name, const gchar *text)
{
	g_autofree gchar *path = g_build_filename(folder, name, NULL);
	gchar *trace = ctf_lines_new(text);
	int file = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	if (file < 0 || !ctf_decode(trace, 0, 1, file))
		g_error("%s cannot be written", path);
	close(file);
	ctf_lines_remove(trace);
}

int main(int argc, char **argv)
{
	for (guint i = 0; argc == 2 && i < G_N_ELEMENTS(seeds); i++)
		write_seed(argv[1], seeds[i].name, seeds[i].text);
	return argc == 2 ? 0 : 2;
}
