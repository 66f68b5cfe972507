/* trace_lines: what a trace shows as sorted lines of text, whatever its format, so that an export
 * can be compared with the timeline it came from:
 *
 *     slice|PROCESS|TRACK|DEPTH|CATEGORY|NAME|BEGIN_NS|END_NS
 *     flow|NAME|BEGIN_NS|NAME|BEGIN_NS
 *     count|PROCESS|COUNTER|TIME_NS|VALUE
 *     moment|PROCESS|TRACK|NAME|TIME_NS
 *
 * Readers check on the way that slices nest, that events of a track are in the order of time, and
 * that every flow has two ends. */
#ifndef TACHO_TRACE_LINES_H
#define TACHO_TRACE_LINES_H

#include <tacho/export.h>

/* What an export of the whole timeline should show. To be freed with g_free(), as the others. */
gchar *trace_lines_of_timeline(const TachoTimeline *timeline);
gchar *trace_lines_of_perfetto(const guint8 *bytes, gsize length);
/* Read by tests/support/chrome_lines.py, with Python's own JSON parser. */
gchar *trace_lines_of_chrome(const gchar *path);

/* Export into memory; g_free() the bytes. */
guint8 *export_to_memory(const TachoExportTarget *target, const TachoTimeline *timeline,
			 const TachoExportOptions *options, gsize *ret_length);

#endif
