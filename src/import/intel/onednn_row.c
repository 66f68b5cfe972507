/* The columns of a row, after the marker:
 *
 *     0.x   exec,KIND,IMPL,PROP,MEMORY,AUX,PROBLEM,MS
 *     1, 2  [STAMP,]exec,ENGINE,KIND,IMPL,PROP,MEMORY,ATTR,AUX,PROBLEM,MS
 *     3     [v1,][STAMP,][primitive,]exec,ENGINE,KIND,IMPL,PROP,MEMORY,ATTR,AUX,PROBLEM,MS
 *           [v1,][STAMP,]graph,exec,ENGINE,ID,PARTITION,OPS,...,MS
 *
 * MS is milliseconds, STAMP milliseconds since 1970 at the begin (ONEDNN_VERBOSE_TIMESTAMP). Attributes may have
 * commas of their own, so columns are counted from both ends. MKL's row is
 *
 *     MKL_VERBOSE SGEMM(N,N,768,512,3072,...) 1.66ms CNR:OFF Dyn:1 FastMM:1 TID:0 NThr:16
 *
 * Problems are in the language of oneDNN's benchdnn: mb32_ic3oc64_ih224oh112kh7..., 64x3x7x7, 16x32:32x8. Their
 * floating-point operations are those of the usual definitions: twice the multiplications. */
#include "import/intel/onednn_row.h"

#include <math.h>
#include <string.h>

#include "import/element_type.h"

enum {
	MAX_COLUMNS = 64,
};

static const gchar mkl_marker[] = "MKL_VERBOSE ";

/* --- columns -------------------------------------------------------------------------------- */

static gchar *find_marker(gchar *line)
{
	static const gchar *const markers[] = { "onednn_verbose,", "dnnl_verbose,",
						"mkldnn_verbose," };

	for (guint i = 0; i < G_N_ELEMENTS(markers); i++) {
		gchar *found = strstr(line, markers[i]);

		if (found)
			return found;
	}
	return NULL;
}

static guint split(gchar *text, gchar **columns)
{
	guint n = 0;
	gchar *column;

	while (n < MAX_COLUMNS && (column = strsep(&text, ",")))
		columns[n++] = column;
	return n;
}

/* Milliseconds, rounded to six digits of a fraction: a time since 1970 has more than a double. False: it is no
 * figure, or none that can be. */
static gboolean parse_ms(const gchar *text, gint64 *ret_ns)
{
	gsize n_whole = strspn(text, "0123456789");
	gchar *end;
	gdouble ms = g_ascii_strtod(text, &end);
	gint64 ns = 0, scale = 100000;

	end += strspn(end, " \t");
	if (end == text || *end || !(g_ascii_isdigit(*text) || *text == '.') || !isfinite(ms) ||
	    ms > (gdouble)TACHO_MAX_TIME_NS / 1e6)
		return FALSE;
	if (strpbrk(text, "eExX")) {
		*ret_ns = llround(ms * 1e6);
		return TRUE;
	}
	if (n_whole)
		ns = g_ascii_strtoll(text, NULL, 10) * 1000000;
	for (text += n_whole + (text[n_whole] == '.'); g_ascii_isdigit(*text); text++) {
		if (!scale) { /* the first digit too many */
			ns += *text >= '5';
			break;
		}
		ns += (*text - '0') * scale;
		scale /= 10;
	}
	*ret_ns = ns;
	return TRUE;
}

static gboolean is_engine(const gchar *column)
{
	return g_str_has_prefix(column, "cpu") || g_str_has_prefix(column, "gpu") ||
	       strcmp(column, "any") == 0;
}

static void parse_engine(struct onednn_row *row, const gchar *engine)
{
	const gchar *number = strchr(engine, ':');

	row->engine = engine;
	row->is_gpu = g_str_has_prefix(engine, "gpu");
	if (number)
		row->device = (guint32)MIN(g_ascii_strtoull(number + 1, NULL, 10), 65535);
}

