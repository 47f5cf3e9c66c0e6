#include "simulation/interpreter.hpp"

#include <random>
#include <stdexcept>
#include <vector>

#include "core/simulation_testing.hpp"

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
  SimulationTesting::clock(replay.simulation).wake(1);  // has finished
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

std::shared_ptr<const PlatformData> machine(const Case& one, std::mt19937_64& random) {
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
    if (one.has_buffers) system.buffers.push_back(add_disk(host));
  }
  system.stripe = static_cast<std::int64_t>(1 + random() % 200);
  system.count = static_cast<std::int32_t>(1 + random() % 4);
  system.request = static_cast<std::int64_t>(1 + random() % 300);
  system.window = static_cast<std::int32_t>(1 + random() % 3);
  system.header = static_cast<double>(random() % 3);
  system.size = 1e18;
  system.client_cache = one.client_cache;
  system.server_cache = one.server_cache;
  data->file_systems.push_back(system);
  return data;
}

void check(const Case& one, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Simulation simulation(simple_model(), machine(one, random));
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
  for (const ServerSums& sums : simulation.file_systems().sums(0)) {
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

}  // namespace
}  // namespace tisim::test
