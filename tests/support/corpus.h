/* corpus: what tacho says of many timelines, held against what it said before.
 *
 * tests/data/timelines.txt has timelines that tests were written on, and tests/data the traces; others are made up
 * (property_jobs.h, random_jobs.h, byte_timeline.h). A test puts every question of one kind to each of them. Nobody has
 * worked out all the answers by hand; but a change that is meant to change none of them must not, and one that is meant to
 * is seen in every place that it reaches.
 *
 * An answer may be long, so a file of them (tests/data/corpus/NAME.out) has its length in lines and a digest. Where one is
 * another than before, the test prints it; with TACHO_SHOW=PREFIX it prints all answers whose head begins so, also those of
 * an older build, to compare. TACHO_BLESS=1 writes the file. Numbers count with nine digits, so that a compiler may round. */
#ifndef TACHO_TEST_CORPUS_H
#define TACHO_TEST_CORPUS_H

#include <stdio.h>
#include <tacho/table.h>
#include <tacho/timeline.h>

struct corpus {
	const gchar *name;
	GString *lines;
	GHashTable *expected; /* head: line */
	guint n_different;
};

enum corpus_part {
	CORPUS_TEXTS = 1 << 0,
	CORPUS_TRACES = 1 << 1,
	CORPUS_JOBS = 1 << 2,	   /* made up; a few that chance has drawn */
	CORPUS_MANY_JOBS = 1 << 3, /* made up; many that chance has drawn */
	CORPUS_DRAWN = 1 << 4,	   /* timelines of bytes that chance has drawn */
};

/* Ask `question` of each timeline of these parts (enum corpus_part), which is correlated, and compare the answers with
 * those of NAME.out. */
void corpus_ask(const gchar *name, guint parts,
		void (*question)(struct corpus *corpus, const gchar *timeline_name,
				 TachoTimeline *timeline));

/* To write an answer: corpus_begin(), print into the stream, corpus_end(). An empty answer leaves no line. */
FILE *corpus_begin(struct corpus *corpus);
void corpus_end(struct corpus *corpus, const gchar *timeline_name, const gchar *what, FILE *out);
/* The table as JSON with its notes; of a table without rows, the notes go into `absent`. Frees the table. */
void corpus_add_table(struct corpus *corpus, const gchar *timeline_name, const gchar *what,
		      TachoTable *table, FILE *absent);

#endif
