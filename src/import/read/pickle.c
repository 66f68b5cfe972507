#include "import/read/pickle.h"

#include <string.h>
#include <tacho/import.h>

#include "base/byte_stream.h"
#include "base/json_memory.h"
#include "base/row_buffer.h"

enum {
	READ_BYTES = 1024 * 1024,
	MAX_FILE_BYTES = 1024 * 1024 * 1024, /* decoded; its values take up to 24 times as much */
	TYPE_MARK = 255,		     /* a mark on the stack, as a value */
};

/* The opcodes of Lib/pickletools.py that make plain values. */
enum opcode {
	OP_MARK = '(',
	OP_STOP = '.',
	OP_POP = '0',
	OP_POP_MARK = '1',
	OP_DUP = '2',
	OP_BINFLOAT = 'G',
	OP_BININT = 'J',
	OP_BININT1 = 'K',
	OP_BININT2 = 'M',
	OP_NONE = 'N',
	OP_BINBYTES = 'B',
	OP_SHORT_BINBYTES = 'C',
	OP_BINSTRING = 'T',
	OP_SHORT_BINSTRING = 'U',
	OP_BINUNICODE = 'X',
	OP_EMPTY_LIST = ']',
	OP_APPEND = 'a',
	OP_DICT = 'd',
	OP_APPENDS = 'e',
	OP_BINGET = 'h',
	OP_LONG_BINGET = 'j',
	OP_LIST = 'l',
	OP_BINPUT = 'q',
	OP_LONG_BINPUT = 'r',
	OP_SETITEM = 's',
	OP_TUPLE = 't',
	OP_EMPTY_TUPLE = ')',
	OP_SETITEMS = 'u',
	OP_EMPTY_DICT = '}',
	OP_PROTO = 0x80,
	OP_TUPLE1 = 0x85,
	OP_TUPLE2 = 0x86,
	OP_TUPLE3 = 0x87,
	OP_NEWTRUE = 0x88,
	OP_NEWFALSE = 0x89,
	OP_LONG1 = 0x8a,
	OP_LONG4 = 0x8b,
	OP_SHORT_BINUNICODE = 0x8c,
	OP_BINUNICODE8 = 0x8d,
	OP_BINBYTES8 = 0x8e,
	OP_MEMOIZE = 0x94,
	OP_FRAME = 0x95,
	/* objects, of symbols that are expected */
	OP_GLOBAL = 'c',
	OP_REDUCE = 'R',
	OP_BUILD = 'b',
	OP_STACK_GLOBAL = 0x93,
};

struct value {
	union {
		gint64 integer;
		gdouble number;
		guint64 offset;	  /* of a text's bytes in the file */
		GArray *elements; /* guint32; of a dictionary key and value in turn; NULL: none */
		const gchar *symbol; /* the caller's */
	};
	guint32 n; /* bytes of a text */
	guint8 type;
};

struct _Pickle {
	GByteArray *bytes;	  /* the file */
	struct row_buffer values; /* struct value */
	guint32 root;
};

/* A file that is being read. */
struct machine {
	Pickle *pickle;
	const gchar *path;
	const gchar *const *symbols; /* that are expected; NULL: none */
	gsize at, begin;	     /* the next byte; of the opcode at work */
	GArray *stack;		     /* guint32 */
	GArray *memo;		     /* guint32: value + 1, 0: none */
	GError *failure;
};

static struct value *value_at(const Pickle *pickle, guint32 value)
{
	return (struct value *)pickle->values.rows + value;
}

static guint n_elements(const struct value *container)
{
	return container->elements ? container->elements->len : 0;
}

/* --- errors --------------------------------------------------------------------------------- */

static gboolean fail(struct machine *machine, TachoImportError code, const gchar *why)
{
	if (!machine->failure)
		g_set_error(&machine->failure, TACHO_IMPORT_ERROR, code,
			    "%s: byte %" G_GSIZE_FORMAT ": %s", machine->path, machine->begin, why);
	return FALSE;
}

static gboolean fail_format(struct machine *machine, const gchar *why)
{
	return fail(machine, TACHO_IMPORT_ERROR_FORMAT, why);
}

