/* rank_list: which ranks a text such as "0,7" or "0-3,8" names. For `tacho record`, for the agent and for who reads the
 * trace. Libc only. */
#ifndef TACHO_RANK_LIST_H
#define TACHO_RANK_LIST_H

#include <stdbool.h>
#include <stdlib.h>

#define RANK_LIST_MAX_RANK 99999999 /* so that all numbers fit */

/* The number at *text, which moves behind it; -1: there is none. */
static inline long rank_list_number(const char **text)
{
	long number = 0;

	if (**text < '0' || **text > '9')
		return -1;
	for (; **text >= '0' && **text <= '9'; (*text)++) {
		number = number * 10 + (**text - '0');
		if (number > RANK_LIST_MAX_RANK)
			return -1;
	}
	return number;
}

/* The next part of the list, "7" or "0-3", as its first and last rank; *text moves behind it and its comma. False: there is
 * none, or what is there is none. */
static inline bool rank_list_next(const char **text, long *first, long *last)
{
	*first = rank_list_number(text);
	*last = *first;
	if (*first >= 0 && **text == '-') {
		(*text)++;
		*last = rank_list_number(text);
	}
	if (*first < 0 || *last < *first || (**text && **text != ','))
		return false;
	if (**text == ',' && !*++*text)
		return false;
	return true;
}

/* Whether `text` is such a list, of one rank at least. */
static inline bool rank_list_is_valid(const char *text)
{
	long first, last;

	do {
		if (!rank_list_next(&text, &first, &last))
			return false;
	} while (*text);
	return true;
}

/* Whether the list names the rank. */
static inline bool rank_list_has(const char *text, long rank)
{
	long first, last;

	while (rank_list_next(&text, &first, &last))
		if (rank >= first && rank <= last)
			return true;
	return false;
}

#endif
