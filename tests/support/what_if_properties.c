#include "what_if_properties.h"

#include <math.h>
#include <string.h>

#include <tacho/correlate.h>
#include <tacho/words.h>

#include "analyze/recorded_device.h"
#include "cost/device_table.h"
#include "edit/edit_state.h"
#include "predict/prediction.h"
#include "predict/what_if_apply.h"

#define MAX_ROUNDS (1u << 20) /* of another job beside */

enum tolerance { EXACT, ROUNDED };

struct property {
	enum property_class class;
	const gchar *key, *words, *others; /* others of MONOTONY: NULL */
	enum tolerance tolerance;
};

static const struct property properties[] = {
#define PROPERTY(class, key, words, others, tolerance)                                             \
	{ PROPERTY_##class, key, words, others, tolerance },
#define MONOTONY(key, chain, tolerance) { PROPERTY_MONOTONY, key, chain, NULL, tolerance },
#define SAMPLE(key, words)
#define NONE(class, key, why)
#include "what_if_properties.def"
#undef PROPERTY
#undef MONOTONY
#undef SAMPLE
#undef NONE
};

static const struct {
	enum property_class class;
	const gchar *key, *why;
} reasons[] = {
#define PROPERTY(class, key, words, others, tolerance)
#define MONOTONY(key, chain, tolerance)
#define SAMPLE(key, words)
#define NONE(class, key, why) { PROPERTY_##class, key, why },
#include "what_if_properties.def"
#undef PROPERTY
#undef MONOTONY
#undef SAMPLE
#undef NONE
};

static const struct {
	const gchar *key, *words;
} samples[] = {
#define PROPERTY(class, key, words, others, tolerance)
#define MONOTONY(key, chain, tolerance)
#define SAMPLE(key, words) { key, words },
#define NONE(class, key, why)
#include "what_if_properties.def"
#undef PROPERTY
#undef MONOTONY
#undef SAMPLE
#undef NONE
};

const gchar *property_class_name(enum property_class class)
{
	static const gchar *const names[] = { "identity", "inverse",  "composition",
					      "limit",	  "monotony", "commutation" };

	return names[class];
}

/* --- a recording -------------------------------------------------------------------------------- */

struct property_job {
	TachoGraph *graph;  /* frozen, without what recording took */
	GHashTable *words;  /* what placeholders stand for */
	GHashTable *played; /* text of what-ifs -> struct played */
	guint32 n_pieces;   /* of a rank's step */
	GPtrArray *files;   /* to be removed */
};

struct played {
	GArray *steps;	/* gint64, ns; NULL: refused */
	gint64 end_ns;	/* of all of them, and what is between */
	gchar *refusal; /* or NULL */
};

static void played_free(gpointer data)
{
	struct played *played = data;

	if (played->steps)
		g_array_unref(played->steps);
	g_free(played->refusal);
	g_free(played);
}

static void name_file(struct property_job *job, const gchar *folder, const gchar *word,
		      const gchar *name, const gchar *text)
{
	gchar *path = g_build_filename(folder, name, NULL);

	g_assert_true(g_file_set_contents(path, text, -1, NULL));
	g_hash_table_insert(job->words, g_strdup(word), g_strdup(path));
	g_ptr_array_add(job->files, path);
}

static void name_number(struct property_job *job, const gchar *word, gint64 number)
{
	g_hash_table_insert(job->words, g_strdup(word),
			    g_strdup_printf("%" G_GINT64_FORMAT, number));
}

/* The accelerator of the first rank that has one we know. */
static void name_device(struct property_job *job)
{
	for (guint32 i = 0; i < job->graph->timeline->ranks->len; i++) {
		const gchar *name = recorded_device_name(job->graph->timeline, i);
		const struct device_peak *device = name ? device_find(name) : NULL;

		if (device) {
			g_hash_table_insert(job->words, g_strdup("@DEVICE"),
					    g_strdup(device->name));
			return;
		}
	}
}

static void remove_file(gpointer path)
{
	remove(path);
	g_free(path);
}

struct property_job *property_job_new_of_graph(TachoGraph *graph, const gchar *beside,
					       const gchar *folder)
{
	struct property_job *job = g_new0(struct property_job, 1);
	const GArray *ranks = graph->timeline->ranks;

	job->graph = graph;
	job->words = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	job->played = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, played_free);
	job->files = g_ptr_array_new_with_free_func(remove_file);
	job->n_pieces = graph->nodes->len / MAX(ranks->len * graph->steps->len, 1u) + 1;
	name_number(job, "@RANKS", ranks->len);
	name_number(job, "@TWICE", 2 * (gint64)ranks->len);
	name_number(job, "@RANK", g_array_index(ranks, TachoRank, 0).rank);
	name_device(job);
	name_file(job, folder, "@ALL", "all.ini", "[all]\n");
	name_file(job, folder, "@HOSTS", "hosts.ini",
		  "[host]\nsize = 2\nbandwidth = 100gbit\nlatency = 3us\n"
		  "[network]\nbandwidth = 10gbit\nlatency = 20us\n");
	if (beside)
		g_hash_table_insert(job->words, g_strdup("@RUN"), g_strdup(beside));
	return job;
}