static gboolean refuse(struct machine *machine, guint8 opcode)
{
	g_autofree gchar *why = g_strdup_printf(
		"opcode 0x%02x of the pickle is refused: it would make more than plain values%s",
		opcode, strchr("cRbio\x81\x92\x93PQ", opcode) ? ", and may run a program" : "");

	return fail_format(machine, why);
}

/* --- the stack ------------------------------------------------------------------------------ */

/* A new value; NULL: there is no memory. */
static struct value *add_value(struct machine *machine, guint8 type, guint32 *ret_number)
{
	struct value *value = machine->pickle->values.n < G_MAXUINT32 - 1
				      ? row_buffer_add(&machine->pickle->values, sizeof(*value))
				      : NULL;

	if (!value) {
		fail(machine, TACHO_IMPORT_ERROR_MEMORY,
		     "there is not enough memory for the pickle's values");
		return NULL;
	}
	*value = (struct value){ .type = type };
	*ret_number = (guint32)(machine->pickle->values.n - 1);
	return value;
}

static gboolean push(struct machine *machine, guint32 value)
{
	g_array_append_val(machine->stack, value);
	return TRUE;
}

static gboolean push_integer(struct machine *machine, guint8 type, gint64 integer)
{
	guint32 number;
	struct value *value = add_value(machine, type, &number);

	if (!value)
		return FALSE;
	value->integer = integer;
	return push(machine, number);
}

static gboolean push_container(struct machine *machine, enum pickle_type type)
{
	guint32 number;
	struct value *value = add_value(machine, (guint8)type, &number);

	if (!value)
		return FALSE;
	return push(machine, number);
}

/* The stack's value that is `depth` below the top; false: there is none. */
static gboolean peek(struct machine *machine, guint depth, guint32 *ret_value)
{
	if (machine->stack->len <= depth)
		return fail_format(machine,
				   "the pickle takes more values from its stack than it holds");
	*ret_value = g_array_index(machine->stack, guint32, machine->stack->len - 1 - depth);
	if (value_at(machine->pickle, *ret_value)->type == TYPE_MARK)
		return fail_format(machine, "the pickle uses a mark as a value");
	return TRUE;
}

/* How many values are above the topmost mark. */
static gboolean count_to_mark(struct machine *machine, guint *ret_n)
{
	for (guint i = machine->stack->len; i-- > 0;) {
		guint32 value = g_array_index(machine->stack, guint32, i);

		if (value_at(machine->pickle, value)->type != TYPE_MARK)
			continue;
		*ret_n = machine->stack->len - 1 - i;
		return TRUE;
	}
	return fail_format(machine, "the pickle needs a mark that it does not have");
}

static void drop(struct machine *machine, guint n)
{
	g_array_set_size(machine->stack, machine->stack->len - n);
}

static void append(struct value *container, const guint32 *values, guint n)
{
	if (!container->elements)
		container->elements = g_array_new(FALSE, FALSE, sizeof(guint32));
	g_array_append_vals(container->elements, values, n);
}

/* Put the stack's topmost `n` into the container that is `below` of them, and drop those and what is
 * between. */
static gboolean fill(struct machine *machine, guint n, guint below, enum pickle_type type)
{
	struct value *container;
	guint32 number;

	if (!peek(machine, n + below, &number))
		return FALSE;
	container = value_at(machine->pickle, number);
	if (container->type != type)
		return fail_format(machine,
				   "the pickle adds values to something that is not a container");
	if (type == PICKLE_DICTIONARY && n % 2)
		return fail_format(machine, "a key of the pickle has no value");
	if (n)
		append(container, &g_array_index(machine->stack, guint32, machine->stack->len - n),
		       n);
	drop(machine, n + below);
	return TRUE;
}

/* The stack's topmost `n` become one container; with a mark below them, that goes, too. */
static gboolean gather(struct machine *machine, guint n, gboolean has_mark, enum pickle_type type)
{
	struct value *container;
	guint32 number, last;

	if (n && !peek(machine, n - 1, &last))
		return FALSE;
	if (type == PICKLE_DICTIONARY && n % 2)
		return fail_format(machine, "a key of the pickle has no value");
	container = add_value(machine, (guint8)type, &number);
	if (!container)
		return FALSE;
	if (n)
		append(container, &g_array_index(machine->stack, guint32, machine->stack->len - n),
		       n);
	drop(machine, n + has_mark);
	return push(machine, number);
}

