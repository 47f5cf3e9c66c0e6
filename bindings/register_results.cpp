// What a simulation has measured: sums of each rank, the load of links, recorded events.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <stdexcept>
#include <utility>

#include "arrays.hpp"
#include "checks.hpp"
#include "simulation.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace tisim {

namespace {

// One value for each rank of a job in every column.
struct RankResults {
  std::vector<double> finish, compute, other;  // seconds
  std::vector<std::int64_t> actions, bytes_sent, messages_sent;
};

RankResults rank_results(const Simulation& s, std::int32_t index) {
  const Job& job = checked_job(s, index);
  const auto ranks = std::span(s.ranks()).subspan(static_cast<std::size_t>(job.first),
                                                  static_cast<std::size_t>(job.size));
  RankResults results;
  for (auto* column : {&results.finish, &results.compute, &results.other}) {
    column->reserve(ranks.size());
  }
  for (auto* column : {&results.actions, &results.bytes_sent, &results.messages_sent}) {
    column->reserve(ranks.size());
  }
  for (const Rank& rank : ranks) {
    results.finish.push_back(rank.finish);
    results.compute.push_back(rank.compute);
    results.other.push_back(rank.other);
    results.actions.push_back(static_cast<std::int64_t>(rank.actions));
    results.bytes_sent.push_back(rank.bytes_sent);
    results.messages_sent.push_back(static_cast<std::int64_t>(rank.messages_sent));
  }
  return results;
}

// What the ranks of a job have done with files, a value for each rank.
struct FileResults {
  std::vector<double> seconds;
  std::vector<std::int64_t> bytes_read, bytes_written, calls;
};

// Nothing where no rank of the job has a file.
std::optional<FileResults> file_results(const Simulation& s, std::int32_t index) {
  const Job& job = checked_job(s, index);
  const std::vector<FileSums>& sums = s.file_sums();
  FileResults results;
  std::int64_t calls = 0;
  for (std::int32_t i = job.first; i < job.first + job.size; ++i) {
    const auto place = static_cast<std::size_t>(i);
    const FileSums rank = place < sums.size() ? sums[place] : FileSums{};
    results.seconds.push_back(rank.seconds);
    results.bytes_read.push_back(rank.bytes_read);
    results.bytes_written.push_back(rank.bytes_written);
    results.calls.push_back(rank.calls);
    calls += rank.calls;
  }
  if (calls == 0) return std::nullopt;
  return results;
}

// What the servers of a file system were asked for, a value for each, that of metadata last.
struct ServerResults {
  std::vector<double> seconds;
  std::vector<std::int64_t> requests, bytes_read, bytes_written;
};

ServerResults server_results(const Simulation& s, std::int32_t file_system) {
  check_index(file_system, s.platform().file_systems.size(), "file system");
  ServerResults results;
  for (const ServerSums& sums : s.file_systems().sums(file_system)) {
    results.seconds.push_back(sums.seconds);
    results.requests.push_back(sums.requests);
    results.bytes_read.push_back(sums.bytes_read);
    results.bytes_written.push_back(sums.bytes_written);
  }
  return results;
}

// What is read and what is written in each bin of time; empty: nothing is.
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
  check_index(server, s.file_systems().sums(file_system).size(), "server");
  return moved(s, s.file_systems().series_of(file_system, static_cast<std::size_t>(server)));
}

std::vector<ServerWait> waits_of_servers(const Simulation& s, std::int32_t file_system) {
  check_index(file_system, s.platform().file_systems.size(), "file system");
  return s.file_systems().waits(file_system).by_server(s.file_systems().sums(file_system).size());
}

std::vector<ServerWait> longest_waits(const Simulation& s, std::int32_t file_system,
                                      std::size_t most) {
  check_index(file_system, s.platform().file_systems.size(), "file system");
  return s.file_systems().waits(file_system).longest(most);
}

void register_file_use(nb::module_& m, SimulationClass& simulation) {
  nb::class_<AccessHabits>(m, "AccessHabits", "Reads, or writes, of files with one name.")
      .def_ro("calls", &AccessHabits::calls)
      .def_ro("bytes", &AccessHabits::bytes)
      .def_ro("sequential", &AccessHabits::sequential,
              "Calls that begin where the one before of the handle has ended, or behind.")
      .def_ro("consecutive", &AccessHabits::consecutive, "Those that begin just there.")
      .def_ro("aligned", &AccessHabits::aligned, "Calls at a multiple of the alignment.")
      .def_prop_ro(
          "sizes",
          [](const AccessHabits& habits) {
            return std::vector<std::int64_t>(habits.sizes.begin(), habits.sizes.end());
          },
          "How many calls have sizes of each class.");
  nb::class_<FileUse>(m, "FileUse", "Files with one name on one file system.")
      .def_ro("name", &FileUse::name, "As the trace has it; empty: all further files.")
      .def_ro("file_system", &FileUse::file_system, "-1: they are on disks of hosts.")
      .def_ro("alignment", &FileUse::alignment, "Bytes.")
      .def_ro("opens", &FileUse::opens)
      .def_ro("seconds", &FileUse::seconds, "That ranks waited for reads and writes.")
      .def_ro("reads", &FileUse::reads)
      .def_ro("writes", &FileUse::writes);
  nb::class_<ServerWait>(m, "ServerWait", "How long a rank waited for a server.")
      .def_ro("rank", &ServerWait::rank, "In the simulation.")
      .def_ro("server", &ServerWait::server, "Of the file system; that of metadata is the last.")
      .def_ro("calls", &ServerWait::calls)
      .def_ro("seconds", &ServerWait::seconds);
  m.def("file_size_bounds",
        [] { return std::vector<std::int64_t>(kSizeBounds.begin(), kSizeBounds.end()); });
  simulation
      .def("file_uses", [](const Simulation& s) { return s.files().transfers().habits().uses(); })
      .def("file_bin_width", [](const Simulation& s) { return s.file_systems().moved().width(); })
      .def("moved_of_files", &moved_of_files, "use"_a)
      .def("moved_of_server", &moved_of_server, "file_system"_a, "server"_a)
      .def("waits_of_servers", &waits_of_servers, "file_system"_a)
      .def("longest_waits", &longest_waits, "file_system"_a, "most"_a);
}

