#include "precision/registry.h"

#include <string.h>

#include "base/for_each.h"
#include "base/text_file.h"
#include "precision/operation_kind.h"

/* Source: a rule: longer than any name. If wrong, such a file is refused. */
#define MAX_TOKEN_BYTES 1024
#define MAX_PATTERNS	256
#define MAX_ALIGN	65536

static const gchar *const operand_names[N_KERNEL_OPERANDS] = { "x", "w", "y", "dy", "dx", "dw" };

struct _KernelRegistry {
	GPtrArray *kernels; /* struct registered_kernel */
};

enum token_kind {
	TOKEN_WORD,
	TOKEN_TEXT,
	TOKEN_COLON,
	TOKEN_OPEN,
	TOKEN_CLOSE,
	TOKEN_LINE,
	TOKEN_END
};

struct parser {
	const gchar *at, *end;
	guint line;
	enum token_kind kind; /* of the token at hand */
	gchar token[MAX_TOKEN_BYTES + 1];
	GError **error;
	gboolean has_failed;
};

static void kernel_free(gpointer data)
{
	struct registered_kernel *kernel = data;

	g_free(kernel->name);
	g_free(kernel->variant_of);
	g_ptr_array_unref(kernel->patterns);
	g_free(kernel);
}

void kernel_registry_free(KernelRegistry *registry)
{
	if (!registry)
		return;
	g_ptr_array_unref(registry->kernels);
	g_free(registry);
}

static gboolean refuse(struct parser *parser, const gchar *format, ...) G_GNUC_PRINTF(2, 3);
static gboolean refuse(struct parser *parser, const gchar *format, ...)
{
	g_autofree gchar *reason = NULL;
	va_list arguments;

	if (parser->has_failed)
		return FALSE;
	va_start(arguments, format);
	reason = g_strdup_vprintf(format, arguments);
	va_end(arguments);
	g_set_error(parser->error, TACHO_PRECISION_ERROR, TACHO_PRECISION_ERROR_FORMAT,
		    "line %u: %s", parser->line, reason);
	parser->has_failed = TRUE;
	return FALSE;
}

/* --- tokens ------------------------------------------------------------------------------------- */

static gboolean is_word(gchar c)
{
	return g_ascii_isalnum(c) || c == '_' || c == '.' || c == '-';
}

/* A text in quotes, which has no escapes and ends on its line. */
static gboolean read_text(struct parser *parser)
{
	gsize n = 0;

	for (parser->at++; parser->at < parser->end && *parser->at != '"'; parser->at++) {
		if (g_ascii_iscntrl(*parser->at))
			break;
		if (n == MAX_TOKEN_BYTES)
			return refuse(parser, "a text is too long");
		parser->token[n++] = *parser->at;
	}
	if (parser->at == parser->end || *parser->at != '"')
		return refuse(parser, "a text does not end");
	parser->at++;
	parser->token[n] = '\0';
	parser->kind = TOKEN_TEXT;
	return n > 0 || refuse(parser, "a text is empty");
}

static gboolean read_word(struct parser *parser)
{
	gsize n = 0;

	for (; parser->at < parser->end && is_word(*parser->at); parser->at++) {
		if (n == MAX_TOKEN_BYTES)
			return refuse(parser, "a word is too long");
		parser->token[n++] = *parser->at;
	}
	parser->token[n] = '\0';
	parser->kind = TOKEN_WORD;
	return TRUE;
}

/* Go on to the next token. FALSE: there is none that may stand here. */
static gboolean next(struct parser *parser)
{
	if (parser->has_failed)
		return FALSE;
	if (parser->kind == TOKEN_LINE)
		parser->line++;
	while (parser->at < parser->end && strchr(" \t\r", *parser->at) && *parser->at)
		parser->at++;
	if (parser->at < parser->end && *parser->at == '#')
		while (parser->at < parser->end && *parser->at != '\n')
			parser->at++;
	parser->token[0] = '\0';
	if (parser->at == parser->end) {
		parser->kind = TOKEN_END;
		return TRUE;
	}
	switch (*parser->at) {
	case '\n':
		parser->kind = TOKEN_LINE;
		break;
	case ':':
		parser->kind = TOKEN_COLON;
		break;
	case '{':
		parser->kind = TOKEN_OPEN;
		break;
	case '}':
		parser->kind = TOKEN_CLOSE;
		break;
	case '"':
		return read_text(parser);
	default:
		if (is_word(*parser->at))
			return read_word(parser);
		return refuse(parser, "the character 0x%02x may not stand here",
			      (guchar)*parser->at);
	}
	parser->at++;
	return TRUE;
}

