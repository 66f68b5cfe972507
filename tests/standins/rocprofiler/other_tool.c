/* Another tool of rocprofiler-sdk's: it counts kernels in a buffer of its own, and writes how many there were into the file STANDIN_OTHER. */
#include <stdio.h>
#include <stdlib.h>

#include "standin_sdk.h"

static rocp_handle context, buffer;
static size_t n_kernels;

int rocprofiler_create_context(rocp_handle *context);
int rocprofiler_start_context(rocp_handle context);
int rocprofiler_create_buffer(rocp_handle context, size_t size, size_t watermark, int policy,
			      rocp_buffer_told *told, void *data, rocp_handle *buffer);
int rocprofiler_flush_buffer(rocp_handle buffer);
int rocprofiler_configure_buffer_tracing_service(rocp_handle context, int32_t kind,
						 const int32_t *operations, size_t n,
						 rocp_handle buffer);
struct rocp_tool *rocprofiler_configure(uint32_t version, const char *text, uint32_t priority,
					void *client);

static void told(rocp_handle of, rocp_handle which, struct rocp_header **headers, size_t n,
		 void *data, uint64_t n_dropped)
{
	(void)of, (void)which, (void)headers, (void)data, (void)n_dropped;
	n_kernels += n;
}

static int initialize(void (*finalize)(void), void *data)
{
	(void)finalize, (void)data;
	rocprofiler_create_context(&context);
	rocprofiler_create_buffer(context, 1 << 20, 4096, ROCP_DISCARD, told, NULL, &buffer);
	rocprofiler_configure_buffer_tracing_service(context, KIND_KERNEL, NULL, 0, buffer);
	return rocprofiler_start_context(context);
}

static void finalize(void *data)
{
	const char *path = getenv("STANDIN_OTHER");
	FILE *file = path ? fopen(path, "w") : NULL;

	(void)data;
	rocprofiler_flush_buffer(buffer);
	if (!file)
		return;
	fprintf(file, "%zu\n", n_kernels);
	fclose(file);
}

struct rocp_tool *rocprofiler_configure(uint32_t version, const char *text, uint32_t priority,
					void *client)
{
	static struct rocp_tool tool = { sizeof(tool), initialize, finalize, NULL };

	(void)version, (void)text, (void)priority, (void)client;
	return &tool;
}