/* --- operands ------------------------------------------------------------------------------- */

static const guint8 *take(struct machine *machine, guint64 n)
{
	const guint8 *bytes;

	if (n > machine->pickle->bytes->len - machine->at) {
		fail(machine, TACHO_IMPORT_ERROR_TRUNCATED, "the pickle ends inside this opcode");
		return NULL;
	}
	bytes = machine->pickle->bytes->data + machine->at;
	machine->at += (gsize)n;
	return bytes;
}

/* A little-endian number of `n` bytes, at most 8. */
static gboolean take_unsigned(struct machine *machine, guint n, guint64 *ret_value)
{
	const guint8 *bytes = take(machine, n);

	if (!bytes)
		return FALSE;
	*ret_value = 0;
	for (guint i = 0; i < n; i++)
		*ret_value |= (guint64)bytes[i] << (8 * i);
	return TRUE;
}

static gboolean push_text(struct machine *machine, guint length_bytes)
{
	struct value *value;
	guint32 number;
	guint64 n;

	if (!take_unsigned(machine, length_bytes, &n))
		return FALSE;
	value = add_value(machine, PICKLE_TEXT, &number);
	if (!value)
		return FALSE;
	value->offset = machine->at;
	if (!take(machine, n))
		return FALSE;
	value->n = (guint32)n;
	return push(machine, number);
}

/* A number in two's complement, of any length. */
static gboolean push_long(struct machine *machine, guint length_bytes)
{
	const guint8 *bytes;
	gboolean is_negative;
	guint64 n, value = 0;

	if (!take_unsigned(machine, length_bytes, &n))
		return FALSE;
	bytes = take(machine, n);
	if (!bytes)
		return FALSE;
	is_negative = n && bytes[n - 1] & 0x80;
	for (guint64 i = 0; i < 8; i++)
		value |= (guint64)(i < n ? bytes[i] : is_negative ? 0xff : 0) << (8 * i);
	for (guint64 i = 8; i < n; i++)
		if (bytes[i] != (is_negative ? 0xff : 0))
			return push_integer(machine, PICKLE_INTEGER,
					    is_negative ? G_MININT64 : G_MAXINT64);
	if (n >= 8 && (gint64)value < 0 && !is_negative)
		value = G_MAXINT64;
	return push_integer(machine, PICKLE_INTEGER, (gint64)value);
}

static gboolean push_float(struct machine *machine)
{
	const guint8 *bytes = take(machine, 8);
	struct value *value;
	guint64 bits = 0;
	guint32 number;

	if (!bytes)
		return FALSE;
	for (guint i = 0; i < 8; i++) /* big-endian */
		bits = bits << 8 | bytes[i];
	value = add_value(machine, PICKLE_FLOAT, &number);
	if (!value)
		return FALSE;
	memcpy(&value->number, &bits, sizeof(bits));
	return push(machine, number);
}

static gboolean push_number(struct machine *machine, guint n, gboolean is_signed)
{
	guint64 value;

	return take_unsigned(machine, n, &value) &&
	       push_integer(machine, PICKLE_INTEGER,
			    is_signed ? (gint32)(guint32)value : (gint64)value);
}

/* --- the memo ------------------------------------------------------------------------------- */

static gboolean memoize(struct machine *machine, guint64 index)
{
	guint32 value;

	if (!peek(machine, 0, &value))
		return FALSE;
	if (index > machine->pickle->bytes->len)
		return fail_format(machine, "the pickle remembers more values than it can have");
	if (index >= machine->memo->len)
		g_array_set_size(machine->memo, (guint)index + 1);
	g_array_index(machine->memo, guint32, index) = value + 1;
	return TRUE;
}

static gboolean put(struct machine *machine, guint n)
{
	guint64 index;

	return take_unsigned(machine, n, &index) && memoize(machine, index);
}

static gboolean get(struct machine *machine, guint n)
{
	guint64 index;

	if (!take_unsigned(machine, n, &index))
		return FALSE;
	if (index >= machine->memo->len || !g_array_index(machine->memo, guint32, index))
		return fail_format(machine, "the pickle asks for a value that it never remembered");
	return push(machine, g_array_index(machine->memo, guint32, index) - 1);
}

