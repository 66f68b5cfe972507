/* make_reader_seeds FOLDER: write the seeds of fuzz_reader into the folder, from runs that the run
 * builder makes. They are kept in the tree; run this when the format changes. */
#include <glib/gstdio.h>
#include <stdio.h>
#include <string.h>

#include "base/order.h"
#include "fuzz_folder.h"
#include "run_builder.h"
#include "timeline_text.h"

static const struct {
	const gchar *name, *text;
} seeds[] = {
	{ "empty-thread", "rank 0 thread 10 main\n" },
	{ "ops", "unit ns\n"
		 "rank 0 thread 10 main\n"
		 "op a 0..100 seq=1 in=float32[2,3]@0x10+8 in=int64[4] out=float32[2]@0x20\n"
		 "op b 10..90 in=float32[1] out=float32[1] out=bool[2,2]\n"
		 "op c 20..30 backward seq=1 fwd=1\n"
		 "op d 40..\n"
		 "op e 50..60\n" },
	{ "kernels", "unit ns\n"
		     "rank 0 thread 10 main\n"
		     "op a 0..100\n"
		     "kernel sgemm 5..20 flops=100 bytes=50 dims=2x3x4\n"
		     "kernel conv 30..40 dims=2 text='a text of more than eight'\n"
		     "kernel conv 50..60 text=exactly8\n" },
	{ "collectives",
	  "unit ns\n"
	  "rank 0 world=2 thread 10 main\n"
	  "collective gloo:all_reduce 0..50 bytes=64 group=1 end_tid=11 in=float32[16]\n"
	  "collective gloo:all_reduce 10..40 bytes=64\n"
	  "collective gloo:barrier 20..\n"
	  "thread 11 worker parent=10\n"
	  "op a 5..8\n" },
	{ "moments", "unit ns\n"
		     "rank 0 thread 10 main\n"
		     "annotation a 0..100 id=3\n"
		     "alloc 10 address=0x100 bytes=64\n"
		     "free 20 address=0x100 bytes=64\n"
		     "mark thread_name 30 first=10 text=renamed\n"
		     "mark m 40 first=1 second=2 text='some text'\n"
		     "wait w 50..60\n"
		     "module net.0 70..80\n" },
	{ "messages", "unit ns\n"
		      "rank 0 thread 10 main\n"
		      "message send 0..10 bytes=64 fd=5 local=10.0.0.1:4000 peer=10.0.0.2:29500\n"
		      "wait epoll_wait 10..20\n"
		      "message recv 20..20 bytes=1 receive fd=5 local=[fe80::1]:1 peer=[::1]:2\n"
		      "message writev 30..\n" },
	{ "killed", "unit ns\n"
		    "rank 3 end=unknown thread 10 main\n"
		    "op a 0..\n"
		    "op b 10..\n"
		    "op c 10..10\n"
		    "op d 10..20\n" },
};

static void append_file(GByteArray *seed, const gchar *path)
{
	g_autofree gchar *bytes = NULL;
	g_autoptr(GError) error = NULL;
	gsize length;

	if (!g_file_get_contents(path, &bytes, &length, &error))
		g_error("%s", error->message);
	fuzz_folder_append(seed, (const guint8 *)bytes, length);
}

/* The trace as one row of files: metadata, then the streams. */
static GByteArray *read_trace(const gchar *trace)
{
	g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
	g_autoptr(GDir) entries = g_dir_open(trace, 0, NULL);
	GByteArray *seed = g_byte_array_new();
	const gchar *name;

	while ((name = g_dir_read_name(entries)))
		if (strcmp(name, TRACE_METADATA_FILE) != 0)
			g_ptr_array_add(names, g_strdup(name));
	g_ptr_array_sort(names, order_text);
	g_ptr_array_insert(names, 0, g_strdup(TRACE_METADATA_FILE));
	for (guint i = 0; i < names->len; i++) {
		g_autofree gchar *path = g_build_filename(trace, names->pdata[i], NULL);

		append_file(seed, path);
	}
	return seed;
}

static void make_seed(const gchar *folder, guint index)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text(seeds[index].text);
	g_autofree gchar *path = g_build_filename(folder, seeds[index].name, NULL);
	g_autofree gchar *run = g_dir_make_tmp("tacho-seed-XXXXXX", NULL);
	const TachoProcess *process = &g_array_index(timeline->processes, TachoProcess, 0);
	g_autofree gchar *trace_name = g_strdup_printf("h0-%u", process->pid);
	g_autofree gchar *trace = g_build_filename(run, trace_name, NULL);
	g_autoptr(GByteArray) seed = NULL;
	g_autoptr(GError) error = NULL;

	run_builder_write_timeline(timeline, run);
	seed = read_trace(trace);
	if (!g_file_set_contents(path, (const gchar *)seed->data, (gssize)seed->len, &error))
		g_error("%s", error->message);
	run_builder_remove(run);
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: make_reader_seeds FOLDER\n");
		return 2;
	}
	for (guint i = 0; i < G_N_ELEMENTS(seeds); i++)
		make_seed(argv[1], i);
	return 0;
}
