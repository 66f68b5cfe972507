/* nvtx_probe: receives what programs and libraries tell by NVTX (ranges and marks that somebody named), and records it.
 *
 * NVTX is headers, compiled into whoever uses them. Where NVTX_INJECTION64_PATH names this library, each loads it at its first
 * call, and has its tables of functions filled in.
 *
 * (1) Ranges that are pushed and popped are regions of their thread; ranges that are started may end in any.
 * (2) The program gets the answers that it would get without a tool, but for what it must hand back: domains, strings, ranges. */
#include "nvtx/nvtx_abi.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "common/probe.h"
#include "common/region_stack.h"
#include "nvtx/nvtx_names.h"

#define INJECTION_VERSION 2
#define NO_TRACKING	  (-2) /* NVTX_NO_PUSH_POP_TRACKING: what a program gets that has no tool */
#define NARROW_BYTES	  400
#define PLACE_BYTES	  200

TACHO_EXPORT int InitializeInjectionNvtx2(nvtx_get_table *get_table);

static bool is_wanted(void)
{
	return tacho_is_recording() && !tacho_writer.is_inside;
}

/* --- what an event says ------------------------------------------------------------------------- */

static int64_t whole_part(double real)
{
	return real > -9.2e18 && real < 9.2e18 ? (int64_t)real : 0;
}

/* A number that fits into a record. */
static int64_t payload_of(const struct nvtx_event *event)
{
	switch (event->payload_type) {
	case NVTX_PAYLOAD_U64:
	case NVTX_PAYLOAD_I64:
		return event->payload.i64;
	case NVTX_PAYLOAD_U32:
		return event->payload.u32;
	case NVTX_PAYLOAD_I32:
		return event->payload.i32;
	case NVTX_PAYLOAD_DOUBLE:
		return whole_part(event->payload.real);
	case NVTX_PAYLOAD_FLOAT:
		return whole_part((double)event->payload.single);
	}
	return 0;
}

/* Who said what. */
struct spoken {
	const void *domain;
	const struct nvtx_event *event; /* NULL: one of the next two */
	const char *ascii;
	const wchar_t *wide;
	uint32_t class_id; /* of its region */
};

static const char *message_of(const struct spoken *spoken, char *buffer, size_t size)
{
	const struct nvtx_event *event = spoken->event;
	const char *text = NULL;

	if (!event)
		text = spoken->ascii ? spoken->ascii : nvtx_narrow(spoken->wide, buffer, size);
	else if (event->message_type == NVTX_MESSAGE_ASCII)
		text = event->message.ascii;
	else if (event->message_type == NVTX_MESSAGE_WIDE)
		text = nvtx_narrow(event->message.wide, buffer, size);
	else if (event->message_type == NVTX_MESSAGE_REGISTERED)
		text = nvtx_string_text(event->message.registered);
	return text && *text ? text : "?";
}

/* "DOMAIN", "DOMAIN/CATEGORY", "CATEGORY" or NULL. */
static const char *place_of(const struct spoken *spoken, char *buffer, size_t size)
{
	const char *domain = nvtx_domain_name(spoken->domain);
	const char *category =
		spoken->event ? nvtx_category_name(spoken->domain, spoken->event->category) : NULL;

	if (!domain || !category)
		return domain ? domain : category;
	snprintf(buffer, size, "%s/%s", domain, category);
	return buffer;
}

static void find_class(void *spoken_pointer)
{
	struct spoken *spoken = spoken_pointer;
	char narrow[NARROW_BYTES], place[PLACE_BYTES];

	spoken->class_id =
		region_class_anew(TRACE_KIND_ANNOTATION, place_of(spoken, place, sizeof(place)),
				  message_of(spoken, narrow, sizeof(narrow)));
}

/* Its message at an address where it stays; NULL: it has none. */
static const char *lasting_text(const struct spoken *spoken)
{
	const struct nvtx_event *event = spoken->event;

	if (!event)
		return nvtx_text_kept(spoken->ascii);
	if (event->category)
		return NULL;
	if (event->message_type == NVTX_MESSAGE_REGISTERED)
		return nvtx_string_text(event->message.registered);
	return event->message_type == NVTX_MESSAGE_ASCII ? nvtx_text_kept(event->message.ascii)
							 : NULL;
}