/* --- objects of expected symbols -------------------------------------------------------------- */

static gboolean push_symbol(struct machine *machine, guint8 opcode, const gchar *module,
			    gsize n_module, const gchar *name, gsize n_name)
{
	for (guint i = 0; machine->symbols[i]; i++) {
		const gchar *symbol = machine->symbols[i];
		struct value *value;
		guint32 number;

		if (strlen(symbol) != n_module + 1 + n_name ||
		    memcmp(symbol, module, n_module) != 0 || symbol[n_module] != ' ' ||
		    memcmp(symbol + n_module + 1, name, n_name) != 0)
			continue;
		value = add_value(machine, PICKLE_SYMBOL, &number);
		if (!value)
			return FALSE;
		value->symbol = symbol;
		value->n = (guint32)strlen(symbol);
		return push(machine, number);
	}
	return refuse(machine, opcode);
}

/* A line of the pickle, without its end. */
static const gchar *take_line(struct machine *machine, gsize *ret_n)
{
	gsize n_left = machine->pickle->bytes->len - machine->at;
	const guint8 *begin = machine->pickle->bytes->data + machine->at;
	const guint8 *end = n_left ? memchr(begin, '\n', n_left) : NULL;

	if (!end) {
		fail(machine, TACHO_IMPORT_ERROR_TRUNCATED, "the pickle ends inside this opcode");
		return NULL;
	}
	*ret_n = (gsize)(end - begin);
	machine->at += *ret_n + 1;
	return (const gchar *)begin;
}

static gboolean run_global(struct machine *machine)
{
	gsize n_module, n_name;
	const gchar *module = take_line(machine, &n_module);
	const gchar *name = module ? take_line(machine, &n_name) : NULL;

	return name && push_symbol(machine, OP_GLOBAL, module, n_module, name, n_name);
}

static gboolean run_stack_global(struct machine *machine)
{
	const gchar *module, *name;
	gsize n_module, n_name;
	guint32 last, before;

	if (!peek(machine, 0, &last) || !peek(machine, 1, &before))
		return FALSE;
	module = pickle_text(machine->pickle, before, &n_module);
	name = pickle_text(machine->pickle, last, &n_name);
	if (!module || !name)
		return refuse(machine, OP_STACK_GLOBAL);
	drop(machine, 2);
	return push_symbol(machine, OP_STACK_GLOBAL, module, n_module, name, n_name);
}

/* The symbol and its arguments become a call. */
static gboolean run_reduce(struct machine *machine)
{
	guint32 arguments, symbol;

	if (!peek(machine, 0, &arguments) || !peek(machine, 1, &symbol))
		return FALSE;
	if (value_at(machine->pickle, symbol)->type != PICKLE_SYMBOL ||
	    value_at(machine->pickle, arguments)->type != PICKLE_LIST)
		return refuse(machine, OP_REDUCE);
	return gather(machine, 2, FALSE, PICKLE_CALL);
}

/* What is set of a call's result becomes its third part, once. */
static gboolean run_build(struct machine *machine)
{
	guint32 state, call;

	if (!peek(machine, 0, &state) || !peek(machine, 1, &call))
		return FALSE;
	if (value_at(machine->pickle, call)->type != PICKLE_CALL ||
	    n_elements(value_at(machine->pickle, call)) != 2)
		return refuse(machine, OP_BUILD);
	append(value_at(machine->pickle, call), &state, 1);
	drop(machine, 1);
	return TRUE;
}

static gboolean run_object(struct machine *machine, guint8 opcode)
{
	if (!machine->symbols)
		return refuse(machine, opcode);
	switch (opcode) {
	case OP_GLOBAL:
		return run_global(machine);
	case OP_STACK_GLOBAL:
		return run_stack_global(machine);
	case OP_REDUCE:
		return run_reduce(machine);
	default:
		return run_build(machine);
	}
}

/* --- opcodes -------------------------------------------------------------------------------- */

