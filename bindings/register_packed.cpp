// Packed traces: written from text or from recorded parts, and back to text.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "file_parts.hpp"
#include "progress_reporter.hpp"
#include "trace/archive/pack.hpp"
#include "trace/archive/recorded_parts.hpp"
#include "trace/archive/unpack.hpp"
#include "trace/compressed/writer.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace tisim {

namespace {

// The bytes of the text.
std::uint64_t pack_files(const std::vector<FilePart>& parts, const nb::bytes& name,
                         const std::vector<nb::bytes>& names, const nb::bytes& index_name,
                         const nb::bytes& index_text, Dialect dialect, PackedForm form,
                         const std::string& precision, const nb::bytes& output,
                         nb::object progress) {
  PackInput input;
  input.files = files_of(parts);
  input.name = text_of(name);
  for (const nb::bytes& inner : names) input.names.push_back(text_of(inner));
  input.index_name = text_of(index_name);
  input.index_text = text_of(index_text);
  input.dialect = dialect;
  input.form = form;
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

// Writes whole lines of the rank at hand.
void write_lines(CompressedWriter& writer, const nb::bytes& text) {
  const std::string_view all(text.c_str(), text.size());
  const nb::gil_scoped_release unlocked;
  writer.lines(all);
}

void add_rank(CompressedWriter& writer, const nb::bytes& name,
              const std::vector<std::pair<nb::bytes, std::uint64_t>>& texts) {
  std::vector<CompressedWriter::Piece> pieces;
  pieces.reserve(texts.size());
  for (const auto& [lines, times] : texts) {
    pieces.push_back({std::string_view(lines.c_str(), lines.size()), times});
  }
  writer.add_rank(std::string_view(name.c_str(), name.size()), pieces);
}

void finish_file(CompressedWriter& writer, const nb::bytes& path) {
  const std::string output = text_of(path);
  const nb::gil_scoped_release unlocked;
  write_at(*create_file(output), writer.finish({}), 0, output);
}

// From the parts that the ranks of a recorded program have left.
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

}  // namespace

void register_packed(nb::module_& m) {
  nb::enum_<PackedForm>(m, "PackedForm", "Which version of the packed form is written.")
      .value("SMALLEST", PackedForm::smallest)
      .value("VERSION_1", PackedForm::version_1)
      .value("VERSION_2", PackedForm::version_2);

  m.def("pack", &pack_files, "files"_a, "name"_a, "names"_a, "index_name"_a, "index_text"_a,
        "dialect"_a, "form"_a, "precision"_a, "output"_a, "progress"_a.none());
  m.def("unpack", &unpack_file, "file"_a, "directory"_a, "progress"_a.none());

  nb::class_<CompressedWriter>(m, "PackedWriter", "Writes a packed trace, a rank after the other.")
      .def(
          "__init__",
          [](CompressedWriter* self, std::int32_t ranks) { new (self) CompressedWriter(ranks); },
          "ranks"_a)
      .def("draw_volumes", &CompressedWriter::draw_volumes, "seed"_a)
      .def(
          "histogram",
          [](CompressedWriter& writer,
             const std::vector<std::tuple<double, double, std::uint64_t>>& bins) {
            std::vector<tit::VolumeBin> volumes;
            for (const auto& [least, most, count] : bins) volumes.push_back({least, most, count});
            return writer.histogram(std::move(volumes));
          },
          "bins"_a)
      .def(
          "begin_rank",
          [](CompressedWriter& writer, const nb::bytes& name) { writer.begin_rank(text_of(name)); },
          "name"_a)
      .def("write", &write_lines, "lines"_a)
      .def("end_rank", [](CompressedWriter& writer) { writer.end_rank(true); })
      .def("add_rank", &add_rank, "name"_a, "pieces"_a)
      .def("finish", &finish_file, "path"_a);

  nb::class_<RecordedPart>(m, "RecordedPart", "What is known of a recorded part.")
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
}

}  // namespace tisim
