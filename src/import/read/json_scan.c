#include <string.h>

#include "import/read/json_scan.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* --- strings -------------------------------------------------------------------------------- */

/* The next quote or backslash: (1) says there is one. */
static inline const gchar *find_quote(const gchar *at)
{
#ifdef __SSE2__
	const __m128i quotes = _mm_set1_epi8('"'), backslashes = _mm_set1_epi8('\\');

	for (;; at += 16) {
		__m128i bytes = _mm_loadu_si128((const __m128i *)at);
		guint found = (guint)_mm_movemask_epi8(_mm_or_si128(
			_mm_cmpeq_epi8(bytes, quotes), _mm_cmpeq_epi8(bytes, backslashes)));

		if (found)
			return at + __builtin_ctz(found);
	}
#else
	while (*at != '"' && *at != '\\')
		at++;
	return at;
#endif
}

/* (3): whether the quote at `at` ends a string. */
static gboolean is_string_end(const struct json_scan *scan, const gchar *at)
{
	for (at++; at < scan->end && (guchar)*at <= ' ';)
		at++;
	return at >= scan->end || *at == ',' || *at == ':' || *at == '}' || *at == ']';
}

gboolean json_string(struct json_scan *scan, struct json_text *text)
{
	const gchar *at;

	if (!json_take(scan, '"'))
		return FALSE;
	text->bytes = at = scan->at;
	text->is_escaped = FALSE;
	for (;;) {
		at = find_quote(at);
		if (at >= scan->end) {
			scan->status = JSON_ENDS_EARLY;
			return FALSE;
		}
		if (*at == '\\') {
			text->is_escaped = TRUE;
			at += 2;
		} else if (scan->is_tolerant && !is_string_end(scan, at)) {
			scan->n_repaired++;
			at++;
		} else {
			break;
		}
		if (at >= scan->end) {
			scan->status = JSON_ENDS_EARLY;
			return FALSE;
		}
	}
	text->n = (gsize)(at - text->bytes);
	scan->at = at + 1;
	return TRUE;
}

/* Four hexadecimal digits, or -1. */
static gint32 read_hex(const gchar *at, const gchar *end)
{
	gint32 value = 0;

	if (end - at < 4)
		return -1;
	for (guint i = 0; i < 4; i++) {
		if (!g_ascii_isxdigit(at[i]))
			return -1;
		value = value * 16 + g_ascii_xdigit_value(at[i]);
	}
	return value;
}

/* Append what "\uXXXX" at `at` (behind the 'u') stands for; returns how many bytes it takes. */
static gsize append_unicode(GString *plain, const gchar *at, const gchar *end)
{
	gint32 unit = read_hex(at, end), low;

	if (unit < 0)
		return 0;
	if (unit >= 0xd800 && unit < 0xdc00 && end - at >= 10 && at[4] == '\\' && at[5] == 'u') {
		low = read_hex(at + 6, end);
		if (low >= 0xdc00 && low < 0xe000) {
			g_string_append_unichar(plain, 0x10000 + (((gunichar)unit - 0xd800) << 10) +
							       ((gunichar)low - 0xdc00));
			return 10;
		}
	}
	g_string_append_unichar(plain, unit >= 0xd800 && unit < 0xe000 ? 0xfffd : (gunichar)unit);
	return 4;
}

struct json_text json_text_plain(const struct json_text *text, GString *storage)
{
	static const gchar escapes[] = "b\bf\fn\nr\rt\t";
	const gchar *at, *end;

	if (!text->is_escaped)
		return *text;
	at = text->bytes;
	end = at + text->n;
	g_string_truncate(storage, 0);
	while (at < end) {
		const gchar *escape;

		if (*at != '\\' || at + 1 == end) {
			g_string_append_c(storage, *at++);
			continue;
		}
		escape = strchr(escapes, at[1]);
		if (at[1] == 'u') {
			at += 2 + append_unicode(storage, at + 2, end);
			continue;
		}
		g_string_append_c(storage, escape && *escape && (escape - escapes) % 2 == 0
						   ? escape[1]
						   : at[1]);
		at += 2;
	}
	return (struct json_text){ .bytes = storage->str, .n = storage->len };
}