static gboolean run_marked(struct machine *machine, guint8 opcode)
{
	guint n;

	if (!count_to_mark(machine, &n))
		return FALSE;
	switch (opcode) {
	case OP_APPENDS:
		return fill(machine, n, 1, PICKLE_LIST);
	case OP_SETITEMS:
		return fill(machine, n, 1, PICKLE_DICTIONARY);
	case OP_DICT:
		return gather(machine, n, TRUE, PICKLE_DICTIONARY);
	case OP_POP_MARK:
		drop(machine, n + 1);
		return TRUE;
	default:
		return gather(machine, n, TRUE, PICKLE_LIST);
	}
}

static gboolean run_stack(struct machine *machine, guint8 opcode)
{
	guint32 value;

	switch (opcode) {
	case OP_POP:
		if (!machine->stack->len)
			return fail_format(
				machine,
				"the pickle takes more values from its stack than it holds");
		drop(machine, 1);
		return TRUE;
	case OP_DUP:
		return peek(machine, 0, &value) && push(machine, value);
	case OP_APPEND:
		return peek(machine, 0, &value) && fill(machine, 1, 0, PICKLE_LIST);
	case OP_SETITEM:
		return peek(machine, 1, &value) && fill(machine, 2, 0, PICKLE_DICTIONARY);
	case OP_MEMOIZE:
		return memoize(machine, machine->memo->len);
	case OP_TUPLE1:
	case OP_TUPLE2:
	case OP_TUPLE3:
		return gather(machine, opcode - OP_TUPLE1 + 1u, FALSE, PICKLE_LIST);
	default:
		return refuse(machine, opcode);
	}
}

static gboolean run(struct machine *machine, guint8 opcode)
{
	switch (opcode) {
	case OP_PROTO:
		return take(machine, 1) != NULL;
	case OP_FRAME:
		return take(machine, 8) != NULL;
	case OP_MARK:
		return push_integer(machine, TYPE_MARK, 0);
	case OP_NONE:
		return push_integer(machine, PICKLE_NONE, 0);
	case OP_NEWTRUE:
	case OP_NEWFALSE:
		return push_integer(machine, PICKLE_BOOLEAN, opcode == OP_NEWTRUE);
	case OP_BININT:
		return push_number(machine, 4, TRUE);
	case OP_BININT1:
		return push_number(machine, 1, FALSE);
	case OP_BININT2:
		return push_number(machine, 2, FALSE);
	case OP_LONG1:
		return push_long(machine, 1);
	case OP_LONG4:
		return push_long(machine, 4);
	case OP_BINFLOAT:
		return push_float(machine);
	case OP_SHORT_BINUNICODE:
	case OP_SHORT_BINBYTES:
	case OP_SHORT_BINSTRING:
		return push_text(machine, 1);
	case OP_BINUNICODE:
	case OP_BINBYTES:
	case OP_BINSTRING:
		return push_text(machine, 4);
	case OP_BINUNICODE8:
	case OP_BINBYTES8:
		return push_text(machine, 8);
	case OP_EMPTY_LIST:
	case OP_EMPTY_TUPLE:
		return push_container(machine, PICKLE_LIST);
	case OP_EMPTY_DICT:
		return push_container(machine, PICKLE_DICTIONARY);
	case OP_BINGET:
		return get(machine, 1);
	case OP_LONG_BINGET:
		return get(machine, 4);
	case OP_BINPUT:
		return put(machine, 1);
	case OP_LONG_BINPUT:
		return put(machine, 4);
	case OP_LIST:
	case OP_TUPLE:
	case OP_DICT:
	case OP_APPENDS:
	case OP_SETITEMS:
	case OP_POP_MARK:
		return run_marked(machine, opcode);
	case OP_GLOBAL:
	case OP_STACK_GLOBAL:
	case OP_REDUCE:
	case OP_BUILD:
		return run_object(machine, opcode);
	default:
		return run_stack(machine, opcode);
	}
}

static gboolean run_all(struct machine *machine)
{
	for (;;) {
		const guint8 *opcode;

		machine->begin = machine->at;
		opcode = take(machine, 1);
		if (!opcode)
			return FALSE;
		if (*opcode == OP_STOP)
			return peek(machine, 0, &machine->pickle->root);
		if (!run(machine, *opcode))
			return FALSE;
	}
}

