// Traces, opened from Python and read by simulations or, for analysis, by Python itself.
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/unordered_map.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "file_parts.hpp"
#include "progress_reporter.hpp"
#include "trace/archive/trace_set.hpp"
#include "trace/packed/calls.hpp"
#include "trace/script/script.hpp"
#include "trace/vocabulary/call.hpp"
#include "trace/vocabulary/op.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace tisim {

namespace {

std::shared_ptr<TraceSet> open_trace(const std::vector<FilePart>& parts, const nb::bytes& name,
                                     Dialect dialect, nb::object progress) {
  std::vector<TraceFile> files = files_of(parts);
  const std::string called = text_of(name);
  ProgressReporter reporter(std::move(progress));
  const nb::gil_scoped_release unlocked;
  return std::const_pointer_cast<TraceSet>(
      TraceSet::open(std::move(files), called, dialect, {}, reporter.progress()));
}

std::shared_ptr<TraceSet> with_options(const TraceSet& set, bool mistaken_null_is_any,
                                       bool sources_are_matched, bool completions_are_free,
                                       bool is_posix_layer, std::vector<std::string> custom_actions,
                                       double compute_noise, std::uint64_t noise_seed,
                                       std::unordered_map<std::string, double> speedups,
                                       std::unordered_map<double, double> volume_factors) {
  const TraceOptions options{mistaken_null_is_any,      sources_are_matched,
                             completions_are_free,      is_posix_layer,
                             std::move(custom_actions), {compute_noise, noise_seed},
                             std::move(speedups),       std::move(volume_factors)};
  return std::const_pointer_cast<TraceSet>(set.with(options));
}

// Reads the next operations as rows of OP_LAYOUT's type, in bytes.
nb::object read_operations(RankReader& reader, std::size_t capacity) {
  auto ops = std::make_unique<std::vector<Op>>(capacity);
  {
    const nb::gil_scoped_release unlocked;
    ops->resize(reader.read(ops->data(), capacity));
  }
  const std::size_t bytes = ops->size() * sizeof(Op);
  auto* const data = reinterpret_cast<std::uint8_t*>(ops->data());
  nb::capsule owner(ops.release(),
                    [](void* p) noexcept { delete static_cast<std::vector<Op>*>(p); });
  return nb::cast(nb::ndarray<nb::numpy, std::uint8_t, nb::ndim<1>>(data, {bytes}, owner));
}

void write_scripts_of(const TraceSet& set, const nb::bytes& directory, bool files,
                      nb::object progress) {
  const std::string path = text_of(directory);
  ProgressReporter reporter(std::move(progress));
  const nb::gil_scoped_release unlocked;
  write_scripts(set, path, files, reporter.progress());
}

// Returns an optional section that the core does not read; none if absent.
std::optional<nb::bytes> trace_section(const TraceSet& set, const std::string& name) {
  if (set.packed() == nullptr) return std::nullopt;
  const std::optional<std::string> section = set.packed()->unknown_section(name);
  if (!section) return std::nullopt;
  return nb::bytes(section->data(), section->size());
}

const PackedAttributes* attributes_in(const TraceSet& set) {
  return set.packed() == nullptr ? nullptr : set.packed()->attributes();
}

// Returns the names of the attributes, and whether their values are indices of texts.
std::vector<std::pair<std::string, bool>> attributes_of(const TraceSet& set) {
  std::vector<std::pair<std::string, bool>> all;
  const PackedAttributes* const attributes = attributes_in(set);
  if (attributes == nullptr) return all;
  for (const tit::Attribute& attribute : attributes->tables().attributes) {
    all.emplace_back(attribute.name, attribute.kind == tit::AttributeKind::text);
  }
  return all;
}

std::vector<nb::object> attribute_texts(const TraceSet& set) {
  std::vector<nb::object> texts;
  const PackedAttributes* const attributes = attributes_in(set);
  if (attributes == nullptr) return texts;
  for (const std::string& text : attributes->tables().texts) texts.push_back(decoded(text));
  return texts;
}

// Reads the lines of a rank that have attributes.
class AttributeReader {
 public:
  AttributeReader(std::shared_ptr<const TraceSet> set, std::int32_t rank)
      : set_(std::move(set)), walk_(*set_->packed(), rank) {}

  // Returns up to `lines` further lines: line number, attribute number, value.
  std::vector<std::tuple<std::uint64_t, std::uint32_t, std::int64_t>> read(std::size_t lines) {
    std::vector<std::tuple<std::uint64_t, std::uint32_t, std::int64_t>> rows;
    const nb::gil_scoped_release unlocked;
    for (; lines > 0 && walk_.next(); --lines) {
      for (const PackedAttribute& value : walk_.values()) {
        rows.emplace_back(walk_.line(), value.attribute, value.value);
      }
    }
    return rows;
  }

