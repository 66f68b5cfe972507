#include "nvtx/nvtx_names.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/utf8.h"
#include "trace/text_hash.h"

#define MAX_DOMAINS    256
#define MAX_STRINGS    65536
#define MAX_CATEGORIES 1024
#define MAX_TEXTS      4096 /* a power of 2 */
#define TEXT_TRIES     8    /* places in which a text may be */
#define TEXT_BYTES     256

struct name_list {
	char **names; /* atomic */
	uint32_t size;
	uint32_t n; /* atomic: places taken */
};

static char *domain_names[MAX_DOMAINS], *string_texts[MAX_STRINGS];
static struct name_list domains = { .names = domain_names, .size = MAX_DOMAINS };
static struct name_list strings = { .names = string_texts, .size = MAX_STRINGS };

static const void *add(struct name_list *list, const char *name)
{
	uint32_t place = __atomic_fetch_add(&list->n, 1, __ATOMIC_RELAXED);
	char *copy;

	if (place >= list->size) { /* stays there, however many come */
		__atomic_store_n(&list->n, list->size, __ATOMIC_RELAXED);
		return NULL;
	}
	copy = name ? strdup(name) : NULL;
	if (!copy)
		return NULL;
	__atomic_store_n(&list->names[place], copy, __ATOMIC_RELEASE);
	return &list->names[place];
}

static const char *find(const struct name_list *list, const void *given_out)
{
	uintptr_t first = (uintptr_t)list->names, at = (uintptr_t)given_out;

	if (at < first || at >= first + list->size * sizeof(*list->names) ||
	    (at - first) % sizeof(*list->names))
		return NULL;
	return __atomic_load_n((char **)at, __ATOMIC_ACQUIRE);
}

/* One domain for one name. */
const void *nvtx_domain_new(const char *name)
{
	uint32_t n = __atomic_load_n(&domains.n, __ATOMIC_ACQUIRE);

	for (uint32_t i = 0; name && i < n && i < domains.size; i++) {
		const char *known = __atomic_load_n(&domain_names[i], __ATOMIC_ACQUIRE);

		if (known && strcmp(known, name) == 0)
			return &domain_names[i];
	}
	return add(&domains, name);
}

const char *nvtx_domain_name(const void *domain)
{
	return find(&domains, domain);
}

const void *nvtx_string_new(const char *text)
{
	return add(&strings, text);
}

const char *nvtx_string_text(const void *string)
{
	return find(&strings, string);
}

/* --- texts that come anew with each call ---------------------------------------------------- */

static char *texts[MAX_TEXTS]; /* atomic; never changed again */

static uint32_t hash_of(const char *text, size_t *ret_length)
{
	uint32_t hash = TEXT_HASH32_START;
	size_t length = 0;

	for (; text[length] && length < TEXT_BYTES; length++)
		hash = text_hash32_step(hash, text[length]);
	*ret_length = length;
	return hash ^ hash >> 15;
}

const char *nvtx_text_kept(const char *text)
{
	char *copy = NULL;
	size_t length;
	uint32_t hash;

	if (!text || !*text)
		return NULL;
	hash = hash_of(text, &length);
	for (uint32_t i = 0; i < TEXT_TRIES && length < TEXT_BYTES; i++) {
		char **place = &texts[(hash + i) % MAX_TEXTS];
		char *there = __atomic_load_n(place, __ATOMIC_ACQUIRE);

		if (!there && (copy || (copy = strdup(text))) &&
		    __atomic_compare_exchange_n(place, &there, copy, false, __ATOMIC_ACQ_REL,
						__ATOMIC_ACQUIRE))
			return copy;
		if (there && strcmp(there, text) == 0) {
			free(copy); /* another thread was first */
			return there;
		}
	}
	free(copy);
	return NULL;
}

/* --- categories ------------------------------------------------------------------------------ */

/* Only added to; the later name of a category counts. */
static struct category {
	const void *domain;
	char *name; /* atomic, set last */
	uint32_t number;
} categories[MAX_CATEGORIES];
static uint32_t n_categories; /* atomic */

void nvtx_category_set(const void *domain, uint32_t category, const char *name)
{
	uint32_t place = __atomic_load_n(&n_categories, __ATOMIC_RELAXED);
	char *copy = name && place < MAX_CATEGORIES ? strdup(name) : NULL;

	if (!copy)
		return;
	place = __atomic_fetch_add(&n_categories, 1, __ATOMIC_RELAXED);
	if (place >= MAX_CATEGORIES) {
		__atomic_store_n(&n_categories, MAX_CATEGORIES, __ATOMIC_RELAXED);
		free(copy);
		return;
	}
	categories[place].domain = domain;
	categories[place].number = category;
	__atomic_store_n(&categories[place].name, copy, __ATOMIC_RELEASE);
}

const char *nvtx_category_name(const void *domain, uint32_t category)
{
	uint32_t n = __atomic_load_n(&n_categories, __ATOMIC_ACQUIRE);

	if (!category)
		return NULL;
	for (uint32_t i = n < MAX_CATEGORIES ? n : MAX_CATEGORIES; i > 0; i--) {
		const char *name = __atomic_load_n(&categories[i - 1].name, __ATOMIC_ACQUIRE);

		if (name && categories[i - 1].domain == domain &&
		    categories[i - 1].number == category)
			return name;
	}
	return NULL;
}

/* --- wide characters --------------------------------------------------------------------------- */

const char *nvtx_narrow(const wchar_t *text, char *buffer, size_t size)
{
	size_t length = 0;

	for (; text && *text && length + 4 < size; text++) {
		uint32_t character = (uint32_t)*text;
		bool is_one = character <= 0x10ffff && (character < 0xd800 || character > 0xdfff);

		length += utf8_put(buffer + length, is_one ? character : '?');
	}
	buffer[length] = '\0';
	return buffer;
}
