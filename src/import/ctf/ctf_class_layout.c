#include "import/ctf/ctf_class_layout.h"

#include <string.h>

enum { MAX_LABELS = 4096 }; /* of an enumeration */

static enum ctf_fetch how_to_fetch(bt_field_class_type type)
{
	if (type == BT_FIELD_CLASS_TYPE_BOOL)
		return CTF_FETCH_BOOLEAN;
	if (type == BT_FIELD_CLASS_TYPE_BIT_ARRAY)
		return CTF_FETCH_BITS;
	if (bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_UNSIGNED_INTEGER))
		return CTF_FETCH_UNSIGNED;
	if (bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_SIGNED_INTEGER))
		return CTF_FETCH_SIGNED;
	if (type == BT_FIELD_CLASS_TYPE_SINGLE_PRECISION_REAL)
		return CTF_FETCH_SINGLE;
	if (type == BT_FIELD_CLASS_TYPE_DOUBLE_PRECISION_REAL)
		return CTF_FETCH_DOUBLE;
	if (type == BT_FIELD_CLASS_TYPE_STRING)
		return CTF_FETCH_TEXT;
	return CTF_FETCH_JSON;
}

static enum ctf_field_type type_of(enum ctf_fetch fetch)
{
	static const guint8 types[] = {
		[CTF_FETCH_UNSIGNED] = CTF_FIELD_UNSIGNED, [CTF_FETCH_BITS] = CTF_FIELD_UNSIGNED,
		[CTF_FETCH_SIGNED] = CTF_FIELD_SIGNED,	   [CTF_FETCH_SINGLE] = CTF_FIELD_REAL,
		[CTF_FETCH_DOUBLE] = CTF_FIELD_REAL,	   [CTF_FETCH_BOOLEAN] = CTF_FIELD_BOOLEAN,
		[CTF_FETCH_TEXT] = CTF_FIELD_TEXT,	   [CTF_FETCH_JSON] = CTF_FIELD_JSON,
	};

	return types[fetch];
}

/* --- labels of enumerations ----------------------------------------------------------------- */

static void add_label(struct ctf_record_writer *writer, guint64 low, guint64 high,
		      const bt_field_class_enumeration_mapping *mapping)
{
	struct ctf_label_record *label = ctf_record_add(writer, sizeof(*label));

	label->low = low;
	label->high = high;
	ctf_record_add_string(writer, bt_field_class_enumeration_mapping_get_label(mapping));
}

static guint32 add_unsigned_labels(struct ctf_record_writer *writer, const bt_field_class *class)
{
	guint64 n = MIN(bt_field_class_enumeration_get_mapping_count(class), MAX_LABELS);
	guint32 n_labels = 0;

	for (guint64 i = 0; i < n; i++) {
		const bt_field_class_enumeration_unsigned_mapping *mapping =
			bt_field_class_enumeration_unsigned_borrow_mapping_by_index_const(class, i);
		const bt_integer_range_set_unsigned *ranges =
			bt_field_class_enumeration_unsigned_mapping_borrow_ranges_const(mapping);
		guint64 n_ranges = bt_integer_range_set_get_range_count(
			bt_integer_range_set_unsigned_as_range_set_const(ranges));

		for (guint64 k = 0; k < n_ranges && n_labels < MAX_LABELS; k++, n_labels++) {
			const bt_integer_range_unsigned *range =
				bt_integer_range_set_unsigned_borrow_range_by_index_const(ranges,
											  k);

			add_label(writer, bt_integer_range_unsigned_get_lower(range),
				  bt_integer_range_unsigned_get_upper(range),
				  bt_field_class_enumeration_unsigned_mapping_as_mapping_const(
					  mapping));
		}
	}
	return n_labels;
}

static guint32 add_signed_labels(struct ctf_record_writer *writer, const bt_field_class *class)
{
	guint64 n = MIN(bt_field_class_enumeration_get_mapping_count(class), MAX_LABELS);
	guint32 n_labels = 0;

	for (guint64 i = 0; i < n; i++) {
		const bt_field_class_enumeration_signed_mapping *mapping =
			bt_field_class_enumeration_signed_borrow_mapping_by_index_const(class, i);
		const bt_integer_range_set_signed *ranges =
			bt_field_class_enumeration_signed_mapping_borrow_ranges_const(mapping);
		guint64 n_ranges = bt_integer_range_set_get_range_count(
			bt_integer_range_set_signed_as_range_set_const(ranges));

		for (guint64 k = 0; k < n_ranges && n_labels < MAX_LABELS; k++, n_labels++) {
			const bt_integer_range_signed *range =
				bt_integer_range_set_signed_borrow_range_by_index_const(ranges, k);

			add_label(writer, (guint64)bt_integer_range_signed_get_lower(range),
				  (guint64)bt_integer_range_signed_get_upper(range),
				  bt_field_class_enumeration_signed_mapping_as_mapping_const(
					  mapping));
		}
	}
	return n_labels;
}

/* --- fields --------------------------------------------------------------------------------- */

static guint8 field_flags(const bt_field_class *class, bt_field_class_type type)
{
	guint8 flags = 0;

	if (bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_ENUMERATION))
		flags |= CTF_FIELD_IS_ENUM;
	if (bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_INTEGER) &&
	    bt_field_class_integer_get_preferred_display_base(class) ==
		    BT_FIELD_CLASS_INTEGER_PREFERRED_DISPLAY_BASE_HEXADECIMAL)
		flags |= CTF_FIELD_IS_HEX;
	return flags;
}

