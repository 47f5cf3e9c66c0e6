// One simulation: its clock and its jobs. Its other functions are bound in other files.
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <stdexcept>

#include "bindings.hpp"
#include "checks.hpp"
#include "simulation.hpp"
#include "trace/vocabulary/table.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace tisim {

namespace {

int operation_number(const std::string& name) {
  for (std::size_t i = 0; i < kCollectives; ++i) {
    if (kCollectiveTraits[i].name == name) return static_cast<int>(i);
  }
  throw std::invalid_argument("no collective is named " + name);
}

std::string operation_name(int operation) {
  check_index(operation, static_cast<std::size_t>(Operation::custom) + 1, "operation");
  return name_of(static_cast<Operation>(operation), true);
}

// The name of a rank's current operation in messages.
std::string kind_name(Kind kind) {
  if (kind == Kind::end) return "the end of its trace";
  return std::string(traits_of(kind == Kind::recv_half ? Kind::sendrecv : kind).name);
}

std::int32_t add_job(Simulation& s, std::shared_ptr<const TraceSet> traces,
                     const std::vector<std::int32_t>& hosts, const std::vector<double>& starts) {
  if (hosts.empty()) throw std::invalid_argument("a job has at least one rank");
  if (traces && static_cast<std::size_t>(traces->ranks()) != hosts.size()) {
    throw std::invalid_argument("the trace has " + std::to_string(traces->ranks()) +
                                " ranks, there are hosts for " + std::to_string(hosts.size()));
  }
  if (!starts.empty() && starts.size() != hosts.size()) {
    throw std::invalid_argument("there are starts for " + std::to_string(starts.size()) +
                                " ranks, and hosts for " + std::to_string(hosts.size()));
  }
  for (const std::int32_t host : hosts) check_host(s, host);
  for (const double start : starts) check_time(start, "a start");
  return s.add_job(std::move(traces), hosts, starts);
}

Stop run(Simulation& s, double until, double wall_clock_limit, bool including) {
  check_time(until, "the end of a run");
  check_time(wall_clock_limit, "the limit of a run");
  return s.run(until, wall_clock_limit, including);
}

}  // namespace

void register_simulation(nb::module_& m) {
  nb::enum_<Stop>(m, "Stop", "Reason why a run stopped.")
      .value("DONE", Stop::done)
      .value("TIME", Stop::time)
      .value("PAUSE", Stop::pause)
      .value("NEED_SCHEDULE", Stop::need_schedule)
      .value("NEED_ROUTE", Stop::need_route)
      .value("NEED_DISK", Stop::need_disk)
      .value("NEED_ACTION", Stop::need_action)
      .value("NEED_LAUNCH", Stop::need_launch)
      .value("COMPLETION", Stop::completion)
      .value("LOG_FULL", Stop::event_log_full)
      .value("MISMATCH", Stop::mismatch)
      .value("DISK_FULL", Stop::disk_full)
      .value("DEADLOCK", Stop::deadlock);

  nb::enum_<CompletionType>(m, "CompletionType", "Kind of completion.")
      .value("ACTIVITY", CompletionType::activity)
      .value("FAILED_ACTIVITY", CompletionType::failed_activity)
      .value("RANK", CompletionType::rank)
      .value("JOB", CompletionType::job);

  nb::class_<Completion>(m, "Completion", "End of an activity, of a rank's call or of a job.")
      .def_ro("type", &Completion::type)
      .def_ro("index", &Completion::index);

  m.def("kind_name", &kind_name, "kind"_a);
  m.def("operation_name", &operation_name, "operation"_a);
  m.def("operation_number", &operation_number, "name"_a);

  SimulationClass simulation(m, "Simulation", "Ranks that execute operations on a platform.");
  simulation
      .def("__init__",
           [](Simulation* self, const Model& model, std::shared_ptr<PlatformData> platform) {
             for (const std::int32_t overheads : platform->host_overheads) {
               check_index(overheads, model.overheads.size(), "kind of overheads");
             }
             if (model.overheads.empty()) throw std::invalid_argument("a model has overheads");
             new (self) Simulation(model, std::move(platform));
           })
      .def("add_job", &add_job, "traces"_a.none(), "hosts"_a, "starts"_a)
      .def(
          "kill_at",
          [](Simulation& s, std::int32_t rank, double date) {
            checked_rank(s, rank);
            check_time(date, "the date of a kill");
            s.kill_at(rank, date);
          },
          "rank"_a, "date"_a)
      .def("run", &run, "until"_a, "wall_clock_limit"_a, "including"_a = true,
           nb::call_guard<nb::gil_scoped_release>())
      .def_prop_ro("now", &Simulation::now)
      .def("next_event", &Simulation::next_event)
      .def("take_completions", &Simulation::take_completions)
      .def(
          "last_request",
          [](const Simulation& s, std::int32_t rank) { return checked_rank(s, rank).pending.last; },
          "rank"_a)
      .def(
          "taken_request",
          [](const Simulation& s, std::int32_t rank) {
            const Rank& driven = checked_rank(s, rank);
            return driven.optional ? driven.optional->taken : -1;
          },
          "rank"_a, "Returns the request completed by the rank's last `waitany`.")
      .def(
          "world_size",
          [](const Simulation& s, std::int32_t rank) {
            return s.job(checked_rank(s, rank).job).size;
          },
          "rank"_a)
      .def(
          "world", [](const Simulation& s, std::int32_t job) { return checked_job(s, job).world; },
          "job"_a)
      .def(
          "first_rank",
          [](const Simulation& s, std::int32_t job) { return checked_job(s, job).first; }, "job"_a);
  register_schedules(m, simulation);
  register_operations(m, simulation);
  register_results(m, simulation);
  register_report(m, simulation);
}

}  // namespace tisim
