// Random programs that always terminate: each is replayed with all invariants checked, after every
// instant if the core is built with TISIM_VERIFY. Such a core also randomises the order of
// simultaneous events, which must not change when a rank ends.
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "core/simulation_testing.hpp"
#include "training/clusters.hpp"
#include "training/programs.hpp"

namespace tisim::test {
namespace {

const std::uint32_t kPrograms = campaign(50, 200);

// A program is generated as one sequence of events. Both sides of a message are written at its
// event, so the ranks can always advance in the order of the sequence, and no program deadlocks.
class RandomProgram {
 public:
  explicit RandomProgram(std::uint32_t seed)
      : random_(seed), ranks_(2 + below(9)), hosts_(1 + below(ranks_)), programs_(size(ranks_)) {
    const int events = 20 + below(60);
    for (int event = 0; event < events; ++event) add_event();
    for (Program& program : programs_) program.push_back("waitall");
    training::ClusterBuilder cluster(hosts_);
    machine_ = below(2) == 0 ? cluster.with_backbone() : cluster.with_limiters();
    machine_.model.detached_threshold = 1 << below(20);
  }

  // Collectives are answered with a dissemination algorithm, whose messages double each round.
  // Returns when each rank ends, seconds; empty if the program deadlocks. `order`: seed of the
  // order of simultaneous events, 0: not randomised. `rendezvous`: over FIFO connections; null:
  // messages share the links.
  std::vector<double> replay([[maybe_unused]] std::uint32_t order = 0,
                             const char* rendezvous = nullptr) const {
    Model model = machine_.model;
    model.ordering = rendezvous ? "fifo" : "fair";
    model.rendezvous = rendezvous ? rendezvous : "put";
    model.send_buffer = 100'000;
    model.fragment_bytes = 50'000;
    model.fragments_queued = 3;
    Simulation simulation(std::move(model), machine_.platform);
#ifdef TISIM_VERIFY
    if (order > 0) simulation.draw_order(order);
#endif
    std::vector<std::int32_t> places;
    for (int rank = 0; rank < ranks_; ++rank) places.push_back(rank % hosts_);
    simulation.add_job(trace_of(programs_), places);
    Stop stop = simulation.run();
    while (stop == Stop::need_schedule || stop == Stop::completion) {
      if (stop == Stop::need_schedule) provide_dissemination(simulation);
      simulation.take_completions();
      stop = simulation.run();
    }
    simulation.verify();
    std::vector<double> ends;
    for (const Rank& rank : simulation.ranks()) {
      if (stop == Stop::done && rank.phase == Phase::finished) ends.push_back(rank.finish);
    }
    if (ends.size() != programs_.size()) ends.clear();
    return ends;
  }

 private:
  static std::size_t size(int number) { return static_cast<std::size_t>(number); }
  int below(int bound) { return static_cast<int>(random_() % static_cast<std::uint32_t>(bound)); }

  void say(int rank, const std::string& line) { programs_[size(rank)].push_back(line); }

  void add_event() {
    const int rank = below(ranks_);
    switch (below(10)) {
      case 0:
        return say(rank, "compute " + std::to_string(below(100'000'000)));
      case 1:
        return say(rank, "sleep 0." + std::to_string(below(1000)));
      case 2:
        return say(rank, "waitall");
      case 3:
        for (Program& program : programs_) {
          program.push_back("barrier");
        }
        return;
      default:
        return add_message(rank, (rank + 1 + below(ranks_ - 1)) % ranks_);
    }
  }

  // Each tag belongs to one message, so a receive from any source has only one match.
  void add_message(int from, int to) {
    static const std::vector<std::string> kSends = {"send", "isend", "isend", "ssend", "issend"};
    const std::string tag = std::to_string(++messages_);
    if (below(8) == 0) add_cancelled(from, to);
    const std::string rest = " " + tag + " " + std::to_string(below(1 << (1 + below(22)))) + " 0";
    const std::string source = std::to_string(below(4) == 0 ? kAnySource : from);
    const std::string& send = kSends[size(below(static_cast<int>(kSends.size())))];
    // The receive is posted before the send, after it, or waited for at once.
    const bool early = below(2) == 0;
    if (early) say(to, "irecv " + source + rest);
    say(from, send + " " + std::to_string(to) + rest);
    if (!early) say(to, (below(2) == 0 ? "irecv " : "recv ") + source + rest);
    const std::string key = " " + std::to_string(to) + " " + tag;
    if (send.front() == 'i' && below(4) == 0)
      say(from, "request_free " + std::to_string(from) + key);
    if (early && below(4) == 0) say(to, "request_free " + source + key);
  }

  // One side of a message without the other.
  void add_cancelled(int from, int to) {
    const std::string tag = std::to_string(++messages_);
    const std::string rest = " " + tag + " 1000 0";
    const bool receives = below(2) == 0;
    const int rank = receives ? to : from;
    say(rank,
        receives ? "irecv " + std::to_string(from) + rest : "issend " + std::to_string(to) + rest);
    if (below(2) == 0) say(rank, "compute " + std::to_string(below(10'000'000)));
    say(rank, "cancel " + std::to_string(from) + " " + std::to_string(to) + " " + tag);
  }