gchar *json_text_dup(const struct json_text *text)
{
	g_autoptr(GString) storage = g_string_new(NULL);
	struct json_text plain = json_text_plain(text, storage);

	return plain.bytes ? g_strndup(plain.bytes, plain.n) : g_strdup("");
}

/* --- structure ------------------------------------------------------------------------------ */

/* Pass over commas before the next thing of an object or array that ends with `close`; false: that was
 * the end of it. */
static gboolean has_next(struct json_scan *scan, gchar close)
{
	gchar c;

	while ((c = json_peek(scan)) == ',')
		scan->at++;
	if (c == close && scan->at < scan->end) {
		scan->at++;
		return FALSE;
	}
	if (c == 0 || c == '}' || c == ']')
		json_fail(scan, JSON_BROKEN);
	return scan->status == JSON_OK;
}

gboolean json_member(struct json_scan *scan, struct json_text *key)
{
	gboolean is_tolerant = scan->is_tolerant, has_key;

	scan->is_tolerant = FALSE;
	has_key = has_next(scan, '}') && json_string(scan, key) && json_take(scan, ':');
	scan->is_tolerant = is_tolerant;
	return has_key;
}

gboolean json_element(struct json_scan *scan)
{
	return has_next(scan, ']');
}

/* The next quote or bracket of any kind at or behind `at`; at the latest the padding's quote. */
static inline const gchar *find_structure(const gchar *at)
{
#ifdef __SSE2__
	const __m128i quotes = _mm_set1_epi8('"'), opening = _mm_set1_epi8('{'),
		      closing = _mm_set1_epi8('}'), fold = _mm_set1_epi8(0x20);

	for (;; at += 16) {
		__m128i bytes = _mm_loadu_si128((const __m128i *)at);
		__m128i folded = _mm_or_si128(bytes, fold); /* '[' is '{' then, ']' is '}' */
		guint found = (guint)_mm_movemask_epi8(
			_mm_or_si128(_mm_cmpeq_epi8(bytes, quotes),
				     _mm_or_si128(_mm_cmpeq_epi8(folded, opening),
						  _mm_cmpeq_epi8(folded, closing))));

		if (found)
			return at + __builtin_ctz(found);
	}
#else
	while (*at != '"' && *at != '{' && *at != '}' && *at != '[' && *at != ']')
		at++;
	return at;
#endif
}

static void skip_nested(struct json_scan *scan)
{
	struct json_text text;
	gsize depth = 0;

	do {
		scan->at = find_structure(scan->at);
		if (scan->at >= scan->end) {
			scan->status = JSON_ENDS_EARLY;
			return;
		}
		switch (*scan->at) {
		case '"':
			if (!json_string(scan, &text))
				return;
			break;
		case '{':
		case '[':
			depth++;
			scan->at++;
			break;
		default:
			depth--;
			scan->at++;
		}
	} while (depth);
}

/* Whether a number or bare word ends before `c`. */
static inline gboolean ends_word(gchar c)
{
	return (guchar)c <= ' ' || c == ',' || c == '}' || c == ']' || c == ':' || c == '"' ||
	       c == '{' || c == '[';
}

static void skip_word(struct json_scan *scan)
{
	const gchar *begin = scan->at;

	while (scan->at < scan->end && !ends_word(*scan->at))
		scan->at++;
	if (scan->at == begin || scan->at >= scan->end)
		json_fail(scan, JSON_BROKEN);
}

void json_skip(struct json_scan *scan)
{
	struct json_text text;

	switch (json_peek(scan)) {
	case '"':
		json_string(scan, &text);
		break;
	case '{':
	case '[':
		skip_nested(scan);
		break;
	default:
		skip_word(scan);
	}
}

/* --- numbers -------------------------------------------------------------------------------- */

/* The digits of a number: value x 10^exponent. */
struct decimal {
	guint64 value;
	gint exponent;
	gboolean is_negative, is_number;
};

