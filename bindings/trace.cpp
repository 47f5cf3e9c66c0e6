// Traces: opened from Python, read by simulations and, for analysis, by Python itself.
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/unordered_map.h>
#include <nanobind/stl/vector.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "support/progress.hpp"
#include "trace/archive/pack.hpp"
#include "trace/archive/trace_set.hpp"
#include "trace/check/check.hpp"
#include "trace/error.hpp"
#include "trace/packed/file.hpp"
#include "trace/packed/text.hpp"
#include "trace/packed/unpack.hpp"
#include "trace/packed/writer.hpp"
#include "trace/vocabulary/call.hpp"
#include "trace/vocabulary/datatype.hpp"
#include "trace/vocabulary/op.hpp"
#include "trace/vocabulary/vocabulary.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace tisim {

namespace {

std::string text_of(const nb::bytes& bytes) { return {bytes.c_str(), bytes.size()}; }

nb::object decoded(const std::string& name) {
  return nb::steal(
      PyUnicode_DecodeFSDefaultAndSize(name.data(), static_cast<Py_ssize_t>(name.size())));
}

// A TraceError becomes tisim.errors.InputError.
void raise_input_error(const std::exception_ptr& error, void*) {
  try {
    std::rethrow_exception(error);
  } catch (const TraceError& wrong) {
    const nb::object type = nb::module_::import_("tisim.errors").attr("InputError");
    const nb::object line = wrong.line == 0 ? nb::none() : nb::cast(wrong.line);
    const nb::object file = wrong.file.empty() ? nb::none() : decoded(wrong.file);
    const nb::object raised = type(decoded(wrong.message), "file"_a = file, "line"_a = line);
    PyErr_SetObject(type.ptr(), raised.ptr());
  }
}

// Part of a file: its name for the user, its path or the number of an open file, where it begins
// and how many bytes it has (none: all).
using FilePart = std::tuple<nb::bytes, std::optional<nb::bytes>, int, std::uint64_t,
                            std::optional<std::uint64_t>>;

std::vector<TraceFile> files_of(const std::vector<FilePart>& parts) {
  std::vector<TraceFile> files;
  files.reserve(parts.size());
  std::shared_ptr<const Descriptor> descriptor;
  int number = -1;
  for (const auto& [name, path, from, offset, length] : parts) {
    TraceFile file;
    file.name = text_of(name);
    if (path) {
      file.path = text_of(*path);
    } else {
      // The same open file usually holds many parts: one descriptor serves them all.
      if (!descriptor || from != number) {
        const int copy = ::dup(from);
        if (copy < 0) throw TraceError(file.name, 0, "has lost its temporary file");
        descriptor = std::make_shared<const Descriptor>(copy);
        number = from;
      }
      file.descriptor = descriptor;
    }
    file.offset = offset;
    file.length = length.value_or(kToTheEnd);
    files.push_back(std::move(file));
  }
  return files;
}

// Between it and work without the GIL: at first and then ten times a second it looks at Ctrl-C and
// tells Python how far the work is. An exception of Python's stops the work.
class Teller {
 public:
  explicit Teller(nb::object told) : told_(std::move(told)) {}