// Bytes in each bin of time, of the links that were used.
struct LinkLoadTable {
  double width = 0.0;  // of a bin, in seconds
  std::vector<std::int32_t> links;
  std::vector<double> bytes;  // [link][bin]
};

LinkLoadTable load_of(Simulation& s) {
  if (!s.records_load()) throw std::logic_error("the load of links is not recorded");
  const TimeBins& load = s.load();
  LinkLoadTable table;
  table.width = load.width();
  for (std::size_t i = 0; i < load.size(); ++i) {
    if (load.of(i).empty()) continue;
    table.links.push_back(static_cast<std::int32_t>(i));
    table.bytes.insert(table.bytes.end(), load.of(i).begin(), load.of(i).end());
  }
  return table;
}

EventLog& event_log_of(Simulation& s) {
  if (!s.event_log().is_open()) throw std::logic_error("nothing is logged");
  return s.event_log();
}

template <auto Member, class Table>
auto column() {
  return
      [](nb::handle_t<Table> self) { return view_of(nb::cast<const Table&>(self).*Member, self); };
}

}  // namespace

void register_results(nb::module_& m, SimulationClass& simulation) {
  nb::class_<RankResults>(m, "RankResults", "Sums over a simulation, a value for each rank.")
      .def_prop_ro("finish", column<&RankResults::finish, RankResults>(), "Seconds.")
      .def_prop_ro("compute", column<&RankResults::compute, RankResults>(), "Seconds.")
      .def_prop_ro("other", column<&RankResults::other, RankResults>(), "Seconds.")
      .def_prop_ro("actions", column<&RankResults::actions, RankResults>())
      .def_prop_ro("bytes_sent", column<&RankResults::bytes_sent, RankResults>())
      .def_prop_ro("messages_sent", column<&RankResults::messages_sent, RankResults>());

  nb::class_<ServerResults>(m, "ServerResults",
                            "What servers were asked for, a value for each; metadata last.")
      .def_prop_ro("seconds", column<&ServerResults::seconds, ServerResults>(),
                   "From the arrival of each request to its reply.")
      .def_prop_ro("requests", column<&ServerResults::requests, ServerResults>())
      .def_prop_ro("bytes_read", column<&ServerResults::bytes_read, ServerResults>())
      .def_prop_ro("bytes_written", column<&ServerResults::bytes_written, ServerResults>());
  nb::class_<FileResults>(m, "FileResults", "What ranks did with files, a value for each rank.")
      .def_prop_ro("seconds", column<&FileResults::seconds, FileResults>(), "In reads and writes.")
      .def_prop_ro("bytes_read", column<&FileResults::bytes_read, FileResults>())
      .def_prop_ro("bytes_written", column<&FileResults::bytes_written, FileResults>())
      .def_prop_ro("calls", column<&FileResults::calls, FileResults>());

  nb::class_<LinkLoadTable>(m, "LinkLoadTable", "Bytes over time on the links that were used.")
      .def_ro("width", &LinkLoadTable::width, "Of a bin of time, in seconds.")
      .def_prop_ro("links", column<&LinkLoadTable::links, LinkLoadTable>(), "Their indices.")
      .def_prop_ro("bytes", column<&LinkLoadTable::bytes, LinkLoadTable>(),
                   "In each bin of the first link, then of the second, ...");

  nb::enum_<SteadyEnd>(m, "SteadyEnd", "What has become of the search for steady states.")
      .value("NONE", SteadyEnd::none)
      .value("NO_LOOPS", SteadyEnd::no_loops)
      .value("OBSTACLE", SteadyEnd::obstacle)
      .value("MISMATCH", SteadyEnd::mismatch);
  nb::class_<Obstacle>(m, "Obstacle", "An operation that no period can be skipped with.")
      .def_ro("kind", &Obstacle::kind)
      .def_ro("rank", &Obstacle::rank, "In the simulation.")
      .def_ro("line", &Obstacle::line);
  nb::class_<SteadyReport>(m, "SteadyReport", "What was skipped in steady states.")
      .def_ro("end", &SteadyReport::end)
      .def_ro("skipped", &SteadyReport::skipped, "Iterations.")
      .def_ro("all", &SteadyReport::all, "Iterations of the loops in which some were skipped.")
      .def_ro("seconds", &SteadyReport::seconds, "That were not simulated.")
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
          "What has been recorded. The memory of `spare`, records that nobody needs, is used "
          "again.")
      .def(
          "record_load",
          [](Simulation& s, std::size_t bins) {
            if (bins == 0 || bins % 2 != 0) {
              throw std::invalid_argument("the number of bins must be even and above 0");
            }
            s.record_load(bins);
          },
          "bins"_a)
      .def("load", &load_of)
      .def("rank_results", &rank_results, "job"_a)
      .def("server_results", &server_results, "file_system"_a)
      .def("file_results", &file_results, "job"_a);
  register_file_use(m, simulation);
}

}  // namespace tisim
