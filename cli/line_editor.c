#include "line_editor.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

#ifdef TACHO_HAVE_EDITLINE
#include <histedit.h>
#endif

#define MAX_HISTORY    1000
#define LIST_COLUMNS   4 /* of what Tab offers */
#define LIST_WIDTH     19
#define MAX_CANDIDATES 200 /* listed */

struct line_editor {
	const struct line_words *words;
	const gchar *prompt;
#ifdef TACHO_HAVE_EDITLINE
	EditLine *line;
	History *history;
	gchar *history_path;
#endif
};

/* --- Ctrl-C -----------------------------------------------------------------------------------
 *
 * It may come at any moment, and is never lost: while a line is edited it is held back, but where the
 * program waits for a key. */

static volatile sig_atomic_t was_interrupted;

void line_editor_note_interrupt(void)
{
	was_interrupted = 1;
}

gboolean line_editor_is_interrupted(void)
{
	return was_interrupted;
}

gboolean line_editor_take_interrupt(void)
{
	gboolean is_interrupted = was_interrupted;

	was_interrupted = 0;
	return is_interrupted;
}

/* --- lines ------------------------------------------------------------------------------------ */

#ifdef TACHO_HAVE_EDITLINE

static char *edit_prompt(EditLine *line)
{
	line_editor *editor;

	el_get(line, EL_CLIENTDATA, &editor);
	return (char *)editor->prompt;
}

/* Wait for a key; FALSE: Ctrl-C came, or there is no terminal any more. Another signal, of a window that
 * changes its size say, ends no line. */
static gboolean wait_for_key(void)
{
	struct pollfd terminal = { .fd = STDIN_FILENO, .events = POLLIN };
	sigset_t but_interrupts;

	sigprocmask(SIG_SETMASK, NULL, &but_interrupts);
	sigdelset(&but_interrupts, SIGINT);
	while (ppoll(&terminal, 1, NULL, &but_interrupts) < 0)
		if (errno != EINTR || was_interrupted)
			return FALSE;
	return TRUE;
}

