/* ctf_field_json: a value of libbabeltrace2 as JSON: arrays, structures, variants, options and what is in them. */
#ifndef TACHO_CTF_FIELD_JSON_H
#define TACHO_CTF_FIELD_JSON_H

#include <babeltrace2/babeltrace.h>
#include <glib.h>

/* What is nested too deeply, or makes more text than a record may have, is null. */
void ctf_field_append_json(GString *json, const bt_field *field);

#endif
