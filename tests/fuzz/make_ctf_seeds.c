/* make_ctf_seeds: write the seeds of fuzz_ctf, what the decoder makes of small traces, and of fuzz_ctf_trace, the traces
 * themselves. */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/order.h"
#include "ctf_lines.h"
#include "fuzz_folder.h"
#include "import/ctf/ctf_records.h"

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
	{ "interception",
	  "100 7 interceptionTracer:function_entry name=hsa_init\n"
	  "110 7 interceptionTracer:function_exit name=hsa_init\n"
	  "120 7 interceptionTracer:aql_kernel_dispatch_packet_submitted agent_handle=x:10 "
	  "queue_id=u:1 kernel_object=x:1 kernel_name=gemm\n"
	  "130 7 interceptionTracer:aql_kernel_dispatch_packet_submitted agent_handle=x:10 "
	  "queue_id=u:1 kernel_object=x:2 kernel_name=relu\n"
	  "140 7 interceptionTracer:kernel_begin agent_handle=x:10 queue_id=u:1 kernel_object=x:2 "
	  "name=relu timestamp=u:40\n"
	  "150 7 interceptionTracer:kernel_end agent_handle=x:10 queue_id=u:1 kernel_object=x:2 "
	  "name=relu timestamp=u:50\n"
	  "160 7 interceptionTracer:kernel_parameters private_segment_size=u:0\n"
	  "161 7 interceptionTracer:perf_counter_uint64 kernel_object=x:2 counter_name=Wavefronts "
	  "value=u:64\n"
	  "162 7 interceptionTracer:perf_counter_float64 kernel_object=x:2 counter_name=CacheHit "
	  "value=f:0.5\n"
	  "170 7 hsaTracer:pool_memory_allocate handle=u:77 ptr=u:4096 size=u:100\n"
	  "180 7 hsaTracer:pool_memory_free handle=u:0 ptr=u:4096 size=u:0\n" },
	{ "requests",
	  "100 7 tensorflowTracer:session_start count=i:1\n"
	  "110 7 grpcTracer:send_RecvTensor_request rendezvous_key=k request='step_id: 3'\n"
	  "111 7 grpcTracer:send_request_tensor_start rendezvous_key=k\n"
	  "120 8 grpcTracer:receive_RecvTensor_request rendezvous_key=k step_id=u:3\n"
	  "121 8 grpcTracer:prepare_response_tensor_start rendezvous_key=k\n"
	  "130 8 grpcTracer:prepare_response_tensor_end rendezvous_key=k\n"
	  "140 7 grpcTracer:send_request_tensor_end rendezvous_key=k\n"
	  "150 7 tensorflowTracer:session_start count=i:2\n"
	  "160 7 tensorflowTracer:session_end count=i:2\n" },
	{ "otf2", "100 0 GlobalDef_String self=u:1 stringValue=main\n"
		  "100 0 GlobalDef_Region self=u:4 name=u:1\n"
		  "100 0 GlobalDef_Location self=u:0 name=u:1 locationGroup=u:0\n"
		  "100 0 GlobalDef_LocationGroup self=u:0 name=u:1 locationGroupType=u:1\n"
		  "110 0 Event_Enter locationID=u:0 region=u:4\n"
		  "120 0 MetricValue_UInt64 locationID=u:0 metric=u:0 index=u:0 metricValue=u:9\n"
		  "130 0 Event_Leave locationID=u:0 region=u:4\n" },
	{ "exported",
	  "100 7 tacho:process rank=i:1 pid=u:7 ppid=u:1 local_rank=i:0 world_size=i:2 "
	  "command=train job=j\n"
	  "100 7 tacho:track track=i:0 kind=thread name=main tid=u:7 device=i:0 parent_tid=u:0\n"
	  "100 7 tacho:track track=i:1 kind=device name=q tid=u:3 device=i:1 parent_tid=u:0\n"
	  "100 7 tacho:step_begin track=i:-1 number=u:0 duration_ns=i:90\n"
	  "110 7 tacho_thread:op_begin slice=u:0 track=i:0 name=aten::mm inputs='float32[8,16], "
	  "int64[]' "
	  "outputs=float32[8] sequence=i:3 open=u:1\n"
	  "111 7 tacho_thread:runtime_begin slice=u:1 track=i:0 name=launch id=u:5\n"
	  "112 7 tacho_device:kernel_begin slice=u:2 track=i:1 name=gemm bytes=u:8 flops=u:9 "
	  "dtype=float32 dims=4,8\n"
	  "112 7 tacho:flow track=i:1 kind=launch from_slice=u:1 to_slice=u:2 is_exact=u:1\n"
	  "113 7 tacho_thread:runtime_end slice=u:1\n"
	  "114 7 tacho_device:kernel_end slice=u:2\n"
	  "115 7 tacho_thread:message_begin slice=u:3 track=i:0 name=send bytes=u:8 fd=u:5 "
	  "direction=send "
	  "local=10.0.0.1:29500 peer=[fe80::1]:29501\n"
	  "116 7 tacho_thread:message_end slice=u:3\n"
	  "117 7 tacho_async:collective_begin slice=u:4 track=i:2 name=all_reduce bytes=u:64 "
	  "group=u:0 "
	  "inputs=float32[16]\n"
	  "120 7 tacho_thread:op_end slice=u:0\n"
	  "121 7 tacho:alloc track=i:0 address=x:4096 bytes=u:64 device=i:-1\n"
	  "122 7 tacho:free track=i:0 address=x:4096 bytes=u:64 device=i:-1\n"
	  "123 7 tacho:counter track=i:3 name=loss value=i:-4\n"
	  "124 7 tacho:mark track=i:0 name=late first=i:1 second=i:2 text=why\n"
	  "190 7 tacho:step_end number=u:0\n"
	  "200 7 tacho:process_end how=killed status=i:9\n" },
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

/* The names of the trace's streams, behind that of its metadata. */
static GPtrArray *list_files(const gchar *trace)
{
	GPtrArray *names = g_ptr_array_new_with_free_func(g_free);
	g_autoptr(GDir) entries = g_dir_open(trace, 0, NULL);
	const gchar *name;

	while ((name = g_dir_read_name(entries)))
		if (strcmp(name, "metadata") != 0)
			g_ptr_array_add(names, g_strdup(name));
	g_ptr_array_sort(names, order_text);
	g_ptr_array_insert(names, 0, g_strdup("metadata"));
	return names;
}

static void write_trace(const gchar *folder, const gchar *name, const gchar *text)
{
	g_autofree gchar *path = g_build_filename(folder, name, NULL);
	gchar *trace = ctf_lines_new(text);
	g_autoptr(GPtrArray) names = list_files(trace);
	g_autoptr(GByteArray) row = g_byte_array_new();

	for (guint i = 0; i < names->len; i++) {
		g_autofree gchar *file = g_build_filename(trace, names->pdata[i], NULL);
		g_autofree gchar *bytes = NULL;
		gsize n;

		if (!g_file_get_contents(file, &bytes, &n, NULL))
			g_error("%s cannot be read", file);
		fuzz_folder_append(row, (const guint8 *)bytes, n);
	}
	if (!g_file_set_contents(path, (const gchar *)row->data, row->len, NULL))
		g_error("%s cannot be written", path);
	ctf_lines_remove(trace);
}

int main(int argc, char **argv)
{
	for (guint i = 0; argc == 3 && i < G_N_ELEMENTS(seeds); i++) {
		write_seed(argv[1], seeds[i].name, seeds[i].text);
		write_trace(argv[2], seeds[i].name, seeds[i].text);
	}
	return argc == 3 ? 0 : 2;
}
