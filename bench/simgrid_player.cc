/* simgrid_player: an actor a rank does its nodes in order, each an execution on the rank's host; a transfer is
 * a communication on the wire, of an actor that begins when the transfer may. What waits for what is kept
 * here, and costs SimGrid nothing; so do nodes that take no time.
 *
 * SimGrid's own dependencies (Activity::add_successor) were tried first. Release 3.32 keeps all activities of a graph in
 * one list and walks it whenever one ends: 25,000 nodes a second of 32,000, and half as many of twice as many.
 *
 * A unit of work is a nanosecond: hosts do 1e9 flops a second, the wire moves 1e9 bytes. The network model is
 * the one without corrections for TCP (CM02), so that a transfer alone takes what it is given. */
#include "simgrid_player.h"

#include <chrono>
#include <simgrid/s4u.hpp>
#include <string>
#include <vector>
#include <xbt/log.h>

namespace sg4 = simgrid::s4u;

namespace
{

constexpr double units_a_second = 1e9;
constexpr int many_cores = 1 << 20; /* nobody waits for one */

struct machine {
	sg4::Engine engine;
	std::vector<sg4::Host *> ranks;
	sg4::Host *source, *sink;

	machine(uint32_t n_ranks, uint32_t n_cores);
};

machine::machine(uint32_t n_ranks, uint32_t n_cores) : engine("bench")
{
	xbt_log_control_set("xbt_cfg.thresh:warning");
	sg4::Engine::set_config("network/model:CM02");
	sg4::Engine::set_config("network/crosstraffic:0");
	sg4::Engine::set_config("network/TCP-gamma:0");
	sg4::NetZone *zone = sg4::create_full_zone("all");

	for (uint32_t i = 0; i < (n_cores ? 1 : n_ranks); i++)
		ranks.push_back(
			zone->create_host("rank" + std::to_string(i), units_a_second)
				->set_core_count(n_cores ? static_cast<int>(n_cores) : many_cores));
	source = zone->create_host("source", units_a_second);
	sink = zone->create_host("sink", units_a_second);
	sg4::Link *wire = zone->create_link("wire", units_a_second)->set_latency(0);
	zone->add_route(source->get_netpoint(), sink->get_netpoint(), nullptr, nullptr,
			{ sg4::LinkInRoute(wire) });
	zone->seal();
}

/* One play. Actors take turns in one thread. */
struct play {
	const simgrid_work &work;
	const machine &on;
	std::vector<uint32_t> n_waiting, first, successor;
	std::vector<std::vector<uint32_t>> nodes_of; /* each rank's, in order */
	std::vector<uint32_t> awaited;		     /* the node that a rank's actor waits for */
	std::vector<sg4::SemaphorePtr> woken;	     /* its actor */

	play(const simgrid_work &work, const machine &on);
	void begin();
	void finish(uint32_t node);

      private:
	void ready(uint32_t node);
	void run_rank(uint32_t rank);
};

constexpr uint32_t none = UINT32_MAX;

play::play(const simgrid_work &the_work, const machine &the_machine)
    : work(the_work), on(the_machine), n_waiting(work.n_nodes), first(work.n_nodes + 2),
      successor(work.n_edges), nodes_of(work.n_ranks), awaited(work.n_ranks, none)
{
	for (uint32_t i = 0; i < work.n_edges; i++) {
		first[work.from[i] + 2]++;
		n_waiting[work.to[i]]++;
	}
	for (uint32_t i = 0; i < work.n_nodes; i++)
		first[i + 2] += first[i + 1];
	for (uint32_t i = 0; i < work.n_edges; i++)
		successor[first[work.from[i] + 1]++] = work.to[i];
	for (uint32_t i = 0; i < work.n_nodes; i++)
		if (work.place[i] < work.n_ranks)
			nodes_of[work.place[i]].push_back(i);
	for (uint32_t i = 0; i < work.n_ranks; i++)
		woken.push_back(sg4::Semaphore::create(0));
}

void play::run_rank(uint32_t rank)
{
	for (uint32_t node : nodes_of[rank]) {
		if (n_waiting[node] > 0) {
			awaited[rank] = node;
			woken[rank]->acquire();
			awaited[rank] = none;
		}
		sg4::this_actor::execute(static_cast<double>(work.duration_ns[node]));
		finish(node);
	}
}

void play::ready(uint32_t node)
{
	if (work.place[node] == SIMGRID_ON_WIRE) {
		sg4::Actor::create("transfer", on.source, [this, node] {
			sg4::Comm::sendto(on.source, on.sink,
					  static_cast<uint64_t>(work.duration_ns[node]));
			finish(node);
		});
	} else if (work.place[node] == SIMGRID_NOWHERE) {
		finish(node);
	} else if (awaited[work.place[node]] == node) {
		woken[work.place[node]]->release();
	}
}

void play::finish(uint32_t node)
{
	for (uint32_t i = first[node]; i < first[node + 1]; i++)
		if (--n_waiting[successor[i]] == 0)
			ready(successor[i]);
}

void play::begin()
{
	for (uint32_t i = 0; i < work.n_ranks; i++)
		sg4::Actor::create("rank", on.ranks[i % on.ranks.size()],
				   [this, i] { run_rank(i); });
}

} // namespace

struct simgrid_times simgrid_play(const struct simgrid_work *work)
{
	static machine the_machine(work->n_ranks, work->n_cores);
	play the_play(*work, the_machine);
	double begin_s = sg4::Engine::get_clock();
	auto begin = std::chrono::steady_clock::now();

	the_play.begin();
	the_machine.engine.run();
	return { std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(),
		 (sg4::Engine::get_clock() - begin_s) * 1e9 };
}
