/* diagnosis: what `tacho doctor` found, and how it prints that. */
#ifndef TACHO_DIAGNOSIS_H
#define TACHO_DIAGNOSIS_H

#include <glib.h>

typedef enum {
	FINDING_WORKS,
	FINDING_ABSENT, /* it is not there, and a recording can do without */
	FINDING_PARTLY, /* a recording will have less in it */
	FINDING_FAILS,	/* there will be no recording, or not of what was asked */
} FindingState;

typedef struct _Diagnosis Diagnosis;

Diagnosis *diagnosis_new(void);
void diagnosis_free(Diagnosis *diagnosis);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Diagnosis, diagnosis_free)

/* What is found next is of this area, which must be a constant. */
void diagnosis_area(Diagnosis *diagnosis, const gchar *area);
/* Found of `subject`: `found` says what, `advice` what to do, NULL: nothing. Takes both. */
void diagnosis_add(Diagnosis *diagnosis, const gchar *subject, FindingState state, gchar *found,
		   gchar *advice);

guint diagnosis_count(const Diagnosis *diagnosis, FindingState state);

/* To stdout: for people, or as JSON (docs/json.md). */
void diagnosis_print(const Diagnosis *diagnosis);
void diagnosis_print_json(const Diagnosis *diagnosis);

#endif
