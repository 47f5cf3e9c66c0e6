// Fuzzes GOAL schedules: any bytes are either rejected with a GoalError or run until done or
// deadlocked, and converting the ranks to lines succeeds or is rejected.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <vector>

#include "goal/run.hpp"
#include "goal/sequence.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tisim;
  try {
    auto schedule = std::make_shared<const GoalSchedule>(
        read_goal({reinterpret_cast<const char*>(data), size}));
    const std::size_t ranks = schedule->ranks.size();
    GoalRun run(schedule, nullptr, std::vector<std::int32_t>(ranks),
                std::vector<double>(ranks, 1e-9), nullptr);
    const Stop stop = run.run(1 << 20);
    if (stop == Stop::done && !run.pending_operations(1).empty()) std::abort();
    if (stop == Stop::deadlock && run.pending_operations(1).empty()) std::abort();
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      GoalSequence sequence(schedule, rank, 1e9);
      while (!sequence.take(100).empty()) continue;
    }
  } catch (const GoalError&) {
    // Rejected: not a valid schedule.
  }
  return 0;
}
