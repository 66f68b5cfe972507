/* option_values: what several commands read from their options. Where a value is wrong they print an error of
 * `command` and return false. */
#ifndef TACHO_OPTION_VALUES_H
#define TACHO_OPTION_VALUES_H

#include <glib.h>
#include <tacho/table.h>
#include <tacho/timeline.h>

/* --steps: training steps, both ends included: "3:7", "3:" (from there on), ":7" (up to there) or "3" (that
 * one). -1: no limit. NULL leaves all as they are. "all" sets only `ret_is_whole`, what no step holds included; where
 * that is NULL, "all" is wrong. */
gboolean option_steps(const gchar *command, const gchar *text, gint64 *ret_first, gint64 *ret_last,
		      gboolean *ret_is_whole);

#define OPTION_UNSET G_MININT

/* A number that is not negative, else `unset` where it is OPTION_UNSET. `option` as below. */
gboolean option_number(const gchar *command, const gchar *option, gint number, gint unset,
		       gint *ret_number);

/* Whether `run` ("the run", or its name) has that rank (-1: any) or those steps; else what it has is said. */
gboolean option_rank_in(const gchar *command, const gchar *run, const TachoTimeline *timeline,
			gint rank);
gboolean option_steps_in(const gchar *command, const gchar *run, const TachoTimeline *timeline,
			 gint64 first, gint64 last);

/* The keys by which a table can be sorted, NULL-terminated; the caller's. */
gchar **option_sort_keys(const TachoTable *table);

/* A number of bytes above 0, with K, M, G or T behind it: "500M", "1000". NULL leaves it as it is. */
gboolean option_size(const gchar *command, const gchar *option, const gchar *text,
		     guint64 *ret_bytes);

/* A time up to 30 days, in microseconds: "10s", "500ms", "2m", "1.5h", "0"; a number alone is seconds. NULL leaves it as it is. */
gboolean option_time(const gchar *command, const gchar *option, const gchar *text, gint64 *ret_us);

/* A regular expression; NULL: none. `option` is its name with the dashes. */
gboolean option_regex(const gchar *command, const gchar *option, const gchar *pattern,
		      GRegex **ret_regex);

#endif
