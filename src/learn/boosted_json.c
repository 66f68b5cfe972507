#include "learn/boosted_json.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "base/for_each.h"

#define NO_PARENT G_MAXINT32 /* as XGBoost has it */

/* --- written --------------------------------------------------------------------------------------- */

static const struct tree_node *node_at(const struct boosted_trees *trees, guint32 index)
{
	return &g_array_index(trees->nodes, struct tree_node, index);
}

static void write_text(JsonWriter *json, const gchar *key, const gchar *value)
{
	json_writer_string(json_writer_key(json, key), value);
}

static void write_number_text(JsonWriter *json, const gchar *key, gdouble number)
{
	gchar text[G_ASCII_DTOSTR_BUF_SIZE];

	write_text(json, key, g_ascii_formatd(text, sizeof(text), "%.9g", number));
}

/* Columns that are 0 in all rows: what only training needs. */
static void write_zeros(JsonWriter *json, const gchar *key, guint n)
{
	json_writer_begin_array(json_writer_key(json, key));
	for (guint i = 0; i < n; i++)
		json_writer_integer(json, 0);
	json_writer_end_array(json);
}

/* The same of columns of reals: XGBoost does not take an integer for one. */
static void write_real_zeros(JsonWriter *json, const gchar *key, guint n)
{
	json_writer_begin_array(json_writer_key(json, key));
	for (guint i = 0; i < n; i++)
		json_writer_real(json, 0);
	json_writer_end_array(json);
}

static void write_empty(JsonWriter *json, const gchar *key)
{
	write_zeros(json, key, 0);
}

/* The places of children within their tree; -1: a leaf. */
static void write_children(const struct boosted_trees *trees, guint32 first, guint32 end,
			   gboolean is_left, JsonWriter *json)
{
	json_writer_begin_array(
		json_writer_key(json, is_left ? "left_children" : "right_children"));
	for (guint32 i = first; i < end; i++) {
		const struct tree_node *node = node_at(trees, i);

		json_writer_integer(json, node->left == 0 ? -1
					  : is_left	  ? (gint64)node->left - first
							  : (gint64)node->right - first);
	}
	json_writer_end_array(json);
}

static void write_parents(const struct boosted_trees *trees, guint32 first, guint32 end,
			  JsonWriter *json)
{
	g_autofree gint64 *parents = g_new(gint64, end - first);

	parents[0] = NO_PARENT;
	for (guint32 i = first; i < end; i++)
		if (node_at(trees, i)->left) {
			parents[node_at(trees, i)->left - first] = i - first;
			parents[node_at(trees, i)->right - first] = i - first;
		}
	json_writer_begin_array(json_writer_key(json, "parents"));
	for (guint32 i = 0; i < end - first; i++)
		json_writer_integer(json, parents[i]);
	json_writer_end_array(json);
}

static void write_columns(const struct boosted_trees *trees, guint32 first, guint32 end,
			  JsonWriter *json)
{
	json_writer_begin_array(json_writer_key(json, "base_weights"));
	for (guint32 i = first; i < end; i++)
		json_writer_real(json, node_at(trees, i)->left ? 0 : node_at(trees, i)->limit);
	json_writer_end_array(json);
	json_writer_begin_array(json_writer_key(json, "default_left"));
	for (guint32 i = first; i < end; i++)
		json_writer_integer(json, node_at(trees, i)->is_default_left);
	json_writer_end_array(json);
	json_writer_begin_array(json_writer_key(json, "split_conditions"));
	for (guint32 i = first; i < end; i++)
		json_writer_real(json, node_at(trees, i)->limit);
	json_writer_end_array(json);
	json_writer_begin_array(json_writer_key(json, "split_indices"));
	for (guint32 i = first; i < end; i++)
		json_writer_integer(json, node_at(trees, i)->feature);
	json_writer_end_array(json);
}

static void write_tree(const struct boosted_trees *trees, guint32 number, guint32 first,
		       guint32 end, JsonWriter *json)
{
	json_writer_line(json);
	json_writer_begin_object(json);
	write_empty(json, "categories");
	write_empty(json, "categories_nodes");
	write_empty(json, "categories_segments");
	write_empty(json, "categories_sizes");
	json_writer_integer(json_writer_key(json, "id"), number);
	write_columns(trees, first, end, json);
	write_children(trees, first, end, TRUE, json);
	write_children(trees, first, end, FALSE, json);
	write_parents(trees, first, end, json);
	write_real_zeros(json, "loss_changes", end - first);
	write_zeros(json, "split_type", end - first);
	write_real_zeros(json, "sum_hessian", end - first);
	json_writer_begin_object(json_writer_key(json, "tree_param"));
	write_text(json, "num_deleted", "0");
	write_number_text(json, "num_feature", trees->n_features);
	write_number_text(json, "num_nodes", end - first);
	write_text(json, "size_leaf_vector", "0");
	json_writer_end_object(json);
	json_writer_end_object(json);
}

