/* page_flame: the stacks of a run as a flame graph of the page wants them: each stack of names once, with the time that it
 * took, by itself and with what is in it. */
#ifndef TACHO_PAGE_FLAME_H
#define TACHO_PAGE_FLAME_H

#include "base/json_writer.h"
#include "export/export_scope.h"

/* Write an object: "names", texts, and "is_own", whether each is a function of the program itself; and of each stack, one column each, "parent" (which stands before it; -1: a thread),
 * "name" (index), "total_ns", "self_ns". Those of sampled threads stand first. What takes less than a part in some thousand of
 * its thread is left out. */
void page_flame_write_json(const struct export_scope *scope, JsonWriter *json);

#endif
