/* otlp_message: what OpenTelemetry's protocol (OTLP) sends and is answered with, in its binary encoding. */
#ifndef TACHO_OTLP_MESSAGE_H
#define TACHO_OTLP_MESSAGE_H

#include "live/live_series.h"

/* Key and value of an attribute or a header. */
struct otlp_pair {
	gchar *key, *value;
};

/* An ExportMetricsServiceRequest with all series; `resource` has struct otlp_pair: whose figures they are. Series without points
 * are left out. The result is the caller's. */
GBytes *otlp_message_new(const LiveSeries *series, const GArray *resource);

/* What a receiver says that took a request (`is_taken`) or refused it: how many points it rejected, and why, for people. True where it says
 * something; the text, which may be "", is the caller's. What is no such message says nothing. */
gboolean otlp_message_read_answer(const guint8 *bytes, gsize n, gboolean is_taken,
				  gint64 *ret_n_rejected, gchar **ret_text);

#endif
