/* export: a timeline in other tools' formats. */
#ifndef TACHO_EXPORT_H
#define TACHO_EXPORT_H

#include <stdio.h>
#include <tacho/timeline.h>

G_BEGIN_DECLS

#define TACHO_EXPORT_ERROR tacho_export_error_quark()
GQuark tacho_export_error_quark(void);
typedef enum {
	TACHO_EXPORT_ERROR_IO,
	TACHO_EXPORT_ERROR_UNKNOWN_TARGET,
} TachoExportError;

/* Called now and then with the share done, 0 to 1; NULL: do not. */
typedef void (*TachoProgress)(gdouble done, gpointer data);

/* TARGET(name, file ending, what it is). A target is src/export/<name>_export.c. */
#define TACHO_EXPORTS(TARGET)                                                                     \
	TARGET(perfetto, "pftrace", "Perfetto protobuf trace, for ui.perfetto.dev")               \
	TARGET(chrome, "json", "Chrome trace JSON, for chrome://tracing, Perfetto and many others")

/* Write a correlated timeline to `out`. False: could not write (disk full ...). */
#define TACHO_EXPORT_DECLARE(name, ending, description)                                           \
	gboolean tacho_export_##name(const TachoTimeline *timeline, FILE *out,                    \
				     TachoProgress progress, gpointer data, GError **error);
TACHO_EXPORTS(TACHO_EXPORT_DECLARE)
#undef TACHO_EXPORT_DECLARE

G_END_DECLS

#endif