/* The class of its region, found by the message's address where it can be: that spares another stack and a search. */
static uint32_t class_of(struct spoken *spoken)
{
	const char *text;

	if (!is_wanted())
		return 0;
	text = lasting_text(spoken);
	if (text)
		return region_class(TRACE_KIND_ANNOTATION, nvtx_domain_name(spoken->domain), text);
	tacho_run_aside(find_class, spoken);
	return spoken->class_id;
}

/* What says that it is shorter than what is read of it says nothing. */
static const struct nvtx_event *whole(const struct nvtx_event *event)
{
	return event && event->size >= sizeof(*event) ? event : NULL;
}

/* --- marks ---------------------------------------------------------------------------------------- */

static void write_mark(void *spoken_pointer)
{
	struct spoken *spoken = spoken_pointer;
	char narrow[NARROW_BYTES], place[PLACE_BYTES], number[48] = "";
	const char *where = place_of(spoken, place, sizeof(place));
	const struct nvtx_event *event = spoken->event;

	if (event && event->payload_type == NVTX_PAYLOAD_DOUBLE)
		snprintf(number, sizeof(number), "%.17g", event->payload.real);
	else if (event && event->payload_type == NVTX_PAYLOAD_FLOAT)
		snprintf(number, sizeof(number), "%.9g", (double)event->payload.single);
	region_mark(where ? where : "NVTX", message_of(spoken, narrow, sizeof(narrow)),
		    event ? payload_of(event) : 0, number);
}

static void mark(struct spoken spoken)
{
	if (is_wanted())
		tacho_run_aside(write_mark, &spoken);
}

static void mark_ex(const struct nvtx_event *event)
{
	mark((struct spoken){ .event = whole(event) });
}

static void mark_a(const char *message)
{
	mark((struct spoken){ .ascii = message });
}

static void mark_w(const wchar_t *message)
{
	mark((struct spoken){ .wide = message });
}

static void domain_mark_ex(const void *domain, const struct nvtx_event *event)
{
	mark((struct spoken){ .domain = domain, .event = whole(event) });
}

/* --- ranges of a thread ---------------------------------------------------------------------------- */

static int push(struct spoken spoken)
{
	const struct nvtx_event *event = spoken.event;

	region_open(TRACE_KIND_ANNOTATION, class_of(&spoken), spoken.domain,
		    event ? (uint64_t)payload_of(event) : 0);
	return NO_TRACKING;
}

static int range_push_ex(const struct nvtx_event *event)
{
	return push((struct spoken){ .event = whole(event) });
}

static int range_push_a(const char *message)
{
	return push((struct spoken){ .ascii = message });
}

static int range_push_w(const wchar_t *message)
{
	return push((struct spoken){ .wide = message });
}

static int range_pop(void)
{
	region_close(NULL);
	return NO_TRACKING;
}

static int domain_range_push_ex(const void *domain, const struct nvtx_event *event)
{
	return push((struct spoken){ .domain = domain, .event = whole(event) });
}

static int domain_range_pop(const void *domain)
{
	region_close(domain);
	return NO_TRACKING;
}

/* --- ranges that any thread may end ------------------------------------------------------------------ */

static uint64_t start(struct spoken spoken)
{
	const struct nvtx_event *event = spoken.event;

	return region_start(class_of(&spoken), event ? (uint64_t)payload_of(event) : 0);
}

static uint64_t range_start_ex(const struct nvtx_event *event)
{
	return start((struct spoken){ .event = whole(event) });
}

static uint64_t range_start_a(const char *message)
{
	return start((struct spoken){ .ascii = message });
}

static uint64_t range_start_w(const wchar_t *message)
{
	return start((struct spoken){ .wide = message });
}

static uint64_t domain_range_start_ex(const void *domain, const struct nvtx_event *event)
{
	return start((struct spoken){ .domain = domain, .event = whole(event) });
}

static void domain_range_end(const void *domain, uint64_t range)
{
	(void)domain;
	region_end(range);
}

/* --- names --------------------------------------------------------------------------------------------- */

static void name_category_a(uint32_t category, const char *name)
{
	nvtx_category_set(NULL, category, name);
}

static void domain_name_category_w(const void *domain, uint32_t category, const wchar_t *name)
{
	char narrow[NARROW_BYTES];

	nvtx_category_set(domain, category, nvtx_narrow(name, narrow, sizeof(narrow)));
}

static void name_category_w(uint32_t category, const wchar_t *name)
{
	domain_name_category_w(NULL, category, name);
}

static void name_os_thread_a(uint32_t tid, const char *name)
{
	if (is_wanted() && name)
		tacho_mark("thread_name", tid, 0, name);
}

