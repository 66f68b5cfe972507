#include "live/http_server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <pthread.h>
#include <string.h>

#include "live/live_assets.h"
#include "live/live_internal.h"
#include "live/live_state.h"

#define MAX_CONNECTIONS	   64
#define MAX_OF_ADDRESS	   32
#define CONNECTION_BYTES   (32 << 10) /* for what a client sends */
#define CONNECTION_SECONDS 15	      /* without a byte */
#define BACKLOG		   256
#define CONTENT_POLICY                                                                             \
	"default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"

struct _HttpServer {
	struct MHD_Daemon *daemon;
	gchar *token, *host; /* host: numeric address that it listens on */
	gboolean is_loopback;
	guint16 port;
	Fleet *fleet;
	pthread_mutex_t lock;
	LiveState *state; /* guarded by `lock`; NULL: nothing was shown yet */
};

static LiveState *take_state(HttpServer *server)
{
	LiveState *state;

	pthread_mutex_lock(&server->lock);
	state = server->state ? live_state_ref(server->state) : NULL;
	pthread_mutex_unlock(&server->lock);
	return state;
}

/* --- who may ask ----------------------------------------------------------------------------- */

/* As long whatever the texts are, so that how long it takes tells nothing. */
static gboolean is_same(const gchar *text, const gchar *secret)
{
	gsize n = strlen(secret), m = strlen(text);
	guint differs = n != m;

	for (gsize i = 0; i < n; i++)
		differs |= (guchar)secret[i] ^ (guchar)(m ? text[i % m] : 0);
	return !differs;
}

/* "Bearer TOKEN", or the token as the password of "Basic". */
static gboolean has_token(const HttpServer *server, struct MHD_Connection *connection)
{
	const gchar *word =
		MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Authorization");
	g_autofree guchar *decoded = NULL;
	g_autofree gchar *text = NULL;
	const gchar *colon;
	gsize length;

	if (!word)
		return FALSE;
	if (g_ascii_strncasecmp(word, "Bearer ", 7) == 0)
		return is_same(word + 7, server->token);
	if (g_ascii_strncasecmp(word, "Basic ", 6) != 0)
		return FALSE;
	decoded = g_base64_decode(word + 6, &length);
	text = g_strndup((const gchar *)decoded, length);
	colon = strchr(text, ':');
	return colon && is_same(colon + 1, server->token);
}

/* (2): "localhost:9460", "127.0.0.1", "[::1]:9460". */
static gboolean names_loopback(struct MHD_Connection *connection)
{
	const gchar *host = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Host");
	static const gchar *const names[] = { "localhost", "127.0.0.1", "[::1]" };

	for (guint i = 0; host && i < G_N_ELEMENTS(names); i++) {
		gsize n = strlen(names[i]);

		if (g_ascii_strncasecmp(host, names[i], n) == 0 &&
		    (host[n] == '\0' || host[n] == ':'))
			return TRUE;
	}
	return FALSE;
}

/* --- answers --------------------------------------------------------------------------------- */

static enum MHD_Result send_response(struct MHD_Connection *connection, guint status,
				     const gchar *type, struct MHD_Response *response)
{
	enum MHD_Result result;

	if (!response)
		return MHD_NO;
	MHD_add_response_header(response, "Content-Type", type);
	MHD_add_response_header(response, "Cache-Control", "no-store");
	MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
	MHD_add_response_header(response, "Content-Security-Policy", CONTENT_POLICY);
	if (status == MHD_HTTP_UNAUTHORIZED)
		MHD_add_response_header(response, "WWW-Authenticate", "Basic realm=\"tacho\"");
	if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
		MHD_add_response_header(response, "Allow", "GET, HEAD");
	result = MHD_queue_response(connection, status, response);
	MHD_destroy_response(response);
	return result;
}

static enum MHD_Result send_copy(struct MHD_Connection *connection, guint status, const gchar *type,
				 const gchar *text)
{
	return send_response(
		connection, status, type,
		MHD_create_response_from_buffer(strlen(text), (void *)text, MHD_RESPMEM_MUST_COPY));
}

static enum MHD_Result send_asset(struct MHD_Connection *connection, const gchar *type,
				  const gchar *text)
{
	return send_response(connection, MHD_HTTP_OK, type,
			     MHD_create_response_from_buffer(strlen(text), (void *)text,
							     MHD_RESPMEM_PERSISTENT));
}

static enum MHD_Result refuse(struct MHD_Connection *connection, guint status, const gchar *why)
{
	g_autofree gchar *text = g_strdup_printf("{\"error\": \"%s\"}\n", why);

