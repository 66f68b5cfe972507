/* text_lines: a text file, compressed or not, a line at a time; and a line of it again later.
 *
 * (1) A line is what stands before a newline, or the end of the file, without the carriage return.
 * (2) The rest of a line longer than TEXT_MAX_LINE is skipped.
 * (3) Launchers that gather the output of many write "[1,3]<stdout>:" or "3: " before each line; what is at a
 *     line's begin is for who reads it. */
#ifndef TACHO_TEXT_LINES_H
#define TACHO_TEXT_LINES_H

#include <glib.h>

#define TEXT_MAX_LINE (1024 * 1024)

typedef struct _TextLines TextLines;

TextLines *text_lines_open(const gchar *path, GError **error);
void text_lines_close(TextLines *lines);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(TextLines, text_lines_close)

/* The next line, with a NUL behind it (and perhaps others in it), good until the next call, and where it stands in
 * the decoded file. NULL: that was the last, or, with the error set, no more can be read. */
gchar *text_lines_next(TextLines *lines, gsize *ret_n, guint64 *ret_offset, GError **error);
/* How much of the file has been read: 0 to 1. */
gdouble text_lines_done(const TextLines *lines);

/* A file whose lines are asked for again, by any thread at any time. */
struct text_file;

struct text_file *text_file_new(const gchar *path);
void text_file_free(struct text_file *file);
/* The line that begins at the decoded `offset`, to be freed with g_free(); NULL: it cannot be read. */
gchar *text_file_line(struct text_file *file, guint64 offset);

#endif