struct property_job *property_job_new(TachoTimeline *timeline, const gchar *beside,
				      const gchar *folder, GError **error)
{
	g_autoptr(TachoGraph) graph = replay_build_graph(timeline, -1, -1, error);
	g_autoptr(TachoReplay) recorded = graph ? tacho_replay_run(graph, error) : NULL;
	gdouble share;

	if (!recorded)
		return NULL;
	replay_measure_lags(graph, recorded);
	if (!replay_take_out_recording(graph, recorded, &share, error))
		return NULL;
	return property_job_new_of_graph(g_steal_pointer(&graph), beside, folder);
}

void property_job_free(struct property_job *job)
{
	if (!job)
		return;
	g_ptr_array_unref(job->files);
	g_hash_table_unref(job->words);
	g_hash_table_unref(job->played);
	tacho_graph_free(job->graph);
	g_free(job);
}

/* --- playing ------------------------------------------------------------------------------------ */

/* The words with what the recording fills in; NULL: it does not know. */
static gchar *fill_in(const struct property_job *job, const gchar *words)
{
	g_autoptr(GString) text = g_string_new(NULL);

	while (*words) {
		gsize n = 1;

		if (*words == '@' && g_ascii_isupper(words[1])) {
			g_autofree gchar *word = NULL;
			const gchar *meaning;

			while (g_ascii_isupper(words[n]))
				n++;
			word = g_strndup(words, n);
			meaning = g_hash_table_lookup(job->words, word);
			if (!meaning)
				return NULL;
			g_string_append(text, meaning);
		} else {
			g_string_append_c(text, *words);
		}
		words += n;
	}
	return g_string_free(g_steal_pointer(&text), FALSE);
}

static gint64 end_of(const TachoReplay *replay)
{
	gint64 end_ns = 0;

	for (guint32 i = 0; i < replay->n_nodes; i++)
		if (!graph_is_guest_node(replay->graph, graph_node_at(replay->graph, i)))
			end_ns = MAX(end_ns, replay->end_ns[i]);
	return end_ns;
}

/* Make and play the changes; `rounds` goes up until other jobs beside go on for as long as this one. */
static GArray *play_rounds(const struct property_job *job, const GArray *changes, guint64 *rounds,
			   gint64 *ret_end_ns, GError **error)
{
	g_autoptr(TachoGraph) graph = graph_copy(job->graph);
	g_autoptr(TachoReplay) replay = NULL;
	guint64 need;

	edit_state_of(graph)->guest_rounds = (guint32)*rounds;
	if (!changes_apply(graph, changes, error))
		return NULL;
	if (changes->len == 0 && !graph_freeze(graph, error))
		return NULL;
	replay = tacho_replay_run(graph, error);
	if (!replay)
		return NULL;
	need = replay_guests_need(replay);
	*rounds = need > 1 ? *rounds * need : 0;
	*ret_end_ns = end_of(replay);
	return replay_step_times(replay);
}

static GArray *play_list(const struct property_job *job, const gchar *text, gint64 *ret_end_ns,
			 GError **error)
{
	g_auto(GStrv) list = g_strsplit(text, ";", -1);
	g_autoptr(GArray) changes =
		changes_read((const gchar *const *)list, g_strv_length(list), error);
	guint64 rounds = 1;
	GArray *steps = NULL;

	while (changes && rounds > 0 && rounds < MAX_ROUNDS) {
		g_clear_pointer(&steps, g_array_unref);
		steps = play_rounds(job, changes, &rounds, ret_end_ns, error);
		if (!steps)
			break;
	}
	return steps;
}