static void take_digit(struct decimal *decimal, gchar digit, gboolean is_fraction)
{
	if (decimal->value <= (G_MAXUINT64 - 9) / 10) {
		decimal->value = decimal->value * 10 + (guint64)(digit - '0');
		decimal->exponent -= is_fraction;
	} else {
		decimal->exponent += !is_fraction; /* beyond 19 digits */
	}
	decimal->is_number = TRUE;
}

static const gchar *take_exponent(struct decimal *decimal, const gchar *at, const gchar *end)
{
	gint sign = 1, exponent = 0;

	if (at < end && (*at == '-' || *at == '+'))
		sign = *at++ == '-' ? -1 : 1;
	for (; at < end && g_ascii_isdigit(*at); at++)
		exponent = MIN(exponent * 10 + (*at - '0'), 1000);
	decimal->exponent += sign * exponent;
	return at;
}

static const gchar *read_decimal(struct decimal *decimal, const gchar *at, const gchar *end)
{
	*decimal = (struct decimal){ 0 };
	if (at < end && *at == '-') {
		decimal->is_negative = TRUE;
		at++;
	}
	for (; at < end && g_ascii_isdigit(*at); at++)
		take_digit(decimal, *at, FALSE);
	if (at < end && *at == '.')
		for (at++; at < end && g_ascii_isdigit(*at); at++)
			take_digit(decimal, *at, TRUE);
	if (decimal->is_number && at < end && (*at == 'e' || *at == 'E'))
		at = take_exponent(decimal, at + 1, end);
	return at;
}

/* value x 10^(exponent + decimals), halves away from zero. */
static gboolean scale(const struct decimal *decimal, guint decimals, gint64 *ret_value)
{
	gint exponent = decimal->exponent + (gint)decimals;
	guint64 value = decimal->value;
	guint last = 0;

	for (; exponent > 0 && value; exponent--)
		if (__builtin_mul_overflow(value, (guint64)10, &value))
			return FALSE;
	for (; exponent < 0 && (value || last); exponent++) {
		last = (guint)(value % 10);
		value /= 10;
	}
	value += last >= 5;
	if (value > G_MAXINT64)
		return FALSE;
	*ret_value = decimal->is_negative ? -(gint64)value : (gint64)value;
	return TRUE;
}

/* A number, in quotes or not; false where it is none. */
static gboolean take_decimal(struct json_scan *scan, struct decimal *decimal)
{
	struct json_text text;
	const gchar *begin;

	if (json_peek(scan) == '"') {
		if (!json_string(scan, &text))
			return FALSE;
		return read_decimal(decimal, text.bytes, text.bytes + text.n) ==
			       text.bytes + text.n &&
		       decimal->is_number;
	}
	begin = scan->at;
	scan->at = read_decimal(decimal, begin, scan->end);
	if (scan->at >= scan->end) {
		json_fail(scan, JSON_ENDS_EARLY);
		return FALSE;
	}
	if (decimal->is_number && ends_word(*scan->at))
		return TRUE;
	scan->at = begin;
	json_skip(scan);
	return FALSE;
}

gboolean json_fixed(struct json_scan *scan, guint decimals, gint64 *ret_value)
{
	struct decimal decimal;

	return take_decimal(scan, &decimal) && scale(&decimal, decimals, ret_value);
}

gboolean json_number(struct json_scan *scan, gdouble *ret_value)
{
	struct decimal decimal;
	gchar text[64];

	if (!take_decimal(scan, &decimal))
		return FALSE;
	g_snprintf(text, sizeof(text), "%s%" G_GUINT64_FORMAT "e%d", decimal.is_negative ? "-" : "",
		   decimal.value, decimal.exponent);
	*ret_value = g_ascii_strtod(text, NULL);
	return TRUE;
}

gchar *json_scan_copy(struct json_scan *scan, const gchar *json)
{
	gsize n = strlen(json);
	gchar *copy = g_malloc(n + JSON_PADDING);

	memcpy(copy, json, n);
	memset(copy + n, '"', JSON_PADDING);
	*scan = (struct json_scan){ .at = copy, .end = copy + n };
	return copy;
}
