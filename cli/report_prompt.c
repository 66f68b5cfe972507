#include "report_prompt.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tacho/words.h>

#include "cli.h"
#include "line_editor.h"

#define PROMPT "tacho> "

static const gchar help_text[] =
	"VIEW [OPTION...]   print a view, with options of 'tacho report' or of tfprof (-max_depth "
	"4)\n"
	"set OPTION...      set these options for all lines after this one\n"
	"unset [OPTION...]  remove these options; without an option: all\n"
	"(an empty line)    print the options that are set\n"
	"help, quit         print this text; end\n"
	"Views: ";

/* tfprof's options that are called otherwise here. */
static const struct {
	const gchar *theirs, *ours;
} names[] = {
	{ "account-type-regexes", "account" },
	{ "start-name-regexes", "start" },
	{ "trim-name-regexes", "trim" },
	{ "show-name-regexes", "show" },
	{ "hide-name-regexes", "hide" },
	{ "account-displayed-op-only", "displayed-only" },
	{ "step", "steps" },
	{ "j", "json" },
	{ "a", "all" },
	{ "l", "limit" },
	{ "n", "name" },
	{ "s", "steps" },
	{ "r", "rank" },
	{ "d", "device" },
};

struct prompt {
	const gchar *const *views;
	ReportLine report;
	gpointer data;
	GPtrArray *set;		     /* gchar: "--NAME" or "--NAME=VALUE" */
	const gchar *const *options; /* names, NULL behind the last */
	line_editor *editor;	     /* of a terminal; NULL: lines are read as they are */
	gboolean has_quit;
	int status;
	gchar *line; /* getline()'s */
	size_t line_size;
};

static const gchar *const commands[] = { "set", "unset", "help", "quit", NULL };

/* --- lines ---------------------------------------------------------------------------------- */

static const gchar *find_word(const gchar *line)
{
	const gchar *blank = strrchr(line, ' ');

	return blank ? blank + 1 : line;
}

static void offer(GPtrArray *words, const gchar *before, const gchar *const *names,
		  const gchar *typed)
{
	for (guint i = 0; names[i]; i++) {
		g_autofree gchar *word = g_strconcat(before, names[i], NULL);

		if (g_str_has_prefix(word, typed))
			g_ptr_array_add(words, g_steal_pointer(&word));
	}
}

static gint compare_words(gconstpointer a, gconstpointer b)
{
	return strcmp(*(const gchar *const *)a, *(const gchar *const *)b);
}

/* Commands and views, and behind them options. */
static gchar **complete(gpointer data, const gchar *line)
{
	const struct prompt *prompt = data;
	const gchar *word = find_word(line);
	GPtrArray *words = g_ptr_array_new();

	if (word == line) {
		offer(words, "", commands, word);
		offer(words, "", prompt->views, word);
	} else if (*word == '-') {
		offer(words, "--", prompt->options, word);
	}
	g_ptr_array_sort(words, compare_words);
	g_ptr_array_add(words, NULL);
	return (gchar **)g_ptr_array_free(words, FALSE);
}

static void on_interrupt(int number)
{
	(void)number;
	line_editor_note_interrupt();
}

/* While a line is typed, Ctrl-C drops it; while a view is made, it ends the program. */
static const gchar *edit_line(struct prompt *prompt)
{
	struct sigaction action = { .sa_handler = on_interrupt }, before;
	const gchar *line;

	sigemptyset(&action.sa_mask);
	sigaction(SIGINT, &action, &before);
	while (!(line = line_editor_read(prompt->editor, PROMPT)) && line_editor_take_interrupt())
		putchar('\n');
	sigaction(SIGINT, &before, NULL);
	if (line)
		line_editor_remember(prompt->editor, line);
	else
		putchar('\n');
	return line;
}

static const gchar *read_line(struct prompt *prompt)
{
	if (prompt->editor)
		return edit_line(prompt);
	return getline(&prompt->line, &prompt->line_size, stdin) < 0 ? NULL : prompt->line;
}

/* --- options -------------------------------------------------------------------------------- */

/* "max_depth" as "max-depth", "step" as "steps" ... */
static gchar *our_name(const gchar *name, gsize n)
{
	gchar *ours = g_strdelimit(g_strndup(name, n), "_", '-');

	for (guint i = 0; i < G_N_ELEMENTS(names); i++)
		if (strcmp(names[i].theirs, ours) == 0) {
			g_free(ours);
			return g_strdup(names[i].ours);
		}
	return ours;
}

