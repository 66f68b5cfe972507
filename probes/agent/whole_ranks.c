#include "agent/whole_ranks.h"

#include "agent/identity.h"
#include "agent/stream.h"
#include "common/probe.h"
#include "trace/rank_list.h"

static const char *list = ""; /* empty: all */
static int launched_rank = -1;

static void judge(long rank)
{
	streams_set_partial(*list && rank >= 0 && !rank_list_has(list, rank));
}

void whole_ranks_configure(const struct agent_settings *settings)
{
	list = "";
	judge(-1);
	if (!*settings->ranks)
		return;
	if (!rank_list_is_valid(settings->ranks)) {
		tacho_say("TACHO_RANKS must be ranks like 0,7 or 0-3, not '%s'; all are recorded "
			  "whole",
			  settings->ranks);
		return;
	}
	list = settings->ranks;
	launched_rank = identity_rank();
	judge(launched_rank);
}

void whole_ranks_told(int64_t rank)
{
	if (launched_rank < 0 && *list)
		judge(rank < 0 || rank > RANK_LIST_MAX_RANK ? -1 : (long)rank);
}