/* --- files ---------------------------------------------------------------------------------- */

static gboolean read_bytes(Pickle *pickle, const gchar *path, GError **error)
{
	g_autoptr(ByteStream) stream = byte_stream_open(path, error);
	g_autofree guint8 *buffer = g_malloc(READ_BYTES);
	gssize n = 0;

	while (stream && (n = byte_stream_read(stream, buffer, READ_BYTES, error)) > 0) {
		if (pickle->bytes->len > MAX_FILE_BYTES - READ_BYTES) {
			g_set_error(error, TACHO_IMPORT_ERROR, TACHO_IMPORT_ERROR_MEMORY,
				    "%s: tacho does not read pickles of more than 1 GiB", path);
			return FALSE;
		}
		g_byte_array_append(pickle->bytes, buffer, (guint)n);
	}
	return stream && n == 0;
}

/* Run what was read; takes the pickle. */
static Pickle *read_values(Pickle *taken, const gchar *path, const gchar *const *symbols,
			   GError **error)
{
	g_autoptr(Pickle) pickle = taken;
	struct machine machine = { .pickle = pickle, .path = path, .symbols = symbols };
	gboolean is_read;

	machine.stack = g_array_new(FALSE, FALSE, sizeof(guint32));
	machine.memo = g_array_new(FALSE, TRUE, sizeof(guint32));
	is_read = run_all(&machine);
	g_array_unref(machine.stack);
	g_array_unref(machine.memo);
	if (is_read)
		return g_steal_pointer(&pickle);
	g_propagate_error(error, machine.failure);
	return NULL;
}

static Pickle *pickle_new(void)
{
	Pickle *pickle = g_new0(Pickle, 1);

	pickle->bytes = g_byte_array_new();
	return pickle;
}

Pickle *pickle_open(const gchar *path, GError **error)
{
	g_autoptr(Pickle) pickle = pickle_new();

	if (!read_bytes(pickle, path, error))
		return NULL;
	return read_values(g_steal_pointer(&pickle), path, NULL, error);
}

Pickle *pickle_parse(const guint8 *bytes, gsize n, const gchar *path, const gchar *const *symbols,
		     GError **error)
{
	Pickle *pickle = pickle_new();

	g_byte_array_append(pickle->bytes, bytes, (guint)MIN(n, (gsize)MAX_FILE_BYTES));
	return read_values(pickle, path, symbols, error);
}

void pickle_close(Pickle *pickle)
{
	if (!pickle)
		return;
	for (gsize i = 0; i < pickle->values.n; i++) {
		struct value *value = value_at(pickle, (guint32)i);

		if ((value->type == PICKLE_LIST || value->type == PICKLE_DICTIONARY ||
		     value->type == PICKLE_CALL) &&
		    value->elements)
			g_array_unref(value->elements);
	}
	row_buffer_release(&pickle->values);
	g_byte_array_unref(pickle->bytes);
	g_free(pickle);
}

/* --- values --------------------------------------------------------------------------------- */

guint32 pickle_root(const Pickle *pickle)
{
	return pickle->root;
}

enum pickle_type pickle_type_of(const Pickle *pickle, guint32 value)
{
	guint8 type = value_at(pickle, value)->type;

	return type == TYPE_MARK ? PICKLE_NONE : (enum pickle_type)type;
}

guint32 pickle_length(const Pickle *pickle, guint32 value)
{
	const struct value *list = value_at(pickle, value);

	return list->type == PICKLE_LIST || list->type == PICKLE_CALL ? n_elements(list) : 0;
}

guint32 pickle_element(const Pickle *pickle, guint32 list, guint32 index)
{
	return g_array_index(value_at(pickle, list)->elements, guint32, index);
}

gboolean pickle_find(const Pickle *pickle, guint32 dictionary, const gchar *key, guint32 *ret_value)
{
	const struct value *found = value_at(pickle, dictionary);
	gsize n_key = strlen(key), n;

	if (found->type != PICKLE_DICTIONARY)
		return FALSE;
	for (guint i = 0; i + 1 < n_elements(found); i += 2) {
		const gchar *text =
			pickle_text(pickle, g_array_index(found->elements, guint32, i), &n);

		if (!text || n != n_key || memcmp(text, key, n) != 0)
			continue;
		*ret_value = g_array_index(found->elements, guint32, i + 1);
		return TRUE;
	}
	return FALSE;
}

