#include "precision/plan_bits.h"

#include <string.h>

#include "base/for_each.h"
#include "import/read/pickle.h"

/* Source: cited from NumPy's format of .npy files: magic, version, length of the header. */
#define MAGIC	     "\x93NUMPY"
#define N_MAGIC	     6
#define MAX_HEADER   65536u
#define HEADER_ALIGN 64
#define MAX_LAYERS   (1u << 20)
#define MAX_NAME     256

/* What NumPy wraps objects with, by its versions 1 and 2. */
static const gchar *const symbols[] = { "numpy.core.multiarray _reconstruct",
					"numpy._core.multiarray _reconstruct", "numpy ndarray",
					"numpy dtype", NULL };

/* QSync's word for a kind, and ours. Source: cited from QSync's layer ids. */
static const struct {
	const gchar *ours, *theirs;
} kinds[] = {
	{ "conv2d", "conv" },
	{ "linear", "linear" },
	{ "embedding", "embedding" },
	{ "layer_norm", "layernorm" },
	{ "batch_norm", "bn" },
	{ "matmul", "matmul" },
	{ "gelu", "gelu" },
	{ "softmax", "softmax" },
	{ "dropout", "dropout" },
	{ "relu", "relu" },
	{ "max_pool2d", "maxpool2d" },
	{ "add", "add" },
};

static void bit_clear(gpointer data)
{
	struct plan_bit *bit = data;

	g_free(bit->layer);
}

static GArray *bits_new(void)
{
	GArray *bits = g_array_new(FALSE, TRUE, sizeof(struct plan_bit));

	g_array_set_clear_func(bits, bit_clear);
	return bits;
}

static gpointer refuse(GError **error, const gchar *format, ...) G_GNUC_PRINTF(2, 3);
static gpointer refuse(GError **error, const gchar *format, ...)
{
	g_autofree gchar *reason = NULL;
	va_list arguments;

	va_start(arguments, format);
	reason = g_strdup_vprintf(format, arguments);
	va_end(arguments);
	g_set_error_literal(error, TACHO_PRECISION_ERROR, TACHO_PRECISION_ERROR_FORMAT, reason);
	return NULL;
}

/* --- read --------------------------------------------------------------------------------------- */

/* Where the header of an .npy file ends, which says that it holds one object; 0: it does not. */
static gsize skip_header(const guint8 *bytes, gsize n, GError **error)
{
	gsize begin, length;
	g_autofree gchar *header = NULL;

	if (n < N_MAGIC + 4 || memcmp(bytes, MAGIC, N_MAGIC) != 0) {
		refuse(error, "at byte 0: this is no .npy file");
		return 0;
	}
	if (bytes[N_MAGIC] < 1 || bytes[N_MAGIC] > 3) {
		refuse(error, "at byte %d: the .npy file has version %u, and tacho reads 1 to 3",
		       N_MAGIC, bytes[N_MAGIC]);
		return 0;
	}
	begin = N_MAGIC + (bytes[N_MAGIC] == 1 ? 4 : 6);
	length = bytes[N_MAGIC + 2] | (gsize)bytes[N_MAGIC + 3] << 8;
	if (n >= begin && bytes[N_MAGIC] > 1)
		length |= (gsize)bytes[N_MAGIC + 4] << 16 | (gsize)bytes[N_MAGIC + 5] << 24;
	if (n < begin || length > MAX_HEADER || length > n - begin) {
		refuse(error, "at byte %d: the .npy file ends within its header", N_MAGIC + 2);
		return 0;
	}
	header = g_strndup((const gchar *)bytes + begin, length);
	if (!strstr(header, "'|O'") || !strstr(header, "'shape': ()")) {
		refuse(error,
		       "at byte %" G_GSIZE_FORMAT
		       ": the .npy file does not hold one object, as bit "
		       "plans do",
		       begin);
		return 0;
	}
	return begin + length;
}

/* The object that an array of no dimensions has: the call of _reconstruct, set to (version, (), dtype, order, [object]). */
static gboolean find_object(const Pickle *pickle, guint32 *ret_object)
{
	guint32 root = pickle_root(pickle), state, list;

	if (pickle_type_of(pickle, root) != PICKLE_CALL || pickle_length(pickle, root) != 3)
		return FALSE;
	state = pickle_element(pickle, root, 2);
	if (pickle_type_of(pickle, state) != PICKLE_LIST || pickle_length(pickle, state) != 5)
		return FALSE;
	list = pickle_element(pickle, state, 4);
	if (pickle_type_of(pickle, list) != PICKLE_LIST || pickle_length(pickle, list) != 1)
		return FALSE;
	*ret_object = pickle_element(pickle, list, 0);
	return pickle_type_of(pickle, *ret_object) == PICKLE_DICTIONARY;
}