/* KIND,IMPL,PROP,MEMORY[,ATTR],AUX,PROBLEM,MS: n columns, of which there are at least `n_least`. */
static void parse_primitive(struct onednn_row *row, gchar **columns, guint n, guint n_least)
{
	if (n < n_least || !parse_ms(columns[n - 1], &row->duration_ns)) {
		row->kind = ONEDNN_CUT;
		return;
	}
	row->primitive = columns[0];
	row->implementation = columns[1];
	row->propagation = columns[2];
	row->memory = columns[3];
	row->attributes = n_least > 7 ? columns[4] : "";
	row->auxiliary = columns[n - 3];
	row->problem = columns[n - 2];
}

/* ID,PARTITION,OPS,...,MS */
static void parse_partition(struct onednn_row *row, gchar **columns, guint n)
{
	if (n < 4 || !parse_ms(columns[n - 1], &row->duration_ns)) {
		row->kind = ONEDNN_CUT;
		return;
	}
	row->primitive = columns[1];
	row->implementation = columns[n - 2];
	row->propagation = "";
	row->memory = columns[2];
	row->attributes = row->auxiliary = row->problem = "";
}

static void parse_columns(struct onednn_row *row, gchar **columns, guint n)
{
	gboolean is_graph = FALSE;
	guint i = 1; /* behind the marker */

	if (i < n && columns[i][0] == 'v' && g_ascii_isdigit(columns[i][1]))
		i++;
	if (i < n && parse_ms(columns[i], &row->stamp_ns)) {
		row->has_stamp = TRUE;
		i++;
	}
	if (i < n && (strcmp(columns[i], "primitive") == 0 || strcmp(columns[i], "ukernel") == 0))
		i++;
	if (i < n && strcmp(columns[i], "graph") == 0) {
		is_graph = TRUE;
		i++;
	}
	if (i >= n) {
		row->kind = ONEDNN_CUT;
		return;
	}
	if (strcmp(columns[i], "exec") == 0)
		row->kind = ONEDNN_EXECUTED;
	else if (g_str_has_prefix(columns[i], "create") || g_str_has_prefix(columns[i], "compile"))
		row->kind = ONEDNN_CREATED;
	else {
		row->kind = strcmp(columns[i], "info") == 0 ? ONEDNN_INFO : ONEDNN_OTHER;
		return;
	}
	/* not a time: why an implementation was not taken */
	if (strstr(columns[i], ":dispatch") || strstr(columns[i], ":check")) {
		row->kind = ONEDNN_OTHER;
		return;
	}
	i++;
	if (i < n && is_engine(columns[i])) {
		parse_engine(row, columns[i]);
		if (is_graph)
			parse_partition(row, columns + i + 1, n - i - 1);
		else
			parse_primitive(row, columns + i + 1, n - i - 1, 8);
	} else {
		row->engine = "cpu";
		parse_primitive(row, columns + i, n - i, 7);
	}
}

/* --- MKL ------------------------------------------------------------------------------------ */

static gboolean parse_duration(const gchar *text, gint64 *ret_ns)
{
	static const struct {
		const gchar *unit;
		gdouble ns;
	} units[] = { { "ns", 1 }, { "us", 1e3 }, { "ms", 1e6 }, { "s", 1e9 } };
	gchar *unit;
	gdouble value = g_ascii_strtod(text, &unit);

	for (guint i = 0; unit > text && i < G_N_ELEMENTS(units); i++) {
		gsize n = strlen(units[i].unit);

		if (strncmp(unit, units[i].unit, n) == 0 && (unit[n] == ' ' || !unit[n]) &&
		    value >= 0 && value * units[i].ns < (gdouble)TACHO_MAX_TIME_NS) {
			*ret_ns = llround(value * units[i].ns);
			return TRUE;
		}
	}
	return FALSE;
}

