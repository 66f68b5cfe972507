/* nvtx_calls: a program with what NVTX's headers would compile into it, in own words and as small as can be: it loads what
 * NVTX_INJECTION64_PATH names, gives it its tables, and calls what came of it. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../support/paced.h"
#include "nvtx/nvtx_abi.h"

static nvtx_function *core[16], *core2[16];
static nvtx_function **core_places[16], **core2_places[16];

static int get_functions(int module, nvtx_function ****table, unsigned *n)
{
	nvtx_function **functions = module == NVTX_MODULE_CORE ? core : core2;
	nvtx_function ***places = module == NVTX_MODULE_CORE ? core_places : core2_places;

	if (module != NVTX_MODULE_CORE && module != NVTX_MODULE_CORE2)
		return 0;
	for (unsigned i = 1; i < 16; i++)
		places[i] = &functions[i];
	*table = places;
	*n = 16;
	return 1;
}

static uint32_t injection_version;

static void set_version(uint32_t version)
{
	injection_version = version;
}

static const void *get_table(uint32_t which)
{
	static const struct nvtx_callbacks callbacks = { sizeof(callbacks), get_functions };
	static const struct nvtx_version version = { sizeof(version), 3, 0, set_version };

	return which == NVTX_TABLE_CALLBACKS ? (const void *)&callbacks
	       : which == NVTX_TABLE_VERSION ? (const void *)&version
					     : NULL;
}

static void *end_range(void *range)
{
	((void (*)(uint64_t))core[NVTX_RANGE_END])(*(uint64_t *)range);
	return NULL;
}

static struct nvtx_event event_of(const char *message)
{
	return (struct nvtx_event){ .version = 3,
				    .size = sizeof(struct nvtx_event),
				    .message_type = NVTX_MESSAGE_ASCII,
				    .message.ascii = message };
}

static void call_core(void)
{
	int (*push)(const char *) = (int (*)(const char *))core[NVTX_RANGE_PUSH_A];
	int (*push_wide)(const wchar_t *) = (int (*)(const wchar_t *))core[NVTX_RANGE_PUSH_W];
	int (*push_event)(const struct nvtx_event *) =
		(int (*)(const struct nvtx_event *))core[NVTX_RANGE_PUSH_EX];
	int (*pop)(void) = (int (*)(void))core[NVTX_RANGE_POP];
	uint64_t (*start)(const char *) = (uint64_t(*)(const char *))core[NVTX_RANGE_START_A];
	struct nvtx_event short_event = event_of("never read");
	uint64_t range;
	pthread_t thread;

	if (push("outer") != -2)
		puts("the program is told of a tool");
	push_wide(L"gr\u00f6\u00dfer \U0001f600");
	pop();
	((void (*)(const char *))core[NVTX_MARK_A])("rank"); /* no mark of tacho's */
	pop();
	pop(); /* one too many */
	range = start("across");
	pthread_create(&thread, NULL, end_range, &range);
	pthread_join(thread, NULL);
	end_range(&range); /* twice */
	short_event.size = 8;
	push_event(&short_event);
	pop();
	push(NULL);
	pop();
}

static void call_domains(void)
{
	const void *(*create)(const char *) =
		(const void *(*)(const char *))core2[NVTX_DOMAIN_CREATE_A];
	const void *(*register_string)(const void *, const char *) =
		(const void *(*)(const void *, const char *))core2[NVTX_DOMAIN_REGISTER_STRING_A];
	int (*push)(const void *, const struct nvtx_event *) =
		(int (*)(const void *, const struct nvtx_event *))core2[NVTX_DOMAIN_RANGE_PUSH_EX];
	int (*pop)(const void *) = (int (*)(const void *))core2[NVTX_DOMAIN_RANGE_POP];
	const void *domain = create("loader");
	struct nvtx_event event = event_of("batch");

	if (create("loader") != domain)
		puts("one name has two domains");
	((void (*)(const void *, uint32_t, const char *))core2[NVTX_DOMAIN_NAME_CATEGORY_A])(
		domain, 4, "read");
	event.category = 4;
	event.payload_type = NVTX_PAYLOAD_I32;
	event.payload.i32 = 7;
	push(domain, &event);
	event.category = 0;
	event.message_type = NVTX_MESSAGE_REGISTERED;
	event.message.registered = register_string(domain, "registered");
	for (int i = 0; i < 3; i++) {
		push(domain, &event);
		pop(domain);
	}
	event.message.registered = &event; /* nobody gave that out */
	push(domain, &event);
	pop(domain);
	pop(domain);
	event = event_of("value");
	event.payload_type = NVTX_PAYLOAD_DOUBLE;
	event.payload.real = 0.5;
	((void (*)(const void *, const struct nvtx_event *))core2[NVTX_DOMAIN_MARK_EX])(domain,
											&event);
	push(&event, &event); /* a domain of nobody's */
	pop(&event);
}

/* A range in each round. Without a tool a program would call nothing. */
/* Texts at one address, more of them than are kept, and a long one. */
static void anew(void)
{
	int (*push)(const char *) = (int (*)(const char *))core[NVTX_RANGE_PUSH_A];
	int (*pop)(void) = (int (*)(void))core[NVTX_RANGE_POP];
	char text[1000];

	for (int i = 0; i < 10000 && push && pop; i++) {
		snprintf(text, sizeof(text), "range %d", i % 5000);
		push(text);
		pop();
	}
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	for (int i = 0; i < 2 && push && pop; i++) {
		push(text);
		pop();
	}
}

static void paced(void)
{
	int (*push)(const char *) = (int (*)(const char *))core[NVTX_RANGE_PUSH_A];
	int (*pop)(void) = (int (*)(void))core[NVTX_RANGE_POP];
	static struct paced rounds;

	while (paced_goes_on(&rounds)) {
		if (push)
			push("round");
		paced_work();
		if (pop)
			pop();
	}
	paced_tell(&rounds);
}

int main(int argc, char **argv)
{
	const char *injection = getenv("NVTX_INJECTION64_PATH");
	void *library = injection ? dlopen(injection, RTLD_LAZY) : NULL;
	int (*initialize)(nvtx_get_table *) = NULL;

	if (library)
		initialize = (int (*)(nvtx_get_table *))dlsym(library, "InitializeInjectionNvtx2");
	if (argc > 1 && (strcmp(argv[1], "paced") == 0 || strcmp(argv[1], "anew") == 0)) {
		if (initialize)
			initialize(get_table);
		if (strcmp(argv[1], "anew") == 0)
			anew();
		else
			paced();
		return 0;
	}
	if (!initialize) {
		puts("no tool");
		return 0;
	}
	if (argc > 1 && initialize(NULL) != 0)
		puts("no table was taken for one");
	if (!initialize(get_table) || !core[NVTX_RANGE_PUSH_A] || injection_version != 2) {
		puts("nothing was taken");
		return 0;
	}
	call_core();
	call_domains();
	puts("done");
	return 0;
}
