/* main: find the subcommand and hand over. */
#include <locale.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>

#include <tacho/words.h>

#include "cli.h"
#include "complete.h"
#include "trial_job.h"

struct command {
	const char *name;
	const char *description;
	int (*run)(int argc, char **argv);
};

static const struct command commands[] = {
#define COMMAND(name, description) { #name, description, cmd_##name },
#include "commands.def"
#undef COMMAND
};

static void print_help(FILE *out)
{
	fputs("Usage: tacho COMMAND [OPTION...] [ARGUMENT...]\n\n"
	      "Record a training job without touching its code, see where the time and memory "
	      "go.\n\n"
	      "Commands:\n",
	      out);
	for (guint i = 0; i < G_N_ELEMENTS(commands); i++)
		fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].description);
	fputs("\nA first try:\n"
	      "  tacho record -o run.tacho -- python3 train.py\n"
	      "  tacho report run.tacho\n\n"
	      "'tacho COMMAND --help' and 'man tacho-COMMAND' say more.\n",
	      out);
}

/* Large arrays are given back when they are freed; else libc keeps more the more were freed before. */
static void give_memory_back(void)
{
	mallopt(M_MMAP_THRESHOLD, 128 * 1024);
}

static int refuse_command(const char *name)
{
	const gchar *names[G_N_ELEMENTS(commands) + 1] = { NULL };
	g_autofree gchar *there = NULL;

	for (guint i = 0; i < G_N_ELEMENTS(commands); i++)
		names[i] = commands[i].name;
	there = tacho_did_you_mean(name, names);
	fprintf(stderr, "tacho: '%s' is not a command%s\n", name, there);
	return CLI_BAD;
}

int main(int argc, char **argv)
{
	give_memory_back();
	setlocale(LC_CTYPE, "");
	cli_ignore_write_signals();
	if (argc < 2) {
		print_help(stderr);
		return CLI_BAD;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
	    strcmp(argv[1], "help") == 0) {
		print_help(stdout);
		return cli_finish("help", CLI_DONE);
	}
	if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "version") == 0) {
		printf("tacho %s\n", TACHO_VERSION);
		puts("built with: " TACHO_FEATURES_WITH);
		puts("built without: " TACHO_FEATURES_WITHOUT);
		return cli_finish("version", CLI_DONE);
	}
	if (argc == 3 && strcmp(argv[1], "--complete") == 0)
		return complete_print(argv[2]);
	if (argc == 2 && strcmp(argv[1], TRIAL_JOB_OPTION) == 0)
		return trial_job_run();
	for (guint i = 0; i < G_N_ELEMENTS(commands); i++)
		if (strcmp(argv[1], commands[i].name) == 0)
			return commands[i].run(argc - 1, argv + 1);
	return refuse_command(argv[1]);
}
