// Replays synthetic traces on synthetic clusters while the compiler's instrumentation counts branch
// directions (docs/adr/0022-trained-build.md).
#include <cstdio>
#include <exception>
#include <numeric>
#include <stdexcept>

#include "core/trace_testing.hpp"
#include "simulation/simulation.hpp"
#include "training/clusters.hpp"
#include "training/programs.hpp"

namespace tisim::training {
namespace {

constexpr std::int32_t kHosts = 64;

void replay(const Machine& machine, const std::vector<std::string>& texts) {
  std::vector<std::int32_t> hosts(texts.size());
  std::iota(hosts.begin(), hosts.end(), 0);
  Simulation simulation(machine.model, machine.platform);
  simulation.add_job(TraceSet::open(test::files_of(texts), "training"), hosts);
  Stop stop = simulation.run();
  for (; stop == Stop::completion; stop = simulation.run()) simulation.take_completions();
  if (stop != Stop::done) throw std::logic_error("a program of the training hangs");
}

void train() {
  for (const Machine& machine :
       {ClusterBuilder(kHosts).with_backbone(), ClusterBuilder(kHosts).with_limiters()}) {
    replay(machine, wavefront(4, 2, 800));
    replay(machine, wavefront(4, 4, 400));
    replay(machine, exchanges(16, 50));
    replay(machine, halo(64, 3, 8000, 2));
    replay(machine, halo(16, 15, 1000, 4));  // an all-to-all
  }
}

}  // namespace
}  // namespace tisim::training

int main() {
  try {
    tisim::training::train();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "training: %s\n", error.what());
    return 1;
  }
  return 0;
}