static gboolean is_layer(const gchar *name, gsize n)
{
	for (gsize i = 0; i < n; i++)
		if (!g_ascii_isalnum(name[i]) && !strchr("_.-", name[i]))
			return FALSE;
	return n > 0 && n <= MAX_NAME && memchr(name, '\0', n) == NULL;
}

static GArray *read_layers(const Pickle *pickle, guint32 dictionary, GError **error)
{
	g_autoptr(GArray) bits = bits_new();
	g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
	guint32 n_keys = pickle_n_keys(pickle, dictionary);

	if (n_keys > MAX_LAYERS)
		return refuse(error, "the plan has more than %u layers", MAX_LAYERS);
	for (guint32 i = 0; i < n_keys; i++) {
		struct plan_bit bit = { .layer = NULL };
		guint32 key, value;
		const gchar *name;
		gsize n = 0;

		pickle_entry(pickle, dictionary, i, &key, &value);
		name = pickle_text(pickle, key, &n);
		if (!name || pickle_type_of(pickle, key) != PICKLE_TEXT || !is_layer(name, n))
			return refuse(error, "key %u of the plan is no name of a layer", i);
		if (pickle_type_of(pickle, value) != PICKLE_INTEGER)
			return refuse(error, "the bits of '%.*s' are no whole number", (int)n,
				      name);
		bit.layer = g_strndup(name, n);
		bit.bits = pickle_integer(pickle, value, 0);
		g_array_append_val(bits, bit);
		if (!g_hash_table_add(seen, bit.layer))
			return refuse(error, "the layer '%s' stands twice", bit.layer);
		if (bit.bits < 1 || bit.bits > 64)
			return refuse(error, "the layer '%s' has %" G_GINT64_FORMAT " bits",
				      bit.layer, bit.bits);
	}
	return g_steal_pointer(&bits);
}

GArray *plan_bits_parse(const guint8 *bytes, gsize n, GError **error)
{
	gsize begin = skip_header(bytes, n, error);
	g_autoptr(GError) cause = NULL;
	g_autoptr(Pickle) pickle = NULL;
	guint32 object;

	if (begin == 0)
		return NULL;
	pickle = pickle_parse(bytes + begin, n - begin, "the pickle in the file", symbols, &cause);
	if (!pickle)
		return refuse(error, "%s", cause->message);
	if (!find_object(pickle, &object))
		return refuse(error, "the file holds no dictionary of layers");
	return read_layers(pickle, object, error);
}

GArray *plan_bits_read(const gchar *path, GError **error)
{
	g_autofree gchar *bytes = NULL;
	gsize n;
	GArray *bits;

	if (!g_file_get_contents(path, &bytes, &n, error))
		return NULL;
	if (n > PLAN_BITS_MAX_BYTES) {
		refuse(error, "%s: the file is larger than any plan of bits", path);
		return NULL;
	}
	bits = plan_bits_parse((const guint8 *)bytes, n, error);
	if (!bits)
		g_prefix_error(error, "%s: ", path);
	return bits;
}

/* --- written ------------------------------------------------------------------------------------ */

static void put(GByteArray *out, const gchar *bytes, gsize n)
{
	g_byte_array_append(out, (const guint8 *)bytes, (guint)n);
}
#define PUT(out, literal) put(out, "" literal, sizeof(literal) - 1)

static void put_header(GByteArray *out)
{
	static const gchar header[] = "{'descr': '|O', 'fortran_order': False, 'shape': (), }";
	gsize n = sizeof(header) - 1, begin = N_MAGIC + 4;
	gsize length = (begin + n + 1 + HEADER_ALIGN - 1) / HEADER_ALIGN * HEADER_ALIGN - begin;
	const guint8 head[] = { 1, 0, (guint8)length, (guint8)(length >> 8) };

	PUT(out, MAGIC);
	g_byte_array_append(out, head, sizeof(head));
	put(out, header, n);
	for (gsize i = n; i + 1 < length; i++)
		PUT(out, " ");
	PUT(out, "\n");
}

static void put_unsigned(GByteArray *out, guint64 value, guint n)
{
	for (guint i = 0; i < n; i++) {
		guint8 byte = (guint8)(value >> (8 * i));

		g_byte_array_append(out, &byte, 1);
	}
}