/* What follows the marker: NAME(ARGUMENTS) TIME ... */
static void parse_mkl(struct onednn_row *row, gchar *text)
{
	gchar *open = strchr(text, '('), *close = open ? strchr(open, ')') : NULL;
	const gchar *thread;

	if (!close || open == text || strcspn(text, " ") < (gsize)(open - text)) {
		row->kind = ONEDNN_INFO; /* what library, on what processor */
		return;
	}
	row->kind = parse_duration(close + 1 + strspn(close + 1, " "), &row->duration_ns)
			    ? ONEDNN_EXECUTED
			    : ONEDNN_CUT;
	thread = strstr(close, " TID:");
	if (thread)
		row->thread = (gint32)MIN(g_ascii_strtoull(thread + 5, NULL, 10), 65535);
	*open = *close = '\0';
	row->engine = "cpu";
	row->primitive = text;
	row->problem = open + 1;
	row->implementation = "mkl";
	row->propagation = row->memory = row->attributes = row->auxiliary = "";
}

void onednn_row_parse(gchar *line, struct onednn_row *row)
{
	gchar *columns[MAX_COLUMNS], *marker = find_marker(line);

	*row = (struct onednn_row){ .thread = -1 };
	if (marker) {
		row->at = (gsize)(marker - line);
		parse_columns(row, columns, split(marker, columns));
		return;
	}
	marker = strstr(line, mkl_marker);
	if (marker) {
		row->at = (gsize)(marker - line);
		parse_mkl(row, marker + strlen(mkl_marker));
	}
}

/* --- figures -------------------------------------------------------------------------------- */

/* Sizes of a problem such as "mb32_g1ic3oc64_ih224oh112kh7sh2dh0ph3_iw224ow112kw7". */
enum problem_size {
	SIZE_MB,
	SIZE_G,
	SIZE_IC,
	SIZE_OC,
	SIZE_ID,
	SIZE_OD,
	SIZE_KD,
	SIZE_IH,
	SIZE_OH,
	SIZE_KH,
	SIZE_IW,
	SIZE_OW,
	SIZE_KW,
	N_SIZES,
};

static const gchar *const size_names[N_SIZES] = { "mb", "g",  "ic", "oc", "id", "od", "kd",
						  "ih", "oh", "kh", "iw", "ow", "kw" };

/* Those not told are 0. */
static void parse_sizes(const gchar *problem, gint64 sizes[N_SIZES])
{
	memset(sizes, 0, N_SIZES * sizeof(*sizes));
	while (*problem) {
		gsize n_name = strspn(problem, "abcdefghijklmnopqrstuvwxyz");
		gchar *end;
		gint64 value;

		if (!n_name || !g_ascii_isdigit(problem[n_name])) {
			problem += MAX(n_name, 1);
			continue;
		}
		value = g_ascii_strtoll(problem + n_name, &end, 10);
		for (guint i = 0; i < N_SIZES; i++)
			if (strlen(size_names[i]) == n_name &&
			    strncmp(size_names[i], problem, n_name) == 0)
				sizes[i] = value;
		problem = end;
	}
}

static gdouble or_one(gint64 size)
{
	return size > 0 ? (gdouble)size : 1;
}

/* 0 where the number is none that counts anything. */
static guint64 to_count(gdouble value)
{
	return value >= 1 && value < 9e18 ? (guint64)value : 0;
}

/* Bytes of an element of the tensor that plays the role ("src", "wei", "dst"), 0: not told. */
static guint8 element_bytes(const struct onednn_row *row, const gchar *role,
			    const gchar **ret_dtype)
{
	g_auto(GStrv) tensors = g_strsplit(row->memory, " ", 64);
	guint8 bytes = 0;

	*ret_dtype = "";
	for (gchar **tensor = tensors; *tensor && !bytes; tensor++) {
		const gchar *name = strstr(*tensor, role);
		gsize n;

		if (!name)
			continue;
		name += strlen(role);
		name += strspn(name, "0123456789"); /* the sources of a sum */
		if (*name != '_' && *name != ':')
			continue;
		name++;
		n = strcspn(name, ":_");
		*ret_dtype = element_type_name(name, (gssize)n, &bytes);
	}
	return bytes;
}

