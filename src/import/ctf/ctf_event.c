#include "import/ctf/ctf_event.h"

#include <math.h>

gint ctf_class_field(const struct ctf_class *class, const gchar *name)
{
	for (guint32 i = class->n_fields; i-- > 0;) /* the payload comes last */
		if (strcmp(class->fields[i].name, name) == 0)
			return (gint)i;
	return -1;
}

gint ctf_class_context(const struct ctf_class *class, const gchar *name)
{
	for (guint32 i = 0; i < class->n_fields; i++)
		if (class->fields[i].scope < CTF_SCOPE_PAYLOAD &&
		    strcmp(class->fields[i].name, name) == 0)
			return (gint)i;
	return -1;
}

gdouble ctf_real_of(guint64 bits)
{
	gdouble value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

gboolean ctf_event_number(const struct ctf_event *event, gint field, gdouble *ret_value)
{

	if (field < 0)
		return FALSE;
	switch (event->class->fields[field].type) {
	case CTF_FIELD_SIGNED:
		*ret_value = (gdouble)(gint64)ctf_event_slot(event, field);
		return TRUE;
	case CTF_FIELD_UNSIGNED:
	case CTF_FIELD_BOOLEAN:
		*ret_value = (gdouble)ctf_event_slot(event, field);
		return TRUE;
	case CTF_FIELD_REAL:
		*ret_value = ctf_real_of(ctf_event_slot(event, field));
		return isfinite(*ret_value);
	default:
		return FALSE;
	}
}

const gchar *ctf_text_at(const guint8 *record, guint32 n_bytes, guint64 slot, gsize *ret_n)
{
	guint64 offset = slot & G_MAXUINT32, n = slot >> 32;

	if (offset + n >= n_bytes || record[offset + n] != '\0')
		return NULL;
	*ret_n = n;
	return (const gchar *)record + offset;
}

const gchar *ctf_event_text(const struct ctf_event *event, gint field, gsize *ret_n)
{
	if (field < 0 || event->class->fields[field].type != CTF_FIELD_TEXT)
		return NULL;
	return ctf_text_at(event->bytes, event->n_bytes, ctf_event_slot(event, field), ret_n);
}
