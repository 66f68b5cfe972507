/* pass_graphs: kernels launched by a device graph, which one call launches: what the host takes for each launch is spared. What operations
 * take besides, which a graph spares, too, stays; so it gains rather more than is said. */
#include "optimize/optimizing.h"

#include "graph/graph_internal.h"

void pass_graphs(struct optimizing *optimizing)
{
	if (!graph_has_devices(optimizing->base->graph))
		return;
	optimizing_propose_what_if(
		optimizing, g_strdup("drop:runtime~LaunchKernel"),
		g_strdup("kernels are launched by a device graph"), 1,
		"the same shapes in every step",
		"by hand: torch.cuda.graphs, or torch.compile(mode=\"reduce-overhead\")");
}
