/* sniff_evidence: what the head of a text file proves. A word alone proves nothing: documents quote lines of traces,
 * programs have the names of their members, tables of other things have the same columns.
 *
 * (1) JSON is walked as JSON, as far as the head goes: a member counts where it stands as one, at no more than the depth
 *     where the format has it, with a value that begins as the format's does.
 * (2) A log proves itself by lines of its own, at their begin or behind what launchers and loggers put before them;
 *     quoted ones, in a document or in source code, do not count. */
#ifndef TACHO_SNIFF_EVIDENCE_H
#define TACHO_SNIFF_EVIDENCE_H

#include "import/import_format.h"

/* Whether the head is JSON that has a member `key`, in no more than `max_depth` objects and arrays, the outermost
 * counted, whose value begins with one of `begins`. Several JSON texts may follow each other, as lines do. Where
 * something is no JSON the walk ends. */
gboolean json_head_has(const struct sniff_input *input, const gchar *key, guint max_depth,
		       const gchar *begins);
/* The same of a string that begins with `prefix`. */
gboolean json_head_has_text(const struct sniff_input *input, const gchar *key, guint max_depth,
			    const gchar *prefix);

/* Whether the file is a document or source code, by its name or because it has fenced code: what stands in it is
 * quoted. */
gboolean sniff_is_document(const struct sniff_input *input);

/* Whether lines of a log are in the head: `n_least` of those of which `is_line` says so, or one that is the first, and
 * from the first such line on no fewer than one in `max_apart` (0: as few as may be). A copy of each line is handed
 * over, from the first mark in it on, with a NUL at its end. What stands before the mark in its line may be no quote. */
gboolean sniff_log_lines(const struct sniff_input *input, const gchar *const *marks, guint n_marks,
			 guint n_least, guint max_apart, gboolean (*is_line)(gchar *line));

#endif