static void add_field(struct ctf_record_writer *writer, enum ctf_field_scope scope,
		      const gchar *name, const bt_field_class *class)
{
	gsize offset = writer->n_bytes;
	bt_field_class_type type = bt_field_class_get_type(class);
	struct ctf_field_record *field = ctf_record_add(writer, sizeof(*field));
	guint32 n_labels = 0;

	field->type = (guint8)type_of(how_to_fetch(type));
	field->scope = (guint8)scope;
	field->flags = field_flags(class, type);
	ctf_record_add_string(writer, name);
	if (type == BT_FIELD_CLASS_TYPE_UNSIGNED_ENUMERATION)
		n_labels = add_unsigned_labels(writer, class);
	else if (type == BT_FIELD_CLASS_TYPE_SIGNED_ENUMERATION)
		n_labels = add_signed_labels(writer, class);
	field = ctf_record_at(writer, offset);
	field->n_labels = n_labels;
}

/* The members of one scope; NULL: the class does not have it. */
static void add_scope(struct ctf_record_writer *writer, struct ctf_class_layout *layout,
		      enum ctf_field_scope scope, const bt_field_class *structure)
{
	guint64 n = structure ? bt_field_class_structure_get_member_count(structure) : 0;

	n = MIN(n, CTF_MAX_FIELDS - layout->n_fields);
	layout->n_members[scope] = (guint32)n;
	layout->fetch = g_realloc(layout->fetch, layout->n_fields + n + 1);
	for (guint64 i = 0; i < n; i++) {
		const bt_field_class_structure_member *member =
			bt_field_class_structure_borrow_member_by_index_const(structure, i);
		const bt_field_class *class =
			bt_field_class_structure_member_borrow_field_class_const(member);
		const gchar *name = bt_field_class_structure_member_get_name(member);
		enum ctf_fetch fetch = how_to_fetch(bt_field_class_get_type(class));

		layout->fetch[layout->n_fields++] = (guint8)fetch;
		add_field(writer, scope, name, class);
		if (scope == CTF_SCOPE_PACKET && strcmp(name, "cpu_id") == 0 &&
		    fetch == CTF_FETCH_UNSIGNED)
			layout->cpu_member = (gint32)i;
	}
}

/* --- classes -------------------------------------------------------------------------------- */

static void free_layout(gpointer data)
{
	struct ctf_class_layout *layout = data;

	g_free(layout->fetch);
	g_free(layout);
}

void ctf_class_layouts_init(struct ctf_class_layouts *layouts, struct ctf_record_writer *writer)
{
	*layouts = (struct ctf_class_layouts){ .writer = writer };
	layouts->known = g_hash_table_new_full(NULL, NULL, NULL, free_layout);
}

void ctf_class_layouts_release(struct ctf_class_layouts *layouts)
{
	g_hash_table_unref(layouts->known);
}

static struct ctf_class_layout *begin_layout(struct ctf_class_layouts *layouts, const void *key,
					     const gchar *name, gsize *ret_record)
{
	struct ctf_class_layout *layout = g_new0(struct ctf_class_layout, 1);

	layout->number = g_hash_table_size(layouts->known);
	layout->cpu_member = -1;
	g_hash_table_insert(layouts->known, (gpointer)key, layout);
	*ret_record = ctf_record_begin(layouts->writer, CTF_RECORD_CLASS,
				       sizeof(struct ctf_class_record));
	ctf_record_add_string(layouts->writer, name);
	return layout;
}

static void end_layout(struct ctf_class_layouts *layouts, const struct ctf_class_layout *layout,
		       gsize offset, gboolean is_packet)
{
	struct ctf_class_record *record = ctf_record_at(layouts->writer, offset);

	record->n_fields = layout->n_fields;
	record->is_packet = (guint32)is_packet;
	ctf_record_end(layouts->writer, offset);
}

static const struct ctf_class_layout *find_event_layout(struct ctf_class_layouts *layouts,
							const bt_event_class *class)
{
	struct ctf_class_layout *layout = g_hash_table_lookup(layouts->known, class);
	struct ctf_record_writer *writer = layouts->writer;
	const bt_stream_class *stream_class;
	const gchar *name;
	gsize record;

	if (layout)
		return layout;
	stream_class = bt_event_class_borrow_stream_class_const(class);
	name = bt_event_class_get_name(class);
	layout = begin_layout(layouts, class, name ? name : "", &record);
	add_scope(writer, layout, CTF_SCOPE_COMMON,
		  bt_stream_class_borrow_event_common_context_field_class_const(stream_class));
	add_scope(writer, layout, CTF_SCOPE_SPECIFIC,
		  bt_event_class_borrow_specific_context_field_class_const(class));
	add_scope(writer, layout, CTF_SCOPE_PAYLOAD,
		  bt_event_class_borrow_payload_field_class_const(class));
	end_layout(layouts, layout, record, FALSE);
	return layout;
}

const struct ctf_class_layout *ctf_event_layout(struct ctf_class_layouts *layouts,
						const bt_event_class *class)
{
	guint slot = (guint)(GPOINTER_TO_SIZE(class) >> 5) % CTF_N_RECENT_LAYOUTS;

	if (layouts->recent[slot].class != class) {
		layouts->recent[slot].layout = find_event_layout(layouts, class);
		layouts->recent[slot].class = class;
	}
	return layouts->recent[slot].layout;
}

const struct ctf_class_layout *ctf_packet_layout(struct ctf_class_layouts *layouts,
						 const bt_stream_class *class)
{
	struct ctf_class_layout *layout = g_hash_table_lookup(layouts->known, class);
	gsize record;

	if (layout)
		return layout;
	layout = begin_layout(layouts, class, "", &record);
	add_scope(layouts->writer, layout, CTF_SCOPE_PACKET,
		  bt_stream_class_borrow_packet_context_field_class_const(class));
	end_layout(layouts, layout, record, TRUE);
	return layout;
}
