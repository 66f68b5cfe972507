#include "precision/rank_formats.h"

#include <string.h>

void rank_formats_init(struct rank_formats *ranks, guint32 n_operations, guint32 n_ranks)
{
	*ranks = (struct rank_formats){ .n_operations = n_operations, .n_ranks = n_ranks };
	ranks->set_of = g_new0(guint32, MAX(n_ranks, 1u));
	ranks->sets = g_ptr_array_new_with_free_func(g_free);
	ranks->n_of = g_array_new(FALSE, FALSE, sizeof(guint32));
}

void rank_formats_release(struct rank_formats *ranks)
{
	g_clear_pointer(&ranks->set_of, g_free);
	g_clear_pointer(&ranks->sets, g_ptr_array_unref);
	g_clear_pointer(&ranks->n_of, g_array_unref);
}

void rank_formats_set(struct rank_formats *ranks, guint32 rank, const guint8 *formats)
{
	const guint32 one = 1;
	guint32 set = 0;

	while (set < ranks->sets->len &&
	       memcmp(rank_formats_of(ranks, set), formats, ranks->n_operations) != 0)
		set++;
	ranks->set_of[rank] = set;
	if (set < ranks->sets->len) {
		g_array_index(ranks->n_of, guint32, set)++;
		return;
	}
	g_ptr_array_add(ranks->sets, g_memdup2(formats, MAX(ranks->n_operations, 1u)));
	g_array_append_val(ranks->n_of, one);
}
