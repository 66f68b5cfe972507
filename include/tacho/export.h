/* export: a timeline in other tools' formats. */
#ifndef TACHO_EXPORT_H
#define TACHO_EXPORT_H

#include <stdio.h>
#include <tacho/analyze.h>
#include <tacho/timeline.h>

G_BEGIN_DECLS

#define TACHO_EXPORT_ERROR tacho_export_error_quark()
GQuark tacho_export_error_quark(void);
typedef enum {
	TACHO_EXPORT_ERROR_IO,		   /* disk full ... */
	TACHO_EXPORT_ERROR_UNKNOWN_TARGET, /* no format of that name */
	TACHO_EXPORT_ERROR_NOT_THERE,	   /* the run has no such rank or steps */
	TACHO_EXPORT_ERROR_NOT_BUILT, /* this build lacks the target: tacho --version lists them */
} TachoExportError;

/* Called now and then with the share done, 0 to 1; NULL: do not. */
typedef void (*TachoProgress)(gdouble done, gpointer data);

/* A table that is no view of the timeline. */
typedef struct {
	const gchar *name, *description;
	TachoTable *table; /* may be cut, where it is very long */
} TachoExportTable;

/* What of the timeline goes out. A slice belongs to the step that it begins in. */
typedef struct {
	gint32 rank;		      /* -1: all */
	gint64 first_step, last_step; /* inclusive; -1: no limit */
	TachoProgress progress;
	gpointer progress_data;
	gboolean is_whole; /* views are of what no step holds, too */
	const guint8
		*only; /* by slice: 1 goes out, without marks and counters; NULL: all. Borrowed */
	/* To be shown beside the views, where they are (html); borrowed. */
	const TachoExportTable *tables;
	guint n_tables;
} TachoExportOptions;

#define TACHO_EXPORT_OPTIONS_INIT                                                                  \
	{                                                                                          \
		-1, -1, -1, NULL, NULL, FALSE, NULL, NULL, 0                                       \
	}

/* TARGET(name, file ending, is it text, what it is). A target is src/export/<name>_export.c. */
#define TACHO_EXPORTS(TARGET)                                                                      \
	TARGET(perfetto, "pftrace", FALSE, "Perfetto protobuf trace, for ui.perfetto.dev")         \
	TARGET(chrome, "json", TRUE,                                                               \
	       "Chrome trace JSON, for chrome://tracing, Perfetto and many others")                \
	TARGET(html, "html", FALSE, "page that shows itself in a browser, without network")        \
	TARGET(sqlite, "sqlite", FALSE, "SQLite database with the tables of tacho query")          \
	TARGET(csv, "csv", TRUE, "slices as a table, for spreadsheets and data frames")            \
	TARGET(xlsx, "xlsx", FALSE, "workbook with a sheet for each view of tacho report")         \
	TARGET(folded, "folded", TRUE, "folded stacks, for flame graphs")                          \
	TARGET(speedscope, "speedscope.json", TRUE, "stacks over time, for speedscope.app")        \
	TARGET(dot, "dot", TRUE, "graph of which operation calls which, for Graphviz")             \
	TARGET(pprof, "pb.gz", FALSE, "profile, for pprof")                                        \
	TARGET(inductor, "pge.json", TRUE,                                                         \
	       "what operations and collectives take, for PyTorch Inductor's profile-guided "      \
	       "estimation")                                                                       \
	TARGET(pgle, "pbtxt", TRUE, "what instructions take, for XLA's latency hiding scheduler")

/* Write a table of tacho_view_scope() or tacho_view_code() as a profile for pprof: a sample a row, with how often it
 * ran and what it has of `metric` that no row below it has, so that a stack sums up to its row's total. Functions that
 * are called FILE(LINE): NAME, as PyTorch calls those of Python, have their file and line. */
gboolean tacho_export_rows_pprof(const TachoTable *table, const TachoTimeline *timeline,
				 TachoMetric metric, FILE *out, GError **error);

/* FOLDER_TARGET(name, ending, how its files are called, what it is): those that are a folder. */
#define TACHO_FOLDER_EXPORTS(FOLDER_TARGET)                                                        \
	FOLDER_TARGET(ctf, "ctf", "metadata stream_* .tacho_run",                                  \
		      "Common Trace Format 1.8, for babeltrace2 and Trace Compass: a folder")

/* Write a correlated timeline to `out`, and flush it. The same timeline gives the same bytes. */
#define TACHO_EXPORT_DECLARE(name, ending, is_text, description)                                   \
	gboolean tacho_export_##name(const TachoTimeline *timeline,                                \
				     const TachoExportOptions *options, FILE *out,                 \
				     GError **error);
TACHO_EXPORTS(TACHO_EXPORT_DECLARE)
#undef TACHO_EXPORT_DECLARE

/* The same into `folder`, which is there and empty. Where it fails, files are left in it. */
#define TACHO_FOLDER_EXPORT_DECLARE(name, ending, files, description)                              \
	gboolean tacho_export_##name(const TachoTimeline *timeline,                                \
				     const TachoExportOptions *options, const gchar *folder,       \
				     GError **error);
TACHO_FOLDER_EXPORTS(TACHO_FOLDER_EXPORT_DECLARE)
#undef TACHO_FOLDER_EXPORT_DECLARE

typedef struct {
	const gchar *name, *ending, *description;
	gboolean is_text; /* a terminal can show it */
	/* One of the two; neither: this build lacks the target. */
	gboolean (*write)(const TachoTimeline *timeline, const TachoExportOptions *options,
			  FILE *out, GError **error);
	gboolean (*write_folder)(const TachoTimeline *timeline, const TachoExportOptions *options,
				 const gchar *folder, GError **error);
	const gchar *files; /* of a folder: how they are called, as "metadata stream_*" */
} TachoExportTarget;

/* All targets; `*ret_n` of them. */
const TachoExportTarget *tacho_export_targets(guint *ret_n);
/* The target of that name; an unknown one's error lists those there are. TACHO_EXPORT_ERROR_NOT_BUILT: what
 * it needs was not found when this was built. */
const TachoExportTarget *tacho_export_find(const gchar *name, GError **error);

G_END_DECLS

#endif
