/* record_tracepoints: the events of LTTng-UST that say what records say: one for each kind of record, so that a session can be
 * asked for some of them; the end of a slice; who wrote them; their classes; and what was lost. docs/lttng.md describes the fields. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER tacho_record

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "record_tracepoints.h"

#if !defined(TACHO_RECORD_TRACEPOINTS_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define TACHO_RECORD_TRACEPOINTS_H

#include <lttng/tracepoint.h>
#include <stdint.h>

#include "common/lttng_events.h"
#include "trace/trace_layout.h"

/* clang-format off */
LTTNG_UST_TRACEPOINT_EVENT_CLASS(tacho_record, record,
	LTTNG_UST_TP_ARGS(const struct lttng_record *, record),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_string(name, record->name)
		lttng_ust_field_integer_hex(uint64_t, trace, record->trace)
		lttng_ust_field_integer(uint64_t, position, record->position)
		lttng_ust_field_integer(uint64_t, stamp, record->stamp_or_ticks)
		lttng_ust_field_integer(uint32_t, stream, record->stream)
		lttng_ust_field_integer(uint32_t, tid, record->tid)
		lttng_ust_field_integer(uint32_t, class_id, record->class_id)
		lttng_ust_field_sequence(uint64_t, words, record->words, uint32_t, record->n_words)))

#undef RECORD_EVENT
#define RECORD_EVENT(enumerator, kind_name, is_slice)                                              \
	LTTNG_UST_TRACEPOINT_EVENT_INSTANCE(tacho_record, record, tacho_record, kind_name,         \
		LTTNG_UST_TP_ARGS(const struct lttng_record *, record))
TRACE_KINDS(RECORD_EVENT)

LTTNG_UST_TRACEPOINT_EVENT(tacho_record, end,
	LTTNG_UST_TP_ARGS(const struct lttng_record *, end),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_string(name, end->name)
		lttng_ust_field_integer_hex(uint64_t, trace, end->trace)
		lttng_ust_field_integer(uint64_t, position, end->position)
		lttng_ust_field_integer(uint64_t, duration, end->stamp_or_ticks)
		lttng_ust_field_integer(uint32_t, stream, end->stream)
		lttng_ust_field_sequence(uint64_t, words, end->words, uint32_t, end->n_words)))

LTTNG_UST_TRACEPOINT_EVENT(tacho_record, process,
	LTTNG_UST_TP_ARGS(const struct lttng_process *, process),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_integer_hex(uint64_t, trace, process->trace)
		lttng_ust_field_integer(uint64_t, pair_ticks, process->pair_ticks)
		lttng_ust_field_integer(uint64_t, pair_mono_ns, process->pair_mono_ns)
		lttng_ust_field_string(text, process->text)))

LTTNG_UST_TRACEPOINT_EVENT(tacho_record, class,
	LTTNG_UST_TP_ARGS(const struct lttng_class *, declared),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_string(name, declared->name)
		lttng_ust_field_string(kind, declared->kind)
		lttng_ust_field_integer_hex(uint64_t, trace, declared->trace)
		lttng_ust_field_integer(uint32_t, class_id, declared->id)))

LTTNG_UST_TRACEPOINT_EVENT(tacho_record, dropped,
	LTTNG_UST_TP_ARGS(const struct lttng_record *, stream, uint64_t, count),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_integer_hex(uint64_t, trace, stream->trace)
		lttng_ust_field_integer(uint64_t, count, count)
		lttng_ust_field_integer(uint32_t, stream, stream->stream)
		lttng_ust_field_integer(uint32_t, tid, stream->tid)))
/* clang-format on */

#endif

#include <lttng/tracepoint-event.h>
