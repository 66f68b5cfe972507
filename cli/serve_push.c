#include "serve_push.h"

#include <string.h>

#include "cli.h"

void serve_push_options_release(struct serve_push_options *options)
{
	g_free(options->url);
	g_free(options->headers_file);
	g_free(options->ca_file);
}

#ifdef TACHO_HAVE_CURL
#include "live/otlp_push.h"

/* Lines that are there, each with the program's name. */
static void print_news(const gchar *text)
{
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);

	for (guint i = 0; lines[i]; i++)
		if (*lines[i])
			fprintf(stderr, "tacho serve: %s\n", lines[i]);
}

gboolean serve_push_begin(const struct serve_push_options *options, const gchar *instance,
			  ServePush **ret_push)
{
	g_autofree gchar *headers = NULL;
	struct otlp_options how = { .url = options->url,
				    .ca_file = options->ca_file,
				    .instance = instance,
				    .interval_s = options->interval_s };
	OtlpSettings settings;
	GError *error = NULL;

	*ret_push = NULL;
	if (options->headers_file &&
	    !g_file_get_contents(options->headers_file, &headers, NULL, &error)) {
		cli_fail_error("serve", error);
		return FALSE;
	}
	how.headers = headers;
	if (!otlp_settings_init(&settings, &how, &error)) {
		cli_fail_error("serve", error);
		return FALSE;
	}
	if (!settings.url) {
		if (settings.note)
			print_news(settings.note);
		otlp_settings_release(&settings);
		return TRUE;
	}
	*ret_push = otlp_push_new(&settings, &error);
	if (!*ret_push) {
		cli_fail_error("serve", error);
		return FALSE;
	}
	return TRUE;
}

void serve_push_count(ServePush *push, LiveSeries *series)
{
	if (push)
		otlp_push_count(push, series);
}

void serve_push_look(ServePush *push, const LiveSeries *series)
{
	g_autofree gchar *news = NULL;

	if (!push)
		return;
	otlp_push_offer(push, series);
	news = otlp_push_take_news(push);
	if (news)
		print_news(news);
}

void serve_push_end(ServePush *push)
{
	otlp_push_free(push);
}

#else

gboolean serve_push_begin(const struct serve_push_options *options, const gchar *instance,
			  ServePush **ret_push)
{
	(void)instance;
	*ret_push = NULL;
	if (!options->url || strcmp(options->url, "none") == 0)
		return TRUE;
	cli_fail("serve", "this tacho was built without libcurl, and pushes nothing");
	return FALSE;
}

void serve_push_count(ServePush *push, LiveSeries *series)
{
	(void)push;
	(void)series;
}

void serve_push_look(ServePush *push, const LiveSeries *series)
{
	(void)push;
	(void)series;
}

void serve_push_end(ServePush *push)
{
	(void)push;
}

#endif
