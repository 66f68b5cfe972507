#include "import/byteprofile_tensors.h"

#include <string.h>

#include "import/element_type.h"
#include "import/small_file.h"

enum {
	MAX_TENSORS = 1 << 20,
};

/* --- files ---------------------------------------------------------------------------------- */

/* The first folder's file of that name. */
static GByteArray *read_first(const gchar *const *folders, const gchar *name)
{
	for (; *folders; folders++) {
		g_autofree gchar *path = g_build_filename(*folders, name, NULL);
		GByteArray *bytes =
			g_file_test(path, G_FILE_TEST_IS_REGULAR) ? small_file_read(path) : NULL;

		if (bytes)
			return bytes;
	}
	return NULL;
}

/* --- shapes --------------------------------------------------------------------------------- */

/* An object that tells of a tensor: name, shape, dtype; or of anything else. */
struct description {
	gchar *name;
	guint64 n_elements;
	guint8 width;
	gboolean has_shape;
};

static void read_shape(struct json_scan *scan, struct description *tensor)
{
	gint64 size;

	if (!json_enter(scan, '['))
		return;
	tensor->n_elements = 1;
	tensor->has_shape = TRUE;
	while (json_element(scan))
		if (!json_fixed(scan, 0, &size) || size < 0 ||
		    __builtin_mul_overflow(tensor->n_elements, (guint64)size, &tensor->n_elements))
			tensor->has_shape = FALSE;
}

static void read_dtype(struct json_scan *scan, struct description *tensor)
{
	struct json_text text;
	gssize n;

	if (json_peek(scan) != '"' || !json_string(scan, &text)) {
		json_skip(scan);
		return;
	}
	n = (gssize)text.n;
	if (n > 4 && memcmp(text.bytes + n - 4, "_ref", 4) == 0)
		n -= 4;
	element_type_name(text.bytes, n, &tensor->width);
}

static void note_tensor(struct description *tensor, GHashTable *sizes)
{
	guint64 bytes;

	if (tensor->name && tensor->has_shape && tensor->width &&
	    !__builtin_mul_overflow(tensor->n_elements, tensor->width, &bytes) && bytes &&
	    g_hash_table_size(sizes) < MAX_TENSORS)
		g_hash_table_insert(sizes, g_steal_pointer(&tensor->name),
				    g_memdup2(&bytes, sizeof(bytes)));
	g_clear_pointer(&tensor->name, g_free);
}

static void read_tensor(struct json_scan *scan, GHashTable *sizes)
{
	struct description tensor = { 0 };
	struct json_text key, text;

	json_take(scan, '{');
	while (json_member(scan, &key)) {
		if (JSON_TEXT_IS(&key, "shape")) {
			read_shape(scan, &tensor);
		} else if (JSON_TEXT_IS(&key, "dtype")) {
			read_dtype(scan, &tensor);
		} else if (JSON_TEXT_IS(&key, "name") && !tensor.name && json_peek(scan) == '"') {
			if (json_string(scan, &text))
				tensor.name = json_text_dup(&text);
		} else {
			json_skip(scan);
		}
	}
	note_tensor(&tensor, sizes);
}

static void read_tensors(struct json_scan *scan, GHashTable *sizes)
{
	if (!json_enter(scan, '['))
		return;
	while (json_element(scan)) {
		if (json_peek(scan) == '{')
			read_tensor(scan, sizes);
		else
			json_skip(scan);
	}
}

/* {"OP": {"input": [{...}], "output": [{...}]}, ...} */
static GHashTable *read_metadata(const GByteArray *bytes)
{
	GHashTable *sizes = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	struct json_scan scan = small_file_scan(bytes);
	struct json_text key;

	if (json_peek(&scan) != '{')
		return sizes;
	json_take(&scan, '{');
	while (json_member(&scan, &key)) {
		if (!json_enter(&scan, '{'))
			continue;
		while (json_member(&scan, &key)) {
			if (JSON_TEXT_IS(&key, "input") || JSON_TEXT_IS(&key, "output"))
				read_tensors(&scan, sizes);
			else
				json_skip(&scan);
		}
	}
	return sizes;
}

/* --- numbers -------------------------------------------------------------------------------- */

