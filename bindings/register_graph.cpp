// Programs that are graphs.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <stdexcept>
#include <utility>

#include "arrays.hpp"
#include "bindings.hpp"
#include "graph/graph_run.hpp"
#include "simulation.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace tisim {

namespace {

using GraphIntegers = Array<std::int32_t>;
using GraphNumbers = Array<double>;

void check_length(std::size_t length, std::size_t wanted) {
  if (length != wanted) throw std::invalid_argument("the columns of a graph are equally long");
}

// Number of values per call in the columns of `GraphRun`.
constexpr std::size_t kCallNumbers = 5;

GraphPrograms programs_of(const GraphIntegers& kinds, const GraphIntegers& streams,
                          const GraphIntegers& targets, const GraphIntegers& counts,
                          const GraphNumbers& arithmetic, const GraphNumbers& memory,
                          const GraphIntegers& block_ends, const GraphIntegers& lanes) {
  GraphPrograms made;
  for (const std::size_t length :
       {streams.size(), targets.size(), counts.size(), arithmetic.size(), memory.size()}) {
    check_length(length, kinds.size());
  }
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    if (kinds.data()[i] < 0 || kinds.data()[i] >= kNodeKinds)
      throw std::invalid_argument("a node has no such kind");
    made.nodes.push_back({static_cast<NodeKind>(kinds.data()[i]), streams.data()[i],
                          targets.data()[i], counts.data()[i], arithmetic.data()[i],
                          memory.data()[i]});
  }
  std::int32_t first = 0;
  for (std::size_t i = 0; i < block_ends.size(); ++i) {
    made.blocks.push_back({first, block_ends.data()[i]});
    first = block_ends.data()[i];
  }
  made.lanes = copy(lanes);
  return made;
}

void add_meetings(GraphPrograms& made, const GraphNumbers& calls, const GraphIntegers& parties,
                  const GraphNumbers& links, const GraphIntegers& used,
                  const GraphNumbers& channels, const GraphIntegers& use_ends) {
  if (calls.size() % kCallNumbers != 0) throw std::invalid_argument("a call has five numbers");
  for (std::size_t i = 0; i < calls.size(); i += kCallNumbers) {
    const double* const row = calls.data() + i;
    made.calls.push_back({row[0], row[1], row[2], row[3], row[4]});
  }
  made.parties = copy(parties);
  made.links = copy(links);
  check_length(channels.size(), used.size());
  for (std::size_t i = 0; i < used.size(); ++i) {
    made.uses.push_back({used.data()[i], channels.data()[i]});
  }
  made.use_ends = copy(use_ends);
}

}  // namespace

nb::ndarray<nb::numpy, double, nb::ndim<1>> span_rows(const GraphRun& run) {
  std::vector<double> rows;
  rows.reserve(5 * run.spans().size());
  for (const GraphSpan& span : run.spans()) {
    rows.insert(rows.end(), {static_cast<double>(span.stream), static_cast<double>(span.node),
                             span.begin, span.start, span.end});
  }
  return to_numpy(std::move(rows));
}

void register_graph(nb::module_& m) {
  nb::class_<GraphPrograms>(m, "GraphPrograms", "Programs of GPUs as graphs.")
      .def(
          "__init__",
          [](GraphPrograms* self, const GraphIntegers& kinds, const GraphIntegers& streams,
             const GraphIntegers& targets, const GraphIntegers& counts,
             const GraphNumbers& arithmetic, const GraphNumbers& memory,
             const GraphIntegers& block_ends, const GraphIntegers& lanes, const GraphNumbers& calls,
             const GraphIntegers& parties, const GraphNumbers& links, const GraphIntegers& used,
             const GraphNumbers& channels, const GraphIntegers& use_ends, std::int32_t most_streams,
             std::int32_t most_events, double launch) {
            GraphPrograms made =
                programs_of(kinds, streams, targets, counts, arithmetic, memory, block_ends, lanes);
            add_meetings(made, calls, parties, links, used, channels, use_ends);
            made.streams = most_streams;
            made.events = most_events;
            made.launch = launch;
            new (self) GraphPrograms(std::move(made));
          },
          "kinds"_a, "streams"_a, "targets"_a, "counts"_a, "arithmetic"_a, "memory"_a,
          "block_ends"_a, "lanes"_a, "calls"_a, "parties"_a, "links"_a, "used"_a, "channels"_a,
          "use_ends"_a, "most_streams"_a, "most_events"_a, "launch"_a,
          "Columns of nodes; ends of blocks; block of each lane, or -1; five numbers per call: "
          "seconds, bytes and rate of a channel, shares of SMs and memory; lanes of each meeting; "
          "bandwidths of links; columns of the links used by calls, with their channels, and the "
          "end of each call's rows.");
  nb::class_<GraphRun>(m, "GraphRun", "Execution of programs that are graphs.")
      .def(nb::init<GraphPrograms, bool>(), "programs"_a, "logs"_a)
      .def(
          "run",
          [](GraphRun& run, std::int64_t events) -> std::pair<bool, std::vector<std::int32_t>> {
            try {
              return {run.run(events), {}};
            } catch (const GraphMismatch& wrong) {
              return {false, {wrong.nodes[0], wrong.nodes[1]}};
            }
          },
          "events"_a, nb::call_guard<nb::gil_scoped_release>(),
          "Runs up to `events` events. Returns whether any are left, and two mismatched nodes of a "
          "meeting, if any.")
      .def_prop_ro("now", &GraphRun::now)
      .def_prop_ro("launched", &GraphRun::launched)
      .def_prop_ro("is_done", &GraphRun::is_done)
      .def("current_nodes", &GraphRun::current_nodes,
           "Returns the unfinished streams and the current node of each.")
      .def(
          "lanes",
          [](const GraphRun& run) {
            std::vector<double> rows;
            for (std::size_t i = 0; i < run.lanes(); ++i) {
              rows.push_back(run.end_of(i));
              const double* const seconds = run.occupations(i);
              rows.insert(rows.end(), seconds, seconds + kOccupations);
            }
            return to_numpy(std::move(rows));
          },
          "Returns six numbers per lane: its end and the seconds of each occupation.")
      .def("spans", &span_rows,
           "Returns five numbers per span: stream, node, arrival, start, end.");
}

}  // namespace tisim