guint32 pickle_n_keys(const Pickle *pickle, guint32 value)
{
	const struct value *dictionary = value_at(pickle, value);

	return dictionary->type == PICKLE_DICTIONARY ? n_elements(dictionary) / 2 : 0;
}

void pickle_entry(const Pickle *pickle, guint32 dictionary, guint32 index, guint32 *ret_key,
		  guint32 *ret_value)
{
	const GArray *elements = value_at(pickle, dictionary)->elements;

	*ret_key = g_array_index(elements, guint32, 2 * index);
	*ret_value = g_array_index(elements, guint32, 2 * index + 1);
}

gint64 pickle_integer(const Pickle *pickle, guint32 value, gint64 otherwise)
{
	const struct value *number = value_at(pickle, value);

	if (number->type == PICKLE_INTEGER || number->type == PICKLE_BOOLEAN)
		return number->integer;
	if (number->type == PICKLE_FLOAT && number->number > -9e18 && number->number < 9e18)
		return (gint64)number->number;
	return otherwise;
}

const gchar *pickle_text(const Pickle *pickle, guint32 value, gsize *ret_n)
{
	const struct value *text = value_at(pickle, value);

	if (text->type == PICKLE_SYMBOL) {
		*ret_n = text->n;
		return text->symbol;
	}
	if (text->type != PICKLE_TEXT)
		return NULL;
	*ret_n = text->n;
	return (const gchar *)pickle->bytes->data + text->offset;
}

gint64 pickle_find_integer(const Pickle *pickle, guint32 dictionary, const gchar *key,
			   gint64 otherwise)
{
	guint32 value;

	return pickle_find(pickle, dictionary, key, &value)
		       ? pickle_integer(pickle, value, otherwise)
		       : otherwise;
}

const gchar *pickle_find_text(const Pickle *pickle, guint32 dictionary, const gchar *key,
			      gsize *ret_n)
{
	guint32 value;

	return pickle_find(pickle, dictionary, key, &value) ? pickle_text(pickle, value, ret_n)
							    : NULL;
}

/* --- as JSON -------------------------------------------------------------------------------- */

static void write_value(JsonWriter *writer, const Pickle *pickle, guint32 number, guint depth)
{
	const struct value *value = value_at(pickle, number);

	switch (value->type) {
	case PICKLE_BOOLEAN:
		json_writer_boolean(writer, value->integer != 0);
		break;
	case PICKLE_INTEGER:
		json_writer_integer(writer, value->integer);
		break;
	case PICKLE_FLOAT:
		json_writer_number(writer, value->number);
		break;
	case PICKLE_TEXT:
		json_writer_string_length(
			writer, (const gchar *)pickle->bytes->data + value->offset, value->n);
		break;
	default:
		if (!depth || (value->type != PICKLE_LIST && value->type != PICKLE_DICTIONARY)) {
			json_writer_null(writer);
			break;
		}
		if (value->type == PICKLE_LIST)
			json_writer_begin_array(writer);
		else
			json_writer_begin_object(writer);
		for (guint i = 0; i < n_elements(value); i++) {
			guint32 element = g_array_index(value->elements, guint32, i);
			gsize n = 0;
			const gchar *text = pickle_text(pickle, element, &n);

			if (value->type == PICKLE_LIST || i % 2) {
				write_value(writer, pickle, element, depth - 1);
			} else {
				g_autofree gchar *key =
					text ? g_strndup(text, n)
					     : g_strdup_printf("%" G_GINT64_FORMAT,
							       pickle_integer(pickle, element, 0));

				json_writer_key(writer, key);
			}
		}
		if (value->type == PICKLE_LIST)
			json_writer_end_array(writer);
		else
			json_writer_end_object(writer);
	}
}

gchar *pickle_to_json(const Pickle *pickle, guint32 value, guint max_depth)
{
	struct json_memory memory;
	JsonWriter *writer = json_memory_begin(&memory);

	if (!writer)
		return NULL;
	write_value(writer, pickle, value, max_depth);
	return json_memory_take(&memory, writer);
}
