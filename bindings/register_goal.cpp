// GOAL schedules.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "arrays.hpp"
#include "bindings.hpp"
#include "checks.hpp"
#include "goal/run.hpp"
#include "goal/sequence.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace tisim {

namespace {

std::int64_t operations(const GoalSchedule& schedule) {
  std::int64_t count = 0;
  for (const GoalRank& rank : schedule.ranks) count += static_cast<std::int64_t>(rank.ops.size());
  return count;
}

// Turns a GoalError into std::invalid_argument: the message, a line feed and the line.
template <class Function>
auto with_line(Function&& function) {
  const nb::gil_scoped_release unlocked;
  try {
    return function();
  } catch (const GoalError& error) {
    throw std::invalid_argument(std::string(error.what()) + "\n" + std::to_string(error.line));
  }
}

std::shared_ptr<GoalSchedule> read(const nb::bytes& content) {
  const std::string_view view(content.c_str(), content.size());
  return with_line([&] { return std::make_shared<GoalSchedule>(read_goal(view)); });
}

const GoalRank& rank_of(const GoalSchedule& schedule, std::size_t rank) {
  if (rank >= schedule.ranks.size()) throw nb::index_error();
  return schedule.ranks[rank];
}

bool computes(const GoalSchedule& schedule, std::size_t rank) {
  const std::vector<GoalOp>& ops = rank_of(schedule, rank).ops;
  return std::any_of(ops.begin(), ops.end(),
                     [](const GoalOp& op) { return op.kind == GoalKind::compute; });
}

nb::bytes take(GoalSequence& sequence, std::size_t bytes) {
  const std::string lines = with_line([&] { return sequence.take(bytes); });
  return nb::bytes(lines.data(), lines.size());
}

}  // namespace

void register_goal(nb::module_& m) {
  nb::class_<GoalSchedule>(m, "GoalSchedule",
                           "A GOAL schedule: the operations of each rank and their dependencies.")
      .def_prop_ro("ranks", [](const GoalSchedule& s) { return s.ranks.size(); })
      .def_prop_ro("operations", &operations)
      .def("computes", &computes, "rank"_a, "Returns true if the rank has computations.")
      .def(
          "place",
          [](const GoalSchedule& schedule, std::size_t rank, std::uint32_t op) {
            const GoalRank& program = rank_of(schedule, rank);
            if (op >= program.ops.size()) throw nb::index_error();
            return program.place(op);
          },
          "rank"_a, "operation"_a,
          "Returns the operation's line, or its number in a binary schedule.");
  m.def("read_goal", &read, "content"_a,
        "Reads a schedule in text form or as written by txt2bin. Raises ValueError with a message, "
        "a line feed and the line.");
  nb::class_<GoalSequence>(m, "GoalSequence",
                           "Converts a rank of a schedule into lines of a trace.")
      .def(
          "__init__",
          [](GoalSequence* self, std::shared_ptr<GoalSchedule> schedule, std::size_t rank,
             double speed) {
            rank_of(*schedule, rank);
            with_line([&] { new (self) GoalSequence(std::move(schedule), rank, speed); });
          },
          "schedule"_a, "rank"_a, "speed"_a,
          "`speed`: volume per second of computation. Raises ValueError as `read_goal` does.")
      .def("take", &take, "size"_a,
           "Returns the next lines, about `size` bytes; empty at the end. Raises ValueError as "
           "`read_goal` does.")
      .def_prop_ro("open_waits", &GoalSequence::open_waits,
                   "Number of waits for several messages of which any may end first.")
      .def_prop_ro("first_open", &GoalSequence::first_open, "First operation of these waits.");
  nb::class_<GoalRun>(m, "GoalRun", "A run of a schedule on a platform.")
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
          "`network`: if None, messages take no time. `hosts`, `seconds`: by rank, its host and "
          "the seconds per nanosecond of computation.")
      .def("run", &GoalRun::run, "events"_a, nb::call_guard<nb::gil_scoped_release>())
      .def_prop_ro("now", &GoalRun::now)
      .def_prop_ro("done", &GoalRun::done)
      .def_prop_ro("messages", &GoalRun::messages)
      .def_prop_ro("unexpected", &GoalRun::unexpected, "Number of messages not received.")
      .def("ends", [](const GoalRun& run) { return to_numpy(run.ends()); })
      .def(
          "pending_operations",
          [](const GoalRun& run, std::size_t most) {
            std::vector<std::tuple<std::int32_t, std::uint32_t, std::uint32_t, bool>> rows;
            for (const GoalRun::PendingOperation& waiting : run.pending_operations(most))
              rows.emplace_back(waiting.rank, waiting.op, waiting.line, waiting.has_begun);
            return rows;
          },
          "most"_a,
          "Returns up to `most` unfinished operations: rank, operation, line, whether it has "
          "begun.");
}

}  // namespace tisim
