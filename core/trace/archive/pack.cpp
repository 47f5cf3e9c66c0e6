#include "trace/archive/pack.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "trace/error.hpp"
#include "trace/packed/calls.hpp"
#include "trace/packed/file.hpp"
#include "trace/packed/writer.hpp"
#include "trace/text/dialect.hpp"
#include "trace/text/line_buffer.hpp"
#include "trace/text/rank_files.hpp"
#include "trace/tit/codec/bytes.hpp"
#include "trace/tit/writer/rank_program.hpp"
#include "trace/tit/writer/trace_writer.hpp"

namespace tisim {

namespace {

constexpr std::size_t kLineBuffer = 256U << 10;

// The file of each rank, in rank order.
struct RankFile {
  const TraceFile* file;
  const std::string* name;
};

// The lines to pack, independent of their source.
struct Ranks {
  std::vector<TraceFile> parts = {};  // of a merged file
  std::vector<RankFile> files = {};
  bool merged = false;
  double bytes = 0;
};

// Bytes packed so far, out of all.
class PackProgress {
 public:
  PackProgress(const Progress& progress, double all) : progress_(progress), all_(all) {}

  void at(std::uint64_t position) const {
    report_progress(progress_, (before_ + static_cast<double>(position)) / all_);
  }
  void end_file(std::uint64_t size) { before_ += static_cast<double>(size); }

