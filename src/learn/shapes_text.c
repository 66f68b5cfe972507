#include "learn/shapes_text.h"

#include <string.h>

/* Source: a rule: larger than any tensor. If wrong, such a shape is refused. */
#define MAX_SIZE (1ull << 40)

static const gchar *pass_spaces(const gchar *at)
{
	while (*at == ' ')
		at++;
	return at;
}

/* "12"; NULL: it is no number up to MAX_SIZE. */
static const gchar *read_size(const gchar *at, gint64 *ret_size)
{
	guint64 size = 0;

	if (!g_ascii_isdigit(*at))
		return NULL;
	for (; g_ascii_isdigit(*at); at++) {
		size = size * 10 + (guint64)(*at - '0');
		if (size > MAX_SIZE)
			return NULL;
	}
	*ret_size = (gint64)size;
	return pass_spaces(at);
}

/* "[8, 16]", behind its '['. */
static const gchar *read_shape(const gchar *at, TachoTensor *tensor)
{
	memset(tensor, 0, sizeof(*tensor));
	at = pass_spaces(at);
	if (*at == ']')
		return pass_spaces(at + 1);
	for (;; at = pass_spaces(at + 1)) {
		if (tensor->n_dims == TACHO_MAX_DIMS)
			return NULL;
		at = read_size(at, &tensor->shape[tensor->n_dims++]);
		if (!at || (*at != ',' && *at != ']'))
			return NULL;
		if (*at == ']')
			return pass_spaces(at + 1);
	}
}

gboolean shapes_text_read(const gchar *text, TachoTensor *tensors, guint32 *ret_n)
{
	const gchar *at = pass_spaces(text);
	guint32 n = 0;

	if (*at != '[')
		return FALSE;
	for (at = pass_spaces(at + 1); *at == '['; at = pass_spaces(at + 1)) {
		if (n == SHAPES_MAX_TENSORS)
			return FALSE;
		at = read_shape(at + 1, &tensors[n++]);
		if (!at || (*at != ',' && *at != ']'))
			return FALSE;
		if (*at == ']')
			break;
	}
	if (*at != ']' || *pass_spaces(at + 1))
		return FALSE;
	*ret_n = n;
	return n > 0;
}

void shapes_text_append(GString *text, const TachoTimeline *timeline, guint32 slice)
{
	TachoTensor tensor;

	g_string_append_c(text, '[');
	for (guint32 i = 0;
	     i < SHAPES_MAX_TENSORS && tacho_slice_input(timeline, slice, i, &tensor); i++) {
		g_string_append(text, i ? ",[" : "[");
		for (guint32 dim = 0; dim < tensor.n_dims; dim++)
			g_string_append_printf(text, "%s%" G_GINT64_FORMAT, dim ? "," : "",
					       tensor.shape[dim]);
		g_string_append_c(text, ']');
	}
	g_string_append_c(text, ']');
}
