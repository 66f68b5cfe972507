/* otlp_settings: where figures are pushed to, as whose, and how: from options, and from the variables that OpenTelemetry has named for
 * it. docs/live.md lists them. */
#ifndef TACHO_OTLP_SETTINGS_H
#define TACHO_OTLP_SETTINGS_H

#include <glib.h>

/* What the user asked for; NULL or 0: nothing was said. */
struct otlp_options {
	const gchar *url;      /* "none": do not push, whatever variables say */
	const gchar *headers;  /* "Name: value", a line each */
	const gchar *ca_file;  /* certificates to go by */
	const gchar *instance; /* what tells this process from others of its kind */
	gdouble interval_s;
};

typedef struct {
	gchar *url;   /* NULL: nothing is pushed */
	gchar *shown; /* the same for people, without a password */
	gchar *note;  /* why nothing is pushed though a variable asks for it; NULL */
	gchar **headers;
	gchar *ca_file;
	GArray *resource; /* struct otlp_pair (otlp_message.h) */
	guint interval_ms, timeout_ms;
} OtlpSettings;

/* False: something cannot be understood, as the error says; then there is nothing to release. */
gboolean otlp_settings_init(OtlpSettings *settings, const struct otlp_options *options,
			    GError **error);
void otlp_settings_release(OtlpSettings *settings);

#endif
