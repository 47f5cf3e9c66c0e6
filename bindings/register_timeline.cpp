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
  nb::class_<Listener>(m, "Listener", "Is told what happened.");
  nb::class_<Writer, Listener>(m, "Writer", "Makes bytes of what happened.")
      .def(
          "take", [](Writer& w, bool last) { return taken(w, w.written(last)); },
          nb::arg("last") = false, "What has been written since the last call.");
  register_writer<ActionsCsv>(m, "ActionsCsv");
  register_writer<TimedCsv>(m, "TimedCsv");
  register_writer<MessagesCsv>(m, "MessagesCsv");
  register_writer<ActionRows>(m, "ActionRows");
  register_writer<MessageRows>(m, "MessageRows");
}

void register_states(nb::module_& m) {
  nb::class_<StateSink>(m, "StateSink", "Is told the states of all ranks.");
  nb::class_<States, Listener>(m, "States", "Names the states of ranks, and who is waited for.")
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
      .def("sink", &sink_of<PerfettoWriter>, "What takes the states.")
      .def(
          "slice",
          [](PerfettoWriter& w, std::size_t track, std::string_view name, std::int64_t line,
             double begin, double end) {
            check_index(static_cast<std::int64_t>(track), w.ranks(), "track");
            w.slice(static_cast<std::int32_t>(track), name, line, begin, end);
          },
          "track"_a, "name"_a, "line"_a, "begin"_a, "end"_a,
          "What a track was busy with for some time.")
      .def(
          "counter",
          [](PerfettoWriter& w, std::string_view name, std::string_view unit,
             const Array<double>& times, const Array<double>& values) {
            w.counter(name, unit, {times.data(), times.size()}, {values.data(), values.size()});
          },
          "name"_a, "unit"_a, "times"_a, "values"_a, "A track of numbers over time.");
  nb::class_<TimeWindow, Listener>(m, "TimeWindow",
                                   "Passes on what reaches into a part of the time.")
      .def(
          "__init__",
          [](TimeWindow* at, const std::shared_ptr<PerfettoWriter>& writer, double begin,
             double end) { new (at) TimeWindow(writer, writer, begin, end); },
          "writer"_a, "begin"_a, "end"_a)
      .def("sink", &sink_of<TimeWindow>, "What takes the states.");
  m.def("thin_perfetto", &thin_perfetto, "source"_a, "target"_a, "shortest"_a,
        nb::call_guard<nb::gil_scoped_release>(),
        "Copies a timeline without its slices of fewer nanoseconds than `shortest`.");
  m.def("shortest_perfetto_slice", &shortest_perfetto_slice, "path"_a, "size"_a,
        nb::call_guard<nb::gil_scoped_release>(),
        "The nanoseconds that leave slices of at most `size` bytes.");
  nb::class_<PajeWriter, Writer>(m, "PajeWriter", "Writes Paje's format as SimGrid does.")
      .def(nb::init<std::int32_t>(), "ranks"_a);
  nb::class_<ParaverWriter, Writer>(m, "ParaverWriter", "Writes the records of Paraver.")
      .def(
          "__init__",
          [](ParaverWriter* w, const Array<std::int32_t>& cpus, std::size_t window) {
            new (w) ParaverWriter({cpus.data(), cpus.size()}, window);
          },
          "cpus"_a, "window"_a)
      .def("sink", &sink_of<ParaverWriter>, "What takes the states.")
      .def(
          "take_late",
          [](ParaverWriter& w) {
            const std::string_view late = w.late();
            nb::bytes bytes(late.data(), late.size());
            w.clear_late();
            return bytes;
          },
          "Records that belong before some that have been written.");
  m.def("paraver_calls", &paraver_call_list, "(type, value, name) of MPI calls.");
  m.attr("PARAVER_WAIT_STATE") = kParaverWaitState;
  m.attr("PARAVER_CAUSE") = kParaverCause;
}

}  // namespace

void register_timeline(nb::module_& m) {
  m.def("action_type", &action_type);
  m.def("message_type", &message_type);
  m.def("state_type", &state_type);
  m.def("part_type", &part_type);
  m.def("kind_names", &kind_names, "By the number of a kind; empty: there is none.");
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
      "collective"_a, "That of a rank which needs data of ranks that are late.");

  nb::class_<Records>(m, "Records", "What a simulation has recorded.")
      .def("__len__", [](const Records& records) { return records.order.size(); });
  register_writers(m);
  register_states(m);
  register_formats(m);
  register_spans(m);
  register_run_file(m);
  nb::class_<Playback>(m, "Playback", "Plays records to listeners.")
      .def(nb::init<>())
      .def("add", &Playback::add, "listener"_a)
      .def("play", &play, "records"_a,
           "Raises tisim.InputError when an event is of a rank that a listener was not made for.");

  nb::class_<WaitCauses>(m, "WaitCauses", "What decided when: paths, and what waits are due to.")
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
          "rank"_a, "time"_a, "The parts of the path to a time of a rank, the latest first.")
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
          "Rows, their states and what they explain of a wait, the latest first; -1: before them.")
      .def(
          "late_path",
          [](const WaitCauses& causes, std::uint32_t row) {
            if (row >= causes.paths().size()) throw nb::index_error("there is no such state");
            return causes.late_path(row);
          },
          "row"_a, "The states on the path to the end of a wait since it left that of the rank.")
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
          "By row, and by rank and state: the seconds that others wait because of it, and how many "
          "ranks do. The last array has each pair of a row and a wait that it explains, ordered by "
          "the rank that waits.");
}

}  // namespace tisim
