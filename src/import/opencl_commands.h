/* opencl_commands: what an OpenCL command is, by the name that tools show it under. */
#ifndef TACHO_OPENCL_COMMANDS_H
#define TACHO_OPENCL_COMMANDS_H

#include <tacho/timeline.h>

/* "clEnqueueReadBuffer", "ReadBuffer", "saxpy": a copy, a fill, a marker or barrier (SYNC), else a kernel. */
TachoSliceKind opencl_command_kind(const gchar *name);

#endif
