#include "import/ctf/ctf_field_json.h"

#include "base/json_append.h"
#include "import/ctf/ctf_records.h"

enum { MAX_NESTING = 32 };

static void append_value(GString *json, const bt_field *field, guint depth);

static void append_structure(GString *json, const bt_field *field, guint depth)
{
	const bt_field_class *class = bt_field_borrow_class_const(field);
	guint64 n = bt_field_class_structure_get_member_count(class);

	g_string_append_c(json, '{');
	for (guint64 i = 0; i < n; i++) {
		const bt_field_class_structure_member *member =
			bt_field_class_structure_borrow_member_by_index_const(class, i);

		json_append_key(json, bt_field_class_structure_member_get_name(member));
		append_value(json, bt_field_structure_borrow_member_field_by_index_const(field, i),
			     depth + 1);
	}
	g_string_append_c(json, '}');
}

static void append_array(GString *json, const bt_field *field, guint depth)
{
	guint64 n = bt_field_array_get_length(field);

	g_string_append_c(json, '[');
	for (guint64 i = 0; i < n && json->len < CTF_MAX_RECORD_BYTES; i++) {
		if (i)
			g_string_append_c(json, ',');
		append_value(json, bt_field_array_borrow_element_field_by_index_const(field, i),
			     depth + 1);
	}
	g_string_append_c(json, ']');
}

static void append_option(GString *json, const bt_field *field, guint depth)
{
	const bt_field *inner = bt_field_option_borrow_field_const(field);

	if (inner)
		append_value(json, inner, depth + 1);
	else
		g_string_append(json, "null");
}

static void append_scalar(GString *json, const bt_field *field, bt_field_class_type type)
{
	if (type == BT_FIELD_CLASS_TYPE_BOOL)
		g_string_append(json, bt_field_bool_get_value(field) ? "true" : "false");
	else if (type == BT_FIELD_CLASS_TYPE_BIT_ARRAY)
		g_string_append_printf(json, "%" G_GUINT64_FORMAT,
				       bt_field_bit_array_get_value_as_integer(field));
	else if (bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_UNSIGNED_INTEGER))
		g_string_append_printf(json, "%" G_GUINT64_FORMAT,
				       bt_field_integer_unsigned_get_value(field));
	else if (bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_SIGNED_INTEGER))
		g_string_append_printf(json, "%" G_GINT64_FORMAT,
				       bt_field_integer_signed_get_value(field));
	else if (type == BT_FIELD_CLASS_TYPE_SINGLE_PRECISION_REAL)
		json_append_number(json, bt_field_real_single_precision_get_value(field));
	else if (type == BT_FIELD_CLASS_TYPE_DOUBLE_PRECISION_REAL)
		json_append_number(json, bt_field_real_double_precision_get_value(field));
	else if (type == BT_FIELD_CLASS_TYPE_STRING)
		json_append_string(json, bt_field_string_get_value(field),
				   bt_field_string_get_length(field));
	else
		g_string_append(json, "null");
}

static void append_value(GString *json, const bt_field *field, guint depth)
{
	bt_field_class_type type = bt_field_get_class_type(field);

	if (depth > MAX_NESTING || json->len > CTF_MAX_RECORD_BYTES)
		g_string_append(json, "null");
	else if (bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_STRUCTURE))
		append_structure(json, field, depth);
	else if (bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_ARRAY))
		append_array(json, field, depth);
	else if (bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_OPTION))
		append_option(json, field, depth);
	else if (bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_VARIANT))
		append_value(json, bt_field_variant_borrow_selected_option_field_const(field),
			     depth + 1);
	else
		append_scalar(json, field, type);
}

void ctf_field_append_json(GString *json, const bt_field *field)
{
	append_value(json, field, 0);
}
