#include "live/http_client.h"

#include <curl/curl.h>
#include <pthread.h>
#include <string.h>

#define MAX_HEAD_BYTES (64 << 10) /* of an answer */
#define MAX_TYPE       64	  /* bytes of a Content-Type that are kept */

struct transfer {
	HttpClient *client;
	CURL *easy;
	struct curl_slist *headers;
	GBytes *body;
	GString *answer;
	gsize max_bytes, head_bytes;
	gboolean is_cut;
	HttpDone done;
	gpointer data;
	gchar error[CURL_ERROR_SIZE];
};

struct _HttpClient {
	CURLM *multi;
	GPtrArray *transfers; /* struct transfer */
};

static pthread_once_t library_once = PTHREAD_ONCE_INIT;

static void begin_library(void)
{
	curl_global_init(CURL_GLOBAL_DEFAULT);
}

static void transfer_free(gpointer pointer)
{
	struct transfer *transfer = pointer;

	if (transfer->easy) {
		curl_multi_remove_handle(transfer->client->multi, transfer->easy);
		curl_easy_cleanup(transfer->easy);
	}
	curl_slist_free_all(transfer->headers);
	if (transfer->body)
		g_bytes_unref(transfer->body);
	g_string_free(transfer->answer, TRUE);
	g_free(transfer);
}

HttpClient *http_client_new(void)
{
	HttpClient *client = g_new0(HttpClient, 1);

	pthread_once(&library_once, begin_library);
	client->transfers = g_ptr_array_new_with_free_func(transfer_free);
	client->multi = curl_multi_init();
	if (client->multi)
		return client;
	http_client_free(client);
	return NULL;
}

void http_client_free(HttpClient *client)
{
	if (!client)
		return;
	g_ptr_array_unref(client->transfers);
	if (client->multi)
		curl_multi_cleanup(client->multi);
	g_free(client);
}

/* --- requests -------------------------------------------------------------------------------- */

/* (2): what is beyond the bound ends the transfer. */
static size_t take_body(char *bytes, size_t size, size_t n, void *pointer)
{
	struct transfer *transfer = pointer;
	gsize room = transfer->max_bytes - transfer->answer->len, length = size * n;

	g_string_append_len(transfer->answer, bytes, (gssize)MIN(length, room));
	transfer->is_cut |= length > room;
	return length > room ? 0 : length;
}

static size_t take_head(char *bytes, size_t size, size_t n, void *pointer)
{
	struct transfer *transfer = pointer;

	(void)bytes;
	transfer->head_bytes += size * n;
	return transfer->head_bytes > MAX_HEAD_BYTES ? 0 : size * n;
}

static gboolean set_headers(struct transfer *transfer, const gchar *const *headers)
{
	/* else the library asks the server first, whether it would take a long body */
	struct curl_slist *list = curl_slist_append(NULL, "Expect:");

	for (; list && headers && *headers; headers++) {
		struct curl_slist *longer = curl_slist_append(list, *headers);

		if (!longer)
			curl_slist_free_all(list);
		list = longer;
	}
	transfer->headers = list;
	return list && curl_easy_setopt(transfer->easy, CURLOPT_HTTPHEADER, list) == CURLE_OK;
}

static gboolean set_options(struct transfer *transfer, const HttpRequest *request)
{
	CURL *easy = transfer->easy;
	gboolean is_set = set_headers(transfer, request->headers);

#define SET(option, value) is_set = is_set && curl_easy_setopt(easy, option, value) == CURLE_OK
	SET(CURLOPT_URL, request->url);
	SET(CURLOPT_PROTOCOLS_STR, "http,https");
	SET(CURLOPT_USERAGENT, "tacho/" TACHO_VERSION);
	SET(CURLOPT_NOSIGNAL, 1L);
	SET(CURLOPT_TIMEOUT_MS, (long)request->timeout_ms);
	SET(CURLOPT_CONNECTTIMEOUT_MS, (long)request->timeout_ms);
	SET(CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	SET(CURLOPT_ERRORBUFFER, transfer->error);
	SET(CURLOPT_PRIVATE, (void *)transfer);
	SET(CURLOPT_WRITEFUNCTION, take_body);
	SET(CURLOPT_WRITEDATA, (void *)transfer);
	SET(CURLOPT_HEADERFUNCTION, take_head);
	SET(CURLOPT_HEADERDATA, (void *)transfer);
#if LIBCURL_VERSION_NUM >= 0x075700
	/* who ends does not wait for a name that is still being looked up */
	SET(CURLOPT_QUICK_EXIT, 1L);
#endif
	if (request->ca_file)
		SET(CURLOPT_CAINFO, request->ca_file);
	if (request->body) {
		SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)g_bytes_get_size(request->body));
		SET(CURLOPT_POSTFIELDS, g_bytes_get_data(request->body, NULL));
	}
#undef SET
	return is_set;
}