static const struct played *play(const struct property_job *job, const gchar *words)
{
	g_autofree gchar *text = fill_in(job, words);
	g_autoptr(GError) error = NULL;
	struct played *played = g_hash_table_lookup(job->played, words);

	if (played)
		return played;
	played = g_new0(struct played, 1);
	g_hash_table_insert(job->played, g_strdup(words), played);
	if (!text) {
		played->refusal = g_strdup("the recording does not tell what stands for a word");
		return played;
	}
	played->steps = play_list(job, text, &played->end_ns, &error);
	if (!played->steps)
		played->refusal = g_strdup(error->message);
	return played;
}

/* --- asking ------------------------------------------------------------------------------------- */

struct asking {
	struct property_job *job;
	PropertyTell *tell;
	gpointer data;
};

static void tell(const struct asking *asking, const struct property *property,
		 enum property_result result, const gchar *message, gdouble difference)
{
	struct property_answer answer = { property->class, result, property->key, message,
					  difference };

	asking->tell(&answer, asking->data);
}

static guint count_what_ifs(const gchar *words)
{
	guint n = *words != '\0';

	for (; *words; words++)
		n += *words == ';';
	return n;
}

static gdouble sum_of(const GArray *steps)
{
	gdouble sum = 0;

	for (guint i = 0; i < steps->len; i++)
		sum += (gdouble)g_array_index(steps, gint64, i);
	return sum;
}

/* How far a step may be off: nanoseconds. Where resources are shared, who shares them shifts with rounding: a ten thousandth.
 * What moving bytes takes from computing, it takes when they move: where that is while a rank waits anyway, a slower link may
 * take less of it. So there, and where cores are shared, the order is held to a hundredth. */
static gdouble allowed_ns(const struct asking *asking, const struct property *property,
			  guint n_what_ifs, gdouble step_ns)
{
	const struct property_job *job = asking->job;

	if (property->tolerance == EXACT)
		return 0;
	return (gdouble)job->n_pieces * (n_what_ifs + 1) +
	       (!job->graph->is_shared ? 0
		: property->class == PROPERTY_MONOTONY && graph_has_cores(job->graph)
			? 1e-2 * step_ns
			: 1e-4 * step_ns);
}

/* The largest difference between steps. */
static gdouble worst_ns(const GArray *a, const GArray *b, gdouble *ret_share)
{
	gdouble worst = 0;

	*ret_share = 0;
	for (guint i = 0; i < MIN(a->len, b->len); i++) {
		gdouble x = (gdouble)g_array_index(a, gint64, i);
		gdouble y = (gdouble)g_array_index(b, gint64, i);

		if (fabs(x - y) > worst) {
			worst = fabs(x - y);
			*ret_share = worst / MAX(MAX(x, y), 1);
		}
	}
	return a->len == b->len ? worst : INFINITY;
}

/* Two lists give the same, or neither can be made. */
static void ask_same(const struct asking *asking, const struct property *property,
		     const gchar *words, const gchar *others)
{
	const struct played *a = play(asking->job, words), *b = play(asking->job, others);
	g_autofree gchar *message = NULL;
	gdouble worst, allowed, share;

	if (!a->steps && (!b->steps || property->class != PROPERTY_COMMUTATION)) {
		tell(asking, property, PROPERTY_NOT_ASKED, a->refusal, 0);
		return;
	}
	if (!a->steps || !b->steps) {
		message = g_strdup_printf("'%s' can be made, but '%s' cannot: %s",
					  a->steps ? words : others, a->steps ? others : words,
					  a->steps ? b->refusal : a->refusal);
		tell(asking, property,
		     property->class == PROPERTY_COMMUTATION ? PROPERTY_FAILS : PROPERTY_NOT_ASKED,
		     message, 0);
		return;
	}
	worst = worst_ns(a->steps, b->steps, &share);
	allowed = allowed_ns(asking, property, MAX(count_what_ifs(words), count_what_ifs(others)),
			     sum_of(b->steps) / MAX(b->steps->len, 1u));
	message = g_strdup_printf("'%s' gives %.0f ns, '%s' %.0f; a step differs by %.0f, allowed "
				  "are %.0f",
				  words, sum_of(a->steps) / MAX(a->steps->len, 1u), others,
				  sum_of(b->steps) / MAX(b->steps->len, 1u), worst, allowed);
	tell(asking, property, worst <= allowed ? PROPERTY_HOLDS : PROPERTY_FAILS, message, share);
}

