/* op_graph: operations and the tensors between them as DOT (graphviz.org), GML (M. Himsolt, GML: A portable Graph File Format, 1997) and JSON. */
#include <tacho/precision_job.h>

#include <string.h>

#include "base/for_each.h"
#include "base/json_writer.h"
#include "precision/precision_job.h"

static const gchar *rule_name(enum precision_rule rule)
{
	return rule == PRECISION_CHOSEN	    ? "chosen"
	       : rule == PRECISION_PROMOTED ? "promoted"
					    : "fixed";
}

/* In quotes: what would end them, or the line, is another character; GML is in ASCII, with '&' for what is not. */
static gchar *quotable(const gchar *text, gboolean is_gml)
{
	GString *clean = g_string_new(NULL);

	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			g_string_append_c(clean, '\'');
		else if ((guchar)*text < ' ')
			g_string_append_c(clean, ' ');
		else if (is_gml && ((guchar)*text >= 0x80 || *text == '&'))
			g_string_append_printf(clean, "&#%u;", (guint)(guchar)*text);
		else
			g_string_append_c(clean, *text);
	}
	return g_string_free(clean, FALSE);
}

static gchar *label_of(const struct identity_operation *own, gboolean is_gml)
{
	g_autofree gchar *module = quotable(own->module, is_gml);
	g_autofree gchar *kind = quotable(own->kind, is_gml);

	return g_strdup_printf("%s%s%s %u", module, *module ? " " : "", kind, own->ordinal);
}

static void print_dot(const struct precision_job *job, FILE *out)
{
	fputs("digraph operations {\n  rankdir=TB;\n  node [shape=box, fontsize=10];\n", out);
	FOR_EACH_AT(const struct identity_operation, own, i, job->identity->operations) {
		g_autofree gchar *label = label_of(own, FALSE);

		fprintf(out, "  n%u [label=\"%s\\ndepth %u, hops %u\"%s];\n", i, label,
			job->depth[i], job->hops[i],
			own->rule == PRECISION_CHOSEN ? ", style=filled, fillcolor=lightblue" : "");
	}
	FOR_EACH_AT(const struct identity_operation, own, i, job->identity->operations)
		for (guint32 k = 0; k < own->n_inputs; k++) {
			const struct identity_input *input =
				identity_input_at(job->identity, own->first_input + k);

			if (input->producer != IDENTITY_OUTSIDE)
				fprintf(out, "  n%u -> n%u [label=\"%.0f\"];\n", input->producer, i,
					input->elements);
		}
	fputs("}\n", out);
}

static void print_gml(const struct precision_job *job, FILE *out)
{
	fputs("graph [\n  directed 1\n", out);
	FOR_EACH_AT(const struct identity_operation, own, i, job->identity->operations) {
		g_autofree gchar *label = label_of(own, TRUE);

		fprintf(out,
			"  node [ id %u label \"%s\" rule \"%s\" depth %u hops %u weight %.0f ]\n",
			i, label, rule_name(own->rule), job->depth[i], job->hops[i], own->weight);
	}
	FOR_EACH_AT(const struct identity_operation, own, i, job->identity->operations)
		for (guint32 k = 0; k < own->n_inputs; k++) {
			const struct identity_input *input =
				identity_input_at(job->identity, own->first_input + k);

			if (input->producer != IDENTITY_OUTSIDE)
				fprintf(out, "  edge [ source %u target %u elements %.0f ]\n",
					input->producer, i, input->elements);
		}
	fputs("]\n", out);
}

static void write_operation(const struct precision_job *job, guint32 i, JsonWriter *json)
{
	const struct identity_operation *own = identity_at(job->identity, i);

	json_writer_line(json);
	json_writer_begin_object(json);
	json_writer_string(json_writer_key(json, "module"), own->module);
	json_writer_string(json_writer_key(json, "kind"), own->kind);
	json_writer_unsigned(json_writer_key(json, "ordinal"), own->ordinal);
	json_writer_string(json_writer_key(json, "rule"), rule_name(own->rule));
	json_writer_unsigned(json_writer_key(json, "depth"), job->depth[i]);
	json_writer_unsigned(json_writer_key(json, "hops"), job->hops[i]);
	json_writer_number(json_writer_key(json, "elements_in"), own->elements_in);
	json_writer_number(json_writer_key(json, "elements_out"), own->elements_out);
	json_writer_number(json_writer_key(json, "weight"), own->weight);
	json_writer_key(json, "inputs");
	json_writer_begin_array(json);
	for (guint32 k = 0; k < own->n_inputs; k++) {
		const struct identity_input *input =
			identity_input_at(job->identity, own->first_input + k);

		json_writer_begin_array(json);
		if (input->producer == IDENTITY_OUTSIDE)
			json_writer_null(json);
		else
			json_writer_unsigned(json, input->producer);
		json_writer_number(json, input->elements);
		json_writer_end_array(json);
	}
	json_writer_end_array(json);
	json_writer_end_object(json);
}

static void print_json(const struct precision_job *job, FILE *out)
{
	g_autoptr(JsonWriter) json = json_writer_new(out);

	json_writer_begin_object(json);
	json_writer_key(json, "operations");
	json_writer_begin_array(json);
	for (guint32 i = 0; i < job->identity->operations->len; i++)
		write_operation(job, i, json);
	json_writer_end_array(json);
	json_writer_end_object(json);
	json_writer_finish(json);
}

gboolean tacho_precision_job_print_graph(const TachoPrecisionJob *job, const gchar *form, FILE *out)
{
	static const struct {
		const gchar *name;
		void (*print)(const struct precision_job *job, FILE *out);
	} forms[] = { { "dot", print_dot }, { "gml", print_gml }, { "json", print_json } };

	for (guint i = 0; i < G_N_ELEMENTS(forms); i++)
		if (strcmp(forms[i].name, form) == 0) {
			forms[i].print(job, out);
			return TRUE;
		}
	return FALSE;
}
