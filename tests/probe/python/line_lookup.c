/* Answers which line an instruction is on, for tests/job/python_lines.sh: each line of standard input is
 *
 *     FORM FIRST_LINE TABLE_IN_HEX OFFSET:LINE OFFSET:LINE ...
 *
 * and an answer that differs from LINE is printed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "python/line_table.h"

static size_t read_hex(const char *hex, unsigned char *bytes)
{
	size_t n = 0;
	unsigned byte;

	for (; sscanf(hex, "%2x", &byte) == 1; hex += 2)
		bytes[n++] = (unsigned char)byte;
	return n;
}

int main(void)
{
	char *line = NULL;
	size_t room = 0;
	unsigned long n_asked = 0, n_wrong = 0;

	while (getline(&line, &room, stdin) > 0) {
		char *form = strtok(line, " \n"), *first = strtok(NULL, " \n");
		char *hex = strtok(NULL, " \n"), *question;
		unsigned char *bytes = malloc(strlen(hex) + 1);
		size_t n_bytes = read_hex(hex, bytes);

		while ((question = strtok(NULL, " \n"))) {
			long offset, expected;
			unsigned found;

			if (sscanf(question, "%ld:%ld", &offset, &expected) != 2)
				return 2;
			found = line_table_find((enum line_table_form)atoi(form), bytes, n_bytes,
						atoi(first), offset);
			n_asked++;
			if (found != (unsigned long)expected && n_wrong++ < 10)
				printf("form %s, first line %s, table %s: byte %ld is on line %ld, "
				       "not %u\n",
				       form, first, hex, offset, expected, found);
		}
		free(bytes);
	}
	free(line);
	printf("%lu instructions, %lu wrong\n", n_asked, n_wrong);
	return n_wrong || !n_asked;
}