/* "NAME;shape=(64, 3);dtype=float16", as recorders of MXNet write; 0: it is only a name. */
static guint64 described_bytes(const gchar *text)
{
	const gchar *shape = strstr(text, ";shape="), *dtype = strstr(text, ";dtype=");
	guint64 bytes;
	guint8 width = 4;
	gchar *end;

	if (!shape)
		return 0;
	if (dtype)
		element_type_name(dtype + strlen(";dtype="), (gssize)strcspn(dtype + 7, ";"),
				  &width);
	bytes = width;
	for (shape += strlen(";shape="); *shape && *shape != ';'; shape = end) {
		guint64 size = g_ascii_strtoull(shape, &end, 10);

		if (end == shape)
			end++;
		else if (__builtin_mul_overflow(bytes, size, &bytes))
			return 0;
	}
	return bytes;
}

static guint64 bytes_of(GHashTable *sizes, const gchar *name)
{
	const guint64 *known = g_hash_table_lookup(sizes, name);
	const gchar *dot = strchr(name, '.');

	if (!known && dot) /* "HorovodAllreduce.NAME" */
		known = g_hash_table_lookup(sizes, dot + 1);
	return known ? *known : described_bytes(name);
}

static void set_tensor(GArray *tensors, guint64 number, guint64 bytes)
{
	if (number >= MAX_TENSORS)
		return;
	if (number >= tensors->len)
		g_array_set_size(tensors, (guint)number + 1);
	g_array_index(tensors, guint64, number) = bytes;
}

/* {"gradient_name_list": ["NAME", ...]} */
static void read_names(const GByteArray *bytes, GHashTable *sizes, GArray *tensors)
{
	struct json_scan scan = small_file_scan(bytes);
	struct json_text key, text;
	guint64 number = 0;

	if (json_peek(&scan) != '{')
		return;
	json_take(&scan, '{');
	while (json_member(&scan, &key)) {
		if (!JSON_TEXT_IS(&key, "gradient_name_list") || json_peek(&scan) != '[') {
			json_skip(&scan);
			continue;
		}
		json_take(&scan, '[');
		while (json_element(&scan)) {
			g_autofree gchar *name = NULL;

			if (json_peek(&scan) != '"') {
				json_skip(&scan);
			} else if (json_string(&scan, &text)) {
				name = json_text_dup(&text);
				set_tensor(tensors, number, bytes_of(sizes, name));
			}
			number++;
		}
	}
}

/* {"NAME": NUMBER, ...} */
static void read_numbers(const GByteArray *bytes, GHashTable *sizes, GArray *tensors)
{
	struct json_scan scan = small_file_scan(bytes);
	struct json_text key;
	gint64 number;

	if (json_peek(&scan) != '{')
		return;
	json_take(&scan, '{');
	while (json_member(&scan, &key)) {
		g_autofree gchar *name = json_text_dup(&key);

		if (json_fixed(&scan, 0, &number) && number >= 0)
			set_tensor(tensors, (guint64)number, bytes_of(sizes, name));
	}
}

GArray *byteprofile_tensors_read(const gchar *const *folders)
{
	g_autoptr(GByteArray) metadata = read_first(folders, "metadata.json");
	g_autoptr(GByteArray) names = read_first(folders, "gradient_name_list.json");
	g_autoptr(GByteArray) numbers = names ? NULL : read_first(folders, "gradient_name2ID.json");
	g_autoptr(GHashTable) sizes = NULL;
	g_autoptr(GArray) tensors = g_array_new(FALSE, TRUE, sizeof(guint64));

	if (!names && !numbers)
		return NULL;
	sizes = metadata ? read_metadata(metadata)
			 : g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	if (names)
		read_names(names, sizes, tensors);
	else
		read_numbers(numbers, sizes, tensors);
	return tensors->len ? g_steal_pointer(&tensors) : NULL;
}

guint64 byteprofile_tensors_sum(const GArray *tensors, const gchar *numbers, gsize n)
{
	const gchar *end = numbers + n;
	guint64 sum = 0;

	while (tensors && numbers < end) {
		gchar *after;
		guint64 number = g_ascii_strtoull(numbers, &after, 10);
		guint64 bytes;

		if (after == numbers || after > end || number >= tensors->len)
			return 0;
		bytes = g_array_index(tensors, guint64, number);
		if (!bytes || __builtin_add_overflow(sum, bytes, &sum))
			return 0;
		numbers = after + (after < end);
		if (after < end && *after != '+')
			return 0;
	}
	return sum;
}
