/* http_server: answers over HTTP what the jobs of this host are: docs/live.md has the paths.
 *
 * (1) It answers from the LiveState that it was given last; a client that is slow holds up nobody.
 * (2) Without a token it listens on loopback alone, and answers only who names it so (a page of another site could have its
 *     visitor's browser ask else).
 * (3) Connections, their time and their memory are bounded. */
#ifndef TACHO_HTTP_SERVER_H
#define TACHO_HTTP_SERVER_H

#include <tacho/live.h>

#include "live/live_state.h"

typedef struct _HttpServer HttpServer;

typedef struct {
	const gchar *address;		/* numeric; NULL: 127.0.0.1 */
	guint16 port;			/* 0: any that is free */
	const gchar *token;		/* NULL: none is asked for */
	const gchar *certificate, *key; /* PEM texts; NULL: no TLS */
	Fleet *fleet;			/* whose jobs are asked for as well; NULL: none */
} TachoServeOptions;

/* NULL: it cannot listen there, as the error says. */
HttpServer *http_server_new(const TachoServeOptions *options, GError **error);
void http_server_free(HttpServer *server);
guint16 http_server_port(const HttpServer *server);
/* Answer with `state`, which is the server's from then on. */
void http_server_show(HttpServer *server, LiveState *state);

#endif
