#include "import/byteprofile/byteprofile_tensors.h"

#include <string.h>

#include "import/element_type.h"
#include "import/read/small_file.h"

enum {
	MAX_TENSORS = 1 << 17,
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
	TachoTensor tensor;
	gboolean has_shape;
};

/* The name of the type, and how wide it is. */
static void set_dtype(TachoTensor *tensor, const gchar *text, gssize n)
{
	tensor->dtype = element_type_name(text, n, &tensor->dtype_bytes);
}

static void add_dim(TachoTensor *tensor, guint64 size)
{
	if (tensor->n_dims < TACHO_MAX_DIMS)
		tensor->shape[tensor->n_dims++] = (gint64)MIN(size, (guint64)G_MAXINT64);
}

static void read_shape(struct json_scan *scan, struct description *tensor)
{
	gint64 size;

	if (!json_enter(scan, '['))
		return;
	tensor->n_elements = 1;
	tensor->has_shape = TRUE;
	tensor->tensor.n_dims = 0;
	while (json_element(scan)) {
		if (!json_fixed(scan, 0, &size) || size < 0 ||
		    __builtin_mul_overflow(tensor->n_elements, (guint64)size, &tensor->n_elements))
			tensor->has_shape = FALSE;
		else
			add_dim(&tensor->tensor, (guint64)size);
	}
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
	set_dtype(&tensor->tensor, text.bytes, n);
}

static void note_tensor(struct description *tensor, GHashTable *sizes)
{
	struct byteprofile_tensor known = { .tensor = tensor->tensor };

	if (tensor->name && tensor->has_shape && known.tensor.dtype_bytes &&
	    !__builtin_mul_overflow(tensor->n_elements, known.tensor.dtype_bytes, &known.bytes) &&
	    known.bytes && g_hash_table_size(sizes) < MAX_TENSORS)
		g_hash_table_insert(sizes, g_steal_pointer(&tensor->name),
				    g_memdup2(&known, sizeof(known)));
	g_clear_pointer(&tensor->name, g_free);
}

static void read_tensor(struct json_scan *scan, GHashTable *sizes)
{
	struct description tensor = { .tensor = { .dtype = "", .device = "" } };
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

/* "NAME;shape=(64, 3);dtype=float16", as recorders of MXNet write; 0 bytes: it is only a name. */
static struct byteprofile_tensor described(const gchar *text)
{
	struct byteprofile_tensor none = { .tensor = { .dtype = "", .device = "" } }, known = none;
	const gchar *shape = strstr(text, ";shape="), *dtype = strstr(text, ";dtype=");
	gchar *end;

	if (!shape)
		return none;
	set_dtype(&known.tensor, "float32", -1);
	if (dtype)
		set_dtype(&known.tensor, dtype + strlen(";dtype="),
			  (gssize)strcspn(dtype + strlen(";dtype="), ";"));
	known.bytes = known.tensor.dtype_bytes;
	for (shape += strlen(";shape="); *shape && *shape != ';'; shape = end) {
		guint64 size = g_ascii_strtoull(shape, &end, 10);

		if (end == shape) {
			end++;
			continue;
		}
		if (__builtin_mul_overflow(known.bytes, size, &known.bytes))
			return none;
		add_dim(&known.tensor, size);
	}
	return known;
}

static struct byteprofile_tensor tensor_of(GHashTable *sizes, const gchar *name)
{
	const struct byteprofile_tensor *known = g_hash_table_lookup(sizes, name);
	const gchar *dot = strchr(name, '.');

	if (!known && dot) /* "HorovodAllreduce.NAME" */
		known = g_hash_table_lookup(sizes, dot + 1);
	return known ? *known : described(name);
}

static void set_tensor(GArray *tensors, guint64 number, struct byteprofile_tensor tensor)
{
	if (number >= MAX_TENSORS)
		return;
	if (number >= tensors->len)
		g_array_set_size(tensors, (guint)number + 1);
	g_array_index(tensors, struct byteprofile_tensor, number) = tensor;
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
				set_tensor(tensors, number, tensor_of(sizes, name));
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
			set_tensor(tensors, (guint64)number, tensor_of(sizes, name));
	}
}

GArray *byteprofile_tensors_read(const gchar *const *folders)
{
	g_autoptr(GByteArray) metadata = read_first(folders, "metadata.json");
	g_autoptr(GByteArray) names = read_first(folders, "gradient_name_list.json");
	g_autoptr(GByteArray) numbers = names ? NULL : read_first(folders, "gradient_name2ID.json");
	g_autoptr(GHashTable) sizes = NULL;
	g_autoptr(GArray) tensors = g_array_new(FALSE, TRUE, sizeof(struct byteprofile_tensor));

	if (!names && !numbers && !metadata)
		return NULL;
	sizes = metadata ? read_metadata(metadata)
			 : g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	if (names)
		read_names(names, sizes, tensors);
	else if (numbers)
		read_numbers(numbers, sizes, tensors);
	else /* of MXNet */
		read_names(metadata, sizes, tensors);
	return tensors->len ? g_steal_pointer(&tensors) : NULL;
}

const struct byteprofile_tensor *byteprofile_tensors_find(const GArray *tensors, guint64 number)
{
	const struct byteprofile_tensor *tensor;

	if (!tensors || number >= tensors->len)
		return NULL;
	tensor = &g_array_index(tensors, struct byteprofile_tensor, number);
	return tensor->bytes ? tensor : NULL;
}

guint64 byteprofile_tensors_sum(const GArray *tensors, const gchar *numbers, gsize n)
{
	const gchar *end = numbers + n;
	guint64 sum = 0;

	while (tensors && numbers < end) {
		gchar *after;
		guint64 number = g_ascii_strtoull(numbers, &after, 10);
		const struct byteprofile_tensor *tensor = byteprofile_tensors_find(tensors, number);

		if (after == numbers || after > end || !tensor ||
		    __builtin_add_overflow(sum, tensor->bytes, &sum))
			return 0;
		numbers = after + (after < end);
		if (after < end && *after != '+')
			return 0;
	}
	return sum;
}