/* All steps together, and what is between them, do not take longer: one alone may, when what was before it takes less. */
static void ask_order(const struct asking *asking, const struct property *property)
{
	g_auto(GStrv) chain = g_strsplit(property->words, ">", -1);
	const struct played *slower = NULL;
	const gchar *slower_words = NULL;

	for (guint i = 0; chain[i]; i++) {
		const gchar *words = g_strstrip(chain[i]);
		const struct played *played = play(asking->job, words);
		g_autofree gchar *message = NULL;
		gdouble before, after, allowed;

		if (!played->steps) {
			tell(asking, property, PROPERTY_NOT_ASKED, played->refusal, 0);
			continue;
		}
		if (slower) {
			before = (gdouble)slower->end_ns;
			after = (gdouble)played->end_ns;
			allowed = allowed_ns(asking, property, 1, before / slower->steps->len) *
				  slower->steps->len;
			message = g_strdup_printf("'%s' gives %.0f ns in all, '%s' %.0f; %.0f "
						  "longer are allowed",
						  slower_words, before, words, after, allowed);
			tell(asking, property,
			     after <= before + allowed ? PROPERTY_HOLDS : PROPERTY_FAILS, message,
			     (after - before) / MAX(before, 1));
		}
		slower = played;
		slower_words = words;
	}
}

/* Any two that can be made, either way round. */
static void ask_pairs(const struct asking *asking)
{
	for (guint i = 0; i < G_N_ELEMENTS(samples); i++)
		for (guint j = i + 1; j < G_N_ELEMENTS(samples); j++) {
			struct property pair = { PROPERTY_COMMUTATION, samples[i].key, NULL, NULL,
						 ROUNDED };
			g_autofree gchar *one =
				g_strdup_printf("%s;%s", samples[i].words, samples[j].words);
			g_autofree gchar *other =
				g_strdup_printf("%s;%s", samples[j].words, samples[i].words);

			if (play(asking->job, samples[i].words)->steps &&
			    play(asking->job, samples[j].words)->steps)
				ask_same(asking, &pair, one, other);
		}
}

void property_job_ask(struct property_job *job, PropertyTell *tell_one, gpointer data)
{
	struct asking asking = { job, tell_one, data };

	for (guint i = 0; i < G_N_ELEMENTS(properties); i++)
		if (properties[i].others)
			ask_same(&asking, &properties[i], properties[i].words,
				 properties[i].others);
		else
			ask_order(&asking, &properties[i]);
	ask_pairs(&asking);
}

/* --- the table ---------------------------------------------------------------------------------- */

static gboolean has_line(enum property_class class, const gchar *key)
{
	if (class == PROPERTY_COMMUTATION) {
		for (guint i = 0; i < G_N_ELEMENTS(samples); i++)
			if (strcmp(samples[i].key, key) == 0)
				return TRUE;
		return FALSE;
	}
	for (guint i = 0; i < G_N_ELEMENTS(properties); i++)
		if (properties[i].class == class && strcmp(properties[i].key, key) == 0)
			return TRUE;
	for (guint i = 0; i < G_N_ELEMENTS(reasons); i++)
		if (reasons[i].class == class && strcmp(reasons[i].key, key) == 0)
			return TRUE;
	return FALSE;
}

gchar *properties_missing(void)
{
	g_autoptr(GString) missing = g_string_new(NULL);
	const gchar *const *keys = tacho_what_if_words();

	for (guint i = 0; keys[i]; i++)
		for (enum property_class class = 0; class < PROPERTY_N_CLASSES; class ++)
			if (!has_line(class, keys[i]))
				g_string_append_printf(missing, "%s%s %s", missing->len ? ", " : "",
						       keys[i], property_class_name(class));
	return g_string_free(g_steal_pointer(&missing), FALSE);
}