  Progress progress() {
    return [this](double fraction) { tell_python(fraction); };
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kPatience{100};

  void tell_python(double fraction) {
    if (Clock::now() < next_) return;
    const nb::gil_scoped_acquire locked;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    if (!told_.is_none()) told_(std::min(fraction, 1.0));
    next_ = Clock::now() + kPatience;
  }

  nb::object told_;  // None: nobody
  Clock::time_point next_{};
};

std::shared_ptr<TraceSet> open_trace(const std::vector<FilePart>& parts, const nb::bytes& name,
                                     Dialect dialect, nb::object progress) {
  std::vector<TraceFile> files = files_of(parts);
  const std::string called = text_of(name);
  Teller teller(std::move(progress));
  const nb::gil_scoped_release unlocked;
  return std::const_pointer_cast<TraceSet>(
      TraceSet::open(std::move(files), called, dialect, {}, teller.progress()));
}

std::shared_ptr<TraceSet> with_options(const TraceSet& set, bool mistaken_null_is_any,
                                       std::vector<std::string> custom_actions,
                                       double compute_noise, std::uint64_t noise_seed,
                                       std::unordered_map<std::string, double> speedups) {
  const TraceOptions options{mistaken_null_is_any,
                             std::move(custom_actions),
                             {compute_noise, noise_seed},
                             std::move(speedups)};
  return std::const_pointer_cast<TraceSet>(set.with(options));
}

// The bytes of the text.
std::uint64_t pack_files(const std::vector<FilePart>& parts, const nb::bytes& name,
                         const std::vector<nb::bytes>& names, const nb::bytes& index_name,
                         const nb::bytes& index_text, Dialect dialect, const nb::bytes& output,
                         nb::object progress) {
  PackInput input;
  input.files = files_of(parts);
  input.name = text_of(name);
  for (const nb::bytes& inner : names) input.names.push_back(text_of(inner));
  input.index_name = text_of(index_name);
  input.index_text = text_of(index_text);
  input.dialect = dialect;
  const std::string path = text_of(output);
  Teller teller(std::move(progress));
  const nb::gil_scoped_release unlocked;
  pack(input, path, teller.progress());
  std::uint64_t bytes = 0;
  for (const TraceFile& file : input.files) bytes += file.size();
  return bytes;
}

void unpack_file(const FilePart& part, const nb::bytes& directory, nb::object progress) {
  const PackedFile file(files_of({part}).front());
  const std::string path = text_of(directory);
  Teller teller(std::move(progress));
  const nb::gil_scoped_release unlocked;
  unpack(file, path, teller.progress());
}

// Writes whole lines of the rank at hand.
void write_lines(PackedWriter& writer, const nb::bytes& text) {
  const std::string_view all(text.c_str(), text.size());
  const nb::gil_scoped_release unlocked;
  writer.lines(all);
}

const char* severity_name(Severity severity) {
  switch (severity) {
    case Severity::note:
      return "note";
    case Severity::warning:
      return "warning";
    case Severity::error:
      return "error";
  }
  return "";
}

// Findings as (severity, rank, file, line or none, message), counts as (name, actions, messages,
// bytes, amount).
nb::dict check_trace(const TraceSet& set, nb::object progress) {
  Teller teller(std::move(progress));
  CheckReport report;
  {
    const nb::gil_scoped_release unlocked;
    report = check(set, teller.progress());
  }
  nb::list findings;
  for (const Finding& finding : report.findings.kept()) {
    const nb::object line = finding.line == 0 ? nb::none() : nb::cast(finding.line);
    findings.append(nb::make_tuple(severity_name(finding.severity), finding.rank,
                                   decoded(finding.file), line, decoded(finding.message)));
  }
  nb::list counts;
  for (const ActionCount& count : report.counts) {
    counts.append(
        nb::make_tuple(count.name, count.actions, count.messages, count.bytes, count.amount));
  }
  nb::dict result;
  result["actions"] = report.actions;
  result["counts"] = counts;
  result["findings"] = findings;
  result["errors"] = report.findings.errors();
  result["warnings"] = report.findings.warnings();
  return result;
}

// The next operations as rows of OP_LAYOUT's type, in bytes.
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

// What numpy.dtype() takes to see an Op: names, formats, offsets and the size of a row.
nb::dict op_layout() {
  nb::list names;
  nb::list formats;
  nb::list offsets;
  const auto field = [&](const char* name, const char* format, std::size_t offset) {
    names.append(name);
    formats.append(format);
    offsets.append(offset);
  };
  field("kind", "u1", offsetof(Op, kind));
  field("flags", "u1", offsetof(Op, flags));
  field("comm", "u2", offsetof(Op, comm));
  field("peer", "i4", offsetof(Op, peer));
  field("amount", "f8", offsetof(Op, amount));
  field("bytes", "i8", offsetof(Op, bytes));
  field("call", "i8", offsetof(Op, call));
  field("tag", "i4", offsetof(Op, tag));
  field("line", "u4", offsetof(Op, line));
  nb::dict layout;
  layout["names"] = names;
  layout["formats"] = formats;
  layout["offsets"] = offsets;
  layout["itemsize"] = sizeof(Op);
  return layout;
}

std::string upper_case(std::string_view name) {
  std::string text(name);
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

void register_kinds(nb::module_& m) {
  nb::enum_<Kind> kinds(m, "Kind", nb::is_arithmetic(), "What an operation does.");
#define TISIM_VALUE(kind, ...) kinds.value(upper_case(#kind).c_str(), Kind::kind);
  TISIM_KINDS(TISIM_VALUE)
#undef TISIM_VALUE

  nb::enum_<Operation> operations(m, "Operation", nb::is_arithmetic(), "The operation of a call.");
#define TISIM_VALUE(name, ...) operations.value(upper_case(#name).c_str(), Operation::name);
  TISIM_COLLECTIVES(TISIM_VALUE)
#undef TISIM_VALUE
  operations.value("COMM_SPLIT", Operation::comm_split)
      .value("COMM_DUP", Operation::comm_dup)
      .value("COMM_FREE", Operation::comm_free)
      .value("CUSTOM", Operation::custom);
}

}  // namespace

void register_trace(nb::module_& m) {
  nb::register_exception_translator(raise_input_error);
  register_kinds(m);
  m.attr("OP_LAYOUT") = op_layout();
  m.attr("ANY_SOURCE") = kAnySource;
  m.attr("ANY_TAG") = kAnyTag;
  m.attr("PROC_NULL") = kProcNull;
  m.attr("CONTINUATION") = kContinuation;
  m.attr("NULL_IS_MISTAKEN") = kNullIsMistaken;
  m.attr("SOURCE_LOST") = kSourceLost;
  m.def("type_width", [](std::int64_t id) -> std::optional<int> {
    const std::uint8_t width = type_width(id);
    return width == kNoType ? std::nullopt : std::optional<int>(width);
  });

  m.def("known_actions", [] {
    nb::list actions;
    for (const Action& action : known_actions()) {
      actions.append(nb::make_tuple(action.name, action.usage));
    }
    return actions;
  });

  nb::enum_<Dialect>(m, "Dialect", "How the lines of a trace are written.")
      .value("AUTOMATIC", Dialect::automatic)
      .value("MODERN", Dialect::modern)
      .value("LEGACY", Dialect::legacy);

  nb::class_<Call>(m, "Call", "The arguments of a collective, communicator or custom action.")
      .def_ro("operation", &Call::operation)
      .def_ro("comm", &Call::comm)
      .def_ro("double_default", &Call::double_default)
      .def_ro("arguments", &Call::arguments)
      .def_ro("words", &Call::words);

  nb::class_<CallTable>(m, "CallTable", "The calls of one simulation, each different one once.")
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
      .def_prop_ro("bytes_read", &RankReader::bytes_read)
      .def_prop_ro("file", [](const RankReader& reader) { return decoded(reader.file()); })
      .def_prop_ro("uses_mistaken_null", &RankReader::uses_mistaken_null)
      .def_prop_ro("uses_lost_type", &RankReader::uses_lost_type);

  nb::class_<TraceSet>(m, "TraceSet", "The files of a trace; immutable.")
      .def_prop_ro("ranks", &TraceSet::ranks)
      .def_prop_ro("dialect", &TraceSet::dialect)
      .def_prop_ro("bytes", &TraceSet::bytes)
      .def_prop_ro("actions", &TraceSet::actions)
      .def(
          "file",
          [](const TraceSet& set, std::int32_t rank) {
            if (rank < 0 || rank >= set.ranks()) throw nb::index_error();
            return decoded(set.file(rank));
          },
          "rank"_a)
      .def("with_options", &with_options, "mistaken_null_is_any"_a, "custom_actions"_a,
           "compute_noise"_a, "noise_seed"_a, "speedups"_a)
      .def(
          "open",
          [](const TraceSet& set, std::int32_t rank, CallTable& calls) {
            if (rank < 0 || rank >= set.ranks()) throw nb::index_error();
            return set.open(rank, calls);
          },
          "rank"_a, "calls"_a, nb::keep_alive<0, 3>());

  m.def("open_trace", &open_trace, "files"_a, "name"_a, "dialect"_a, "progress"_a.none());
  m.def("check", &check_trace, "set"_a, "progress"_a.none());
  m.def("pack", &pack_files, "files"_a, "name"_a, "names"_a, "index_name"_a, "index_text"_a,
        "dialect"_a, "output"_a, "progress"_a.none());
  m.def("unpack", &unpack_file, "file"_a, "directory"_a, "progress"_a.none());

  nb::class_<PackedWriter>(m, "PackedWriter", "Writes a packed trace, a rank after the other.")
      .def(
          "__init__",
          [](PackedWriter* self, const nb::bytes& path, std::int32_t ranks) {
            new (self) PackedWriter(text_of(path), ranks);
          },
          "path"_a, "ranks"_a)
      .def(
          "begin_rank",
          [](PackedWriter& writer, std::int32_t rank, const nb::bytes& name) {
            writer.begin_rank(rank, text_of(name));
          },
          "rank"_a, "name"_a)
      .def("write", &write_lines, "lines"_a)
      .def("end_rank", [](PackedWriter& writer) { writer.end_rank(true); })
      .def("finish", [](PackedWriter& writer) { writer.finish({}); });
}

}  // namespace tisim
