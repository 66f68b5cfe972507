/* change_internal: what the rules of changes share. */
#ifndef TACHO_CHANGE_INTERNAL_H
#define TACHO_CHANGE_INTERNAL_H

#include "edit/change.h"

/* Read what stands behind the key of a change. */
typedef gboolean ChangeParse(struct change *change, const gchar *text, GError **error);
typedef gboolean ChangeApply(TachoGraph *graph, const struct change *change, GError **error);

struct change_rule {
	const gchar *prefix; /* its last character ends the key */
	const gchar *form;   /* for help */
	ChangeParse *parse;
	ChangeApply *apply;
	enum change_phase phase;
	enum change_needs needs;
	enum change_accuracy accuracy;
	gboolean is_of_slices; /* it finds work by its slices, which added passes lack */
	gboolean is_replaced;  /* by one later in a list */
	gboolean is_shared;    /* it can do without the slices of some ranks */
};

#define CHANGE(prefix, form, parse, apply, phase, needs, accuracy, is_of_slices, is_replaced,      \
	       is_shared)                                                                          \
	ChangeParse parse;                                                                         \
	ChangeApply apply;
#include "edit/changes.def"
#undef CHANGE

/* Set the error; FALSE. */
gboolean change_refuse(GError **error, const struct change *change, const gchar *format, ...)
	G_GNUC_PRINTF(3, 4);

/* Ranks that `text` begins with, up to one of `ends` (":=", say), into the change; `text` moves behind that. Where it
 * begins with no digit, all ranks are meant and it stays. */
gboolean change_parse_ranks(struct change *change, const gchar **text, const gchar *ends,
			    GError **error);
/* KIND~REGEX. */
gboolean change_parse_target(struct change *change, const gchar *target, GError **error);
gboolean change_parse_regex(struct change *change, const gchar *text, GError **error);

/* The slice or one that contains it is of the kind and its name matches; what a device did is also part of
 * what contains the call that launched it, though not of the call. */
gboolean change_slice_matches(const TachoGraph *graph, const gchar *kind, const GRegex *regex,
			      guint32 slice);

struct rank_choice;

/* The time of data loading of the ranks, which are told apart: `factor` times what it takes (0: nothing). */
gboolean change_scale_loader(TachoGraph *graph, const struct change *change,
			     const struct rank_choice *ranks, gdouble factor, GError **error);
/* The same for all ranks, where what they compute of a batch changes as much: waits for workers do, too. */
void change_load_batches(TachoGraph *graph, gdouble factor);
/* No rank waits for a later one in a collective: each has its part as soon as it comes. */
gboolean change_drop_wait(TachoGraph *graph, const struct change *change, GError **error);

/* The accelerators that the work of ranks is on, by their index: change->recorded, else what an earlier change has
 * put them on, else what was recorded; NULL for ranks that are not chosen. To be freed with g_free(). */
const struct device_peak **change_recorded_devices(const TachoGraph *graph,
						   const struct change *change,
						   const struct rank_choice *ranks, GError **error);
/* Their names, each once, between ", "; to be freed with g_free(). */
gchar *change_device_names(const TachoGraph *graph, const struct device_peak *const *devices);
/* It is a device that is known. */
gboolean change_check_device(const struct change *change, const gchar *name, GError **error);
/* change->name is a device that is known: the change of device, on these ranks. */
gboolean change_to_named_device(TachoGraph *graph, const struct change *change,
				struct rank_choice *ranks, GError **error);

/* Work that was not recorded, of the thread and step of the node that is to follow it. */
struct insertion {
	guint32 next; /* a node; each is in one insertion at most */
	gint64 duration_ns;
	enum node_origin origin;
	TachoNodeKind kind; /* OP, HOST ... */
	guint32 name;	    /* string of the timeline */
	gboolean has_slice; /* it is part of the slice that it is put before */
};

/* Put them in, each after all that its `next` began after; `insertions` holds struct insertion. Nodes get
 * other numbers. */
void change_insert(TachoGraph *graph, const GArray *insertions);

#endif
