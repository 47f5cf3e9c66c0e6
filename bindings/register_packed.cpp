// Packed traces: written from text, recorded parts or the calls of other formats, and converted
// back to text.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "bindings.hpp"
#include "file_parts.hpp"
#include "progress_reporter.hpp"
#include "trace/archive/pack.hpp"
#include "trace/archive/recorded_parts.hpp"
#include "trace/otf2/calls.hpp"
#include "trace/packed/file.hpp"
#include "trace/packed/unpack.hpp"
#include "trace/packed/writer.hpp"
#include "trace/tit/writer/class_writer.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace tisim {

namespace {

// Packs files and returns the number of bytes of their text.
std::uint64_t pack_files(const std::vector<FilePart>& parts, const nb::bytes& name,
                         const std::vector<nb::bytes>& names, const nb::bytes& index_name,
                         const nb::bytes& index_text, Dialect dialect, const std::string& precision,
                         const nb::bytes& output, nb::object progress) {
  PackInput input;
  input.files = files_of(parts);
  input.name = text_of(name);
  for (const nb::bytes& inner : names) input.names.push_back(text_of(inner));
  input.index_name = text_of(index_name);
  input.index_text = text_of(index_text);
  input.dialect = dialect;
  input.precision = tit::Precision::of(precision);
  const std::string path = text_of(output);
  ProgressReporter reporter(std::move(progress));
  const nb::gil_scoped_release unlocked;
  pack(input, path, reporter.progress());
  std::uint64_t bytes = 0;
  for (const TraceFile& file : input.files) bytes += file.size();
  return bytes;
}

void unpack_file(const FilePart& part, const nb::bytes& directory, nb::object progress) {
  TraceFile file = files_of({part}).front();
  const std::string path = text_of(directory);
  ProgressReporter reporter(std::move(progress));
  const nb::gil_scoped_release unlocked;
  unpack(std::move(file), path, reporter.progress());
}

// Writes whole lines of the current rank.
void write_lines(PackedWriter& writer, const nb::bytes& text) {
  const std::string_view all(text.c_str(), text.size());
  const nb::gil_scoped_release unlocked;
  writer.lines(all);
}

void add_rank(PackedWriter& writer, const nb::bytes& name,
              const std::vector<std::pair<nb::bytes, std::uint64_t>>& texts) {
  std::vector<PackedWriter::Piece> pieces;
  pieces.reserve(texts.size());
  for (const auto& [lines, times] : texts) {
    pieces.push_back({std::string_view(lines.c_str(), lines.size()), times});
  }
  writer.add_rank(std::string_view(name.c_str(), name.size()), pieces);
}

void finish_file(PackedWriter& writer, const nb::bytes& path) {
  const std::string output = text_of(path);
  const nb::gil_scoped_release unlocked;
  write_at(*create_file(output), writer.finish({}), 0, output);
}

// Returns an optional section that the core does not read; none if absent.
std::optional<nb::bytes> optional_section(const FilePart& part, const std::string& name) {
  std::vector<tit::Section> sections;
  TraceFile file = files_of({part}).front();
  {
    const nb::gil_scoped_release unlocked;
    sections = PackedFile(std::move(file)).unknown_sections();
  }
  for (const tit::Section& section : sections) {
    if (section.name == name) return nb::bytes(section.bytes.data(), section.bytes.size());
  }
  return std::nullopt;
}

// Returns the bytes of the file with an additional optional section.
nb::bytes with_section(const FilePart& part, const std::string& name, const nb::bytes& content) {
  const PackedFile file(files_of({part}).front());
  const std::string bytes =
      tit::with_section(file.bytes(), {name, 1, false, tit::Coding::copies, text_of(content)});
  return nb::bytes(bytes.data(), bytes.size());
}

nb::bytes pack_graph(const nb::bytes& text) {
  const std::string bytes = packed_graph(text_of(text));
  return nb::bytes(bytes.data(), bytes.size());
}

std::optional<nb::bytes> packed_graph_of(const FilePart& part) {
  const std::optional<std::string> text = graph_in(files_of({part}).front());
  if (!text) return std::nullopt;
  return nb::bytes(text->data(), text->size());
}

using LineShape = std::tuple<nb::bytes, std::uint64_t, std::vector<int>>;
std::vector<LineShape> shapes_of(const PackedFile& file) {
  std::vector<LineShape> shapes;
  for (const tit::Shape& shape : file.tables().shapes) {
    std::vector<int> marks;
    for (const tit::Hole& hole : shape.holes) marks.push_back(hole.mark);
    shapes.emplace_back(nb::bytes(shape.text.data(), shape.text.size()), shape.rank_holes,
                        std::move(marks));
  }
  return shapes;
}

// Shape, then mode and value of each argument.
using Signature = std::pair<std::uint32_t, std::vector<std::pair<int, std::int64_t>>>;
std::vector<Signature> signatures_of(const PackedFile& file) {
  std::vector<Signature> signatures;
  for (const tit::Signature& signature : file.tables().signatures) {
    signatures.push_back({signature.shape, {}});
    for (const tit::Argument& argument : signature.arguments) {
      signatures.back().second.emplace_back(static_cast<int>(argument.mode), argument.value);
    }
  }
  return signatures;
}

// Items of rules: (is a rule, number, repetitions).
using Rules = std::vector<std::vector<std::tuple<bool, std::uint32_t, std::uint32_t>>>;

// Returns ranks, indices of calls, argument vectors, rules, and whether there are volumes.
auto rank_class_of(const PackedFile& file, std::uint32_t number) {
  if (number >= file.tables().classes.size()) throw nb::index_error();
  const tit::RankClass& made = file.tables().classes[number];
  const std::vector<std::int32_t>& ranks = file.ranks_of(number);
  nb::list vectors;
  for (const tit::RankVector& vector : made.vectors) vectors.append(to_numpy(vector.all(ranks)));
  Rules rules;
  for (const std::vector<tit::Item>& rule : made.grammar.rules) {
    rules.emplace_back();
    for (const tit::Item& item : rule) {
      rules.back().emplace_back(item.is_rule(), item.number(), item.exponent);
    }
  }
  return std::make_tuple(nb::cast(to_numpy(ranks)), made.signatures, vectors, std::move(rules),
                         made.has_volumes);
}

std::int32_t checked_rank(const PackedFile& file, std::int32_t rank) {
  if (rank < 0 || rank >= file.ranks()) throw nb::index_error();
  return rank;
}

// Returns a rank's calls, as indices in its class, and the amount computed before each, or 0.
auto calls_of(const PackedFile& file, std::int32_t rank) {
  std::vector<std::uint32_t> places;
  std::vector<double> amounts;
  {
    PackedCalls calls(file, checked_rank(file, rank), false);
    const nb::gil_scoped_release unlocked;
    while (calls.next()) {
      places.push_back(calls.call_index());
      amounts.push_back(calls.volume() == 0 ? 0.0 : file.amount_of(calls.volume()));
    }
  }
  return std::make_pair(nb::cast(to_numpy(std::move(places))),
                        nb::cast(to_numpy(std::move(amounts))));
}

// Reads up to `most` further lines of a rank.
std::vector<nb::bytes> read_lines(PackedText& text, std::size_t most) {
  std::vector<nb::bytes> lines;
  for (std::string line; lines.size() < most && text.next(line); line.clear()) {
    lines.emplace_back(line.data(), line.size());
  }
  return lines;
}

void register_packed_file(nb::module_& m) {
  m.attr("ARGUMENT_MODES") =
      nb::make_tuple(static_cast<int>(tit::Mode::constant), static_cast<int>(tit::Mode::relative),
                     static_cast<int>(tit::Mode::exclusive), static_cast<int>(tit::Mode::by_rank),
                     static_cast<int>(tit::Mode::column));
  m.attr("SHAPE_MARKS") =
      nb::make_tuple(static_cast<int>(tit::kNumberMark), static_cast<int>(tit::kVolumeMark),
                     static_cast<int>(tit::kNoRankMark), static_cast<int>(tit::kStepMark),
                     static_cast<int>(tit::kSilentMark), static_cast<int>(tit::kPaddedMark),
                     static_cast<int>(tit::kLiteralMark));
  m.def(
      "volume_text",
      [](std::uint64_t code) {
        if (!tit::is_volume_code(code)) throw nb::value_error("there is no such volume");
        std::string text;
        tit::append_volume(code, text);
        return text;
      },
      "code"_a, "Returns the text of an encoded volume.");
  m.def("with_section", &with_section, "file"_a, "name"_a, "content"_a);

  nb::class_<PackedText>(m, "PackedLines", "The lines of one rank of a packed trace.")
      .def("read", &read_lines, "most"_a);
  nb::class_<PackedFile>(m, "PackedFile", "The structure of a packed trace.")
      .def(
          "__init__",
          [](PackedFile* self, const FilePart& part) {
            new (self) PackedFile(files_of({part})[0]);
          },
          "file"_a)
      .def_prop_ro("ranks", &PackedFile::ranks)
      .def_prop_ro("legacy",
                   [](const PackedFile& file) { return file.dialect() == Dialect::legacy; })
      .def_prop_ro("shapes", &shapes_of)
      .def_prop_ro("signatures", &signatures_of)
      .def_prop_ro("classes", [](const PackedFile& file) { return file.tables().classes.size(); })
      .def("rank_class", &rank_class_of, "number"_a,
           nb::sig("def rank_class(self, number: int) -> tuple[NDArray[numpy.int32], "
                   "list[int], list[NDArray[numpy.int64]], list[list[tuple[bool, int, "
                   "int]]], bool]"))
      .def("calls", &calls_of, "rank"_a,
           nb::sig("def calls(self, rank: int) -> tuple[NDArray[numpy.uint32], "
                   "NDArray[numpy.float64]]"))
      .def(
          "lines",
          [](const PackedFile& file, std::int32_t rank) {
            return std::make_unique<PackedText>(file, checked_rank(file, rank));
          },
          "rank"_a, nb::keep_alive<0, 1>());
}

// Writes a trace from the parts recorded by the ranks of a program.
std::vector<std::uint32_t> write_trace(const std::vector<nb::bytes>& parts,
                                       const std::vector<std::string>& first_lines,
                                       const nb::bytes& output) {
  std::vector<std::string> paths;
  paths.reserve(parts.size());
  for (const nb::bytes& part : parts) paths.push_back(text_of(part));
  const std::string path = text_of(output);
  const nb::gil_scoped_release unlocked;
  return write_recorded_trace(paths, first_lines, path);
}

tit::Grammar grammar_of(const Rules& rules) {
  tit::Grammar grammar;
  grammar.rules.clear();
  for (const auto& rule : rules) {
    grammar.rules.emplace_back();
    for (const auto& [is_rule, number, times] : rule) {
      if (number >= tit::kMaxSymbols) throw std::invalid_argument("a symbol is too large");
      grammar.rules.back().push_back(is_rule ? tit::Item::rule(number, times)
                                             : tit::Item::terminal(number, times));
    }
  }
  if (grammar.rules.empty()) throw std::invalid_argument("a grammar has a rule or more");
  return grammar;
}

void add_program(PackedWriter& writer, const nb::bytes& name, const std::vector<nb::bytes>& texts,
                 const Rules& rules, const Array<std::int64_t>& volumes) {
  std::vector<std::string_view> lines;
  lines.reserve(texts.size());
  for (const nb::bytes& line : texts) lines.emplace_back(line.c_str(), line.size());
  const std::string_view called(name.c_str(), name.size());
  tit::Grammar grammar = grammar_of(rules);
  const std::vector<std::int64_t> computed = copy(volumes);
  const nb::gil_scoped_release unlocked;
  writer.add_program(called, lines, std::move(grammar), computed);
}

void add_calls(PackedWriter& writer, const nb::bytes& name, const std::vector<nb::bytes>& texts,
               const Array<std::uint32_t>& offsets, const Array<std::uint32_t>& places,
               const Array<std::uint32_t>& calls, const Array<std::int64_t>& volumes,
               std::vector<std::string> paths, const Array<std::int32_t>& path_of) {
  PackedWriter::Calls made;
  made.lines.reserve(texts.size());
  for (const nb::bytes& line : texts) made.lines.emplace_back(line.c_str(), line.size());
  made.offsets = copy(offsets);
  made.places = copy(places);
  made.calls = copy(calls);
  made.volumes = copy(volumes);
  made.paths = std::move(paths);
  made.path_of = copy(path_of);
  const std::string_view called(name.c_str(), name.size());
  const nb::gil_scoped_release unlocked;
  writer.add_calls(called, made);
}

std::vector<std::pair<std::uint32_t, std::uint32_t>> parents_and_regions(const CallTree& tree) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> nodes;
  for (const CallTree::Node& node : tree.nodes()) nodes.emplace_back(node.parent, node.region);
  return nodes;
}

