// The records of a simulation, and the results derived from them.
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstddef>
#include <stdexcept>
#include <tuple>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "bindings.hpp"
#include "checks.hpp"
#include "simulation/simulation.hpp"
#include "timeline/formats/csv.hpp"
#include "timeline/formats/paje.hpp"
#include "timeline/formats/paraver.hpp"
#include "timeline/formats/perfetto.hpp"
#include "timeline/formats/rows.hpp"
#include "timeline/playback.hpp"
#include "timeline/time_window.hpp"
#include "timeline/wait_causes.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace tisim {

namespace {

// Builds the numpy type of an array of rows from the struct itself.
class RowType {
 public:
  template <class Field>
  RowType& add(const char* name, Field /*type*/, std::size_t offset) {
    names_.append(name);
    formats_.append(nb::module_::import_("numpy").attr("dtype")(format<Field>()));
    offsets_.append(offset);
    return *this;
  }
  nb::object make(std::size_t size) {
    nb::dict fields;
    fields["names"] = names_;
    fields["formats"] = formats_;
    fields["offsets"] = offsets_;
    fields["itemsize"] = size;
    return nb::module_::import_("numpy").attr("dtype")(fields);
  }

 private:
  template <class Field>
  static std::string format() {
    const char kind = std::is_floating_point_v<Field> ? 'f' : std::is_signed_v<Field> ? 'i' : 'u';
    return kind + std::to_string(sizeof(Field));
  }
  nb::list names_, formats_, offsets_;
};

#define TISIM_FIELD(Row, field) add(#field, decltype(Row::field){}, offsetof(Row, field))

nb::object action_type() {
  using R = ActionRow;
  RowType type;
  type.TISIM_FIELD(R, start).TISIM_FIELD(R, end).TISIM_FIELD(R, volume).TISIM_FIELD(R, bytes);
  type.TISIM_FIELD(R, rank).TISIM_FIELD(R, peer).TISIM_FIELD(R, line).TISIM_FIELD(R, comm);
  return type.TISIM_FIELD(R, kind).make(sizeof(R));
}

nb::object message_type() {
  using R = MessageRecord;
  RowType type;
  type.TISIM_FIELD(R, sent).TISIM_FIELD(R, received).TISIM_FIELD(R, started);
  type.TISIM_FIELD(R, arrived).TISIM_FIELD(R, number).TISIM_FIELD(R, bytes);
  type.TISIM_FIELD(R, source).TISIM_FIELD(R, destination).TISIM_FIELD(R, tag);
  return type.TISIM_FIELD(R, collective).TISIM_FIELD(R, detached).make(sizeof(R));
}

nb::object state_type() {
  using R = StateRow;
  RowType type;
  type.TISIM_FIELD(R, start).TISIM_FIELD(R, end).TISIM_FIELD(R, started).TISIM_FIELD(R, bytes);
  type.TISIM_FIELD(R, rank).TISIM_FIELD(R, cause).TISIM_FIELD(R, peer).TISIM_FIELD(R, line);
  type.TISIM_FIELD(R, state);
  return type.TISIM_FIELD(R, kind).TISIM_FIELD(R, receives).TISIM_FIELD(R, by_peer).make(sizeof(R));
}

nb::object part_type() {
  using R = PathPart;
  RowType type;
  type.TISIM_FIELD(R, start).TISIM_FIELD(R, end).TISIM_FIELD(R, bytes).TISIM_FIELD(R, source);
  type.TISIM_FIELD(R, destination).TISIM_FIELD(R, line).TISIM_FIELD(R, state);
  return type.TISIM_FIELD(R, kind).make(sizeof(R));
}

#undef TISIM_FIELD

template <class Row>
nb::object array_of(const std::vector<Row>& rows, const nb::object& type) {
  const nb::bytes bytes(reinterpret_cast<const char*>(rows.data()), rows.size() * sizeof(Row));
  return nb::module_::import_("numpy").attr("frombuffer")(bytes, type);
}

template <class Source>
nb::bytes taken(Source& source, std::string_view written) {
  nb::bytes bytes(written.data(), written.size());
  source.clear();
  return bytes;
}

template <class W>
void register_writer(nb::module_& m, const char* name) {
  nb::class_<W, Writer>(m, name).def(nb::init<>());
}

void register_writers(nb::module_& m) {
  nb::class_<Listener>(m, "Listener", "Receives the events of a simulation.");
  nb::class_<Writer, Listener>(m, "Writer", "Writes events as bytes.")
      .def(
          "take", [](Writer& w, bool last) { return taken(w, w.written(last)); },
          nb::arg("last") = false, "Returns the bytes written since the last call.");
  register_writer<ActionsCsv>(m, "ActionsCsv");
  register_writer<TimedCsv>(m, "TimedCsv");
  register_writer<MessagesCsv>(m, "MessagesCsv");
  register_writer<ActionRows>(m, "ActionRows");
  register_writer<MessageRows>(m, "MessageRows");
}

void register_states(nb::module_& m) {
  nb::class_<StateSink>(m, "StateSink", "Receives the states of all ranks.");
  nb::class_<States, Listener>(m, "States",
                               "Determines the states of ranks and the ranks that they wait for.")
      .def(nb::init<>())
      .def("add", &States::add, "sink"_a);
  nb::class_<StateRows, StateSink>(m, "StateRows", "Rows of states as bytes.")
      .def(nb::init<>())
      .def("take", [](StateRows& rows) { return taken(rows, rows.written()); });
}

// For Python, a listener that also takes states is two objects; this is the second.
template <class Both>
struct SinkOf : StateSink {
  explicit SinkOf(std::shared_ptr<Both> to) : both(std::move(to)) {}
  std::size_t ranks() const override { return both->ranks(); }
  void row(const StateRow& row) override { both->row(row); }
  std::shared_ptr<Both> both;
};

template <class Both>
std::shared_ptr<StateSink> sink_of(const std::shared_ptr<Both>& both) {
  return std::make_shared<SinkOf<Both>>(both);
}

void play(Playback& playback, const Records& records) {
  try {
    const nb::gil_scoped_release released;
    playback.play(records);
  } catch (const UnknownRank& error) {
    raise_input_error(error.what());
  }
}

std::vector<std::tuple<std::int64_t, std::int64_t, std::string>> paraver_call_list() {
  std::vector<std::tuple<std::int64_t, std::int64_t, std::string>> calls;
  for (const ParaverCall& call : paraver_calls()) {
    if (!call.name.empty()) calls.emplace_back(call.type, call.value, call.name);
  }
  return calls;
}

void register_formats(nb::module_& m) {
  nb::class_<PerfettoWriter, Writer>(m, "PerfettoWriter", "Writes Perfetto's protobuf.")
      .def(nb::init<std::string_view, const std::vector<std::string>&>(), "title"_a, "ranks"_a)
      .def("sink", &sink_of<PerfettoWriter>, "Returns the sink for states.")
      .def(
          "slice",
          [](PerfettoWriter& w, std::size_t track, std::string_view name, std::int64_t line,
             double begin, double end) {
            check_index(static_cast<std::int64_t>(track), w.ranks(), "track");
            w.slice(static_cast<std::int32_t>(track), name, line, begin, end);
          },
          "track"_a, "name"_a, "line"_a, "begin"_a, "end"_a, "Adds a slice to a track.")
      .def(
          "counter",
          [](PerfettoWriter& w, std::string_view name, std::string_view unit,
             const Array<double>& times, const Array<double>& values) {
            w.counter(name, unit, {times.data(), times.size()}, {values.data(), values.size()});
          },
          "name"_a, "unit"_a, "times"_a, "values"_a, "Adds a counter track.");
  nb::class_<TimeWindow, Listener>(m, "TimeWindow",
                                   "Passes on the events that overlap a time window.")
      .def(
          "__init__",
          [](TimeWindow* at, const std::shared_ptr<PerfettoWriter>& writer, double begin,
             double end) { new (at) TimeWindow(writer, writer, begin, end); },
          "writer"_a, "begin"_a, "end"_a)
      .def("sink", &sink_of<TimeWindow>, "Returns the sink for states.");
  m.def("thin_perfetto", &thin_perfetto, "source"_a, "target"_a, "shortest"_a,
        nb::call_guard<nb::gil_scoped_release>(),
        "Copies a timeline without the slices shorter than `shortest` nanoseconds.");
  m.def("shortest_perfetto_slice", &shortest_perfetto_slice, "path"_a, "size"_a,
        nb::call_guard<nb::gil_scoped_release>(),
        "Returns the minimum duration in nanoseconds for which the remaining slices take at most "
        "`size` bytes.");
  nb::class_<PajeWriter, Writer>(m, "PajeWriter", "Writes Paje's format as SimGrid does.")
      .def(nb::init<std::int32_t>(), "ranks"_a);
  nb::class_<ParaverWriter, Writer>(m, "ParaverWriter", "Writes the records of Paraver.")
      .def(
          "__init__",
          [](ParaverWriter* w, const Array<std::int32_t>& cpus, std::size_t window) {
            new (w) ParaverWriter({cpus.data(), cpus.size()}, window);
          },
          "cpus"_a, "window"_a)
      .def("sink", &sink_of<ParaverWriter>, "Returns the sink for states.")
      .def(
          "take_late",
          [](ParaverWriter& w) {
            const std::string_view late = w.late();
            nb::bytes bytes(late.data(), late.size());
            w.clear_late();
            return bytes;
          },
          "Returns the records that belong before some already written.");
  m.def("paraver_calls", &paraver_call_list, "Returns (type, value, name) of the MPI calls.");
  m.attr("PARAVER_WAIT_STATE") = kParaverWaitState;
  m.attr("PARAVER_CAUSE") = kParaverCause;
}

}  // namespace