static gboolean skip_lines(struct parser *parser)
{
	while (parser->kind == TOKEN_LINE)
		if (!next(parser))
			return FALSE;
	return TRUE;
}

/* --- statements ---------------------------------------------------------------------------------- */

static gboolean read_format(struct parser *parser, enum number_format *ret_format)
{
	if (parser->kind == TOKEN_WORD)
		*ret_format = number_format_find(parser->token, strlen(parser->token));
	if (parser->kind != TOKEN_WORD || *ret_format == N_NUMBER_FORMATS)
		return refuse(parser, "'%s' is no number format", parser->token);
	return next(parser);
}

static gboolean read_patterns(struct parser *parser, struct registered_kernel *kernel)
{
	if (parser->kind != TOKEN_WORD || strcmp(parser->token, "forward") != 0)
		return refuse(parser, "'match' is followed by forward and names in quotes");
	if (!next(parser))
		return FALSE;
	if (parser->kind != TOKEN_TEXT)
		return refuse(parser, "'match forward' is followed by names in quotes");
	while (parser->kind == TOKEN_TEXT) {
		if (kernel->patterns->len == MAX_PATTERNS)
			return refuse(parser, "a kernel has more than %d names", MAX_PATTERNS);
		g_ptr_array_add(kernel->patterns, g_strdup(parser->token));
		if (!next(parser))
			return FALSE;
	}
	return TRUE;
}

static gboolean read_precision(struct parser *parser, struct registered_kernel *kernel)
{
	if (kernel->precision != N_NUMBER_FORMATS)
		return refuse(parser, "'precision' stands twice");
	return read_format(parser, &kernel->precision);
}

/* "x" of "x: int8"; which of the operands from `first` to `last` it is. */
static gboolean read_operand_name(struct parser *parser, guint first, guint last, guint *ret)
{
	for (guint i = first; parser->kind == TOKEN_WORD && i <= last; i++) {
		if (strcmp(parser->token, operand_names[i]) != 0)
			continue;
		*ret = i;
		if (!next(parser))
			return FALSE;
		if (parser->kind != TOKEN_COLON)
			return refuse(parser, "'%s' is not followed by ':'", operand_names[i]);
		return next(parser);
	}
	return refuse(parser, "'%s' may not stand here", parser->token);
}

static gboolean read_scale(struct parser *parser, struct kernel_operand *operand)
{
	static const gchar *const names[] = { "per_tensor", "per_channel", "per_block" };

	for (guint i = 0; parser->kind == TOKEN_WORD && i < G_N_ELEMENTS(names); i++)
		if (strcmp(parser->token, names[i]) == 0) {
			operand->scale = (enum kernel_scale)(KERNEL_PER_TENSOR + i);
			return next(parser);
		}
	return TRUE;
}

static gboolean read_flag(struct parser *parser, struct registered_kernel *kernel)
{
	if (strcmp(parser->token, "fused_quant") == 0)
		kernel->fuses_quantize = TRUE;
	else if (strcmp(parser->token, "fused_dequant") == 0)
		kernel->fuses_dequantize = TRUE;
	else
		return FALSE;
	return next(parser);
}

static gboolean read_operands(struct parser *parser, struct registered_kernel *kernel, guint first,
			      guint last)
{
	if (parser->kind != TOKEN_WORD)
		return refuse(parser, "an operand is missing");
	while (parser->kind == TOKEN_WORD) {
		guint operand = 0;

		if (read_flag(parser, kernel))
			continue;
		if (!read_operand_name(parser, first, last, &operand))
			return FALSE;
		if (kernel->operands[operand].format != N_NUMBER_FORMATS)
			return refuse(parser, "'%s' stands twice", operand_names[operand]);
		if (!read_format(parser, &kernel->operands[operand].format) ||
		    !read_scale(parser, &kernel->operands[operand]))
			return FALSE;
	}
	return TRUE;
}

static gboolean read_input(struct parser *parser, struct registered_kernel *kernel)
{
	return read_operands(parser, kernel, KERNEL_X, KERNEL_W);
}

static gboolean read_output(struct parser *parser, struct registered_kernel *kernel)
{
	return read_operands(parser, kernel, KERNEL_Y, KERNEL_Y);
}

static gboolean read_grad(struct parser *parser, struct registered_kernel *kernel)
{
	return read_operands(parser, kernel, KERNEL_DY, KERNEL_DW);
}

