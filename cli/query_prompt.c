#include "query_prompt.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

#ifdef TACHO_HAVE_EDITLINE
#include <histedit.h>
#endif

#include "cli.h"
#include "query_complete.h"

#define PROMPT	       "tacho> "
#define PROMPT_GO_ON   "   ...> "
#define MAX_HISTORY    1000
#define LIST_COLUMNS   4 /* of what Tab offers */
#define LIST_WIDTH     19
#define MAX_CANDIDATES 200 /* listed */

struct prompt {
	struct query_session *session;
	GString *text; /* what was typed of the statement */
#ifdef TACHO_HAVE_EDITLINE
	EditLine *line;
	History *history;
	gchar *history_path;
#endif
};

/* --- Ctrl-C -----------------------------------------------------------------------------------
 *
 * It may come at any moment, and is never lost: while a line is edited it is held back, but where the
 * program waits for a key; before `running` is set the flag tells, from then on the query. */

static TachoQuery *volatile running; /* what the signal ends */
static volatile sig_atomic_t was_interrupted;

static void on_interrupt(int number)
{
	(void)number;
	was_interrupted = 1;
	if (running)
		tacho_query_interrupt(running);
}

/* Without SA_RESTART, so that a read of the terminal ends, too. */
static void watch_interrupts(struct sigaction *before)
{
	struct sigaction action = { .sa_handler = on_interrupt };

	sigemptyset(&action.sa_mask);
	sigaction(SIGINT, &action, before);
}

/* --- reading lines ---------------------------------------------------------------------------- */

static const gchar *prompt_text(const struct prompt *prompt)
{
	return prompt->text->len ? PROMPT_GO_ON : PROMPT;
}

#ifdef TACHO_HAVE_EDITLINE

static char *edit_prompt(EditLine *line)
{
	struct prompt *prompt;

	el_get(line, EL_CLIENTDATA, &prompt);
	return (char *)prompt_text(prompt);
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
	const gchar *word = query_complete_word(typed);
	g_auto(GStrv) candidates = NULL;
	struct prompt *prompt;
	gsize length;

	(void)character;
	el_get(line, EL_CLIENTDATA, &prompt);
	candidates = query_complete(prompt->session->query, typed);
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

static void open_history(struct prompt *prompt)
{
	g_autofree gchar *folder = g_build_filename(g_get_user_state_dir(), "tacho", NULL);
	HistEvent event;

	prompt->history = history_init();
	history(prompt->history, &event, H_SETSIZE, MAX_HISTORY);
	history(prompt->history, &event, H_SETUNIQUE, 1);
	if (g_mkdir_with_parents(folder, 0700) != 0)
		return; /* remembered until the end, then */
	prompt->history_path = g_build_filename(folder, "query_history", NULL);
	history(prompt->history, &event, H_LOAD, prompt->history_path);
}

static void open_lines(struct prompt *prompt)
{
	prompt->line = el_init("tacho", stdin, stdout, stderr);
	open_history(prompt);
	el_set(prompt->line, EL_CLIENTDATA, prompt);
	el_set(prompt->line, EL_PROMPT, edit_prompt);
	el_set(prompt->line, EL_EDITOR, "emacs");
	el_set(prompt->line, EL_HIST, history, prompt->history);
	el_set(prompt->line, EL_GETCFN, read_character);
	el_set(prompt->line, EL_ADDFN, "tacho-complete", "Complete a name", complete);
	el_source(prompt->line, NULL);
	el_set(prompt->line, EL_BIND, "^I", "tacho-complete", NULL);
}

static void close_lines(struct prompt *prompt)
{
	HistEvent event;

	if (prompt->history_path)
		history(prompt->history, &event, H_SAVE, prompt->history_path);
	history_end(prompt->history);
	el_end(prompt->line);
	g_free(prompt->history_path);
}

/* The next line, with its newline, good until the next call; NULL at the end and at Ctrl-C. */
static const gchar *read_line(struct prompt *prompt)
{
	sigset_t interrupts, before;
	const gchar *line;
	int length;

	sigemptyset(&interrupts);
	sigaddset(&interrupts, SIGINT);
	sigprocmask(SIG_BLOCK, &interrupts, &before);
	line = el_gets(prompt->line, &length);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return line;
}

static void remember(struct prompt *prompt, const gchar *text)
{
	g_autofree gchar *line = g_strstrip(g_strdelimit(g_strdup(text), "\n", ' '));
	HistEvent event;

	if (*line)
		history(prompt->history, &event, H_ENTER, line);
}

#else

static void open_lines(struct prompt *prompt)
{
	(void)prompt;
}

static void close_lines(struct prompt *prompt)
{
	(void)prompt;
}

static const gchar *read_line(struct prompt *prompt)
{
	static char line[65536];

	fputs(prompt_text(prompt), stdout);
	fflush(stdout);
	clearerr(stdin);
	return fgets(line, sizeof(line), stdin);
}

static void remember(struct prompt *prompt, const gchar *text)
{
	(void)prompt, (void)text;
}

#endif

/* --- the dialogue ----------------------------------------------------------------------------- */

static gboolean run_sql(struct query_session *session, const gchar *sql, GError **error)
{
	const TachoQueryHandler *handler = tacho_result_writer_handler();
	gboolean is_done;

	running = session->query;
	if (was_interrupted)
		tacho_query_interrupt(session->query);
	is_done = tacho_query_run(session->query, sql, handler, session->writer, error);
	running = NULL;
	/* An interrupt that came when all was done is not for the next statement. */
	tacho_query_run(session->query, "", handler, session->writer, NULL);
	return is_done;
}

static void run(struct prompt *prompt)
{
	g_autoptr(GError) error = NULL;
	const gchar *text = prompt->text->str;
	gboolean is_done = query_session_is_command(text)
				   ? query_session_command(prompt->session, text, &error)
				   : run_sql(prompt->session, text, &error);

	fflush(stdout);
	if (!is_done)
		fprintf(stderr, "%s\n", error->message);
	was_interrupted = 0;
}

static gboolean is_complete(const struct prompt *prompt)
{
	return query_session_is_command(prompt->text->str) ||
	       tacho_query_is_complete(prompt->text->str);
}

/* Ctrl-C drops what was typed; the end of the input is told from it by `was_interrupted`. */
static gboolean has_dropped_line(struct prompt *prompt)
{
	if (!was_interrupted)
		return FALSE;
	was_interrupted = 0;
	g_string_truncate(prompt->text, 0);
	putchar('\n');
	return TRUE;
}

static void converse(struct prompt *prompt)
{
	while (!prompt->session->has_quit) {
		const gchar *line = read_line(prompt);

		if (line)
			g_string_append(prompt->text, line);
		if (line && is_complete(prompt)) {
			remember(prompt, prompt->text->str);
			run(prompt);
			g_string_truncate(prompt->text, 0);
		} else if (!has_dropped_line(prompt) && !line) {
			putchar('\n');
			return;
		}
	}
}

void query_prompt_run(struct query_session *session)
{
	struct prompt prompt = { .session = session, .text = g_string_new(NULL) };
	struct sigaction before;

	open_lines(&prompt);
	watch_interrupts(&before);
	printf("Tables: .tables, their columns: .schema, help: .help, end: Ctrl-D.\n");
	fflush(stdout);
	converse(&prompt);
	sigaction(SIGINT, &before, NULL);
	close_lines(&prompt);
	g_string_free(prompt.text, TRUE);
}