	return send_copy(connection, status, "application/json", text);
}

#define JSON_TYPE    "application/json"
#define METRICS_TYPE "text/plain; version=0.0.4; charset=utf-8"

/* A job of another host, which is asked for it when somebody asks here. */
static enum MHD_Result answer_fleet_job(HttpServer *server, struct MHD_Connection *connection,
					guint id)
{
	gboolean is_known;
	g_autofree gchar *text = fleet_job_json(server->fleet, id, &is_known);

	if (text)
		return send_copy(connection, MHD_HTTP_OK, JSON_TYPE, text);
	return is_known ? refuse(connection, MHD_HTTP_SERVICE_UNAVAILABLE,
				 "its host is being asked for it: come again")
			: refuse(connection, MHD_HTTP_NOT_FOUND, "there is no such job");
}

static enum MHD_Result answer_job(HttpServer *server, struct MHD_Connection *connection,
				  const LiveState *state, const gchar *id)
{
	guint64 number = 0;
	g_autofree gchar *text = NULL;

	if (g_ascii_string_to_unsigned(id, 10, 0, G_MAXUINT, &number, NULL))
		text = live_state_job(state, (guint)number);
	if (!text && server->fleet && number >= FLEET_IDS)
		return answer_fleet_job(server, connection, (guint)number);
	return text ? send_copy(connection, MHD_HTTP_OK, JSON_TYPE, text)
		    : refuse(connection, MHD_HTTP_NOT_FOUND, "there is no such job");
}

static enum MHD_Result answer_path(HttpServer *server, struct MHD_Connection *connection,
				   const LiveState *state, const gchar *path)
{
	gboolean is_own =
		MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, FLEET_OWN) != NULL;

	if (strcmp(path, "/") == 0)
		return send_asset(connection, "text/html; charset=utf-8", live_asset_index);
	if (strcmp(path, "/live.js") == 0)
		return send_asset(connection, "text/javascript; charset=utf-8", live_asset_script);
	if (strcmp(path, "/live.css") == 0)
		return send_asset(connection, "text/css; charset=utf-8", live_asset_style);
	if (strcmp(path, "/page.css") == 0)
		return send_asset(connection, "text/css; charset=utf-8", live_asset_page_style);
	if (strcmp(path, "/grafana.json") == 0)
		return send_asset(connection, JSON_TYPE, live_asset_grafana);
	if (!state)
		return refuse(connection, MHD_HTTP_SERVICE_UNAVAILABLE,
			      "no look has been taken yet");
	if (strcmp(path, "/metrics") == 0)
		return send_copy(connection, MHD_HTTP_OK, METRICS_TYPE,
				 is_own || !state->metrics ? state->own_metrics : state->metrics);
	if (strcmp(path, "/api/jobs") == 0)
		return send_copy(connection, MHD_HTTP_OK, JSON_TYPE,
				 is_own || !state->jobs ? state->own_jobs : state->jobs);
	if (strcmp(path, "/api/hosts") == 0)
		return send_copy(connection, MHD_HTTP_OK, JSON_TYPE,
				 state->hosts ? state->hosts : "[]\n");
	if (g_str_has_prefix(path, "/api/jobs/"))
		return answer_job(server, connection, state, path + strlen("/api/jobs/"));
	return refuse(
		connection, MHD_HTTP_NOT_FOUND,
		"there are /, /metrics, /grafana.json, /api/hosts, /api/jobs and /api/jobs/ID");
}

static enum MHD_Result answer(void *server_pointer, struct MHD_Connection *connection,
			      const char *url, const char *method, const char *version,
			      const char *upload, size_t *upload_bytes, void **seen)
{
	HttpServer *server = server_pointer;
	LiveState *state;
	enum MHD_Result result;

	(void)version;
	(void)upload;
	if (!*seen) { /* the head alone has come */
		*seen = server;
		return MHD_YES;
	}
	if (*upload_bytes) { /* nobody wants it */
		*upload_bytes = 0;
		return MHD_YES;
	}
	if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
		return refuse(connection, MHD_HTTP_METHOD_NOT_ALLOWED,
			      "only GET and HEAD are served");
	if (server->token ? !has_token(server, connection) : !names_loopback(connection))
		return server->token
			       ? refuse(connection, MHD_HTTP_UNAUTHORIZED, "a token is needed")
			       : refuse(connection, MHD_HTTP_FORBIDDEN,
					"without a token only localhost is served");
	state = take_state(server);
	result = answer_path(server, connection, state, url);
	live_state_unref(state);
	return result;
}