static gboolean read_saves(struct parser *parser, struct registered_kernel *kernel)
{
	if (kernel->has_saves)
		return refuse(parser, "'saves' stands twice");
	kernel->has_saves = TRUE;
	while (parser->kind == TOKEN_WORD) {
		guint operand = 0;

		if (strcmp(parser->token, "scales") == 0) {
			kernel->saves_scales = TRUE;
			if (!next(parser))
				return FALSE;
			continue;
		}
		if (!read_operand_name(parser, KERNEL_X, KERNEL_Y, &operand) ||
		    !read_format(parser, &kernel->saved[operand]))
			return FALSE;
	}
	return TRUE;
}

static gboolean read_variant(struct parser *parser, struct registered_kernel *kernel)
{
	if (kernel->variant_of)
		return refuse(parser, "'variant_of' stands twice");
	if (parser->kind != TOKEN_TEXT)
		return refuse(parser, "'variant_of' is followed by a name in quotes");
	kernel->variant_of = g_strdup(parser->token);
	return next(parser);
}

/* n:16 k:16 */
static gboolean read_align(struct parser *parser, struct registered_kernel *kernel)
{
	while (parser->kind == TOKEN_WORD) {
		guint *align = strcmp(parser->token, "n") == 0	 ? &kernel->align_n
			       : strcmp(parser->token, "k") == 0 ? &kernel->align_k
			       : strcmp(parser->token, "m") == 0 ? &kernel->align_m
								 : NULL;
		guint64 count;

		if (!align)
			return refuse(parser, "'align' knows n, k and m, not '%s'", parser->token);
		if (!next(parser))
			return FALSE;
		if (parser->kind != TOKEN_COLON)
			return refuse(parser, "a dimension is not followed by ':'");
		if (!next(parser))
			return FALSE;
		if (parser->kind != TOKEN_WORD ||
		    !g_ascii_string_to_unsigned(parser->token, 10, 1, MAX_ALIGN, &count, NULL))
			return refuse(parser, "'align' takes numbers from 1 to %d", MAX_ALIGN);
		*align = (guint)count;
		if (!next(parser))
			return FALSE;
	}
	return TRUE;
}

static const struct {
	const gchar *name;
	gboolean (*read)(struct parser *parser, struct registered_kernel *kernel);
} statements[] = {
	{ "match", read_patterns }, { "precision", read_precision }, { "input", read_input },
	{ "output", read_output },  { "grad", read_grad },	     { "saves", read_saves },
	{ "align", read_align },    { "variant_of", read_variant },
};

static gboolean read_statement(struct parser *parser, struct registered_kernel *kernel)
{
	if (parser->kind != TOKEN_WORD)
		return refuse(parser, "a line of a kernel begins with a word");
	for (guint i = 0; i < G_N_ELEMENTS(statements); i++) {
		if (strcmp(parser->token, statements[i].name) != 0)
			continue;
		if (!next(parser) || !statements[i].read(parser, kernel))
			return FALSE;
		if (parser->kind != TOKEN_LINE && parser->kind != TOKEN_CLOSE)
			return refuse(parser, "something stands behind '%s'", statements[i].name);
		return TRUE;
	}
	return refuse(parser, "a kernel has no '%s'", parser->token);
}

/* --- kernels ------------------------------------------------------------------------------------- */

static struct registered_kernel *kernel_new(const gchar *name, guint line)
{
	struct registered_kernel *kernel = g_new0(struct registered_kernel, 1);

	kernel->name = g_strdup(name);
	kernel->line = line;
	kernel->patterns = g_ptr_array_new_with_free_func(g_free);
	kernel->precision = N_NUMBER_FORMATS;
	for (guint i = 0; i < N_KERNEL_OPERANDS; i++) {
		kernel->operands[i].format = N_NUMBER_FORMATS;
		kernel->saved[i] = N_NUMBER_FORMATS;
	}
	return kernel;
}

static gboolean check_kernel(struct parser *parser, const KernelRegistry *registry,
			     const struct registered_kernel *kernel)
{
	if (kernel->patterns->len == 0)
		return refuse(parser, "the kernel '%s' matches nothing: 'match' is missing",
			      kernel->name);
	if (kernel->precision == N_NUMBER_FORMATS)
		return refuse(parser, "the kernel '%s' has no 'precision'", kernel->name);
	for (guint i = 0; i < registry->kernels->len; i++) {
		const struct registered_kernel *other = registry->kernels->pdata[i];

		if (other != kernel && strcmp(other->name, kernel->name) == 0)
			return refuse(parser, "the kernel '%s' stands on line %u already",
				      kernel->name, other->line);
	}
	return TRUE;
}

