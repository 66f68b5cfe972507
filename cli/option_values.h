/* option_values: what several commands read from their options. Where a value is wrong they print an error of
 * `command` and return false. */
#ifndef TACHO_OPTION_VALUES_H
#define TACHO_OPTION_VALUES_H

#include <glib.h>

/* --steps: training steps, both ends included: "3:7", "3:" (from there on), ":7" (up to there) or "3" (that
 * one). -1: no limit. NULL leaves both as they are. */
gboolean option_steps(const gchar *command, const gchar *text, gint64 *ret_first, gint64 *ret_last);

#define OPTION_UNSET G_MININT

/* A number that is not negative, else `unset` where it is OPTION_UNSET. `option` as below. */
gboolean option_number(const gchar *command, const gchar *option, gint number, gint unset,
		       gint *ret_number);

/* A regular expression; NULL: none. `option` is its name with the dashes. */
gboolean option_regex(const gchar *command, const gchar *option, const gchar *pattern,
		      GRegex **ret_regex);

#endif