static gboolean is_flag(const gchar *name)
{
	static const gchar *const flags[] = { "json", "all", "shapes", "wide", "force", NULL };

	return g_strv_contains(flags, name);
}

/* An option starts with a dash; what starts with a dash and a digit is a value. */
static gboolean is_option(const gchar *word)
{
	return word && word[0] == '-' && word[1] && !g_ascii_isdigit(word[1]);
}

/* "--NAME=VALUE"; NULL: it means nothing here (tfprof's "-step -1": all steps, as always). */
static gchar *join(const gchar *name, const gchar *value)
{
	if (strcmp(name, "steps") == 0 && strcmp(value, "-1") == 0)
		return NULL;
	if (strcmp(name, "steps") == 0 && !strpbrk(value, ":a"))
		return g_strdup_printf("--steps=%s:%s", value, value);
	if (g_str_has_prefix(name, "min-")) {
		g_autofree gchar *metric = g_strdelimit(g_strdup(name + 4), "-", '_');

		return g_strdup_printf("--min=%s=%s", metric, value);
	}
	return g_strdup_printf("--%s=%s", name, value);
}

/* The options among `words`, from the first on, in one form. FALSE, with a message: a word is none. */
static gboolean take_options(char **words, GPtrArray *options)
{
	for (guint i = 0; words[i]; i++) {
		const gchar *dashless = words[i] + strspn(words[i], "-");
		const gchar *equals = strchr(dashless, '=');
		g_autofree gchar *name = NULL;
		gchar *option;

		if (!is_option(words[i])) {
			cli_fail("report", "'%s' is not an option (see 'help')", words[i]);
			return FALSE;
		}
		name = our_name(dashless, equals ? (gsize)(equals - dashless) : strlen(dashless));
		if (is_flag(name)) {
			option = g_strdup_printf("--%s", name);
		} else if (equals) {
			option = join(name, equals + 1);
		} else if (words[i + 1] && !is_option(words[i + 1])) {
			option = join(name, words[++i]);
		} else if (strcmp(name, "displayed-only") == 0) {
			option = g_strdup("--displayed-only=yes");
		} else {
			cli_fail("report", "'%s' needs a value after it", words[i]);
			return FALSE;
		}
		if (option)
			g_ptr_array_add(options, option);
	}
	return TRUE;
}

/* How far an option goes that another one of its kind takes the place of: "--min=micros" of "--min=micros=5". */
static gsize kind_length(const gchar *option)
{
	gsize n = strcspn(option, "=");

	if (g_str_has_prefix(option, "--min="))
		n += 1 + strcspn(option + n + 1, "=");
	return n;
}

static void drop_kind(GPtrArray *set, const gchar *option, gsize n)
{
	for (guint i = set->len; i-- > 0;) {
		const gchar *known = set->pdata[i];

		if (kind_length(known) == n && strncmp(known, option, n) == 0)
			g_ptr_array_remove_index(set, i);
	}
}

/* --- commands ------------------------------------------------------------------------------- */

static gboolean set(struct prompt *prompt, char **words)
{
	g_autoptr(GPtrArray) options = g_ptr_array_new_with_free_func(g_free);

	if (!take_options(words, options))
		return FALSE;
	for (guint i = 0; i < options->len; i++) {
		const gchar *option = options->pdata[i];

		drop_kind(prompt->set, option, kind_length(option));
		g_ptr_array_add(prompt->set, g_strdup(option));
	}
	return TRUE;
}

static gboolean unset(struct prompt *prompt, char **words)
{
	if (!words[0])
		g_ptr_array_set_size(prompt->set, 0);
	for (guint i = 0; words[i]; i++) {
		const gchar *dashless = words[i] + strspn(words[i], "-");
		g_autofree gchar *name = our_name(dashless, strlen(dashless));

		for (guint j = prompt->set->len; j-- > 0;) {
			const gchar *known = (const gchar *)prompt->set->pdata[j] + 2;

			if (g_str_has_prefix(known, name) &&
			    (known[strlen(name)] == '=' || !known[strlen(name)]))
				g_ptr_array_remove_index(prompt->set, j);
		}
	}
	return TRUE;
}