static void write_model(const struct boosted_trees *trees, JsonWriter *json)
{
	guint n = trees->roots->len;

	json_writer_begin_object(json_writer_key(json, "model"));
	json_writer_begin_object(json_writer_key(json, "gbtree_model_param"));
	write_text(json, "num_parallel_tree", "1");
	write_number_text(json, "num_trees", n);
	write_text(json, "size_leaf_vector", "0");
	json_writer_end_object(json);
	write_zeros(json, "tree_info", n);
	json_writer_begin_array(json_writer_key(json, "trees"));
	for (guint i = 0; i < n; i++)
		write_tree(trees, i, g_array_index(trees->roots, guint32, i),
			   i + 1 < n ? g_array_index(trees->roots, guint32, i + 1)
				     : trees->nodes->len,
			   json);
	json_writer_end_array(json);
	json_writer_end_object(json);
}

void boosted_json_write(const struct boosted_trees *trees, const gchar *const *feature_names,
			JsonWriter *json)
{
	json_writer_begin_object(json);
	json_writer_begin_object(json_writer_key(json, "learner"));
	json_writer_begin_object(json_writer_key(json, "attributes"));
	json_writer_end_object(json);
	json_writer_begin_array(json_writer_key(json, "feature_names"));
	for (guint i = 0; i < trees->n_features; i++)
		json_writer_string(json, feature_names[i]);
	json_writer_end_array(json);
	json_writer_begin_array(json_writer_key(json, "feature_types"));
	for (guint i = 0; i < trees->n_features; i++)
		json_writer_string(json, "float");
	json_writer_end_array(json);
	json_writer_begin_object(json_writer_key(json, "gradient_booster"));
	write_model(trees, json);
	write_text(json, "name", "gbtree");
	json_writer_end_object(json);
	json_writer_begin_object(json_writer_key(json, "learner_model_param"));
	write_number_text(json, "base_score", trees->base);
	write_text(json, "boost_from_average", "0");
	write_text(json, "num_class", "0");
	write_number_text(json, "num_feature", trees->n_features);
	write_text(json, "num_target", "1");
	json_writer_end_object(json);
	json_writer_begin_object(json_writer_key(json, "objective"));
	write_text(json, "name", "reg:squarederror");
	json_writer_begin_object(json_writer_key(json, "reg_loss_param"));
	write_text(json, "scale_pos_weight", "1");
	json_writer_end_object(json);
	json_writer_end_object(json);
	json_writer_end_object(json);
	json_writer_begin_array(json_writer_key(json, "version"));
	json_writer_integer(json, 1);
	json_writer_integer(json, 7);
	json_writer_integer(json, 4);
	json_writer_end_array(json);
	json_writer_end_object(json);
}

/* --- read ------------------------------------------------------------------------------------------ */

enum column { LEFT, RIGHT, FEATURE, LIMIT, DEFAULT_LEFT, SPLIT_TYPE, N_TREE_COLUMNS };

static const gchar *const tree_columns[N_TREE_COLUMNS] = { "left_children", "right_children",
							   "split_indices", "split_conditions",
							   "default_left",  "split_type" };

/* XGBoost writes more than is read here: the value of the next member that is asked for is to be read; others are passed over. -1: the
 * object is over. */
static gint find_key(struct model_reader *reader, const gchar *const *keys)
{
	struct json_text text;

	while (!reader->error && json_member(&reader->scan, &text)) {
		for (gint i = 0; keys[i]; i++)
			if (json_text_is(&text, keys[i], strlen(keys[i])))
				return i;
		json_skip(&reader->scan);
	}
	if (!reader->error && reader->scan.status != JSON_OK)
		model_refuse(reader, "the trees end early, or are no JSON");
	return -1;
}

