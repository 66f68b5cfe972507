/* http_client: asks servers over HTTP, several at once, without ever waiting for one of them longer than was said.
 *
 * (1) A client belongs to one thread; http_client_wake() alone is for any.
 * (2) An answer is bounded in bytes and time, whatever the server does. A redirection is an answer like others: it is not followed, so that
 *     what a request carries goes where the user said.
 * (3) Certificates are verified. */
#ifndef TACHO_HTTP_CLIENT_H
#define TACHO_HTTP_CLIENT_H

#include <glib.h>

typedef struct _HttpClient HttpClient;

typedef struct {
	const gchar *url;
	const gchar *const *headers; /* "Name: value"; NULL: none */
	GBytes *body;		     /* is posted; NULL: it is a GET */
	const gchar *ca_file;	     /* certificates to go by; NULL: the system's */
	guint timeout_ms;	     /* for all of it */
	gsize max_bytes;	     /* of the answer's body */
} HttpRequest;

typedef struct {
	guint status;	      /* of HTTP; 0: there was no answer, or not all of it */
	const gchar *failure; /* why there was none; "" */
	const gchar *type;    /* Content-Type; "" */
	GString *body;
	gboolean is_cut;      /* it was longer than max_bytes */
	gint64 retry_after_s; /* as the server asks; -1: it does not */
} HttpAnswer;

/* Called by http_client_work(); the answer is good until it returns. It may send the next request. */
typedef void (*HttpDone)(const HttpAnswer *answer, gpointer data);

/* NULL: no memory. */
HttpClient *http_client_new(void);
/* Requests that are under way are forgotten, without a call. */
void http_client_free(HttpClient *client);

/* Begin a request; what `request` points to is copied, but the body, which gets a reference. False: no memory, or no such URL. */
gboolean http_client_send(HttpClient *client, const HttpRequest *request, HttpDone done,
			  gpointer data);
guint http_client_n_under_way(const HttpClient *client);
/* Do what can be done; wait for more at most so long, or until somebody wakes it. */
void http_client_work(HttpClient *client, guint wait_ms);
/* From any thread: the next wait, or the one that is, ends at once. */
void http_client_wake(HttpClient *client);

/* Whether requests can go to `url`: http or https, with a host. Gives the same URL as people may read it: without name and password, and with
 * `path` where it has none. */
gboolean http_client_check_url(const gchar *url, const gchar *path, gchar **ret_url,
			       gchar **ret_shown, GError **error);

#endif