static void print_set(const struct prompt *prompt)
{
	if (!prompt->set->len)
		puts("No options are set.");
	for (guint i = 0; i < prompt->set->len; i++)
		puts(prompt->set->pdata[i]);
}

static void print_help(const struct prompt *prompt)
{
	fputs(help_text, stdout);
	for (guint i = 0; prompt->views[i]; i++)
		printf("%s%s", i ? ", " : "", prompt->views[i]);
	puts(".");
}

/* A view, with what is set and the options of the line, which come last and so count. */
static gboolean show(struct prompt *prompt, char **words)
{
	g_autoptr(GPtrArray) options = g_ptr_array_new_with_free_func(g_free);
	g_autoptr(GPtrArray) all = g_ptr_array_new();
	g_autofree gchar *view = g_strdup_printf("--view=%s", words[0]);

	if (!take_options(words + 1, options))
		return FALSE;
	g_ptr_array_add(all, "report");
	g_ptr_array_add(all, view);
	for (guint i = 0; i < prompt->set->len; i++)
		g_ptr_array_add(all, prompt->set->pdata[i]);
	for (guint i = 0; i < options->len; i++)
		g_ptr_array_add(all, options->pdata[i]);
	g_ptr_array_add(all, NULL);
	return prompt->report((int)all->len - 1, (char **)all->pdata, prompt->data) == CLI_DONE;
}

static gboolean refuse_word(const struct prompt *prompt, const gchar *word)
{
	g_autoptr(GPtrArray) words = g_ptr_array_new();
	g_autofree gchar *there = NULL;

	for (guint i = 0; commands[i]; i++)
		g_ptr_array_add(words, (gpointer)commands[i]);
	for (guint i = 0; prompt->views[i]; i++)
		g_ptr_array_add(words, (gpointer)prompt->views[i]);
	g_ptr_array_add(words, NULL);
	there = tacho_did_you_mean(word, (const gchar *const *)words->pdata);
	cli_fail("report", "there is no command or view '%s'%s", word, there);
	return FALSE;
}

static gboolean run_words(struct prompt *prompt, char **words)
{
	if (!words[0]) {
		print_set(prompt);
	} else if (strcmp(words[0], "quit") == 0 || strcmp(words[0], "exit") == 0) {
		prompt->has_quit = TRUE;
	} else if (strcmp(words[0], "help") == 0) {
		print_help(prompt);
	} else if (strcmp(words[0], "set") == 0) {
		return set(prompt, words + 1);
	} else if (strcmp(words[0], "unset") == 0) {
		return unset(prompt, words + 1);
	} else if (g_strv_contains(prompt->views, words[0])) {
		return show(prompt, words);
	} else {
		return refuse_word(prompt, words[0]);
	}
	return TRUE;
}

static void run_line(struct prompt *prompt, const gchar *line)
{
	g_auto(GStrv) words = NULL;
	g_autoptr(GError) error = NULL;
	char *none[] = { NULL };
	gboolean is_done;

	if (!g_shell_parse_argv(line, NULL, &words, &error) &&
	    !g_error_matches(error, G_SHELL_ERROR, G_SHELL_ERROR_EMPTY_STRING)) {
		cli_fail("report", "%s", error->message);
		is_done = FALSE;
	} else {
		is_done = run_words(prompt, words ? words : none);
	}
	fflush(stdout);
	if (!is_done && !prompt->editor)
		prompt->status = CLI_BAD;
}

int report_prompt_run(const gchar *const *views, const gchar *const *options, ReportLine report,
		      gpointer data)
{
	struct prompt prompt = { .views = views,
				 .options = options,
				 .report = report,
				 .data = data,
				 .set = g_ptr_array_new_with_free_func(g_free),
				 .status = CLI_DONE };
	struct line_words words = { find_word, complete, &prompt };

	if (isatty(STDIN_FILENO)) {
		puts("Views and commands: help, an end: quit or Ctrl-D.");
		prompt.editor = line_editor_new("report_history", &words);
	}
	while (!prompt.has_quit) {
		const gchar *line = read_line(&prompt);

		if (!line)
			break;
		run_line(&prompt, line);
	}
	if (prompt.editor)
		line_editor_free(prompt.editor);
	free(prompt.line);
	g_ptr_array_unref(prompt.set);
	return prompt.status;
}
