// The tables of run files, as written by the core.
#include <nanobind/ndarray.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string_view>
#include <tuple>
#include <vector>

#include "arrays.hpp"
#include "bindings.hpp"
#include "timeline/run_file/record_table.hpp"
#include "timeline/run_file/span_file.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace tisim {

namespace {

std::string_view view_of_bytes(const nb::bytes& bytes) { return {bytes.c_str(), bytes.size()}; }

// Returns the bytes written since the last call; `last`: including the end of the file.
template <class File>
nb::bytes written_of(File& file, bool last) {
  if (last) {
    const nb::gil_scoped_release released;
    file.finish();
  }
  const std::string_view written = file.written();
  nb::bytes bytes(written.data(), written.size());
  file.clear();
  return bytes;
}

template <class Table, class Base>
void register_table(nb::module_& m, const char* name, const char* about) {
  nb::class_<Table, Base>(m, name, about)
      .def(nb::init<std::size_t>(), "ranks"_a)
      .def(
          "add",
          [](Table& table, const nb::bytes& rows) {
            const std::string_view view = view_of_bytes(rows);
            const nb::gil_scoped_release released;
            table.table.add_rows(view);
          },
          "rows"_a, "Adds rows of the core's type, those of each rank in the order of their ends.")
      .def(
          "take", [](Table& table, bool last) { return written_of(table.table, last); }, "last"_a,
          "Returns the bytes of the file since the last call. `last`: no row follows.")
      .def("__len__", [](const Table& table) { return table.table.rows(); });
}

void add_states_to_spans(SpanFile& spans, const nb::bytes& rows) {
  const std::string_view view = view_of_bytes(rows);
  if (view.size() % sizeof(StateRow) != 0) throw std::invalid_argument("rows are whole");
  const nb::gil_scoped_release released;
  for (std::size_t at = 0; at < view.size(); at += sizeof(StateRow)) {
    StateRow row;
    std::memcpy(&row, view.data() + at, sizeof row);
    spans.row(row);
  }
}

std::vector<std::tuple<double, double, std::size_t>> span_batches(const SpanFile& spans) {
  std::vector<std::tuple<double, double, std::size_t>> batches;
  for (const SpanFile::Batch& batch : spans.batches()) {
    batches.emplace_back(batch.begin, batch.end, batch.states);
  }
  return batches;
}

void sum_level(LevelFile& levels, const SpanFile& spans, const Array<std::uint8_t>& file,
               std::size_t group, std::size_t parts, std::size_t first, std::size_t count,
               double end) {
  if (group == 0 || parts == 0 || count == 0 || !std::isfinite(end) || end <= 0.0) {
    throw std::invalid_argument("a level has groups, parts and a time to divide");
  }
  const std::string_view view(reinterpret_cast<const char*>(file.data()), file.size());
  const nb::gil_scoped_release released;
  levels.sum(spans, view, {group, parts, first, count, end});
}

}  // namespace

void register_run_file(nb::module_& m) {
  register_table<StateTable, StateSink>(m, "StateTable", "Writes the states of a run file.");
  register_table<ActionTable, Listener>(m, "ActionTable", "Writes the actions of a run file.");
  register_table<MessageTable, Listener>(m, "MessageTable", "Writes the messages of a run file.");
  nb::class_<SpanFile, StateSink>(m, "SpanFile", "Writes the states of a run file by rank.")
      .def(nb::init<std::size_t, std::size_t>(), "ranks"_a, "full"_a)
      .def("add", &add_states_to_spans, "rows"_a,
           "Adds rows of `state_type`, in the order of their ends.")
      .def(
          "take", [](SpanFile& spans, bool last) { return written_of(spans, last); }, "last"_a,
          "Returns the bytes of the file since the last call. `last`: no state follows.")
      .def("batches", &span_batches, "Returns the begin, end and states of each batch.")
      .def("keys", &SpanFile::keys,
           "Returns the states and kinds that have occurred, in ascending order.");
  nb::class_<LevelFile>(m, "LevelFile", "Writes sums of states over lanes and time bins.")
      .def(nb::init<>())
      .def("sum", &sum_level, "spans"_a, "file"_a, "group"_a, "parts"_a, "first"_a, "count"_a,
           "end"_a, "Sums the states of a complete file for some bins of a level.")
      .def("halve", &LevelFile::halve, nb::call_guard<nb::gil_scoped_release>(),
           "Makes the bins of the sums twice as long.")
      .def("write", &LevelFile::write, nb::call_guard<nb::gil_scoped_release>(),
           "Writes the sums and returns the number of their batch.")
      .def(
          "take", [](LevelFile& levels, bool last) { return written_of(levels, last); }, "last"_a,
          "Returns the bytes of the file since the last call. `last`: nothing follows.");
}

}  // namespace tisim
