/* json_scan: read JSON where it lies, a value at a time, without building anything.
 *
 * Made for traces: gigabytes of small objects of which a few members matter. Reading is one pass; what
 * does not matter is skipped sixteen bytes at a time.
 *
 * (1) The text is [at, end), with JSON_PADDING bytes behind it that may be read and are '"': a scan for
 *     the end of a string always stops.
 * (2) It takes more than JSON: control characters in strings, bare words (nan, inf), commas too many. What
 *     else is broken sets `status`, and from then on nothing is read.
 * (3) `is_tolerant`: a quote that nobody escaped inside a string, which is no member's name, is told from
 *     the string's end by what follows it. Each one taken for text is counted.
 * (4) Nothing is allocated, and no recursion follows the text. */
#ifndef TACHO_JSON_SCAN_H
#define TACHO_JSON_SCAN_H

#include <glib.h>
#include <string.h>

#define JSON_PADDING 64

/* A copy of the bytes with what has to stand behind them; g_free() it. */
static inline gchar *json_padded(const gchar *bytes, gsize n)
{
	gchar *padded = (gchar *)g_malloc(n + JSON_PADDING);

	memcpy(padded, bytes, n);
	memset(padded + n, '"', JSON_PADDING);
	return padded;
}

enum json_status {
	JSON_OK,
	JSON_ENDS_EARLY, /* a value is not complete at `end` */
	JSON_BROKEN,	 /* no JSON at `at` */
};

struct json_scan {
	const gchar *at, *end;
	enum json_status status;
	gboolean is_tolerant;
	guint64 n_repaired; /* (3) */
};

/* The bytes of a string between its quotes. */
struct json_text {
	const gchar *bytes;
	gsize n;
	gboolean is_escaped; /* has backslashes: see json_text_plain() */
};

static inline void json_fail(struct json_scan *scan, enum json_status status)
{
	if (scan->status == JSON_OK)
		scan->status = scan->at >= scan->end ? JSON_ENDS_EARLY : status;
}

static inline void json_space(struct json_scan *scan)
{
	while (scan->at < scan->end && (guchar)*scan->at <= ' ')
		scan->at++;
}

/* What comes next, spaces passed over; 0 at the end, or where something was broken before. */
static inline gchar json_peek(struct json_scan *scan)
{
	if (scan->status != JSON_OK)
		return 0;
	json_space(scan);
	return scan->at < scan->end ? *scan->at : 0;
}

/* Pass over `c`, which must come next. */
static inline gboolean json_take(struct json_scan *scan, gchar c)
{
	if (json_peek(scan) != c || scan->at >= scan->end) {
		json_fail(scan, JSON_BROKEN);
		return FALSE;
	}
	scan->at++;
	return TRUE;
}

/* The next string. */
gboolean json_string(struct json_scan *scan, struct json_text *text);

/* The members of an object: after json_take('{'), call it for each; false: the '}' has been passed, or
 * something is broken. The value must be read or skipped. */
gboolean json_member(struct json_scan *scan, struct json_text *key);
/* The same for the elements of an array, after json_take('['). */
gboolean json_element(struct json_scan *scan);

/* Pass over a value of any kind. */
void json_skip(struct json_scan *scan);

/* Go into the object ('{') or array ('[') that should come next; anything else is passed over: false. */
static inline gboolean json_enter(struct json_scan *scan, gchar bracket)
{
	if (json_peek(scan) == bracket)
		return json_take(scan, bracket);
	json_skip(scan);
	return FALSE;
}

/* A number, in quotes or not, times 10^`decimals`, rounded; exact in all digits. False where it is no
 * number (null, nan, a text), which is passed over, or does not fit. */
gboolean json_fixed(struct json_scan *scan, guint decimals, gint64 *ret_value);
gboolean json_number(struct json_scan *scan, gdouble *ret_value);

/* Begin to scan a copy of the text that ends with a NUL; the copy is to be freed with g_free() afterwards. */
gchar *json_scan_copy(struct json_scan *scan, const gchar *json);

/* The text with its escapes taken out: itself where it has none, else in `storage`. */
struct json_text json_text_plain(const struct json_text *text, GString *storage);
/* A copy of the text without its escapes, to be freed with g_free(); "" where there is no text. */
gchar *json_text_dup(const struct json_text *text);

static inline gboolean json_text_is(const struct json_text *text, const gchar *string, gsize n)
{
	return text->n == n && memcmp(text->bytes, string, n) == 0;
}
#define JSON_TEXT_IS(text, literal) json_text_is(text, "" literal, sizeof(literal) - 1)

#endif