static void name_os_thread_w(uint32_t tid, const wchar_t *name)
{
	char narrow[NARROW_BYTES];

	name_os_thread_a(tid, nvtx_narrow(name, narrow, sizeof(narrow)));
}

static const void *domain_register_string_a(const void *domain, const char *text)
{
	(void)domain;
	return nvtx_string_new(text);
}

static const void *domain_register_string_w(const void *domain, const wchar_t *text)
{
	char narrow[NARROW_BYTES];

	(void)domain;
	return nvtx_string_new(nvtx_narrow(text, narrow, sizeof(narrow)));
}

static const void *domain_create_w(const wchar_t *name)
{
	char narrow[NARROW_BYTES];

	return nvtx_domain_new(nvtx_narrow(name, narrow, sizeof(narrow)));
}

/* --- putting them in ------------------------------------------------------------------------------------ */

struct taken {
	unsigned place;
	void *function;
};

static const struct taken core[] = {
	{ NVTX_MARK_EX, (void *)mark_ex },
	{ NVTX_MARK_A, (void *)mark_a },
	{ NVTX_MARK_W, (void *)mark_w },
	{ NVTX_RANGE_START_EX, (void *)range_start_ex },
	{ NVTX_RANGE_START_A, (void *)range_start_a },
	{ NVTX_RANGE_START_W, (void *)range_start_w },
	{ NVTX_RANGE_END, (void *)region_end },
	{ NVTX_RANGE_PUSH_EX, (void *)range_push_ex },
	{ NVTX_RANGE_PUSH_A, (void *)range_push_a },
	{ NVTX_RANGE_PUSH_W, (void *)range_push_w },
	{ NVTX_RANGE_POP, (void *)range_pop },
	{ NVTX_NAME_CATEGORY_A, (void *)name_category_a },
	{ NVTX_NAME_CATEGORY_W, (void *)name_category_w },
	{ NVTX_NAME_OS_THREAD_A, (void *)name_os_thread_a },
	{ NVTX_NAME_OS_THREAD_W, (void *)name_os_thread_w },
};

static const struct taken core2[] = {
	{ NVTX_DOMAIN_MARK_EX, (void *)domain_mark_ex },
	{ NVTX_DOMAIN_RANGE_START_EX, (void *)domain_range_start_ex },
	{ NVTX_DOMAIN_RANGE_END, (void *)domain_range_end },
	{ NVTX_DOMAIN_RANGE_PUSH_EX, (void *)domain_range_push_ex },
	{ NVTX_DOMAIN_RANGE_POP, (void *)domain_range_pop },
	{ NVTX_DOMAIN_NAME_CATEGORY_A, (void *)nvtx_category_set },
	{ NVTX_DOMAIN_NAME_CATEGORY_W, (void *)domain_name_category_w },
	{ NVTX_DOMAIN_REGISTER_STRING_A, (void *)domain_register_string_a },
	{ NVTX_DOMAIN_REGISTER_STRING_W, (void *)domain_register_string_w },
	{ NVTX_DOMAIN_CREATE_A, (void *)nvtx_domain_new },
	{ NVTX_DOMAIN_CREATE_W, (void *)domain_create_w },
};

static bool take(const struct nvtx_callbacks *callbacks, int module, const struct taken *taken,
		 size_t n_taken)
{
	nvtx_function ***table = NULL;
	unsigned n = 0;

	if (!callbacks->get_functions(module, &table, &n) || !table)
		return false;
	for (size_t i = 0; i < n_taken; i++)
		if (taken[i].place < n && table[taken[i].place])
			*table[taken[i].place] = (nvtx_function *)taken[i].function;
	return true;
}

/* What is not taken, NVTX makes empty. */
int InitializeInjectionNvtx2(nvtx_get_table *get_table)
{
	const struct nvtx_callbacks *callbacks = get_table ? get_table(NVTX_TABLE_CALLBACKS) : NULL;
	const struct nvtx_version *version = get_table ? get_table(NVTX_TABLE_VERSION) : NULL;
	bool is_taken;

	if (!callbacks || callbacks->size < sizeof(*callbacks))
		return 0;
	if (version && version->size >= sizeof(*version) && version->set_injection_version)
		version->set_injection_version(INJECTION_VERSION);
	is_taken = take(callbacks, NVTX_MODULE_CORE, core, sizeof(core) / sizeof(*core));
	is_taken |= take(callbacks, NVTX_MODULE_CORE2, core2, sizeof(core2) / sizeof(*core2));
	return is_taken;
}
