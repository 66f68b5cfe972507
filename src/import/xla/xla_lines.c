#include "import/xla/xla_lines.h"
#include "trace/collective_names.h"

#include <string.h>

enum xla_plane xla_plane_of(const gchar *plane, gboolean has_streams)
{
	if (g_str_has_prefix(plane, "/host:"))
		return XLA_PLANE_HOST;
	if (!g_str_has_prefix(plane, "/device:") || g_str_has_prefix(plane, "/device:CUSTOM:"))
		return XLA_PLANE_OTHER;
	return has_streams ? XLA_PLANE_STREAMS : XLA_PLANE_CORE;
}

gboolean xla_is_stream(const gchar *line)
{
	return g_ascii_strncasecmp(line, "stream", strlen("stream")) == 0;
}

enum xla_line xla_line_of(enum xla_plane plane, const gchar *line)
{
	if (plane == XLA_PLANE_HOST)
		return XLA_LINE_THREAD;
	if (plane == XLA_PLANE_OTHER)
		return XLA_LINE_OTHER;
	if (strcmp(line, "Steps") == 0)
		return XLA_LINE_STEPS;
	if (plane == XLA_PLANE_STREAMS)
		return xla_is_stream(line) ? XLA_LINE_STREAM : XLA_LINE_REGIONS;
	if (strcmp(line, "XLA Ops") == 0)
		return XLA_LINE_OPS;
	if (strcmp(line, "Async XLA Ops") == 0)
		return XLA_LINE_ASYNC_OPS;
	return strcmp(line, "XLA Modules") == 0 ? XLA_LINE_MODULES : XLA_LINE_REGIONS;
}

gint32 xla_device_of(const gchar *plane)
{
	const gchar *digits = strrchr(plane, ':');
	guint64 number = digits ? g_ascii_strtoull(digits + 1, NULL, 10) : 0;

	return number <= G_MAXINT32 ? (gint32)number : 0;
}

/* --- what events are ------------------------------------------------------------------------ */

static gboolean has_prefix_of(const gchar *name, const gchar *const *prefixes, guint n)
{
	for (guint i = 0; i < n; i++)
		if (g_str_has_prefix(name, prefixes[i]))
			return TRUE;
	return FALSE;
}

static gboolean is_collective_category(const gchar *category)
{
	static const gchar *const prefixes[] = {
		"all-reduce",	     "all-gather",	   "all-to-all",
		"reduce-scatter",    "collective-permute", "collective-broadcast",
		"ragged-all-to-all", "async-collective",
	};

	return has_prefix_of(category, prefixes, G_N_ELEMENTS(prefixes));
}

static TachoSliceKind kind_on_stream(const struct xla_event *event)
{
	static const gchar *const copies[] = { "Memcpy", "memcpy", "CopyDevice", "CopyHost" };
	gboolean is_communication = is_communication_kernel(event->name, strlen(event->name));

	if (event->has_memset || g_str_has_prefix(event->name, "Memset"))
		return TACHO_SLICE_MEMSET;
	if (event->has_kernel)
		return is_communication ? TACHO_SLICE_COLLECTIVE : TACHO_SLICE_KERNEL;
	if (event->has_memcpy || has_prefix_of(event->name, copies, G_N_ELEMENTS(copies)))
		return TACHO_SLICE_MEMCPY;
	return is_communication ? TACHO_SLICE_COLLECTIVE : TACHO_SLICE_KERNEL;
}

/* What begins something asynchronous takes next to nothing; what ends it waits. Control flow holds the events
 * of what it runs. */
static TachoSliceKind kind_on_core(enum xla_line line, const gchar *category)
{
	if (strcmp(category, "while") == 0 || strcmp(category, "conditional") == 0 ||
	    strcmp(category, "call") == 0)
		return TACHO_SLICE_ANNOTATION;
	if (line == XLA_LINE_ASYNC_OPS)
		return is_collective_category(category) ? TACHO_SLICE_COLLECTIVE
							: TACHO_SLICE_MEMCPY;
	if (g_str_has_suffix(category, "-done"))
		return TACHO_SLICE_SYNC;
	if (g_str_has_suffix(category, "-start"))
		return TACHO_SLICE_EVENT;
	return is_collective_category(category) ? TACHO_SLICE_COLLECTIVE : TACHO_SLICE_KERNEL;
}

/* A thread of PJRT's waits for what other threads run. */
static gboolean is_wait(const gchar *name)
{
	static const gchar *const ends[] = { "(wait for completion)", "::Await", "BlockUntilReady",
					     "BlockHostUntilReady", "np.asarray(jax.Array)" };

	for (guint i = 0; i < G_N_ELEMENTS(ends); i++)
		if (g_str_has_suffix(name, ends[i]))
			return TRUE;
	return FALSE;
}

static TachoSliceKind kind_on_thread(const struct xla_event *event)
{
	if (event->is_host_op && event->has_duration)
		return is_collective_category(event->name) ? TACHO_SLICE_COLLECTIVE
							   : TACHO_SLICE_OP;
	if (g_str_has_prefix(event->name, "ThunkExecutor::Execute") && !is_wait(event->name))
		return TACHO_SLICE_ANNOTATION; /* what it runs tells of itself */
	if (event->has_duration && is_wait(event->name))
		return TACHO_SLICE_WAIT;
	if (event->name[0] == '$')
		return TACHO_SLICE_FUNCTION;
	if (event->has_correlation)
		return TACHO_SLICE_RUNTIME;
	if (event->has_step)
		return TACHO_SLICE_ANNOTATION;
	return event->has_duration ? TACHO_SLICE_OP : TACHO_SLICE_EVENT;
}

TachoSliceKind xla_kind_of(enum xla_line line, const struct xla_event *event)
{
	switch (line) {
	case XLA_LINE_THREAD:
		return kind_on_thread(event);
	case XLA_LINE_STREAM:
		return kind_on_stream(event);
	case XLA_LINE_OPS:
	case XLA_LINE_ASYNC_OPS:
		return kind_on_core(line, event->category);
	case XLA_LINE_OTHER:
		return TACHO_SLICE_EVENT;
	default:
		return TACHO_SLICE_ANNOTATION;
	}
}