static void add_dim(TachoKernelArgs *args, gint64 size)
{
	if (size > 0 && args->n_dims < TACHO_MAX_DIMS)
		args->dims[args->n_dims++] = size;
}

static gdouble product(const TachoKernelArgs *args)
{
	gdouble result = 1;

	for (guint32 i = 0; i < args->n_dims; i++)
		result *= (gdouble)args->dims[i];
	return result;
}

/* "64x3x7x7" into dims; returns what follows. */
static const gchar *parse_dims(const gchar *text, gint64 *dims, guint32 *n_dims)
{
	gchar *end;

	*n_dims = 0;
	while (g_ascii_isdigit(*text)) {
		gint64 size = g_ascii_strtoll(text, &end, 10);

		if (*n_dims < TACHO_MAX_DIMS)
			dims[(*n_dims)++] = size;
		text = end;
		if (*text != 'x')
			break;
		text++;
	}
	return text;
}

struct widths {
	guint8 src, wei, dst;
};

/* [Bx]MxK:[Bx]KxN */
static void multiply_matrices(const gchar *problem, const struct widths *widths,
			      TachoKernelArgs *args)
{
	gint64 left[TACHO_MAX_DIMS], right[TACHO_MAX_DIMS];
	guint32 n_left, n_right;
	const gchar *colon = parse_dims(problem, left, &n_left);
	gdouble m, n, k, batch = 1;

	if (*colon != ':')
		return;
	parse_dims(colon + 1, right, &n_right);
	if (n_left < 2 || n_right != n_left)
		return;
	m = or_one(left[n_left - 2]);
	k = or_one(left[n_left - 1]);
	n = or_one(right[n_right - 1]);
	for (guint32 i = 0; i + 2 < n_left; i++) {
		add_dim(args, MAX(left[i], right[i]));
		batch *= or_one(MAX(left[i], right[i]));
	}
	add_dim(args, left[n_left - 2]);
	add_dim(args, right[n_right - 1]);
	args->flops = to_count(2 * batch * m * n * k);
	args->bytes =
		to_count(batch * (m * k * widths->src + k * n * widths->wei + m * n * widths->dst));
}

static void convolve(const gint64 *sizes, gboolean is_transposed, const struct widths *widths,
		     TachoKernelArgs *args)
{
	gdouble kernel = or_one(sizes[SIZE_KD]) * or_one(sizes[SIZE_KH]) * or_one(sizes[SIZE_KW]);
	gdouble in = or_one(sizes[SIZE_ID]) * or_one(sizes[SIZE_IH]) * or_one(sizes[SIZE_IW]);
	gdouble out = or_one(sizes[SIZE_OD]) * or_one(sizes[SIZE_OH]) * or_one(sizes[SIZE_OW]);
	gdouble mb = or_one(sizes[SIZE_MB]), ic = or_one(sizes[SIZE_IC]);
	gdouble oc = or_one(sizes[SIZE_OC]), weights = oc * ic / or_one(sizes[SIZE_G]) * kernel;

	args->flops = to_count(2 * mb * weights * (is_transposed ? in : out));
	args->bytes = to_count(mb * ic * in * widths->src + weights * widths->wei +
			       mb * oc * out * widths->dst);
}