/* --- listening ------------------------------------------------------------------------------- */

static gboolean parse_address(const gchar *text, guint16 port, struct sockaddr_storage *ret_address,
			      gboolean *ret_is_loopback)
{
	struct sockaddr_in *four = (struct sockaddr_in *)ret_address;
	struct sockaddr_in6 *six = (struct sockaddr_in6 *)ret_address;

	memset(ret_address, 0, sizeof(*ret_address));
	if (inet_pton(AF_INET, text, &four->sin_addr) == 1) {
		four->sin_family = AF_INET;
		four->sin_port = htons(port);
		*ret_is_loopback = (ntohl(four->sin_addr.s_addr) >> 24) == 127;
		return TRUE;
	}
	if (inet_pton(AF_INET6, text, &six->sin6_addr) == 1) {
		six->sin6_family = AF_INET6;
		six->sin6_port = htons(port);
		*ret_is_loopback = IN6_IS_ADDR_LOOPBACK(&six->sin6_addr);
		return TRUE;
	}
	return FALSE;
}

static void drop_message(void *data, const char *format, va_list arguments)
{
	(void)data; /* what clients do wrong is no news */
	(void)format;
	(void)arguments;
}

static gboolean start(HttpServer *server, const TachoServeOptions *options,
		      struct sockaddr_storage *address, GError **error)
{
	guint flags = MHD_USE_AUTO | MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_ERROR_LOG;
	struct MHD_OptionItem tls[] = {
		{ MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)options->certificate },
		{ MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)options->key },
		{ MHD_OPTION_END, 0, NULL },
	};
	const union MHD_DaemonInfo *info;

	if (options->certificate)
		flags |= MHD_USE_TLS;
	else
		tls[0] = (struct MHD_OptionItem){ MHD_OPTION_END, 0, NULL };
	if (address->ss_family == AF_INET6)
		flags |= MHD_USE_IPv6;
	errno = 0;
	server->daemon = MHD_start_daemon(
		flags, options->port, NULL, NULL, answer, server, MHD_OPTION_EXTERNAL_LOGGER,
		drop_message, NULL, MHD_OPTION_SOCK_ADDR, address, MHD_OPTION_CONNECTION_LIMIT,
		MAX_CONNECTIONS, MHD_OPTION_PER_IP_CONNECTION_LIMIT, MAX_OF_ADDRESS,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_BYTES,
		MHD_OPTION_CONNECTION_TIMEOUT, CONNECTION_SECONDS, MHD_OPTION_LISTEN_BACKLOG_SIZE,
		BACKLOG, MHD_OPTION_ARRAY, tls, MHD_OPTION_END);
	if (!server->daemon) {
		g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_FAILED,
			    "cannot listen on %s, port %u: %s", server->host, options->port,
			    errno ? g_strerror(errno)
			    : options->certificate
				    ? "the certificate and the key are none that TLS can use"
				    : "the library refuses");
		return FALSE;
	}
	info = MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_BIND_PORT);
	server->port = info ? info->port : options->port;
	return TRUE;
}

HttpServer *http_server_new(const TachoServeOptions *options, GError **error)
{
	HttpServer *server = g_new0(HttpServer, 1);
	struct sockaddr_storage address;

	pthread_mutex_init(&server->lock, NULL);
	server->host = g_strdup(options->address ? options->address : "127.0.0.1");
	server->token = g_strdup(options->token);
	server->fleet = options->fleet;
	if (!parse_address(server->host, options->port, &address, &server->is_loopback))
		g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_INVAL, "'%s' is no numeric address",
			    server->host);
	else if (!server->is_loopback && !server->token)
		g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_PERM,
			    "%s can be reached from other machines: that takes a token "
			    "(--token-file)",
			    server->host);
	else if (start(server, options, &address, error))
		return server;
	http_server_free(server);
	return NULL;
}

void http_server_free(HttpServer *server)
{
	if (!server)
		return;
	if (server->daemon)
		MHD_stop_daemon(server->daemon);
	live_state_unref(server->state);
	pthread_mutex_destroy(&server->lock);
	g_free(server->token);
	g_free(server->host);
	g_free(server);
}

guint16 http_server_port(const HttpServer *server)
{
	return server->port;
}

void http_server_show(HttpServer *server, LiveState *state)
{
	LiveState *old;

	pthread_mutex_lock(&server->lock);
	old = server->state;
	server->state = state;
	pthread_mutex_unlock(&server->lock);
	live_state_unref(old);
}
