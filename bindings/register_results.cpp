// The results of a simulation: totals per rank, link loads, recorded events.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <functional>
#include <span>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "arrays.hpp"
#include "checks.hpp"
#include "simulation.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace tisim {

namespace {

// Makes a view of values without importing numpy, which would slow down every start.
template <class T>
nb::object to_view(std::vector<T> values) {
  auto* kept = new std::vector<T>(std::move(values));
  nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return nb::cast(
      nb::ndarray<nb::memview, const T, nb::ndim<1>>(kept->data(), {kept->size()}, owner));
}

// Returns the result of a function or member for each row.
template <class Rows, class Of>
auto column(const Rows& rows, Of of) {
  std::vector<std::decay_t<decltype(std::invoke(of, rows[0]))>> values;
  values.reserve(rows.size());
  for (const auto& row : rows) values.push_back(std::invoke(of, row));
  return values;
}

std::span<const Rank> ranks_of(const Simulation& s, std::int32_t index) {
  const Job& job = checked_job(s, index);
  return std::span(s.ranks()).subspan(static_cast<std::size_t>(job.first),
                                      static_cast<std::size_t>(job.size));
}

nb::dict rank_results(const Simulation& s, std::int32_t index) {
  const auto ranks = ranks_of(s, index);
  const auto count = [](auto number) { return static_cast<std::int64_t>(number); };
  nb::dict results;
  results["finish"] = to_view(column(ranks, &Rank::finish));
  results["compute"] = to_view(column(ranks, &Rank::compute));
  results["other"] = to_view(column(ranks, &Rank::other));
  results["actions"] =
      to_view(column(ranks, [&](const Rank& rank) { return count(rank.actions); }));
  results["bytes_sent"] = to_view(column(ranks, &Rank::bytes_sent));
  results["messages_sent"] =
      to_view(column(ranks, [&](const Rank& rank) { return count(rank.messages_sent); }));
  return results;
}

// Returns None if no rank of the job accesses files.
nb::object file_results(const Simulation& s, std::int32_t index) {
  const Job& job = checked_job(s, index);
  std::vector<FileStatistics> statistics = s.file_statistics();
  statistics.resize(s.ranks().size());
  const auto ranks =
      std::span(statistics)
          .subspan(static_cast<std::size_t>(job.first), static_cast<std::size_t>(job.size));
  const auto calls = column(ranks, &FileStatistics::calls);
  if (std::all_of(calls.begin(), calls.end(), [](auto count) { return count == 0; }))
    return nb::none();
  nb::dict results;
  results["seconds"] = column(ranks, &FileStatistics::seconds);
  results["bytes_read"] = column(ranks, &FileStatistics::bytes_read);
  results["bytes_written"] = column(ranks, &FileStatistics::bytes_written);
  results["calls"] = calls;
  return results;
}

nb::dict server_results(const Simulation& s, std::int32_t file_system) {
  check_index(file_system, s.platform().file_systems.size(), "file system");
  const auto& statistics = s.file_systems().statistics(file_system);
  nb::dict results;
  results["seconds"] = column(statistics, &ServerStatistics::seconds);
  results["requests"] = column(statistics, &ServerStatistics::requests);
  results["bytes_read"] = column(statistics, &ServerStatistics::bytes_read);
  results["bytes_written"] = column(statistics, &ServerStatistics::bytes_written);
  return results;
}

// Bytes read and written per time bin; empty: none.
using Moved = std::pair<std::vector<double>, std::vector<double>>;

Moved moved(const Simulation& s, std::size_t series) {
  const TimeBins& bins = s.file_systems().moved();
  return {bins.of(series), bins.of(series + 1)};
}

Moved moved_of_files(const Simulation& s, std::int32_t use) {
  const std::vector<std::size_t>& series = s.files().transfers().series();
  check_index(use, series.size() / 2, "use of files");
  const TimeBins& bins = s.file_systems().moved();
  const auto place = 2 * static_cast<std::size_t>(use);
  return {bins.of(series[place]), bins.of(series[place + 1])};
}

Moved moved_of_server(const Simulation& s, std::int32_t file_system, std::int32_t server) {
  check_index(file_system, s.platform().file_systems.size(), "file system");
  check_index(server, s.file_systems().statistics(file_system).size(), "server");
  return moved(s, s.file_systems().series_of(file_system, static_cast<std::size_t>(server)));
}

std::vector<ServerWait> waits_of_servers(const Simulation& s, std::int32_t file_system) {
  check_index(file_system, s.platform().file_systems.size(), "file system");
  return s.file_systems()
      .waits(file_system)
      .by_server(s.file_systems().statistics(file_system).size());
}

std::vector<ServerWait> longest_waits(const Simulation& s, std::int32_t file_system,
                                      std::size_t most) {
  check_index(file_system, s.platform().file_systems.size(), "file system");
  return s.file_systems().waits(file_system).longest(most);
}

void register_file_use(nb::module_& m, SimulationClass& simulation) {
  nb::class_<AccessCounters>(m, "AccessCounters",
                             "Statistics of reads, or writes, of files with one name.")
      .def_ro("calls", &AccessCounters::calls)
      .def_ro("bytes", &AccessCounters::bytes)
      .def_ro("sequential", &AccessCounters::sequential,
              "Calls that begin at or after the end of the previous one of the handle.")
      .def_ro("consecutive", &AccessCounters::consecutive, "Calls that begin exactly at that end.")
      .def_ro("aligned", &AccessCounters::aligned, "Calls at multiples of the alignment.")
      .def_prop_ro(
          "sizes",
          [](const AccessCounters& counters) {
            return std::vector<std::int64_t>(counters.sizes.begin(), counters.sizes.end());
          },
          "Number of calls per size class.");
  nb::class_<FileUse>(m, "FileUse", "Files with one name on one file system.")
      .def_ro("name", &FileUse::name, "Name in the trace; empty for all remaining files.")
      .def_ro("file_system", &FileUse::file_system, "-1: they are on disks of hosts.")
      .def_ro("alignment", &FileUse::alignment, "Bytes.")
      .def_ro("opens", &FileUse::opens)
      .def_ro("seconds", &FileUse::seconds, "Time that ranks waited for reads and writes.")
      .def_ro("reads", &FileUse::reads)
      .def_ro("writes", &FileUse::writes);
  nb::class_<ServerWait>(m, "ServerWait", "Time that a rank waited for a server.")
      .def_ro("rank", &ServerWait::rank, "Index in the simulation.")
      .def_ro("server", &ServerWait::server,
              "Index in the file system; the metadata server is last.")
      .def_ro("calls", &ServerWait::calls)
      .def_ro("seconds", &ServerWait::seconds);
  m.def("file_size_bounds",
        [] { return std::vector<std::int64_t>(kSizeBounds.begin(), kSizeBounds.end()); });
  simulation
      .def("file_uses", [](const Simulation& s) { return s.files().transfers().patterns().uses(); })
      .def("file_bin_width", [](const Simulation& s) { return s.file_systems().moved().width(); })
      .def("moved_of_files", &moved_of_files, "use"_a)
      .def("moved_of_server", &moved_of_server, "file_system"_a, "server"_a)
      .def("waits_of_servers", &waits_of_servers, "file_system"_a)
      .def("longest_waits", &longest_waits, "file_system"_a, "most"_a);
}

// Returns the width of a time bin (s), the links that were used, and their bytes: [link][bin].
std::tuple<double, std::vector<std::int32_t>, nb::object> load_of(Simulation& s) {
  if (!s.records_load()) throw std::logic_error("the load of links is not recorded");
  const TimeBins& load = s.load();
  std::vector<std::int32_t> links;
  std::vector<double> bytes;
  for (std::size_t i = 0; i < load.size(); ++i) {
    if (load.of(i).empty()) continue;
    links.push_back(static_cast<std::int32_t>(i));
    bytes.insert(bytes.end(), load.of(i).begin(), load.of(i).end());
  }
  return {load.width(), std::move(links), to_view(std::move(bytes))};
}

EventLog& event_log_of(Simulation& s) {
  if (!s.event_log().is_open()) throw std::logic_error("nothing is logged");
  return s.event_log();
}

}  // namespace

