/* cmd_serve: the jobs that are being recorded on this host, over HTTP. */
#include <stdlib.h>
#include <string.h>
#include <tacho/live.h>
#include <unistd.h>

#include "cli.h"
#include "follow_report.h"

#ifdef TACHO_HAVE_MICROHTTPD
#include "live/http_server.h"
#include "serve_push.h"

#define DEFAULT_PORT 9460
#define LEAST_TOKEN  16	  /* characters */
#define PAUSE_MS     1000 /* as often as the page asks */

static const gchar usage[] = "[RUN...]";
static const gchar description[] =
	"Answers over HTTP what all jobs are that you are recording on this host, or the runs\n"
	"named: a page at /, JSON at /api/jobs and /api/jobs/ID, and series for Prometheus at\n"
	"/metrics. It listens on loopback; any other address takes a token, which clients send as\n"
	"'Authorization: Bearer TOKEN' or as a password.\n"
	"\n"
	"With --from it gathers the jobs of other hosts, each with a 'tacho serve' of its own.\n"
	"\n"
	"With --otlp, or where OTEL_EXPORTER_OTLP_ENDPOINT is set, it pushes the same figures to\n"
	"a collector of OpenTelemetry. With --listen none it does nothing else.\n"
	"\n"
	"Examples:\n"
	"  tacho serve                                       then http://127.0.0.1:9460/\n"
	"  tacho serve --listen 0.0.0.0 --token-file token --tls-cert c.pem --tls-key k.pem\n"
	"  tacho serve --from http://node2:9460 --from http://node3:9460 --from-token-file token\n"
	"  tacho serve --otlp http://127.0.0.1:4318\n";

struct options {
	gchar *address, *token_file, *certificate_file, *key_file;
	gint port;
	struct serve_push_options push;
	gchar **from, *from_token_file, *from_ca_file;
};

static gboolean read_text(const gchar *path, gchar **ret_text)
{
	GError *error = NULL;

	if (!path || g_file_get_contents(path, ret_text, NULL, &error))
		return TRUE;
	cli_fail_error("serve", error);
	return FALSE;
}

static gboolean check_token(gchar *token)
{
	if (!token)
		return TRUE;
	g_strstrip(token);
	if (strpbrk(token, "\r\n")) {
		cli_fail("serve", "the token has more than one line");
		return FALSE;
	}
	if (strlen(token) >= LEAST_TOKEN)
		return TRUE;
	cli_fail("serve",
		 "the token has %zu characters; it takes at least %d, as from 'openssl rand "
		 "-hex 16'",
		 strlen(token), LEAST_TOKEN);
	return FALSE;
}

/* Of all hosts; NULL: nothing is gathered, and `own` are all. */
static LiveSeries *add_fleet(const LiveSeries *own, Fleet *fleet)
{
	LiveSeries *all;

	if (!fleet)
		return NULL;
	all = live_series_new_empty();
	live_series_append(all, own);
	fleet_add_series(fleet, all);
	return all;
}

/* `server`, `push` and `fleet`: NULL where there is none. */
static void run(HttpServer *server, ServePush *push, Fleet *fleet, TachoJobs *jobs)
{
	gchar name[256] = "";
	g_autofree gchar *host = NULL;
	LiveState *state = NULL, *before;

	gethostname(name, sizeof(name) - 1);
	host = live_series_text(name, LIVE_LABEL_BYTES);
	while (!follow_is_interrupted()) {
		gint64 begin_us = g_get_monotonic_time();
		g_autoptr(LiveSeries) own = NULL, gathered = NULL;
		const LiveSeries *all;

		tacho_jobs_look(jobs);
		own = live_series_new(jobs, fleet ? host : NULL);
		serve_push_count(push, own);
		gathered = add_fleet(own, fleet);
		all = gathered ? gathered : own;
		serve_push_look(push, all);
		if (server) {
			before = state;
			state = live_state_new(jobs, host, own, all, fleet, before);
			live_state_unref(before);
			http_server_show(server, live_state_ref(state));
		}
		/* no more than half of a core, however many jobs there are */
		follow_pause((guint)MAX(PAUSE_MS, (g_get_monotonic_time() - begin_us) / 1000));
	}
	live_state_unref(state);
}

/* Begin to gather from the hosts that were named; none: `*ret_fleet` is NULL. False: it cannot, as was said. */
static gboolean begin_fleet(const struct options *options, Fleet **ret_fleet)
{
	g_autofree gchar *token = NULL;
	GError *error = NULL;

	*ret_fleet = NULL;
	if (!options->from)
		return TRUE;
	if (!read_text(options->from_token_file, &token) || !check_token(token))
		return FALSE;
	*ret_fleet = fleet_new((const gchar *const *)options->from, token, options->from_ca_file,
			       &error);
	if (!*ret_fleet)
		cli_fail_error("serve", error);
	return *ret_fleet != NULL;
}

/* It pushes, and listens nowhere. */
static int serve_nobody(const struct options *options, Fleet *fleet, int argc, char **argv)
{
	g_autoptr(TachoJobs) jobs = NULL;
	ServePush *push;

	if (!serve_push_begin(&options->push, g_get_user_name(), &push))
		return CLI_BAD;
	if (!push)
		return cli_fail("serve", "--listen none leaves nothing to do without --otlp");
	jobs = tacho_jobs_new((const gchar *const *)argv + 1, (guint)argc - 1);
	run(NULL, push, fleet, jobs);
	serve_push_end(push);
	return cli_finish("serve", CLI_DONE);
}

