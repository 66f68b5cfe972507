/* hsa_probe: what AMD's HSA runtime and its devices do. The runtime loads the libraries that HSA_TOOLS_LIB names when a program calls hsa_init(),
 * and calls their OnLoad() with the tables of its functions; what programs call from then on is ours first (hsa_calls.c, hsa_work.c).
 *
 * (1) A runtime whose tables are shorter than what is used here, or of another major, is left alone.
 * (2) Nothing is taken out when the runtime is shut down: it forgets its tools. */
#include "hsa/hsa_probe.h"

#include <string.h>

#include "common/probe.h"

#define UNSEEN "AMD devices"

TACHO_EXPORT bool OnLoad(struct hsa_tables *tables, uint64_t runtime_version, uint64_t n_failed,
			 const char *const *failed);
TACHO_EXPORT void OnUnload(void);

struct hsa_core_table hsa_core;
struct hsa_amd_table hsa_amd;

static bool is_known(const struct hsa_table_head *head, size_t size)
{
	return head->major == 1 && head->size >= size;
}

bool OnLoad(struct hsa_tables *tables, uint64_t runtime_version, uint64_t n_failed,
	    const char *const *failed)
{
	(void)runtime_version, (void)n_failed, (void)failed;
	if (!tacho_is_alive())
		return true;
	if (!tables || !tables->core || !tables->amd ||
	    !is_known(&tables->core->head, sizeof(hsa_core)) ||
	    !is_known(&tables->amd->head, sizeof(hsa_amd))) {
		tacho_unseen(UNSEEN,
			     "this HSA runtime has other tables of functions than are known");
		return true;
	}
	memcpy(&hsa_core, tables->core, sizeof(hsa_core));
	memcpy(&hsa_amd, tables->amd, sizeof(hsa_amd));
	tacho_writer.is_inside++;
	hsa_devices_find();
	hsa_work_start();
	tacho_writer.is_inside--;
	hsa_calls_put(tables->core, tables->amd);
	return true;
}

void OnUnload(void)
{
	hsa_work_finish();
}
