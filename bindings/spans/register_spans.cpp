// Sums over lanes and time ranges, for run files and pictures.
#include <nanobind/ndarray.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "arrays.hpp"
#include "bindings.hpp"
#include "timeline/spans/span_sums.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace tisim {

namespace {

// Maximum number of cells of a grid in memory; more is a caller's mistake.
constexpr double kMaxCells = 1 << 27;

template <class T>
std::span<const T> span_of(const Array<T>& array) {
  return {array.data(), array.size()};
}

void make_span_sums(SpanSums* at, double begin, double end, std::size_t lanes, std::size_t parts,
                    std::size_t keys) {
  const double cells = static_cast<double>(lanes) * static_cast<double>(parts);
  if (parts == 0 || !(begin <= end) || !std::isfinite(end - begin) ||
      cells * static_cast<double>(keys) > kMaxCells) {
    throw std::invalid_argument("sums need parts, a time to divide, and cells that fit in memory");
  }
  new (at) SpanSums(begin, end, lanes, parts, keys);
}

void add_spans(SpanSums& sums, const Array<double>& start, const Array<double>& end,
               const Array<std::int32_t>& lane, const Array<std::int32_t>& key,
               const Array<double>& seconds, const Array<double>& longest,
               const Array<std::int64_t>& count) {
  const std::size_t size = start.size();
  if (end.size() != size || lane.size() != size || key.size() != size || seconds.size() != size ||
      longest.size() != size || count.size() != size) {
    throw std::invalid_argument("the columns of spans have one length");
  }
  const nb::gil_scoped_release released;
  sums.add({span_of(start), span_of(end), span_of(lane), span_of(key), span_of(seconds),
            span_of(longest), span_of(count)});
}

LaneSelection wanted_lanes(const Array<std::int32_t>& from, const Array<std::int32_t>& to,
                           const Array<std::int32_t>& key) {
  if (from.size() != to.size() || key.size() != kSpanKeys) {
    throw std::invalid_argument("wanted lanes have a place in the grid, and all keys a class");
  }
  return {span_of(from), span_of(to), span_of(key)};
}

void add_states(SpanSums& sums, const Array<double>& begins, const Array<std::int32_t>& offsets,
                const Array<double>& ends, const Array<SpanKey>& keys,
                const Array<std::int32_t>& from, const Array<std::int32_t>& to,
                const Array<std::int32_t>& key) {
  if (offsets.size() != begins.size() + 1 || keys.size() != ends.size()) {
    throw std::invalid_argument("the columns of states by rank have one length");
  }
  const LaneSelection wanted = wanted_lanes(from, to, key);
  const nb::gil_scoped_release released;
  sums.add({span_of(begins), span_of(offsets), span_of(ends), span_of(keys)}, wanted);
}

void add_cells(SpanSums& sums, const Array<std::int32_t>& offsets, const Array<std::uint32_t>& part,
               const Array<SpanKey>& keys, const Array<float>& seconds, const Array<float>& longest,
               const Array<std::uint32_t>& count, double parts, double end,
               const Array<std::int32_t>& from, const Array<std::int32_t>& to,
               const Array<std::int32_t>& key, const Array<double>& scale) {
  const std::size_t size = part.size();
  if (keys.size() != size || seconds.size() != size || longest.size() != size ||
      count.size() != size) {
    throw std::invalid_argument("the columns of cells have one length");
  }
  const LaneSelection wanted = wanted_lanes(from, to, key);
  for (std::size_t i = 0; i < to.size(); ++i) {
    if (to.data()[i] < 0 || static_cast<std::size_t>(to.data()[i]) >= scale.size()) {
      throw std::invalid_argument("every lane of a grid has a scale");
    }
  }
  const nb::gil_scoped_release released;
  sums.add({span_of(offsets), span_of(part), span_of(keys), span_of(seconds), span_of(longest),
            span_of(count)},
           parts, end, wanted, span_of(scale));
}

template <class Field>
auto cell_column(const std::vector<SpanSums::Cell>& cells, Field SpanSums::Cell::*field) {
  std::vector<Field> values;
  values.reserve(cells.size());
  for (const SpanSums::Cell& cell : cells) values.push_back(cell.*field);
  return to_numpy(std::move(values));
}

nb::tuple span_cells(const SpanSums& sums) {
  std::vector<SpanSums::Cell> cells;
  {
    const nb::gil_scoped_release released;
    cells = sums.cells();
  }
  using Cell = SpanSums::Cell;
  return nb::make_tuple(cell_column(cells, &Cell::part), cell_column(cells, &Cell::lane),
                        cell_column(cells, &Cell::key), cell_column(cells, &Cell::seconds),
                        cell_column(cells, &Cell::longest), cell_column(cells, &Cell::count));
}

}  // namespace

void register_spans(nb::module_& m) {
  nb::class_<SpanSums>(m, "SpanSums", "Sums over lanes and time bins.")
      .def("__init__", &make_span_sums, "begin"_a, "end"_a, "lanes"_a, "parts"_a, "keys"_a)
      .def("add", &add_spans, "start"_a, "end"_a, "lane"_a, "key"_a, "seconds"_a, "longest"_a,
           "count"_a, "Spreads spans over the grid.")
      .def("add_states", &add_states, "begins"_a, "offsets"_a, "ends"_a, "keys"_a, "ranks"_a,
           "lanes"_a, "classes"_a, "Spreads states of some ranks over the grid.")
      .def("add_cells", &add_cells, "offsets"_a, "part"_a, "keys"_a, "seconds"_a, "longest"_a,
           "count"_a, "parts"_a, "end"_a, "lanes_of_level"_a, "lanes"_a, "classes"_a, "scale"_a,
           "Spreads cells of some lanes of a level over the grid.")
      .def("cells", &span_cells,
           nb::sig("def cells(self) -> tuple[NDArray[numpy.uint32], NDArray[numpy.uint32], "
                   "NDArray[numpy.uint32], NDArray[numpy.float32], NDArray[numpy.float32], "
                   "NDArray[numpy.uint32]]"),
           "Returns bin, lane, key, seconds, longest and count of the non-empty cells.");
}

}  // namespace tisim