void register_otf2(nb::module_& m) {
  m.attr("OTF2_NO_NUMBER") = kNoNumber;
  m.def("otf2_record_kinds", [] {
    std::vector<std::pair<std::string, std::uint32_t>> kinds;
    for (const RecordKindInfo& kind : kRecordKinds) kinds.emplace_back(kind.name, kind.fields);
    return kinds;
  });
  m.def("otf2_callbacks", [] {
    std::vector<std::pair<std::string, std::uintptr_t>> callbacks;
    for (const Otf2Callback& callback : otf2_callbacks()) {
      callbacks.emplace_back(callback.name, callback.address);
    }
    return callbacks;
  });
  using Numbers = std::vector<std::uint32_t>;
  nb::class_<Otf2Calls>(m, "Otf2Calls", "The calls of one rank in an OTF2 trace.")
      .def(
          "__init__",
          [](Otf2Calls* self, Numbers calls, Numbers exchanges, Numbers ends, Numbers communicators,
             Numbers collectives, Numbers vectors, Numbers handles, Numbers files,
             std::int64_t metric, std::uint32_t metric_place, bool keeps_times) {
            new (self) Otf2Calls({std::move(calls), std::move(exchanges), std::move(ends),
                                  std::move(communicators), std::move(collectives),
                                  std::move(vectors), std::move(handles), std::move(files), metric,
                                  metric_place, keeps_times});
          },
          nb::kw_only(), "calls"_a, "exchanges"_a, "ends"_a, "communicators"_a, "collectives"_a,
          "vectors"_a, "handles"_a, "files"_a, "metric"_a, "metric_place"_a, "keeps_times"_a)
      .def_prop_ro("address",
                   [](Otf2Calls& calls) { return reinterpret_cast<std::uintptr_t>(&calls); })
      .def("finish", &Otf2Calls::finish)
      .def_prop_ro("events", &Otf2Calls::events)
      .def_prop_ro("has_ended", &Otf2Calls::has_ended)
      .def_prop_ro("failed", &Otf2Calls::failed)
      .def_prop_ro("records", &Otf2Calls::records)
      .def("record", &Otf2Calls::record, "number"_a)
      .def("first_event", &Otf2Calls::first_event, "record"_a)
      .def_prop_ro(
          "calls", [](const Otf2Calls& calls) { return to_numpy(calls.calls()); },
          nb::rv_policy::automatic)
      .def_prop_ro(
          "begins", [](const Otf2Calls& calls) { return to_numpy(calls.begins()); },
          nb::rv_policy::automatic)
      .def_prop_ro(
          "ends", [](const Otf2Calls& calls) { return to_numpy(calls.ends()); },
          nb::rv_policy::automatic)
      .def(
          "volumes",
          [](const Otf2Calls& calls, const Array<std::uint32_t>& lines, double per_second,
             double speed) { return to_numpy(calls.volumes(copy(lines), per_second, speed)); },
          "lines"_a, "per_second"_a, "speed"_a)
      .def_prop_ro("call_tree",
                   [](const Otf2Calls& calls) { return parents_and_regions(calls.call_tree()); })
      .def_prop_ro("losses", [](const Otf2Calls& calls) {
        std::vector<std::tuple<std::string, std::uint64_t, std::uint64_t>> losses;
        for (std::size_t kind = 0; kind < kMaxOtf2Losses; ++kind) {
          const auto [count, first] = calls.loss(static_cast<Otf2Loss>(kind));
          if (count > 0) losses.emplace_back(kOtf2Losses[kind], count, first);
        }
        return losses;
      });
}

