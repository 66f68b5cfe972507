/* fuzz_byteprofile_folder: whatever bytes as the files of a trial of byteprofile or BytePS, those that stand beside traces
 * among them: shapes, names of gradients, keys, graphs, topologies, logs. The input is a row of files (fuzz_folder.h). */
#include <tacho/import.h>

#include "foreign_traces.h"
#include "fuzz_folder.h"
#include "fuzz_input.h"

static const gchar *const file_names[] = {
	"host0/0/comm.json",
	"host0/0/metadata.json",
	"host0/0/gradient_name_list.json",
	"host0/0/dag.gml",
	"host0/0/nccl_rank_graph.json",
	"host0/0/comm_detail.json",
	"host0/0/trace.json",
	"key_dict.txt",
	"worker_9.log",
	"server_0.txt",
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const gchar *path = fuzz_folder_fill(file_names, G_N_ELEMENTS(file_names), data, size);
	g_autoptr(GError) error = NULL;
	g_autoptr(TachoTimeline) timeline = tacho_run_open(&path, 1, NULL, NULL, &error);

	g_assert_true((timeline == NULL) == (error != NULL));
	if (timeline)
		foreign_use(timeline);
	return 0;
}