void register_results(nb::module_& m, SimulationClass& simulation) {
  nb::enum_<SteadyEnd>(m, "SteadyEnd", "Outcome of the search for steady states.")
      .value("NONE", SteadyEnd::none)
      .value("NO_LOOPS", SteadyEnd::no_loops)
      .value("OBSTACLE", SteadyEnd::obstacle)
      .value("MISMATCH", SteadyEnd::mismatch);
  nb::class_<Obstacle>(m, "Obstacle", "An operation that prevents skipping periods.")
      .def_ro("kind", &Obstacle::kind)
      .def_ro("rank", &Obstacle::rank, "Index in the simulation.")
      .def_ro("line", &Obstacle::line);
  nb::class_<SteadyReport>(m, "SteadyReport", "Summary of the steady states skipped.")
      .def_ro("end", &SteadyReport::end)
      .def_ro("skipped", &SteadyReport::skipped, "Iterations skipped.")
      .def_ro("all", &SteadyReport::all, "All iterations of the loops in which some were skipped.")
      .def_ro("seconds", &SteadyReport::seconds, "Seconds not simulated.")
      .def_ro("obstacle", &SteadyReport::obstacle);

  simulation
      .def(
          "skip_steady",
          [](Simulation& s, double tolerance) {
            check_amount(tolerance, "the tolerance of steady states");
            s.skip_steady(tolerance);
          },
          "tolerance"_a)
      .def("steady_report", &Simulation::steady_report)
      .def(
          "record",
          [](Simulation& s, std::size_t room) {
            if (room == 0) throw std::invalid_argument("recording needs room for an event");
            s.open_event_log(room);
          },
          "room"_a)
      .def(
          "take_records",
          [](Simulation& s, bool last, Records* spare) {
            EventLog& log = event_log_of(s);
            if (last) log.close_messages();
            return log.take(spare == nullptr ? Records{} : std::move(*spare));
          },
          "last"_a, "spare"_a.none() = nb::none(),
          "Returns the records so far. The memory of `spare`, records that are no longer needed, "
          "is reused.")
      .def(
          "record_load",
          [](Simulation& s, std::size_t bins) {
            if (bins == 0 || bins % 2 != 0) {
              throw std::invalid_argument("the number of bins must be even and above 0");
            }
            s.record_load(bins);
          },
          "bins"_a)
      .def("load", &load_of, nb::sig("def load(self) -> tuple[float, list[int], memoryview]"),
           "Returns the seconds per time bin, the links used, and their bytes in each bin.")
      .def("rank_results", &rank_results, "job"_a,
           nb::sig("def rank_results(self, job: int) -> dict[str, memoryview]"),
           "Returns totals over the simulation by name, one value per rank.")
      .def("server_results", &server_results, "file_system"_a,
           nb::sig("def server_results(self, file_system: int) -> dict[str, list]"),
           "Returns statistics of the servers by name, one value per server, the metadata server "
           "last; `seconds`: total time from the arrival of each request to its reply.")
      .def("file_results", &file_results, "job"_a,
           nb::sig("def file_results(self, job: int) -> dict[str, list] | None"),
           "Returns file statistics by name, one value per rank; `seconds`: time in reads and "
           "writes. None if no rank accesses files.");
  register_file_use(m, simulation);
}

}  // namespace tisim
