/* otlp_push: pushes figures to a receiver of OpenTelemetry's protocol, by a thread of its own.
 *
 * (1) Whatever the receiver does, nobody waits for it: figures are put into a queue, and what it has no room for is the oldest.
 * (2) The queue is bounded in requests and bytes. What is dropped, and what is refused, is counted and told.
 * (3) One request is under way at a time. It is sent again where the protocol says so (no answer, 429, 502, 503, 504), after a while that
 *     doubles and varies, or that the receiver asks for; any other refusal ends it. */
#ifndef TACHO_OTLP_PUSH_H
#define TACHO_OTLP_PUSH_H

#include "live/live_series.h"
#include "live/otlp_settings.h"

typedef struct _OtlpPush OtlpPush;

/* The settings, which have a URL, are the push's from then on. NULL: there is no thread or no memory; they are released. */
OtlpPush *otlp_push_new(OtlpSettings *settings, GError **error);
/* What waits may still be sent within a second, each once. */
void otlp_push_free(OtlpPush *push);

/* Add what became of requests to `series`. */
void otlp_push_count(OtlpPush *push, LiveSeries *series);
/* Take `series` as they are, if it is time to push. */
void otlp_push_offer(OtlpPush *push, const LiveSeries *series);
/* Sentences for people, a line each, that have not been taken yet; NULL: none. The caller's. */
gchar *otlp_push_take_news(OtlpPush *push);

#endif