/* One character of the terminal; 0 at the end, -1 where Ctrl-C came. */
static int read_character(EditLine *line, wchar_t *ret)
{
	mbstate_t state = { 0 };

	(void)line;
	for (;;) {
		char byte;
		ssize_t n;

		if (!wait_for_key())
			return -1;
		n = read(STDIN_FILENO, &byte, 1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return (int)n;
		switch (mbrtowc(ret, &byte, 1, &state)) {
		case (size_t)-2:
			continue;
		case (size_t)-1:
			memset(&state, 0, sizeof(state)); /* no character: leave it out */
			continue;
		default:
			return 1;
		}
	}
}

/* How far all candidates agree. */
static gsize common_length(gchar *const *candidates)
{
	gsize length = strlen(candidates[0]);

	for (guint i = 1; candidates[i]; i++) {
		gsize same = 0;

		while (same < length &&
		       g_ascii_tolower(candidates[i][same]) == g_ascii_tolower(candidates[0][same]))
			same++;
		length = same;
	}
	return length;
}

static void list_candidates(gchar *const *candidates)
{
	putchar('\n');
	for (guint i = 0; candidates[i] && i < MAX_CANDIDATES; i++)
		printf("%-*s%s", LIST_WIDTH, candidates[i],
		       i % LIST_COLUMNS == LIST_COLUMNS - 1 || !candidates[i + 1] ? "\n" : " ");
	fflush(stdout);
}

/* Put `length` bytes of `candidate` for the word that was typed: in lower case where that began so. */
static void insert(EditLine *line, const gchar *word, const gchar *candidate, gsize length)
{
	g_autofree gchar *text = g_strndup(candidate, length);
	gboolean is_upper = g_ascii_isupper(candidate[0]);

	if (is_upper && g_ascii_islower(word[0])) {
		gchar *lower = g_ascii_strdown(text, -1);

		g_free(text);
		text = lower;
	}
	el_deletestr(line, (int)strlen(word));
	el_insertstr(line, text);
}

static unsigned char complete(EditLine *line, int character)
{
	const LineInfo *info = el_line(line);
	g_autofree gchar *typed = g_strndup(info->buffer, (gsize)(info->cursor - info->buffer));
	g_auto(GStrv) candidates = NULL;
	line_editor *editor;
	const gchar *word;
	gsize length;

	(void)character;
	el_get(line, EL_CLIENTDATA, &editor);
	word = editor->words->find_word(typed);
	candidates = editor->words->complete(editor->words->data, typed);
	if (!candidates[0] || !*word)
		return CC_REFRESH_BEEP;
	length = common_length(candidates);
	if (length > strlen(word) || !candidates[1]) {
		insert(line, word, candidates[0], length);
		if (!candidates[1] && !g_str_has_suffix(candidates[0], "("))
			el_insertstr(line, " ");
		return CC_REFRESH;
	}
	list_candidates(candidates);
	return CC_REDISPLAY;
}

static void open_history(line_editor *editor, const gchar *name)
{
	g_autofree gchar *folder = g_build_filename(g_get_user_state_dir(), "tacho", NULL);
	HistEvent event;

	editor->history = history_init();
	history(editor->history, &event, H_SETSIZE, MAX_HISTORY);
	history(editor->history, &event, H_SETUNIQUE, 1);
	if (g_mkdir_with_parents(folder, 0700) != 0)
		return; /* remembered until the end, then */
	editor->history_path = g_build_filename(folder, name, NULL);
	history(editor->history, &event, H_LOAD, editor->history_path);
}

line_editor *line_editor_new(const gchar *history_name, const struct line_words *words)
{
	line_editor *editor = g_new0(line_editor, 1);

	editor->words = words;
	editor->prompt = "";
	editor->line = el_init("tacho", stdin, stdout, stderr);
	open_history(editor, history_name);
	el_set(editor->line, EL_CLIENTDATA, editor);
	el_set(editor->line, EL_PROMPT, edit_prompt);
	el_set(editor->line, EL_EDITOR, "emacs");
	el_set(editor->line, EL_HIST, history, editor->history);
	el_set(editor->line, EL_GETCFN, read_character);
	el_set(editor->line, EL_ADDFN, "tacho-complete", "Complete a name", complete);
	el_source(editor->line, NULL);
	el_set(editor->line, EL_BIND, "^I", "tacho-complete", NULL);
	return editor;
}

void line_editor_free(line_editor *editor)
{
	HistEvent event;

	if (editor->history_path)
		history(editor->history, &event, H_SAVE, editor->history_path);
	history_end(editor->history);
	el_end(editor->line);
	g_free(editor->history_path);
	g_free(editor);
}

const gchar *line_editor_read(line_editor *editor, const gchar *prompt)
{
	sigset_t interrupts, before;
	const gchar *line;
	int length;

	editor->prompt = prompt;
	sigemptyset(&interrupts);
	sigaddset(&interrupts, SIGINT);
	sigprocmask(SIG_BLOCK, &interrupts, &before);
	line = el_gets(editor->line, &length);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return line;
}

void line_editor_remember(line_editor *editor, const gchar *text)
{
	g_autofree gchar *line = g_strstrip(g_strdelimit(g_strdup(text), "\n", ' '));
	HistEvent event;

	if (*line)
		history(editor->history, &event, H_ENTER, line);
}

#else

line_editor *line_editor_new(const gchar *history, const struct line_words *words)
{
	line_editor *editor = g_new0(line_editor, 1);

	(void)history;
	editor->words = words;
	return editor;
}

void line_editor_free(line_editor *editor)
{
	g_free(editor);
}

const gchar *line_editor_read(line_editor *editor, const gchar *prompt)
{
	static char line[65536];

	(void)editor;
	fputs(prompt, stdout);
	fflush(stdout);
	clearerr(stdin);
	return fgets(line, sizeof(line), stdin);
}

void line_editor_remember(line_editor *editor, const gchar *text)
{
	(void)editor, (void)text;
}

#endif
