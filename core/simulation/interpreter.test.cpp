#include "simulation/interpreter.hpp"

#include <cmath>
#include <random>
#include <stdexcept>
#include <vector>

#include "core/packed_testing.hpp"
#include "core/simulation_testing.hpp"
#include "simulation/steady_states.hpp"

namespace tisim::test {

namespace {

TEST("what is being transferred from a rank that dies is lost") {
  Replay replay({{"send 1 0 9000", "sleep 9"}, {"recv 0 0 9000"}});
  replay.simulation.kill_at(0, 2.0);
  CHECK(replay.run().stop == Stop::deadlock);
  const std::int32_t message = replay.simulation.ranks()[1].waiting;
  CHECK(replay.simulation.loss_of(message) != nullptr);
  CHECK(replay.simulation.network().flows_in_progress() == 0);
}

TEST("a rank that is woken without a reason is an error, not a step") {
  Replay replay({{"recv 1 0 10"}, {"sleep 1"}});
  CHECK(replay.run().stop == Stop::deadlock);
  SimulationTesting::clock(replay.simulation).wake(1);  // already finished
  CHECK_THROWS(replay.simulation.run(), std::logic_error, "cannot be woken in phase");
}

TEST("a run ends at the time that it is given") {
  Replay replay({{"sleep 5"}});
  CHECK(replay.simulation.run(2.0) == Stop::time);
  CHECK(replay.simulation.now() == 2.0);
  CHECK(replay.run().stop == Stop::done);
}

struct Case {
  std::int64_t client_cache = 0;
  std::int64_t server_cache = 0;
  bool has_buffers = false;
};

constexpr std::int32_t kHosts = 6;

std::shared_ptr<const PlatformData> machine(const Case& settings, std::mt19937_64& random) {
  auto data = std::make_shared<PlatformData>(*simple_platform(kHosts));
  FileSystemData system;
  const auto add_disk = [&](std::int32_t host) {
    data->disk_host.push_back(host);
    data->disk_read_bandwidth.push_back(200.0);
    data->disk_write_bandwidth.push_back(80.0);
    data->disk_size.push_back(1e18);
    return static_cast<std::int32_t>(data->disk_host.size()) - 1;
  };
  for (std::int32_t host = 2; host < kHosts; ++host) {
    system.servers.push_back(add_disk(host));
    if (settings.has_buffers) system.buffers.push_back(add_disk(host));
  }
  system.stripe = static_cast<std::int64_t>(1 + random() % 200);
  system.count = static_cast<std::int32_t>(1 + random() % 4);
  system.request = static_cast<std::int64_t>(1 + random() % 300);
  system.window = static_cast<std::int32_t>(1 + random() % 3);
  system.header = static_cast<double>(random() % 3);
  system.size = 1e18;
  system.client_cache = settings.client_cache;
  system.server_cache = settings.server_cache;
  data->file_systems.push_back(system);
  return data;
}

void check(const Case& settings, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Simulation simulation(simple_model(), machine(settings, random));
  std::int64_t read = 0, written = 0;
  std::size_t begun = 0, ended = 0;
  double date = 0.0;
  for (int i = 0; i < 40; ++i) {
    const bool writes = random() % 2 == 0;
    const auto bytes = static_cast<std::int64_t>(random() % 600);
    const auto offset = static_cast<std::int64_t>(random() % 1000);
    const FileRequest request{.type = writes ? FileRequest::Type::write : FileRequest::Type::read,
                              .offset = offset,
                              .bytes = bytes};
    const auto client = static_cast<std::int32_t>(random() % kHosts);
    CHECK(simulation.access_file(0, random() % 2 == 0 ? "f" : "g", request, client) >= 0);
    ++begun;
    (writes ? written : read) += bytes;
    date += static_cast<double>(random() % 400) / 100.0;
    while (simulation.run(date) != Stop::time) ended += simulation.take_completions().size();
    simulation.verify();
  }
  while (simulation.run() == Stop::completion) {
    ended += simulation.take_completions().size();
    simulation.verify();
  }
  CHECK(ended == begun);
  for (const ServerStatistics& sums : simulation.file_systems().statistics(0)) {
    read -= sums.bytes_read;
    written -= sums.bytes_written;
  }
  CHECK(read == 0);
  CHECK(written == 0);
}

TEST("file systems: random requests end, and servers move what was asked for") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    check({}, seed);
    check({.client_cache = 500}, seed);
    check({.server_cache = 300}, seed);
    check({.client_cache = 100, .server_cache = 50, .has_buffers = true}, seed);
  }
}

Program repeated(const Program& body, int times) {
  Program program;
  for (int i = 0; i < times; ++i) program.insert(program.end(), body.begin(), body.end());
  return program;
}

Program joined(Program first, const Program& more) {
  first.insert(first.end(), more.begin(), more.end());
  return first;
}