/* Protocol 3, as NumPy writes it: array = _reconstruct(ndarray, (0,), b'b'), set to (1, (), dtype('O'), False, [dictionary]). */
GByteArray *plan_bits_bytes(const GArray *bits)
{
	GByteArray *out = g_byte_array_new();

	put_header(out);
	PUT(out, "\x80\x03"
		 "cnumpy.core.multiarray\n_reconstruct\n"
		 "cnumpy\nndarray\n"
		 "K\x00\x85"
		 "C\x01"
		 "b"
		 "\x87R");
	PUT(out, "(K\x01)"
		 "cnumpy\ndtype\n"
		 "X\x02\x00\x00\x00"
		 "O8\x89\x88\x87R"
		 "(K\x03X\x01\x00\x00\x00|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK?tb"
		 "\x89]}(");
	FOR_EACH(const struct plan_bit, bit, bits) {
		PUT(out, "X");
		put_unsigned(out, strlen(bit->layer), 4);
		put(out, bit->layer, strlen(bit->layer));
		PUT(out, "K");
		put_unsigned(out, (guint64)bit->bits, 1);
	}
	PUT(out, "uatb.");
	return out;
}

/* --- plans -------------------------------------------------------------------------------------- */

static const gchar *their_kind(const gchar *kind)
{
	for (guint i = 0; i < G_N_ELEMENTS(kinds); i++)
		if (strcmp(kinds[i].ours, kind) == 0)
			return kinds[i].theirs;
	return NULL;
}

/* The name of each operation: "linear_0"; NULL: QSync has no word for its kind. */
static GPtrArray *layer_names(const TachoPrecisionProblem *problem)
{
	GPtrArray *names = g_ptr_array_new_with_free_func(g_free);
	g_autoptr(GHashTable) n_of = g_hash_table_new(g_str_hash, g_str_equal);

	for (guint32 i = 0; i < problem->n_operations; i++) {
		const gchar *kind = their_kind(problem->operations[i].kind);
		guint n;

		if (!kind) {
			g_ptr_array_add(names, NULL);
			continue;
		}
		n = GPOINTER_TO_UINT(g_hash_table_lookup(n_of, kind));
		g_hash_table_insert(n_of, (gpointer)kind, GUINT_TO_POINTER(n + 1));
		g_ptr_array_add(names, g_strdup_printf("%s_%u", kind, n));
	}
	return names;
}

GArray *plan_bits_of(const TachoPrecisionProblem *problem, const guint8 *formats)
{
	g_autoptr(GPtrArray) names = layer_names(problem);
	GArray *bits = bits_new();

	for (guint32 i = 0; i < problem->n_operations; i++) {
		enum number_format format = (enum number_format)formats[i];
		struct plan_bit bit = {
			NULL, number_format_qsync_bits(format == FORMAT_BF16 ? FORMAT_FP16 : format)
		};

		if (!names->pdata[i] || bit.bits == 0 ||
		    problem->operations[i].rule != PRECISION_CHOSEN)
			continue;
		bit.layer = g_strdup(names->pdata[i]);
		g_array_append_val(bits, bit);
	}
	return bits;
}

gboolean plan_bits_apply(const GArray *bits, const TachoPrecisionProblem *problem, guint32 worker,
			 guint8 *formats, GError **error)
{
	g_autoptr(GPtrArray) names = layer_names(problem);
	g_autoptr(GHashTable) numbers = g_hash_table_new(g_str_hash, g_str_equal);

	for (guint32 i = 0; i < problem->n_operations; i++)
		if (names->pdata[i])
			g_hash_table_insert(numbers, names->pdata[i], GUINT_TO_POINTER(i + 1));
	FOR_EACH(const struct plan_bit, bit, bits) {
		guint32 number = GPOINTER_TO_UINT(g_hash_table_lookup(numbers, bit->layer));
		enum number_format format = number_format_of_qsync(bit->bits);

		if (number > 0 && format == FORMAT_FP16 &&
		    !precision_cost_of(problem, worker, number - 1, format)->is_allowed)
			format = FORMAT_BF16;
		if (number > 0 && format < N_NUMBER_FORMATS &&
		    precision_cost_of(problem, worker, number - 1, format)->is_allowed) {
			formats[number - 1] = (guint8)format;
			continue;
		}
		g_set_error(error, TACHO_PRECISION_ERROR, TACHO_PRECISION_ERROR_MATCH,
			    number == 0
				    ? "the model has no layer '%s'"
				    : "the layer '%s' cannot have the bits that the plan gives it",
			    bit->layer);
		return FALSE;
	}
	return TRUE;
}