/* A list of numbers. */
static gboolean read_column(struct model_reader *reader, const gchar *what, GArray *column)
{
	if (!model_enter(reader, '[', what))
		return FALSE;
	g_array_set_size(column, 0);
	while (model_element(reader)) {
		gdouble number;

		if (!model_number(reader, what, -FLT_MAX, FLT_MAX, &number))
			return FALSE;
		if (column->len >= BOOSTED_MAX_NODES)
			return model_refuse(reader, "%s has more than %u numbers", what,
					    BOOSTED_MAX_NODES);
		g_array_append_val(column, number);
	}
	return !reader->error;
}

static gdouble at(GArray *const *columns, enum column column, guint row)
{
	return g_array_index(columns[column], gdouble, row);
}

/* Where the child is among all nodes; 0: it is no place of this tree. */
static guint32 place_of(gdouble child, guint32 first, guint n)
{
	return child >= 1 && child < n && child == floor(child) ? first + (guint32)child : 0;
}

static gboolean add_tree(struct boosted_trees *trees, GArray *const *columns,
			 struct model_reader *reader)
{
	guint n = columns[LEFT]->len;
	guint32 first = trees->nodes->len;

	for (guint column = 0; column < N_TREE_COLUMNS; column++)
		if (columns[column]->len != n && !(column == SPLIT_TYPE && !columns[column]->len))
			return model_refuse(reader, "the columns of a tree differ in length");
	if (n == 0 || n > BOOSTED_MAX_NODES - trees->nodes->len ||
	    trees->roots->len == BOOSTED_MAX_TREES)
		return model_refuse(reader, "a tree is empty, or there are too many");
	g_array_append_val(trees->roots, first);
	for (guint i = 0; i < n; i++) {
		gboolean is_leaf = at(columns, LEFT, i) == -1;
		gdouble feature = at(columns, FEATURE, i);
		struct tree_node node = { .limit = (gfloat)at(columns, LIMIT, i),
					  .is_default_left = at(columns, DEFAULT_LEFT, i) != 0 };

		if (!is_leaf) {
			node.left = place_of(at(columns, LEFT, i), first, n);
			node.right = place_of(at(columns, RIGHT, i), first, n);
			if (!node.left || !node.right || !(feature >= 0) ||
			    !(feature < trees->n_features) ||
			    (columns[SPLIT_TYPE]->len && at(columns, SPLIT_TYPE, i) != 0))
				return model_refuse(reader, "a node of a tree leads nowhere, or "
							    "parts by what is no number");
			node.feature = (guint32)feature;
		}
		g_array_append_val(trees->nodes, node);
	}
	return TRUE;
}

static gboolean read_tree(struct boosted_trees *trees, GArray **columns,
			  struct model_reader *reader)
{
	static const gchar *const keys[] = { "left_children",
					     "right_children",
					     "split_indices",
					     "split_conditions",
					     "default_left",
					     "split_type",
					     NULL };
	gint key;

	for (guint i = 0; i < N_TREE_COLUMNS; i++)
		g_array_set_size(columns[i], 0);
	if (!model_enter(reader, '{', "a tree"))
		return FALSE;
	while ((key = find_key(reader, keys)) >= 0)
		if (!read_column(reader, tree_columns[key], columns[key]))
			return FALSE;
	return !reader->error && add_tree(trees, columns, reader);
}

static gboolean read_trees(struct boosted_trees *trees, struct model_reader *reader)
{
	GArray *columns[N_TREE_COLUMNS];

	if (trees->roots->len > 0)
		return model_refuse(reader, "'trees' stands twice");
	if (!model_enter(reader, '[', "'trees'"))
		return FALSE;
	for (guint i = 0; i < N_TREE_COLUMNS; i++)
		columns[i] = g_array_new(FALSE, FALSE, sizeof(gdouble));
	while (model_element(reader) && read_tree(trees, columns, reader))
		;
	for (guint i = 0; i < N_TREE_COLUMNS; i++)
		g_array_unref(columns[i]);
	return !reader->error;
}

static gboolean read_word(struct model_reader *reader, const gchar *what,
			  const gchar *const *allowed)
{
	g_autofree gchar *word = model_text(reader, what);

	for (guint i = 0; word && allowed[i]; i++)
		if (strcmp(word, allowed[i]) == 0)
			return TRUE;
	return word &&
	       model_refuse(reader, "%s is '%.40s', of which nothing is known here", what, word);
}