std::shared_ptr<const TraceSet> packed_trace_of(const std::vector<Program>& programs) {
  std::vector<std::string> texts(programs.size());
  for (std::size_t rank = 0; rank < programs.size(); ++rank) {
    for (const std::string& line : programs[rank]) {
      texts[rank].append(std::to_string(rank)).append(" ").append(line).append("\n");
    }
  }
  const Scratch scratch;
  const std::string bytes = packed(texts, scratch, Dialect::modern);
  return TraceSet::open({file_of(bytes, "packed.tit")}, "packed.tit", Dialect::automatic);
}

// A replay of programs without collectives; `tolerance` 0: nothing is skipped.
struct SteadyReplay {
  SteadyReplay(const std::vector<Program>& programs, double tolerance)
      : simulation(simple_model(), simple_platform(static_cast<std::int32_t>(programs.size()))) {
    if (tolerance > 0) simulation.skip_steady(tolerance);
    std::vector<std::int32_t> hosts(programs.size());
    std::iota(hosts.begin(), hosts.end(), 0);
    simulation.add_job(packed_trace_of(programs), hosts);
    while (simulation.run() == Stop::completion) simulation.take_completions();
    simulation.verify();
    report = simulation.steady_report();
  }

  Simulation simulation;
  SteadyReport report;
};

bool near(double a, double b) { return std::abs(a - b) <= 1e-9 * std::abs(b); }

// Returns true if all results of the ranks match those of a replay without skipping.
bool agree(const std::vector<Program>& programs, const SteadyReplay& skipping) {
  const SteadyReplay whole(programs, 0);
  bool same = near(skipping.simulation.now(), whole.simulation.now());
  for (std::size_t i = 0; i < programs.size(); ++i) {
    const Rank& a = skipping.simulation.ranks()[i];
    const Rank& b = whole.simulation.ranks()[i];
    same = same && near(a.finish, b.finish) && near(a.compute, b.compute) &&
           near(a.other, b.other) && a.actions == b.actions && a.bytes_sent == b.bytes_sent &&
           a.messages_sent == b.messages_sent;
  }
  return same;
}

const std::vector<Program> kRing = {repeated({"compute 3", "send 1 0 500", "recv 1 0 500"}, 2000),
                                    repeated({"recv 0 0 500", "sleep 1", "send 0 0 500"}, 2000)};

TEST("what is under way for longer than an iteration keeps it from being skipped") {
  // A message that takes 200 iterations and slows the other flows on its link only while it moves.
  std::vector<Program> programs = kRing;
  programs[0] = joined({"isend 1 7 2000000"}, joined(programs[0], {"waitall"}));
  programs[1] = joined({"irecv 0 7 2000000"}, joined(programs[1], {"waitall"}));
  const SteadyReplay replay(programs, 1e-6);
  CHECK(agree(programs, replay));
}

TEST("where nothing repeats little is looked at, however long the program is") {
  // A queue that grows without bound; loops of two operations.
  const std::uint32_t turns = campaign(2000, 20000);
  const std::vector<Program> programs = {repeated({"compute 1", "send 1 0 10"}, turns),
                                         repeated({"recv 0 0 10", "compute 2"}, turns)};
  const SteadyReplay replay(programs, 1e-6);
  CHECK(agree(programs, replay));
  CHECK(replay.report.items_examined < 1024 + 4 * turns / 16 + 1000);
}

TEST("a steady state is found after a long time without one") {
  const auto turns = static_cast<int>(campaign(600, 8000));
  const auto rings = static_cast<int>(campaign(2, 20));
  std::vector<Program> programs = {repeated({"compute 1", "send 1 0 10"}, turns),
                                   repeated({"recv 0 0 10", "compute 2"}, turns)};
  programs[0] = joined(programs[0], repeated(kRing[0], rings));
  programs[1] = joined(programs[1], repeated(kRing[1], rings));
  const SteadyReplay replay(programs, 1e-6);
  CHECK(agree(programs, replay));
  CHECK(replay.report.skipped > 1000);
}

// The computations end 1e-9 s apart, which is the precision.
const std::vector<Program> kTied = {
    repeated({"compute 3", "send 2 0 500", "recv 2 2 10"}, 300),
    repeated({"compute 3.000000001", "send 2 1 500", "recv 2 2 10"}, 300),
    repeated({"recv 0 0 500", "recv 1 1 500", "send 0 2 10", "send 1 2 10"}, 300)};

TEST("rounding does not decide what happens together in what is skipped") {
  CHECK(SteadyReplay(kTied, 1e-12).report.skipped == 0);
}

TEST("what rounding decides does not matter where it moves all iterations by less than tolerated") {
  const SteadyReplay replay(kTied, 1e-6);
  CHECK(agree(kTied, replay));
  CHECK(replay.report.skipped > 250);
}

}  // namespace

}  // namespace tisim::test