 private:
  const Progress& progress_;
  double all_;
  double before_ = 0;  // in the files before the current one
};

// Passes all lines of a rank's own file to the writer; returns whether the last one has a newline.
bool pack_file(const TraceFile& file, PackProgress& done, PackedWriter& writer) {
  LineBuffer lines(file, kLineBuffer);
  bool newline = true;
  while (lines.refill()) {
    writer.lines({lines.begin(), static_cast<std::size_t>(lines.end() - lines.begin())});
    newline = !lines.is_cut(lines.end() - 1);
    done.at(lines.position());
  }
  done.end_file(lines.position());
  return newline;
}

// The same for a rank's part of a merged file, in which marks give the line numbers.
bool pack_part(const TraceFile& file, PackProgress& done, PackedWriter& writer) {
  LineBuffer lines(file, kLineBuffer);
  std::uint64_t number = 0;
  bool newline = true;
  while (lines.refill()) {
    for (const char* p = lines.begin(); p != lines.end();) {
      const std::string_view line = LineBuffer::line_at(p, lines.end());
      p += line.size() + 1;
      if (!line.empty() && line.front() == kLineMark) {
        std::from_chars(line.data() + 1, line.data() + line.size(), number);
        --number;
        continue;
      }
      writer.line(line, ++number);
      newline = !lines.is_cut(line.data() + line.size());
    }
    done.at(lines.position());
  }
  done.end_file(lines.position());
  return newline;
}

std::string packed_bytes(const Ranks& ranks, tit::FileLayout layout,
                         const tit::Precision& precision, const Progress& progress) {
  PackProgress done(progress, ranks.bytes);
  // The means of volumes take little space: they need no grammar of volumes.
  const bool in_column = precision.level == tit::Precision::Level::mean;
  PackedWriter writer(static_cast<std::int32_t>(ranks.files.size()), ranks.merged, in_column);
  for (const RankFile& from : ranks.files) {
    writer.begin_rank(*from.name);
    const bool newline =
        ranks.merged ? pack_part(*from.file, done, writer) : pack_file(*from.file, done, writer);
    writer.end_rank(newline);
  }
  if (precision.level != tit::Precision::Level::exact) layout.precision = precision.name();
  return writer.finish(std::move(layout));
}

Ranks find_ranks(const PackInput& input, const Progress& progress) {
  Ranks trace;
  if (input.files.size() == 1) {
    const MergedFile merged(input.files.front(), MergedFile::Comments::kept,
                            part_of(progress, 0.0, 0.4));
    trace.merged = true;
    trace.parts = merged.split(part_of(progress, 0.4, 1.0));
    for (const TraceFile& part : trace.parts) {
      trace.files.push_back({&part, &input.names.front()});
    }
  } else {
    const std::vector<std::int64_t> ranks = ranks_of(input.files, input.name, progress);
    trace.files.resize(ranks.size());
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      trace.files[static_cast<std::size_t>(ranks[i])] = {&input.files[i], &input.names[i]};
    }
  }
  for (const RankFile& rank : trace.files) trace.bytes += static_cast<double>(rank.file->size());
  return trace;
}

// Maximum number of calls of a rank; they must fit in memory to find their structure anew.
constexpr std::uint64_t kMaxCallsOfRank = std::uint64_t{1} << 25;

// The calls of a rank of a file. `shapes`, `attributes`: new numbers of the file's shapes and
// attributes.
tit::RankPart copy_of(const PackedFile& file, std::int32_t rank,
                      const std::vector<std::uint32_t>& shapes,
                      const std::vector<std::uint32_t>& attributes) {
  using Key =
      std::tuple<std::uint32_t, std::vector<std::int64_t>, std::vector<tit::AttributeValue>>;
  std::map<Key, std::uint32_t> known;
  tit::RankPart part(static_cast<std::uint32_t>(rank));
  const auto put = [&](const PackedAttribute& value) {
    part.attribute(attributes[value.attribute], value.value);
  };
  PackedCalls calls(file, rank, true);
  while (calls.next()) {
    if (calls.volume() != 0) {
      for (const PackedAttribute& value : calls.before()) put(value);
      part.compute(file.volume_of(calls.volume() - 1));
    }
    if (calls.is_silent()) continue;
    if (calls.shape() == tit::kComputeShape) {
      for (const PackedAttribute& value : calls.at()) put(value);
      part.compute(static_cast<std::uint64_t>(calls.numbers()[0]));
      continue;
    }
    tit::Call call{shapes[calls.shape()], calls.numbers(), {}};
    for (const PackedAttribute& value : calls.at()) {
      if (file.attributes()->tables().attributes[value.attribute].is_fixed()) {
        call.attributes.emplace_back(attributes[value.attribute], value.value);
      } else {
        put(value);
      }
    }
    const auto [number, is_new] = known.emplace(Key{call.shape, call.numbers, call.attributes},
                                                static_cast<std::uint32_t>(part.calls().size()));
    if (is_new) part.define(std::move(call));
    part.make(number->second);
  }
  return part;
}

std::string with_precision(const PackedFile& file, const tit::Precision& precision,
                           const Progress& progress) {
  const tit::TraceTables& tables = file.tables();
  tit::TraceWriter writer(tables.ranks);
  std::vector<std::uint32_t> shapes;
  for (const tit::Shape& shape : tables.shapes) {
    shapes.push_back(writer.shape(shape.text, shape.rank_holes));
  }
  std::vector<std::uint32_t> attributes;
  if (file.attributes() != nullptr) {
    for (const tit::Attribute& attribute : file.attributes()->tables().attributes) {
      attributes.push_back(writer.attribute(attribute));
    }
    for (const std::string& text : file.attributes()->tables().texts) writer.text(text);
  }
  const bool is_mean = precision.level == tit::Precision::Level::mean;
  tit::KnownGrammars grammars;
  for (std::int32_t rank = 0; rank < file.ranks(); ++rank) {
    if (file.calls_of(rank) > kMaxCallsOfRank) {
      throw TraceError(file.file().name, 0,
                       "has more calls of rank " + std::to_string(rank) +
                           " than can be packed again (" + std::to_string(kMaxCallsOfRank) +
                           "); keep its volumes as they are");
    }
    const tit::RankPart part = copy_of(file, rank, shapes, attributes);
    writer.add(tit::program_of(part, is_mean, grammars), file.name(rank),
               file.has_last_newline(rank));
    report_progress(progress, static_cast<double>(rank + 1) / file.ranks());
  }
  tit::FileLayout layout;
  layout.legacy = tables.layout.legacy;
  layout.merged = tables.layout.merged;
  layout.index_name = tables.layout.index_name;
  layout.index_text = tables.layout.index_text;
  layout.precision = precision.name();
  return writer.finish(std::move(layout), file.unknown_sections());
}

// Returns the bytes of the same trace with less exact volumes, or of the same file if nothing
// changes. Unknown optional sections are kept. Throws TraceError if the file is damaged, if its
// volumes are not exact, or if a rank makes too many calls.
std::string rewritten(const PackedFile& file, const tit::Precision& precision,
                      const Progress& progress) {
  if (precision.level == tit::Precision::Level::exact) return file.bytes();
  const std::string& kept = file.tables().layout.precision;
  if (!kept.empty()) {
    throw TraceError(file.file().name, 0,
                     "already stores volumes as " + kept + "; pack a trace with exact volumes");
  }
  try {
    return with_precision(file, precision, progress);
  } catch (const tit::FormatError& error) {
    file.damaged(error.what());
  }
}

// Packs a trace that is already packed.
void pack_again(const PackInput& input, const std::string& output, const Progress& progress) {
  const std::string& name = input.files.front().name;
  const PackedFile file(input.files.front());
  if (input.dialect != Dialect::automatic && input.dialect != file.dialect()) {
    throw TraceError(name, 0, "is packed in the other dialect; unpack it to change the dialect");
  }
  write_at(*create_file(output), rewritten(file, input.precision, progress), 0, output);
}

}  // namespace

void pack(const PackInput& input, const std::string& output, const Progress& progress) {
  if (input.files.size() == 1 && PackedFile::recognises(input.files.front())) {
    pack_again(input, output, progress);
    return;
  }
  const double search_share = input.files.size() == 1 ? 0.5 : 0.1;
  const Ranks ranks = find_ranks(input, part_of(progress, 0.0, search_share));
  const Dialect dialect =
      input.dialect == Dialect::automatic ? detect_dialect(input.files) : input.dialect;
  tit::FileLayout layout;
  layout.legacy = dialect == Dialect::legacy;
  layout.merged = ranks.merged;
  layout.index_name = input.index_name;
  layout.index_text = input.index_text;
  const std::string file =
      packed_bytes(ranks, std::move(layout), input.precision, part_of(progress, search_share, 1.0));
  write_at(*create_file(output), file, 0, output);
}

}  // namespace tisim
