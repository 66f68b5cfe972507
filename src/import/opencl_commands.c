#include "import/opencl_commands.h"

#include <string.h>

static const struct {
	const gchar *word;
	TachoSliceKind kind;
} words[] = {
	{ "ReadBuffer", TACHO_SLICE_MEMCPY },	  { "WriteBuffer", TACHO_SLICE_MEMCPY },
	{ "CopyBuffer", TACHO_SLICE_MEMCPY },	  { "ReadImage", TACHO_SLICE_MEMCPY },
	{ "WriteImage", TACHO_SLICE_MEMCPY },	  { "CopyImage", TACHO_SLICE_MEMCPY },
	{ "MapBuffer", TACHO_SLICE_MEMCPY },	  { "MapImage", TACHO_SLICE_MEMCPY },
	{ "UnmapMemObject", TACHO_SLICE_MEMCPY }, { "MigrateMem", TACHO_SLICE_MEMCPY },
	{ "SVMMemcpy", TACHO_SLICE_MEMCPY },	  { "MemcpyINTEL", TACHO_SLICE_MEMCPY },
	{ "FillBuffer", TACHO_SLICE_MEMSET },	  { "FillImage", TACHO_SLICE_MEMSET },
	{ "MemFill", TACHO_SLICE_MEMSET },	  { "EnqueueMarker", TACHO_SLICE_SYNC },
	{ "EnqueueBarrier", TACHO_SLICE_SYNC },
};

TachoSliceKind opencl_command_kind(const gchar *name)
{
	for (guint i = 0; i < G_N_ELEMENTS(words); i++)
		if (strstr(name, words[i].word))
			return words[i].kind;
	return TACHO_SLICE_KERNEL;
}