/* "5E-1", or since version 3 of XGBoost "[5E-1]". */
static gboolean read_base(struct boosted_trees *trees, struct model_reader *reader)
{
	g_autofree gchar *text = model_text(reader, "'base_score'");
	const gchar *begin = text && *text == '[' ? text + 1 : text;
	gchar *end;
	gdouble number;

	if (!text)
		return FALSE;
	number = g_ascii_strtod(begin, &end);
	if (end == begin || (*end && strcmp(end, "]") != 0) || !(fabs(number) < 1e6))
		return model_refuse(reader, "'base_score' is no number that can be");
	trees->base = (gfloat)number;
	return TRUE;
}

static gboolean read_feature_count(const struct boosted_trees *trees, struct model_reader *reader)
{
	g_autofree gchar *text = model_text(reader, "'num_feature'");

	return text && (g_ascii_strtoull(text, NULL, 10) == trees->n_features ||
			model_refuse(reader, "the trees are of %.20s features, not of %u", text,
				     trees->n_features));
}

/* As many of them as are named are named as here. */
static gboolean read_names(const gchar *const *feature_names, guint n, struct model_reader *reader)
{
	guint i = 0;

	if (!model_enter(reader, '[', "'feature_names'"))
		return FALSE;
	for (; model_element(reader); i++) {
		g_autofree gchar *feature = model_text(reader, "a feature's name");

		if (!feature)
			return FALSE;
		if (i >= n || strcmp(feature, feature_names[i]) != 0)
			return model_refuse(reader, "feature %u is not '%.40s'", i, feature);
	}
	return !reader->error;
}

static gboolean read_booster(struct boosted_trees *trees, struct model_reader *reader)
{
	static const gchar *const keys[] = { "model", "name", NULL };
	static const gchar *const model_keys[] = { "trees", NULL };
	static const gchar *const names[] = { "gbtree", NULL };
	gint key;

	if (!model_enter(reader, '{', "'gradient_booster'"))
		return FALSE;
	while ((key = find_key(reader, keys)) >= 0) {
		if (key == 1) {
			if (!read_word(reader, "the booster", names))
				return FALSE;
			continue;
		}
		if (!model_enter(reader, '{', "'model'"))
			return FALSE;
		while (find_key(reader, model_keys) >= 0)
			if (!read_trees(trees, reader))
				return FALSE;
		if (reader->error)
			return FALSE;
	}
	return !reader->error;
}

static gboolean read_parameters(struct boosted_trees *trees, struct model_reader *reader)
{
	static const gchar *const keys[] = { "base_score", "num_feature", NULL };
	gint key;

	if (!model_enter(reader, '{', "'learner_model_param'"))
		return FALSE;
	while ((key = find_key(reader, keys)) >= 0)
		if (!(key == 0 ? read_base(trees, reader) : read_feature_count(trees, reader)))
			return FALSE;
	return !reader->error;
}

static gboolean read_objective(struct model_reader *reader)
{
	static const gchar *const keys[] = { "name", NULL };
	static const gchar *const names[] = { "reg:squarederror", "reg:absoluteerror",
					      "reg:pseudohubererror", NULL };

	if (!model_enter(reader, '{', "'objective'"))
		return FALSE;
	while (find_key(reader, keys) >= 0)
		if (!read_word(reader, "the objective", names))
			return FALSE;
	return !reader->error;
}

static gboolean read_learner(struct boosted_trees *trees, const gchar *const *feature_names,
			     struct model_reader *reader)
{
	static const gchar *const keys[] = { "feature_names", "gradient_booster",
					     "learner_model_param", "objective", NULL };
	gint key;

	if (!model_enter(reader, '{', "'learner'"))
		return FALSE;
	while ((key = find_key(reader, keys)) >= 0) {
		gboolean is_good = key == 0   ? read_names(feature_names, trees->n_features, reader)
				   : key == 1 ? read_booster(trees, reader)
				   : key == 2 ? read_parameters(trees, reader)
					      : read_objective(reader);

		if (!is_good)
			return FALSE;
	}
	return !reader->error;
}

gboolean boosted_json_read(struct boosted_trees *trees, const gchar *const *feature_names,
			   struct model_reader *reader)
{
	static const gchar *const keys[] = { "learner", NULL };

	if (!model_enter(reader, '{', "'trees'"))
		return FALSE;
	while (find_key(reader, keys) >= 0)
		if (!read_learner(trees, feature_names, reader))
			return FALSE;
	if (reader->error)
		return FALSE;
	if (trees->roots->len == 0 || !boosted_trees_check(trees))
		return model_refuse(reader, "there are no trees, or their nodes go round");
	return TRUE;
}