 private:
  std::shared_ptr<const TraceSet> set_;
  AttributeWalk walk_;
};

}  // namespace

void register_trace(nb::module_& m) {
  nb::enum_<Dialect>(m, "Dialect", "Dialect of the lines of a trace.")
      .value("AUTOMATIC", Dialect::automatic)
      .value("MODERN", Dialect::modern)
      .value("LEGACY", Dialect::legacy);

  nb::class_<CallTable>(m, "CallTable", "Distinct calls of one simulation.")
      .def(nb::init<>())
      .def("__len__", &CallTable::size)
      .def(
          "__getitem__",
          [](const CallTable& calls, std::size_t id) -> const Call& {
            if (id >= calls.size()) throw nb::index_error();
            return calls[static_cast<std::uint32_t>(id)];
          },
          nb::rv_policy::reference_internal);

  nb::class_<RankReader>(m, "RankReader", "The operations of one rank, in batches.")
      .def("read", &read_operations, "capacity"_a)
      .def(
          "count",
          [](RankReader& reader, std::size_t batch) {
            std::vector<Op> ops(std::max<std::size_t>(batch, 1));
            const nb::gil_scoped_release unlocked;
            std::uint64_t all = 0;
            while (const std::size_t count = reader.read(ops.data(), ops.size())) all += count;
            return all;
          },
          "batch"_a,
          "Reads the remaining operations in batches of this size and returns their number.")
      .def_prop_ro("bytes_read", &RankReader::bytes_read)
      .def_prop_ro("file", [](const RankReader& reader) { return decoded(reader.file()); })
      .def_prop_ro("uses_mistaken_null", &RankReader::uses_mistaken_null)
      .def_prop_ro("uses_lost_type", &RankReader::uses_lost_type);

  nb::class_<AttributeReader>(m, "AttributeReader", "The attributes of the calls of one rank.")
      .def("read", &AttributeReader::read, "lines"_a);

  nb::class_<TraceSet>(m, "TraceSet", "The files of a trace; immutable.")
      .def_prop_ro("ranks", &TraceSet::ranks)
      .def_prop_ro("dialect", &TraceSet::dialect)
      .def_prop_ro("bytes", &TraceSet::bytes)
      .def_prop_ro("actions", &TraceSet::actions)
      .def_prop_ro("precision", &TraceSet::precision)
      .def_prop_ro("attributes", &attributes_of)
      .def_prop_ro("attribute_texts", &attribute_texts,
                   nb::sig("def attribute_texts(self) -> list[str]"))
      .def_prop_ro("has_matched_sources", &TraceSet::has_matched_sources)
      .def(
          "open_attributes",
          [](const TraceSet& set, std::int32_t rank) {
            if (rank < 0 || rank >= set.ranks() || attributes_in(set) == nullptr) {
              throw nb::index_error();
            }
            return AttributeReader(set.shared_from_this(), rank);
          },
          "rank"_a)
      .def(
          "file",
          [](const TraceSet& set, std::int32_t rank) {
            if (rank < 0 || rank >= set.ranks()) throw nb::index_error();
            return decoded(set.file(rank));
          },
          "rank"_a, nb::sig("def file(self, rank: int) -> str"))
      .def("with_options", &with_options, "mistaken_null_is_any"_a, "sources_are_matched"_a,
           "completions_are_free"_a, "is_posix_layer"_a, "custom_actions"_a, "compute_noise"_a,
           "noise_seed"_a, "speedups"_a, "volume_factors"_a)
      .def(
          "open",
          [](const TraceSet& set, std::int32_t rank, CallTable& calls) {
            if (rank < 0 || rank >= set.ranks()) throw nb::index_error();
            return set.open(rank, calls);
          },
          "rank"_a, "calls"_a, nb::keep_alive<0, 3>());

  m.attr("NUMBERED") = kNumbered;
  m.attr("SCRIPT_VERSION") = kScriptVersion;
  m.attr("SCRIPT_KEPT_INSTRUCTIONS") = kMaxKeptInstructions;
  m.def("trace_section", &trace_section, "set"_a, "name"_a);
  m.def("write_scripts", &write_scripts_of, "set"_a, "directory"_a, "files"_a, "progress"_a.none());
  m.def("open_trace", &open_trace, "files"_a, "name"_a, "dialect"_a, "progress"_a.none());
}

}  // namespace tisim
