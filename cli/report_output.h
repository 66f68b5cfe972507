/* report_output: the rows of a report's profile view as a file for other tools: a timeline or a profile. */
#ifndef TACHO_REPORT_OUTPUT_H
#define TACHO_REPORT_OUTPUT_H

#include <tacho/analyze.h>

#include "new_file.h"

struct report_output {
	gboolean (*write)(const struct report_output *output, const TachoTimeline *timeline,
			  const TachoFilter *filter, FILE *out, GError **error);
	const gchar *view; /* "scope" */
	TachoMetric metric;
	gchar *path;
	gboolean is_forced;
};

/* Understand TYPE:FILE, for the view of that name; `profile` says which figure. FALSE: why not has been said. */
gboolean report_output_init(struct report_output *output, const gchar *text, const gchar *view,
			    const TachoProfileOptions *profile);
void report_output_release(struct report_output *output);
/* Write the file; the exit status. */
int report_output_write(const struct report_output *output, const TachoTimeline *timeline,
			const TachoFilter *filter);

#endif
