/* horovod_import: timelines that Horovod writes ($HOROVOD_TIMELINE); see horovod_dialect.c. */
#include <string.h>

#include "import/byteprofile/horovod_dialect.h"

static gboolean sniff_horovod(const struct sniff_input *input)
{
	return chrome_trace_sniff(input) &&
	       (strstr(input->head, "\"start_time_since_epoch_in_micros\"") ||
		strstr(input->head, "\"NEGOTIATE_") || strstr(input->head, "\"CYCLE_START\"") ||
		strstr(input->head, "\"MEMCPY_IN_FUSION_BUFFER\"") ||
		strstr(input->head, "\"HorovodAllreduce"));
}

const struct import_format import_horovod = {
	.name = "horovod",
	.title = "Horovod timeline",
	.files = "*.json, also gzip or zstd",
	.sniff = sniff_horovod,
	.read_file = chrome_trace_read_file,
	.data = &horovod_dialect,
};