static void apply_sizes(const struct onednn_row *row, const struct widths *widths,
			TachoKernelArgs *args)
{
	gint64 sizes[N_SIZES];

	parse_sizes(row->problem, sizes);
	add_dim(args, sizes[SIZE_MB]);
	add_dim(args, sizes[SIZE_OC] ? sizes[SIZE_OC] : sizes[SIZE_IC]);
	add_dim(args, sizes[SIZE_OD] ? sizes[SIZE_OD] : sizes[SIZE_ID]);
	if (strstr(row->primitive, "inner_product")) {
		gdouble in = or_one(sizes[SIZE_IC]) * or_one(sizes[SIZE_ID]) *
			     or_one(sizes[SIZE_IH]) * or_one(sizes[SIZE_IW]);
		gdouble mb = or_one(sizes[SIZE_MB]), oc = or_one(sizes[SIZE_OC]);

		args->n_dims = MIN(args->n_dims, 2);
		args->flops = to_count(2 * mb * in * oc);
		args->bytes = to_count(mb * in * widths->src + in * oc * widths->wei +
				       mb * oc * widths->dst);
		return;
	}
	add_dim(args, sizes[SIZE_OH] ? sizes[SIZE_OH] : sizes[SIZE_IH]);
	add_dim(args, sizes[SIZE_OW] ? sizes[SIZE_OW] : sizes[SIZE_IW]);
	if (strstr(row->primitive, "convolution"))
		convolve(sizes, strstr(row->primitive, "deconvolution") != NULL, widths, args);
	else
		args->bytes = to_count(product(args) * (widths->src + widths->dst));
}

/* SGEMM(transa,transb,m,n,k,...), and the same of other types. */
static void figures_of_routine(const struct onednn_row *row, TachoKernelArgs *args)
{
	g_auto(GStrv) values = g_strsplit(row->problem, ",", 8);
	gint64 m, n, k;
	guint8 bytes;

	if (!strstr(row->primitive, "GEMM") || g_strv_length(values) < 6)
		return;
	m = g_ascii_strtoll(values[2], NULL, 10);
	n = g_ascii_strtoll(values[3], NULL, 10);
	k = g_ascii_strtoll(values[4], NULL, 10);
	if (m <= 0 || n <= 0 || k <= 0)
		return;
	add_dim(args, m);
	add_dim(args, n);
	add_dim(args, k);
	bytes = row->primitive[0] == 'S' ? 4 : row->primitive[0] == 'D' ? 8 : 0;
	args->dtype = bytes == 4 ? "float32" : bytes == 8 ? "float64" : "";
	args->flops = to_count(2.0 * (gdouble)m * (gdouble)n * (gdouble)k);
	args->bytes = to_count(bytes * ((gdouble)m * (gdouble)k + (gdouble)k * (gdouble)n +
					(gdouble)m * (gdouble)n));
}

void onednn_row_figures(const struct onednn_row *row, TachoKernelArgs *args)
{
	const gchar *source, *weights, *destination;
	struct widths widths;

	*args = (TachoKernelArgs){ .dtype = "", .text = "" };
	if (row->kind != ONEDNN_EXECUTED)
		return;
	if (strcmp(row->implementation, "mkl") == 0) {
		figures_of_routine(row, args);
		return;
	}
	widths.src = element_bytes(row, "src", &source);
	widths.wei = element_bytes(row, "wei", &weights);
	widths.dst = element_bytes(row, "dst", &destination);
	if (!widths.src) /* as 0.x, and normalisations, call them */
		widths.src = element_bytes(row, "in", &source);
	if (!widths.src)
		widths.src = element_bytes(row, "data", &source);
	if (!widths.dst)
		widths.dst = element_bytes(row, "out", &destination);
	if (!widths.dst && widths.src)
		widths.dst = widths.src;
	args->dtype = *source ? source : *destination ? destination : weights;
	if (!g_ascii_isdigit(row->problem[0])) {
		apply_sizes(row, &widths, args);
	} else if (strchr(row->problem, ':') && strstr(row->primitive, "matmul")) {
		multiply_matrices(row->problem, &widths, args);
	} else {
		parse_dims(row->problem, args->dims, &args->n_dims);
		args->bytes = to_count(product(args) * (widths.src + widths.dst));
	}
}
