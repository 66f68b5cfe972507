/* page_checks: whether exports of views (html, xlsx) hold what the views say, row by row, and the page the timeline's slices.
 * Whoever finds a difference ends the test. */
#ifndef TACHO_PAGE_CHECKS_H
#define TACHO_PAGE_CHECKS_H

#include <tacho/export.h>

/* `path` is an export of the timeline with these options. */
void page_check_html(const TachoTimeline *timeline, const TachoExportOptions *options,
		     const gchar *path);
void page_check_xlsx(const TachoTimeline *timeline, const TachoExportOptions *options,
		     const gchar *path);

#endif