using Calls = std::vector<std::pair<std::uint32_t, std::vector<Array<std::int64_t>>>>;

void add_class(tit::ClassWriter& writer, const Array<std::int32_t>& ranks, const Calls& calls,
               const Rules& rules) {
  std::vector<tit::ClassCall> made;
  made.reserve(calls.size());
  for (const auto& [shape, numbers] : calls) {
    made.push_back({shape, {}});
    for (const Array<std::int64_t>& of_hole : numbers) made.back().numbers.push_back(copy(of_hole));
  }
  tit::Grammar grammar = grammar_of(rules);
  const std::vector<std::int32_t> members = copy(ranks);
  const nb::gil_scoped_release unlocked;
  writer.add(members, made, std::move(grammar));
}

void finish_classes(tit::ClassWriter& writer, bool legacy, const std::string& precision,
                    const nb::bytes& path) {
  const std::string output = text_of(path);
  const nb::gil_scoped_release unlocked;
  write_at(*create_file(output), writer.finish(legacy, precision), 0, output);
}

}  // namespace

void register_packed(nb::module_& m) {
  m.def("pack", &pack_files, "files"_a, "name"_a, "names"_a, "index_name"_a, "index_text"_a,
        "dialect"_a, "precision"_a, "output"_a, "progress"_a.none());
  m.def("optional_section", &optional_section, "file"_a, "name"_a);
  m.def("pack_graph", &pack_graph, "text"_a, "Packs the graph of GPUs into a file of its own.");
  m.def("graph_in", &packed_graph_of, "file"_a,
        "Returns the text of the graph of GPUs in a packed file, or None.");
  m.def("unpack", &unpack_file, "file"_a, "directory"_a, "progress"_a.none());

  nb::class_<PackedWriter>(m, "PackedWriter", "Writes a packed trace rank by rank.")
      .def(
          "__init__",
          [](PackedWriter* self, std::int32_t ranks) { new (self) PackedWriter(ranks); }, "ranks"_a)
      .def("draw_volumes", &PackedWriter::draw_volumes, "seed"_a)
      .def(
          "histogram",
          [](PackedWriter& writer,
             const std::vector<std::tuple<double, double, std::uint64_t>>& bins) {
            std::vector<tit::VolumeBin> volumes;
            for (const auto& [least, most, count] : bins) volumes.push_back({least, most, count});
            return writer.histogram(std::move(volumes));
          },
          "bins"_a)
      .def(
          "begin_rank",
          [](PackedWriter& writer, const nb::bytes& name) { writer.begin_rank(text_of(name)); },
          "name"_a)
      .def("write", &write_lines, "lines"_a)
      .def("end_rank", [](PackedWriter& writer) { writer.end_rank(true); })
      .def("add_rank", &add_rank, "name"_a, "pieces"_a)
      .def("add_program", &add_program, "name"_a, "lines"_a, "rules"_a, "volumes"_a)
      .def("add_calls", &add_calls, "name"_a, "lines"_a, "offsets"_a, "places"_a, "calls"_a,
           "volumes"_a, "paths"_a, "path_of"_a)
      .def("finish", &finish_file, "path"_a);

  nb::class_<tit::ClassWriter>(m, "ClassWriter",
                               "Writes a packed trace, one class of ranks at a time.")
      .def(nb::init<std::uint32_t>(), "ranks"_a)
      .def(
          "shape",
          [](tit::ClassWriter& writer, const nb::bytes& text, std::uint64_t rank_holes) {
            return writer.shape(text_of(text), rank_holes);
          },
          "text"_a, "rank_holes"_a)
      .def("add", &add_class, "ranks"_a, "calls"_a, "rules"_a)
      .def("finish", &finish_classes, "legacy"_a, "precision"_a, "path"_a);

  nb::class_<RecordedPart>(m, "RecordedPart", "Description of a recorded part.")
      .def_ro("rank", &RecordedPart::rank)
      .def_ro("ranks", &RecordedPart::ranks)
      .def_ro("is_complete", &RecordedPart::is_complete)
      .def_ro("comments", &RecordedPart::comments);

  m.def(
      "read_recorded_part", [](const nb::bytes& path) { return read_recorded_part(text_of(path)); },
      "path"_a);
  m.def("write_recorded_trace", &write_trace, "parts"_a, "first_lines"_a, "output"_a);
  m.def(
      "lines_without_numbers",
      [](const nb::bytes& path) { return lines_without_numbers(text_of(path)); }, "path"_a);

  register_packed_file(m);
  register_otf2(m);
}

}  // namespace tisim
