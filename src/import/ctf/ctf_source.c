#include "import/ctf/ctf_source.h"

#include "import/ctf/ctf_records.h"

const bt_component_source *ctf_source_add(bt_graph *graph, const gchar *folder, gboolean is_telling)
{
	const bt_plugin *plugin = NULL;
	const bt_component_class_source *class;
	const bt_component_source *source = NULL;
	bt_value *params, *inputs;
	bt_logging_level level = is_telling ? BT_LOGGING_LEVEL_WARNING : BT_LOGGING_LEVEL_NONE;

	/* not from the user's own folder: a trace is data, and shall not load code from there */
	if (bt_plugin_find("ctf", BT_TRUE, BT_FALSE, BT_TRUE, BT_TRUE, BT_FALSE, &plugin) !=
	    BT_PLUGIN_FIND_STATUS_OK)
		return NULL;
	class = bt_plugin_borrow_source_component_class_by_name_const(plugin, "fs");
	params = bt_value_map_create();
	if (!class || !params ||
	    bt_value_map_insert_empty_array_entry(params, "inputs", &inputs) !=
		    BT_VALUE_MAP_INSERT_ENTRY_STATUS_OK ||
	    bt_value_array_append_string_element(inputs, folder) !=
		    BT_VALUE_ARRAY_APPEND_ELEMENT_STATUS_OK ||
	    bt_graph_add_source_component(graph, class, "source", params, level, &source) !=
		    BT_GRAPH_ADD_COMPONENT_STATUS_OK)
		return NULL;
	return source;
}

void ctf_library_version(guint *ret_major, guint *ret_minor)
{
	*ret_major = bt_version_get_major();
	*ret_minor = bt_version_get_minor();
}
