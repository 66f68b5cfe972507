/* device_table: the table `device`: the devices of processes, as their traces tell of them. */
#include "query/query_table.h"

static const struct query_column columns[] = {
	ROW_ID("id", "number of the row"),
	INTEGER("upid", TachoDevice, process, "its process: process.upid"),
	RANK_OF("rank", TachoDevice, process, "rank"),
	INTEGER("device", TachoDevice, number, "the device's number: track.device"),
	STRING("name", TachoDevice, name, "its name; NULL: not told, as all that follow"),
	STRING("architecture", TachoDevice, architecture,
	       "CUDA's compute capability (7.0), or AMD's name for it (gfx90a)"),
	KNOWN("memory_bytes", TachoDevice, memory_bytes, "its memory"),
	KNOWN("multiprocessors", TachoDevice, n_multiprocessors,
	      "multiprocessors, or compute units"),
	KNOWN("warp_threads", TachoDevice, warp_threads, "threads of a warp, or wavefront"),
	KNOWN("multiprocessor_threads", TachoDevice, multiprocessor_threads,
	      "threads that a multiprocessor holds at most"),
	KNOWN("multiprocessor_registers", TachoDevice, multiprocessor_registers,
	      "registers of a multiprocessor"),
	KNOWN("multiprocessor_shared_bytes", TachoDevice, multiprocessor_shared_bytes,
	      "shared memory of a multiprocessor"),
	KNOWN("block_threads", TachoDevice, block_threads, "threads of a block at most"),
	KNOWN("block_registers", TachoDevice, block_registers, "registers of a block at most"),
	KNOWN("block_shared_bytes", TachoDevice, block_shared_bytes,
	      "shared memory of a block at most"),
	KNOWN("clock_hz", TachoDevice, clock_hz, "its clock"),
	KNOWN("peak_bytes_per_s", TachoDevice, peak_bytes_per_s, "peak rate of its memory"),
	KNOWN("peak_flops_per_s", TachoDevice, peak_flops_per_s,
	      "peak rate of floating-point operations"),
};

const struct query_table query_table_device = {
	.name = "device",
	.meaning = "devices of processes, as traces tell of them",
	.columns = columns,
	.n_columns = G_N_ELEMENTS(columns),
	.module = &query_row_module,
	.array = offsetof(TachoTimeline, devices),
};