  static void provide_dissemination(Simulation& simulation) {
    const Question& asked = simulation.question();
    const std::int32_t ranks = simulation.communicator(asked.comm).size;
    ScheduleColumns steps;
    std::int32_t slot = 0;
    for (std::int32_t by = 1; by < ranks; by *= 2, slot += 2) {
      const double bytes = 1000.0 * by;
      steps.add(StepCode::isend, (asked.number + by) % ranks, bytes, slot);
      steps.add(StepCode::irecv, (asked.number + ranks - by) % ranks, bytes, slot + 1);
      steps.add(StepCode::wait, 0, 0.0, slot);
      steps.add(StepCode::wait, 0, 0.0, slot + 1);
      steps.add(StepCode::compute, 0, bytes);
    }
    steps.provide(simulation);
  }

  std::mt19937 random_;  // same sequence on every machine
  int ranks_;
  int hosts_;
  int messages_ = 0;
  std::vector<Program> programs_;
  training::Machine machine_;
};

TEST("random programs run to their ends, and again to the same") {
  for (std::uint32_t seed = 1; seed <= kPrograms; ++seed) {
    const RandomProgram program(seed);
    const std::vector<double> ends = program.replay();
    if (ends.empty()) std::fprintf(stderr, "program %u hangs\n", seed);
    CHECK(!ends.empty());
    if (seed % 20 == 0) CHECK(program.replay() == ends);
  }
}

TEST("random programs run to their ends over FIFO connections") {
  for (std::uint32_t seed = 1; seed <= kPrograms; ++seed) {
    const RandomProgram program(seed);
    for (const char* rendezvous : {"put", "put-ack", "get", "send"}) {
      const std::vector<double> ends = program.replay(0, rendezvous);
      if (ends.empty()) std::fprintf(stderr, "program %u hangs with %s\n", seed, rendezvous);
      CHECK(!ends.empty());
      if (seed % 20 == 0) CHECK(program.replay(0, rendezvous) == ends);
    }
  }
}

#ifdef TISIM_VERIFY

const std::uint32_t kOrders = campaign(2, 3);

bool all_close(const std::vector<double>& ends, const std::vector<double>& wanted) {
  return std::equal(ends.begin(), ends.end(), wanted.begin(), wanted.end(),
                    [](double a, double b) { return close(a, b, 1e-9); });
}

TEST("random programs end at the same times in whatever order simultaneous events happen") {
  for (std::uint32_t seed = 1; seed <= kPrograms; ++seed) {
    const RandomProgram program(seed);
    const std::vector<double> wanted = program.replay();
    for (std::uint32_t order = 1; order <= kOrders; ++order) {
      const bool same = all_close(program.replay(order), wanted);
      if (!same) std::fprintf(stderr, "program %u differs in the order %u\n", seed, order);
      CHECK(same);
    }
  }
}

TEST("a drawn order decides who wins a race") {
  // Two ranks send to one at the same time; another rank shows which message arrived first.
  int short_first = 0, long_first = 0;
  for (std::uint32_t order = 1; order <= 20; ++order) {
    Replay replay({{"recv -555 0 9000", "send 3 0 0", "recv -555 0 9000"},
                   {"send 0 0 1000"},
                   {"send 0 0 3000"},
                   {"recv 0 0 0"}});
    replay.simulation.draw_order(order);
    CHECK(replay.run().stop == Stop::done);
    short_first += close(replay.finish(3), 3.0, 1e-9) ? 1 : 0;
    long_first += close(replay.finish(3), 5.0, 1e-9) ? 1 : 0;
  }
  CHECK(short_first > 2 && long_first > 2 && short_first + long_first == 20);
}

std::vector<double> replay_training(const training::Machine& machine,
                                    const std::vector<std::string>& texts, std::uint32_t order) {
  Simulation simulation(machine.model, machine.platform);
  if (order > 0) simulation.draw_order(order);
  std::vector<std::int32_t> hosts(texts.size());
  std::iota(hosts.begin(), hosts.end(), 0);
  simulation.add_job(TraceSet::open(files_of(texts), "training"), hosts);
  Stop stop = simulation.run();
  for (; stop == Stop::completion; stop = simulation.run()) simulation.take_completions();
  CHECK(stop == Stop::done);
  std::vector<double> ends;
  for (const Rank& rank : simulation.ranks()) ends.push_back(rank.finish);
  return ends;
}

// Many flows on one link, which the solver treats as a bottleneck, and large components.
TEST("programs of many ranks end at the same times in whatever order simultaneous events happen") {
  constexpr int kHosts = 24;
  for (const training::Machine& machine : {training::ClusterBuilder(kHosts).with_backbone(),
                                           training::ClusterBuilder(kHosts).with_limiters()}) {
    for (const std::vector<std::string>& texts :
         {training::wavefront(4, 4, 8), training::exchanges(16, 4),
          training::halo(kHosts, 3, 8000, 1), training::halo(kHosts, kHosts - 1, 100'000, 1)}) {
      const std::vector<double> wanted = replay_training(machine, texts, 0);
      for (std::uint32_t order = 1; order <= kOrders; ++order) {
        CHECK(all_close(replay_training(machine, texts, order), wanted));
      }
    }
  }
}

#endif

}  // namespace
}  // namespace tisim::test