gboolean http_client_send(HttpClient *client, const HttpRequest *request, HttpDone done,
			  gpointer data)
{
	struct transfer *transfer = g_new0(struct transfer, 1);

	transfer->client = client;
	transfer->done = done;
	transfer->data = data;
	transfer->max_bytes = request->max_bytes;
	transfer->answer = g_string_new(NULL);
	transfer->body = request->body ? g_bytes_ref(request->body) : NULL;
	transfer->easy = curl_easy_init();
	if (!transfer->easy || !set_options(transfer, request) ||
	    curl_multi_add_handle(client->multi, transfer->easy) != CURLM_OK) {
		transfer_free(transfer);
		return FALSE;
	}
	g_ptr_array_add(client->transfers, transfer);
	return TRUE;
}

guint http_client_n_under_way(const HttpClient *client)
{
	return client->transfers->len;
}

/* --- answers --------------------------------------------------------------------------------- */

static void finish(struct transfer *transfer, CURLcode result)
{
	HttpAnswer answer = { .body = transfer->answer,
			      .is_cut = transfer->is_cut,
			      .retry_after_s = -1,
			      .type = "",
			      .failure = "" };
	curl_off_t retry_s = 0;
	char *type = NULL;
	long status = 0;

	if (result != CURLE_OK && !transfer->is_cut) {
		answer.failure = *transfer->error ? transfer->error : curl_easy_strerror(result);
	} else {
		curl_easy_getinfo(transfer->easy, CURLINFO_RESPONSE_CODE, &status);
		curl_easy_getinfo(transfer->easy, CURLINFO_RETRY_AFTER, &retry_s);
		curl_easy_getinfo(transfer->easy, CURLINFO_CONTENT_TYPE, &type);
		answer.status = (guint)status;
		answer.type = type && strlen(type) <= MAX_TYPE ? type : "";
		answer.retry_after_s = retry_s > 0 ? retry_s : -1;
	}
	transfer->done(&answer, transfer->data);
	g_ptr_array_remove_fast(transfer->client->transfers, transfer);
}

void http_client_work(HttpClient *client, guint wait_ms)
{
	CURLMsg *message;
	int n_running, n_left;

	curl_multi_perform(client->multi, &n_running);
	while ((message = curl_multi_info_read(client->multi, &n_left))) {
		void *transfer = NULL;
		CURLcode result = message->data.result;

		if (message->msg != CURLMSG_DONE)
			continue;
		curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &transfer);
		finish(transfer, result);
		wait_ms = 0; /* who was told may have more to do */
	}
	if (wait_ms)
		curl_multi_poll(client->multi, NULL, 0, (int)MIN(wait_ms, G_MAXINT), NULL);
}

void http_client_wake(HttpClient *client)
{
	curl_multi_wakeup(client->multi);
}

/* --- URLs ------------------------------------------------------------------------------------ */

static gchar *copy_url(CURLU *parsed)
{
	char *text = NULL;
	gchar *copy;

	if (curl_url_get(parsed, CURLUPART_URL, &text, 0) != CURLUE_OK)
		return NULL;
	copy = g_strdup(text);
	curl_free(text);
	return copy;
}

static gboolean has_part(CURLU *parsed, CURLUPart part, const gchar *const *allowed)
{
	char *text = NULL;
	gboolean is_allowed = curl_url_get(parsed, part, &text, 0) == CURLUE_OK && *text &&
			      (!allowed || g_strv_contains(allowed, text));

	curl_free(text);
	return is_allowed;
}

gboolean http_client_check_url(const gchar *url, const gchar *path, gchar **ret_url,
			       gchar **ret_shown, GError **error)
{
	static const gchar *const schemes[] = { "http", "https", NULL };
	static const gchar *const none[] = { "/", NULL };
	CURLU *parsed = curl_url();
	g_autofree gchar *whole = NULL, *shown = NULL;

	if (parsed && curl_url_set(parsed, CURLUPART_URL, url, 0) == CURLUE_OK &&
	    has_part(parsed, CURLUPART_SCHEME, schemes) && has_part(parsed, CURLUPART_HOST, NULL)) {
		if (path && has_part(parsed, CURLUPART_PATH, none))
			curl_url_set(parsed, CURLUPART_PATH, path, 0);
		whole = copy_url(parsed);
		curl_url_set(parsed, CURLUPART_USER, NULL, 0);
		curl_url_set(parsed, CURLUPART_PASSWORD, NULL, 0);
		curl_url_set(parsed, CURLUPART_QUERY, NULL, 0);
		shown = copy_url(parsed);
	}
	curl_url_cleanup(parsed);
	if (!whole || !shown) {
		g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_INVAL,
			    "'%s' is no URL of http or https, such as http://127.0.0.1:4318", url);
		return FALSE;
	}
	*ret_url = g_steal_pointer(&whole);
	*ret_shown = g_steal_pointer(&shown);
	return TRUE;
}
