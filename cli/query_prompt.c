#include "query_prompt.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "cli.h"
#include "line_editor.h"
#include "query_complete.h"

#define PROMPT	     "tacho> "
#define PROMPT_GO_ON "   ...> "

struct prompt {
	struct query_session *session;
	GString *text; /* what was typed of the statement */
	line_editor *editor;
};

/* --- Ctrl-C -----------------------------------------------------------------------------------
 *
 * Before `running` is set line_editor's flag tells of it, from then on the query. */

static TachoQuery *volatile running; /* what the signal ends */

static void on_interrupt(int number)
{
	(void)number;
	line_editor_note_interrupt();
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

static const gchar *prompt_text(const struct prompt *prompt)
{
	return prompt->text->len ? PROMPT_GO_ON : PROMPT;
}

/* --- the dialogue ----------------------------------------------------------------------------- */

static gboolean run_sql(struct query_session *session, const gchar *sql, GError **error)
{
	const TachoQueryHandler *handler = tacho_result_writer_handler();
	gboolean is_done;

	running = session->query;
	if (line_editor_is_interrupted())
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
	line_editor_take_interrupt();
}

static gboolean is_complete(const struct prompt *prompt)
{
	return query_session_is_command(prompt->text->str) ||
	       tacho_query_is_complete(prompt->text->str);
}

/* Ctrl-C drops what was typed; the end of the input is told from it by its flag. */
static gboolean has_dropped_line(struct prompt *prompt)
{
	if (!line_editor_take_interrupt())
		return FALSE;
	g_string_truncate(prompt->text, 0);
	putchar('\n');
	return TRUE;
}

static void converse(struct prompt *prompt)
{
	while (!prompt->session->has_quit) {
		const gchar *line = line_editor_read(prompt->editor, prompt_text(prompt));

		if (line)
			g_string_append(prompt->text, line);
		if (line && is_complete(prompt)) {
			line_editor_remember(prompt->editor, prompt->text->str);
			run(prompt);
			g_string_truncate(prompt->text, 0);
		} else if (!has_dropped_line(prompt) && !line) {
			putchar('\n');
			return;
		}
	}
}

static gchar **complete(gpointer query, const gchar *line)
{
	return query_complete(query, line);
}

void query_prompt_run(struct query_session *session)
{
	struct line_words words = { query_complete_word, complete, session->query };
	struct prompt prompt = { .session = session, .text = g_string_new(NULL) };
	struct sigaction before;

	prompt.editor = line_editor_new("query_history", &words);
	watch_interrupts(&before);
	printf(".tables lists the tables, .schema their columns, .help the commands. Ctrl-D "
	       "ends.\n");
	fflush(stdout);
	converse(&prompt);
	sigaction(SIGINT, &before, NULL);
	line_editor_free(prompt.editor);
	g_string_free(prompt.text, TRUE);
}