static gboolean read_kernel(struct parser *parser, KernelRegistry *registry)
{
	struct registered_kernel *kernel;

	if (parser->kind != TOKEN_WORD || strcmp(parser->token, "kernel") != 0)
		return refuse(parser, "a kernel begins with: kernel \"NAME\" {");
	if (registry->kernels->len == REGISTRY_MAX_KERNELS)
		return refuse(parser, "there are more than %u kernels", REGISTRY_MAX_KERNELS);
	if (!next(parser))
		return FALSE;
	if (parser->kind != TOKEN_TEXT)
		return refuse(parser, "a kernel has its name in quotes");
	kernel = kernel_new(parser->token, parser->line);
	g_ptr_array_add(registry->kernels, kernel);
	if (!next(parser))
		return FALSE;
	if (parser->kind != TOKEN_OPEN)
		return refuse(parser, "the name of a kernel is followed by '{'");
	if (!next(parser) || !skip_lines(parser))
		return FALSE;
	while (parser->kind != TOKEN_CLOSE) {
		if (parser->kind == TOKEN_END)
			return refuse(parser, "the kernel '%s' does not end", kernel->name);
		if (!read_statement(parser, kernel) || !skip_lines(parser))
			return FALSE;
	}
	return check_kernel(parser, registry, kernel) && next(parser);
}

KernelRegistry *kernel_registry_parse(const gchar *text, gsize n, GError **error)
{
	g_autoptr(KernelRegistry) registry = g_new0(KernelRegistry, 1);
	struct parser parser = {
		.at = text, .end = text + n, .line = 1, .kind = TOKEN_END, .error = error
	};
	const gchar *wrong;

	registry->kernels = g_ptr_array_new_with_free_func(kernel_free);
	if (!g_utf8_validate(text, (gssize)n, &wrong)) {
		g_set_error(error, TACHO_PRECISION_ERROR, TACHO_PRECISION_ERROR_FORMAT,
			    "the text is not UTF-8 at byte %" G_GSIZE_FORMAT,
			    (gsize)(wrong - text));
		return NULL;
	}
	if (!next(&parser) || !skip_lines(&parser))
		return NULL;
	while (parser.kind != TOKEN_END)
		if (!read_kernel(&parser, registry) || !skip_lines(&parser))
			return NULL;
	return g_steal_pointer(&registry);
}

KernelRegistry *kernel_registry_read(const gchar *path, GError **error)
{
	gsize n;
	g_autofree gchar *text = text_file_read(path, REGISTRY_MAX_BYTES, &n, error);
	KernelRegistry *registry = text ? kernel_registry_parse(text, n, error) : NULL;

	if (text && !registry)
		g_prefix_error(error, "%s: ", path);
	return registry;
}

guint kernel_registry_n(const KernelRegistry *registry)
{
	return registry->kernels->len;
}

const struct registered_kernel *kernel_registry_at(const KernelRegistry *registry, guint index)
{
	return registry->kernels->pdata[index];
}

/* GLib's patterns abort the program at a name that is not UTF-8, and names come from recordings. */
static gboolean matches(const gchar *pattern, const gchar *name)
{
	return g_utf8_validate(name, -1, NULL) && g_pattern_match_simple(pattern, name);
}

const struct registered_kernel *kernel_registry_find(const KernelRegistry *registry,
						     const gchar *name)
{
	for (guint i = 0; i < registry->kernels->len; i++) {
		const struct registered_kernel *kernel = registry->kernels->pdata[i];

		for (guint j = 0; j < kernel->patterns->len; j++)
			if (matches(kernel->patterns->pdata[j], name))
				return kernel;
	}
	return NULL;
}

gboolean registered_kernel_computes(const struct registered_kernel *kernel, const gchar *kind)
{
	gchar own[OPERATION_KIND_BYTES];

	if (kernel->variant_of) {
		operation_kind_of_name(kernel->variant_of, own);
		return strcmp(own, kind) == 0;
	}
	FOR_EACH_POINTER(const gchar, pattern, kernel->patterns)
		if (matches(pattern, kind))
			return TRUE;
	return FALSE;
}

enum number_format kernel_operand_format(const struct registered_kernel *kernel,
					 enum kernel_operand_name operand)
{
	enum number_format format = kernel->operands[operand].format;

	if (format != N_NUMBER_FORMATS)
		return format;
	switch (operand) {
	case KERNEL_X:
	case KERNEL_W:
		return number_format_input(kernel->precision);
	case KERNEL_DW:
		return FORMAT_FP32;
	case KERNEL_DY:
	case KERNEL_DX:
		return kernel_operand_format(kernel, KERNEL_Y);
	default:
		return number_format_result(kernel->precision);
	}
}
