/* nvtx_names: domains, registered strings and categories, which programs name once and then use by what they got for it.
 *
 * (1) What is given out is the address of one of our own, looked up before it is used: a program's mistake finds nothing.
 * (2) Names are kept for as long as the process; what comes too late for its table has no name. */
#ifndef TACHO_NVTX_NAMES_H
#define TACHO_NVTX_NAMES_H

#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

/* Given out for a domain of that name; NULL: there are too many, it is the default one. */
const void *nvtx_domain_new(const char *name);
/* Its name; NULL: the default one. */
const char *nvtx_domain_name(const void *domain);

/* Given out for a string. NULL: there are too many. */
const void *nvtx_string_new(const char *text);
/* NULL: it was given out by nobody. */
const char *nvtx_string_text(const void *string);

/* A copy of the text, the same at each call with an equal one, for as long as the process lives. NULL: it is empty, too long, or there are too many. */
const char *nvtx_text_kept(const char *text);

void nvtx_category_set(const void *domain, uint32_t category, const char *name);
/* NULL: it has none. */
const char *nvtx_category_name(const void *domain, uint32_t category);

/* The text in UTF-8, cut where it does not fit; what is no character becomes '?'. Returns `buffer`. */
const char *nvtx_narrow(const wchar_t *text, char *buffer, size_t size);

#endif
