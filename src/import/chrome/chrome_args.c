#include "import/chrome/chrome_args.h"

#include <string.h>

#include "import/read/concrete_inputs.h"
#include "import/read/device_args.h"
#include "import/read/json_file.h"
#include "import/c10_dtype.h"

struct chrome_args {
	struct foreign_reader reader;
	struct json_file *file;
};

struct figures {
	guint64 bytes, flops;
	const gchar *dtype;
	gboolean has_any;
};

static gboolean is_one_of(const struct json_text *key, const gchar *const *names)
{
	for (; *names; names++)
		if (key->n == strlen(*names) &&
		    g_ascii_strncasecmp(key->bytes, *names, key->n) == 0)
			return TRUE;
	return FALSE;
}

static void read_count(struct json_scan *scan, guint64 *ret_count, gboolean *has_any)
{
	gint64 value;

	if (json_fixed(scan, 0, &value) && value >= 0) {
		*ret_count = (guint64)value;
		*has_any = TRUE;
	}
}

static void read_figures(struct json_scan *scan, struct figures *figures)
{
	static const gchar *const bytes[] = { "bytes", "size", "num_bytes", "bytes_accessed",
					      NULL };
	static const gchar *const flops[] = { "flops", "flop", NULL };
	static const gchar *const dtype[] = { "dtype", NULL };
	struct json_text key, text;

	json_take(scan, '{');
	while (json_member(scan, &key)) {
		struct json_scan value;

		json_peek(scan);
		value = *scan;
		json_skip(scan);
		if (is_one_of(&key, bytes)) {
			read_count(&value, &figures->bytes, &figures->has_any);
		} else if (is_one_of(&key, flops)) {
			read_count(&value, &figures->flops, &figures->has_any);
		} else if (is_one_of(&key, dtype) && json_peek(&value) == '"' &&
			   json_string(&value, &text)) {
			figures->dtype = c10_dtype_name(text.bytes, text.n);
		}
	}
}

static gboolean find_figures(struct foreign_reader *reader, guint64 place, struct figures *figures)
{
	struct chrome_args *args = (struct chrome_args *)reader;
	struct json_scan scan;

	*figures = (struct figures){ .dtype = "" };
	if (json_file_lock(args->file, place, &scan))
		read_figures(&scan, figures);
	json_file_unlock(args->file);
	return figures->has_any;
}

static gboolean get_kernel(struct foreign_reader *reader, guint64 place, TachoKernelArgs *kernel)
{
	struct figures figures;

	if (!find_figures(reader, place, &figures))
		return FALSE;
	*kernel = (TachoKernelArgs){
		.bytes = figures.bytes, .flops = figures.flops, .dtype = figures.dtype, .text = ""
	};
	return TRUE;
}

static gboolean get_collective(struct foreign_reader *reader, guint64 place,
			       TachoCollectiveArgs *collective)
{
	struct figures figures;

	if (!find_figures(reader, place, &figures) || !figures.bytes)
		return FALSE;
	*collective = (TachoCollectiveArgs){ .bytes = figures.bytes };
	return TRUE;
}

static gchar *get_args_json(struct foreign_reader *reader, guint64 place)
{
	return json_file_copy(((struct chrome_args *)reader)->file, place);
}

static void free_args(struct foreign_reader *reader)
{
	struct chrome_args *args = (struct chrome_args *)reader;

	json_file_free(args->file);
	g_free(args);
}

struct foreign_reader *chrome_args_new(const gchar *path)
{
	struct chrome_args *args = g_new0(struct chrome_args, 1);

	args->reader = (struct foreign_reader){
		.kernel = get_kernel,
		.collective = get_collective,
		.args_json = get_args_json,
		.launch_shape = device_args_launch_shape,
		.copy = device_args_copy,
		.numbers = concrete_inputs_numbers,
		.free = free_args,
	};
	args->file = json_file_new(path);
	return &args->reader;
}
