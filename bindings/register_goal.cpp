// GOAL schedules.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <stdexcept>
#include <string_view>
#include <tuple>
#include <utility>

#include "arrays.hpp"
#include "bindings.hpp"
#include "checks.hpp"
#include "goal/run.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace tisim {

namespace {

std::int64_t operations(const GoalSchedule& schedule) {
  std::int64_t count = 0;
  for (const GoalRank& rank : schedule.ranks) count += static_cast<std::int64_t>(rank.ops.size());
  return count;
}

// Throws std::invalid_argument: the message, and behind a line feed the line.
std::shared_ptr<GoalSchedule> read(const nb::bytes& content) {
  const std::string_view view(content.c_str(), content.size());
  const nb::gil_scoped_release unlocked;
  try {
    return std::make_shared<GoalSchedule>(read_goal(view));
  } catch (const GoalError& error) {
    throw std::invalid_argument(std::string(error.what()) + "\n" + std::to_string(error.line));
  }
}

}  // namespace

void register_goal(nb::module_& m) {
  nb::class_<GoalSchedule>(m, "GoalSchedule", "Operations of ranks that wait for one another.")
      .def_prop_ro("ranks", [](const GoalSchedule& s) { return s.ranks.size(); })
      .def_prop_ro("operations", &operations);
  m.def("read_goal", &read, "content"_a,
        "Of text or of what txt2bin writes. Raises ValueError: a message, a line feed, the line.");
  nb::class_<GoalRun>(m, "GoalRun", "A schedule, executed on a platform.")
      .def(
          "__init__",
          [](GoalRun* self, std::shared_ptr<GoalSchedule> schedule, Simulation* network,
             std::vector<std::int32_t> hosts, std::vector<double> seconds, const Model* model) {
            if (model != nullptr && model->overheads.empty())
              throw std::invalid_argument("a model has overheads");
            for (const double each : seconds) check_time(each, "a nanosecond of computing");
            if (network != nullptr) {
              for (const std::int32_t host : hosts) check_host(*network, host);
            }
            new (self)
                GoalRun(std::move(schedule), network, std::move(hosts), std::move(seconds), model);
          },
          "schedule"_a, "network"_a.none(), "hosts"_a, "seconds"_a, "model"_a.none(),
          nb::keep_alive<1, 3>(),
          "None: messages take no time. By rank: its host, seconds of a nanosecond of computing.")
      .def("run", &GoalRun::run, "events"_a, nb::call_guard<nb::gil_scoped_release>())
      .def_prop_ro("now", &GoalRun::now)
      .def_prop_ro("done", &GoalRun::done)
      .def_prop_ro("messages", &GoalRun::messages)
      .def_prop_ro("unexpected", &GoalRun::unexpected, "Messages that nobody has received.")
      .def("ends", [](const GoalRun& run) { return to_numpy(run.ends()); })
      .def(
          "standing",
          [](const GoalRun& run, std::size_t most) {
            std::vector<std::tuple<std::int32_t, std::uint32_t, std::uint32_t, bool>> rows;
            for (const GoalRun::Standing& one : run.standing(most))
              rows.emplace_back(one.rank, one.op, one.line, one.has_begun);
            return rows;
          },
          "most"_a, "Rank, operation, line, and whether it has begun.");
}

}  // namespace tisim
