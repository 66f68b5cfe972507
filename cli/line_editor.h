/* line_editor: lines that a person types at a terminal: edited, completed by Tab, remembered from one session to the
 * next; Ctrl-C drops a line. Without libedit, lines as the terminal gives them. */
#ifndef TACHO_LINE_EDITOR_H
#define TACHO_LINE_EDITOR_H

#include <glib.h>

typedef struct line_editor line_editor;

/* What Tab offers. */
struct line_words {
	/* Where in `line`, of which the cursor is behind, the word begins that is to be completed. */
	const gchar *(*find_word)(const gchar *line);
	/* Words that begin as the last of `line` does, sorted, NULL behind the last; to be freed with g_strfreev(). */
	gchar **(*complete)(gpointer data, const gchar *line);
	gpointer data;
};

/* `history` is the name of the file in the user's state folder that lines are kept in; `words` must outlive it. The
 * caller's handler of SIGINT calls line_editor_note_interrupt(). */
line_editor *line_editor_new(const gchar *history, const struct line_words *words);
void line_editor_free(line_editor *editor);

/* The next line, with its newline, good until the next call; NULL at the end and at Ctrl-C. */
const gchar *line_editor_read(line_editor *editor, const gchar *prompt);
/* Keep what was typed. */
void line_editor_remember(line_editor *editor, const gchar *text);

/* Ctrl-C came: for signal handlers. */
void line_editor_note_interrupt(void);
/* Whether it came since this was last asked. */
gboolean line_editor_take_interrupt(void);
gboolean line_editor_is_interrupted(void);

#endif