void register_timeline(nb::module_& m) {
  m.def("action_type", &action_type);
  m.def("message_type", &message_type);
  m.def("state_type", &state_type);
  m.def("part_type", &part_type);
  m.def("kind_names", &kind_names,
        "Returns the names of kinds by number; empty for unused numbers.");
  m.def("state_names", [] {
    std::vector<std::string> names;
    for (const char* name : state_names()) names.emplace_back(name);
    return names;
  });
  m.def(
      "wait_state",
      [](Operation collective) {
        if (!is_collective(collective))
          throw std::out_of_range("the operation is not a collective");
        return state_names()[static_cast<std::size_t>(wait_state_of(collective))];
      },
      "collective"_a, "Returns the state of a rank that needs data of late ranks.");

  nb::class_<Records>(m, "Records", "Records of a simulation.")
      .def("__len__", [](const Records& records) { return records.order.size(); });
  register_writers(m);
  register_states(m);
  register_formats(m);
  register_spans(m);
  register_run_file(m);
  nb::class_<Playback>(m, "Playback", "Passes records to listeners.")
      .def(nb::init<>())
      .def("add", &Playback::add, "listener"_a)
      .def("play", &play, "records"_a,
           "Raises tisim.InputError if an event belongs to a rank unknown to a listener.");

  nb::class_<WaitCauses>(m, "WaitCauses", "Critical paths and the causes of waits.")
      .def(
          "__init__",
          [](WaitCauses* at, const Array<std::uint8_t>& states, std::size_t ranks) {
            if (states.size() % sizeof(StateRow) != 0)
              throw std::invalid_argument("the bytes are not whole states");
            const auto* rows = reinterpret_cast<const StateRow*>(states.data());
            new (at) WaitCauses({rows, states.size() / sizeof(StateRow)}, ranks);
          },
          nb::keep_alive<1, 2>(), "states"_a, "ranks"_a)
      .def(
          "path",
          [](const WaitCauses& causes, std::int32_t rank, double time) {
            return array_of(causes.paths().path(rank, time), part_type());
          },
          "rank"_a, "time"_a,
          "Returns the parts of the critical path to a time of a rank, latest first.")
      .def(
          "of",
          [](const WaitCauses& causes, std::uint32_t row) {
            std::vector<std::tuple<std::int64_t, int, double>> shares;
            if (row >= causes.paths().size()) throw nb::index_error("there is no such state");
            for (const CauseShare& share : causes.of(row))
              shares.emplace_back(share.row == StatePaths::kNone ? -1 : share.row, share.state,
                                  share.seconds);
            return shares;
          },
          "row"_a,
          "Returns the rows that explain a wait, their states and seconds, latest first; row -1: "
          "before the first row.")
      .def(
          "late_path",
          [](const WaitCauses& causes, std::uint32_t row) {
            if (row >= causes.paths().size()) throw nb::index_error("there is no such state");
            return causes.late_path(row);
          },
          "row"_a,
          "Returns the states on the path to the end of a wait since it diverged from the waiting "
          "rank's.")
      .def(
          "sums",
          [](const WaitCauses& causes) {
            CauseSums sums;
            {
              const nb::gil_scoped_release released;
              sums = causes.sums();
            }
            RowType type;
            type.add("seconds", double{}, offsetof(CauseSum, seconds));
            type.add("ranks", std::uint32_t{}, offsetof(CauseSum, ranks));
            const nb::object row = type.make(sizeof(CauseSum));
            RowType explained;
            explained.add("row", std::uint32_t{}, offsetof(ExplainedWait, row));
            explained.add("wait", std::uint32_t{}, offsetof(ExplainedWait, wait));
            explained.add("seconds", double{}, offsetof(ExplainedWait, seconds));
            return std::tuple(array_of(sums.by_row, row), array_of(sums.by_rank, row),
                              array_of(sums.explained, explained.make(sizeof(ExplainedWait))));
          },
          "Returns, by row and by rank and state, the seconds that other ranks wait because of it "
          "and the number of those ranks. The last array lists each row with each wait that it "
          "explains, ordered by the waiting rank.");
}

}  // namespace tisim