static int serve(const struct options *options, int argc, char **argv)
{
	g_autofree gchar *token = NULL, *certificate = NULL, *key = NULL;
	g_autoptr(TachoJobs) jobs = NULL;
	TachoServeOptions how = { .address = options->address, .port = (guint16)options->port };
	GError *error = NULL;
	gchar instance[16];
	HttpServer *server;
	ServePush *push;
	g_autoptr(Fleet) fleet = NULL;

	if (options->port < 0 || options->port > 65535)
		return cli_fail("serve", "--port takes 0 to 65535, not %d", options->port);
	if (!options->certificate_file != !options->key_file)
		return cli_fail("serve", "--tls-cert and --tls-key are given together");
	if (!read_text(options->token_file, &token) || !check_token(token) ||
	    !read_text(options->certificate_file, &certificate) ||
	    !read_text(options->key_file, &key))
		return CLI_BAD;
	if (!begin_fleet(options, &fleet))
		return CLI_BAD;
	if (options->address && strcmp(options->address, "none") == 0)
		return serve_nobody(options, fleet, argc, argv);
	how.fleet = fleet;
	how.token = token;
	how.certificate = certificate;
	how.key = key;
	server = http_server_new(&how, &error);
	if (!server)
		return cli_fail_error("serve", error);
	g_snprintf(instance, sizeof(instance), "%u", http_server_port(server));
	if (!serve_push_begin(&options->push, instance, &push)) {
		http_server_free(server);
		return CLI_BAD;
	}
	jobs = tacho_jobs_new((const gchar *const *)argv + 1, (guint)argc - 1);
	printf("tacho serve: %s://%s%s%s:%u/\n", certificate ? "https" : "http",
	       how.address && strchr(how.address, ':') ? "[" : "",
	       how.address ? how.address : "127.0.0.1",
	       how.address && strchr(how.address, ':') ? "]" : "", http_server_port(server));
	fflush(stdout);
	run(server, push, fleet, jobs);
	serve_push_end(push);
	http_server_free(server);
	return cli_finish("serve", CLI_DONE);
}

int cmd_serve(int argc, char **argv)
{
	struct options options = { .port = DEFAULT_PORT };
	const GOptionEntry entries[] = {
		{ "listen", 0, 0, G_OPTION_ARG_STRING, &options.address,
		  "listen on this numeric address, or on none (default: 127.0.0.1)", "ADDRESS" },
		{ "port", 'p', 0, G_OPTION_ARG_INT, &options.port,
		  "listen on this port (default: 9460; 0: any that is free)", "N" },
		{ "token-file", 0, 0, G_OPTION_ARG_FILENAME, &options.token_file,
		  "serve only who knows the token in FILE", "FILE" },
		{ "tls-cert", 0, 0, G_OPTION_ARG_FILENAME, &options.certificate_file,
		  "speak TLS, with the certificate in this PEM file", "FILE" },
		{ "tls-key", 0, 0, G_OPTION_ARG_FILENAME, &options.key_file,
		  "... and the key in this one", "FILE" },
		{ "from", 0, 0, G_OPTION_ARG_STRING_ARRAY, &options.from,
		  "gather the jobs of this host's tacho serve as well; may be given for each host",
		  "URL" },
		{ "from-token-file", 0, 0, G_OPTION_ARG_FILENAME, &options.from_token_file,
		  "... which take the token in FILE", "FILE" },
		{ "from-ca", 0, 0, G_OPTION_ARG_FILENAME, &options.from_ca_file,
		  "... whose certificates are signed by one in this PEM file (default: the "
		  "system's)",
		  "FILE" },
		{ "otlp", 0, 0, G_OPTION_ARG_STRING, &options.push.url,
		  "push the figures to this receiver of OTLP over HTTP, or to none (default: as "
		  "OTEL_EXPORTER_OTLP_ENDPOINT says)",
		  "URL" },
		{ "otlp-interval", 0, 0, G_OPTION_ARG_DOUBLE, &options.push.interval_s,
		  "... every so many seconds (default: 10)", "S" },
		{ "otlp-headers", 0, 0, G_OPTION_ARG_FILENAME, &options.push.headers_file,
		  "... with the headers in FILE, a line each (Authorization: ...)", "FILE" },
		{ "otlp-ca", 0, 0, G_OPTION_ARG_FILENAME, &options.push.ca_file,
		  "... whose certificate is signed by one in this PEM file (default: the system's)",
		  "FILE" },
		G_OPTION_ENTRY_NULL,
	};
	int status = CLI_BAD;

	if (cli_parse("serve", usage, description, entries, &argc, &argv)) {
		follow_begin();
		status = serve(&options, argc, argv);
	}
	g_free(options.address);
	g_free(options.token_file);
	g_free(options.certificate_file);
	g_free(options.key_file);
	serve_push_options_release(&options.push);
	g_strfreev(options.from);
	g_free(options.from_token_file);
	g_free(options.from_ca_file);
	return status;
}

#else

int cmd_serve(int argc, char **argv)
{
	const GOptionEntry entries[] = { G_OPTION_ENTRY_NULL };

	if (!cli_parse("serve", "",
		       "This tacho was built without libmicrohttpd, and cannot serve.\n", entries,
		       &argc, &argv))
		return CLI_BAD;
	return cli_fail("serve", "this tacho was built without libmicrohttpd");
}

#endif
