#include "import/rocm/rocm_agent.h"

#include "import/used_devices.h"

#define MAX_AGENTS 256u /* of a machine */

/* NUMBER(word, field of TachoDevice, its unit in that of the field). Waves become threads in rocm_agents_add(). */
#define NUMBERS(NUMBER)                                                                            \
	NUMBER("cu_count", n_multiprocessors, 1)                                                   \
	NUMBER("wave_front_size", warp_threads, 1)                                                 \
	NUMBER("max_waves_per_cu", multiprocessor_threads, 1)                                      \
	NUMBER("lds_size_in_kb", multiprocessor_shared_bytes, 1024)                                \
	NUMBER("workgroup_max_size", block_threads, 1)                                             \
	NUMBER("max_engine_clk_fcompute", clock_hz, 1000000)

void rocm_agent_init(TachoDevice *agent, gint64 number)
{
	*agent = (TachoDevice){ .number = (gint32)CLAMP(number, 0, G_MAXINT32) };
}

static gboolean is_word(const gchar *word, gsize n, const gchar *known)
{
	return strlen(known) == n && g_ascii_strncasecmp(word, known, n) == 0;
}

void rocm_agent_number(TachoDevice *agent, const gchar *word, gsize n, gint64 value)
{
	if (value < 0 || value > G_MAXINT32)
		return;
#define SET_NUMBER(known, field, unit)                                                             \
	if (is_word(word, n, known))                                                               \
		agent->field = (__typeof__(agent->field))value * (unit);
	NUMBERS(SET_NUMBER)
#undef SET_NUMBER
}

void rocm_agent_text(TachoDevice *agent, TachoTimeline *timeline, const gchar *word, gsize n,
		     const gchar *value)
{
	if (!g_utf8_validate(value, -1, NULL))
		return;
	if (is_word(word, n, "name"))
		agent->architecture = tacho_timeline_intern(timeline, value, -1);
	else if (is_word(word, n, "product_name"))
		agent->name = tacho_timeline_intern(timeline, value, -1);
}

void rocm_agent_member(TachoDevice *agent, TachoTimeline *timeline, const struct json_text *key,
		       struct json_scan *scan)
{
	struct json_text text;
	gint64 value;

	if (json_peek(scan) == '"') {
		g_autofree gchar *plain = NULL;

		if (!json_string(scan, &text))
			return;
		plain = json_text_dup(&text);
		rocm_agent_text(agent, timeline, key->bytes, key->n, plain);
	} else if (json_peek(scan) == '{' || json_peek(scan) == '[') {
		json_skip(scan);
	} else if (json_fixed(scan, 0, &value)) {
		rocm_agent_number(agent, key->bytes, key->n, value);
	}
}

void rocm_agents_add(TachoTimeline *timeline, guint32 first_process, const GArray *agents)
{
	for (guint i = 0; i < MIN(agents->len, MAX_AGENTS); i++) {
		TachoDevice device = g_array_index(agents, TachoDevice, i);

		device.multiprocessor_threads =
			device.multiprocessor_threads < 1024 && device.warp_threads < 1024
				? device.multiprocessor_threads * device.warp_threads
				: 0;
		if (!device.name)
			device.name = device.architecture;
		used_devices_add(timeline, first_process, &device);
	}
}
