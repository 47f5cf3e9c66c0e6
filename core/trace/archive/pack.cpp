#include "trace/archive/pack.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <utility>

#include "trace/archive/merged.hpp"
#include "trace/archive/rank_numbers.hpp"
#include "trace/archive/rewrite.hpp"
#include "trace/compressed/writer.hpp"
#include "trace/error.hpp"
#include "trace/packed/file.hpp"
#include "trace/packed/writer.hpp"
#include "trace/text/dialect.hpp"
#include "trace/text/line_buffer.hpp"

namespace tisim {

namespace {

constexpr std::size_t kLineBuffer = 256U << 10;

// The file of each rank, in their order.
struct RankFile {
  const TraceFile* file;
  const std::string* name;
};

// The lines that are packed, wherever they come from.
struct Ranks {
  std::vector<TraceFile> parts = {};  // of a merged file
  std::vector<RankFile> files = {};
  bool merged = false;
  double bytes = 0;
};

// Bytes that have been packed, of all.
class PackProgress {
 public:
  PackProgress(const Progress& progress, double all) : progress_(progress), all_(all) {}

  void at(std::uint64_t position) const {
    tell(progress_, (before_ + static_cast<double>(position)) / all_);
  }
  void end_file(std::uint64_t size) { before_ += static_cast<double>(size); }

 private:
  const Progress& progress_;
  double all_;
  double before_ = 0;  // in the files before the one at hand
};

// Calls `take(line, number)` for each line; whether the last one has a newline. `marked`: the file
// is a part of a split one.
template <class Take>
bool for_each_line_of(const TraceFile& file, bool marked, PackProgress& done, Take take) {
  LineBuffer lines(file, kLineBuffer);
  std::uint64_t number = 0;
  bool newline = true;
  while (lines.refill()) {
    for (const char* p = lines.begin(); p != lines.end();) {
      const std::string_view line = LineBuffer::line_at(p, lines.end());
      p += line.size() + 1;
      if (marked && !line.empty() && line.front() == kLineMark) {
        std::from_chars(line.data() + 1, line.data() + line.size(), number);
        --number;
        continue;
      }
      take(line, ++number);
      newline = !lines.is_cut(line.data() + line.size());
    }
    done.at(lines.position());
  }
  done.end_file(lines.position());
  return newline;
}

// Gives all lines of a rank's own file to the writer; whether the last one has a newline.
bool pack_lines_of(const TraceFile& file, PackProgress& done, CompressedWriter& writer) {
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

// The file in version 2.
std::string compressed(const Ranks& ranks, const PackedLayout& layout,
                       const tit::Precision& precision, const Progress& progress) {
  PackProgress done(progress, ranks.bytes);
  // All means of volumes together are small: there need not be a grammar of volumes.
  const bool in_column = precision.level == tit::Precision::Level::mean;
  CompressedWriter writer(static_cast<std::int32_t>(ranks.files.size()), ranks.merged, in_column);
  for (const RankFile& from : ranks.files) {
    writer.begin_rank(*from.name);
    if (!ranks.merged) {
      writer.end_rank(pack_lines_of(*from.file, done, writer));
      continue;
    }
    writer.end_rank(for_each_line_of(
        *from.file, true, done,
        [&](std::string_view line, std::uint64_t number) { writer.line(line, number); }));
  }
  tit::FileLayout kept;
  kept.legacy = layout.dialect == Dialect::legacy;
  kept.merged = layout.merged;
  kept.index_name = layout.index_name;
  kept.index_text = layout.index_text;
  if (precision.level != tit::Precision::Level::exact) kept.precision = precision.name();
  return writer.finish(std::move(kept));
}

// Writes the file in version 1; its size.
std::uint64_t pack_plainly(const Ranks& ranks, const PackedLayout& layout,
                           const std::string& output, const Progress& progress) {
  PackProgress done(progress, ranks.bytes);
  PackedWriter writer(output, static_cast<std::int32_t>(ranks.files.size()));
  for (std::size_t rank = 0; rank < ranks.files.size(); ++rank) {
    const RankFile& from = ranks.files[rank];
    writer.begin_rank(static_cast<std::int32_t>(rank), *from.name);
    writer.end_rank(for_each_line_of(
        *from.file, ranks.merged, done,
        [&](std::string_view line, std::uint64_t number) { writer.line(line, number); }));
  }
  writer.finish(layout);
  return TraceFile{.name = output, .path = output, .descriptor = nullptr}.size();
}

Ranks find_ranks(const PackInput& input, const Progress& progress) {
  Ranks found;
  if (input.files.size() == 1) {
    const MergedFile merged(input.files.front(), MergedFile::Comments::kept,
                            part_of(progress, 0.0, 0.4));
    found.merged = true;
    found.parts = merged.split(part_of(progress, 0.4, 1.0));
    for (const TraceFile& part : found.parts) {
      found.files.push_back({&part, &input.names.front()});
    }
  } else {
    const std::vector<std::int64_t> ranks = ranks_of(input.files, input.name, progress);
    found.files.resize(ranks.size());
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      found.files[static_cast<std::size_t>(ranks[i])] = {&input.files[i], &input.names[i]};
    }
  }
  for (const RankFile& rank : found.files) found.bytes += static_cast<double>(rank.file->size());
  return found;
}

// Packs what is packed already.
void pack_again(const PackInput& input, const std::string& output, const Progress& progress) {
  const std::string& name = input.files.front().name;
  if (input.form == PackedForm::version_1) {
    throw TraceError(name, 0, "is packed in version 2; unpack it to pack it in version 1");
  }
  const CompressedFile file(input.files.front());
  if (input.dialect != Dialect::automatic && input.dialect != file.dialect()) {
    throw TraceError(name, 0, "is packed in the other dialect; unpack it to change that");
  }
  write_at(*create_file(output), rewritten(file, input.precision, progress), 0, output);
}

}  // namespace

void pack(const PackInput& input, const std::string& output, const Progress& progress) {
  // A text that shrinks so well would take more in version 1, which codes each line by itself.
  constexpr double kGoodFactor = 20;
  constexpr double kSmallText = 65536;
  const std::uint32_t version =
      input.files.size() == 1 ? CompressedFile::version_of(input.files.front()) : 0;
  if (version == tit::kVersion) {
    pack_again(input, output, progress);
    return;
  }
  if (version != 0) {
    throw TraceError(
        input.files.front().name, 0,
        "is packed in version " + std::to_string(version) + "; unpack it to pack it anew");
  }
  const double found = input.files.size() == 1 ? 0.5 : 0.1;
  const Ranks ranks = find_ranks(input, part_of(progress, 0.0, found));
  PackedLayout layout;
  layout.merged = ranks.merged;
  layout.dialect =
      input.dialect == Dialect::automatic ? detect_dialect(input.files) : input.dialect;
  layout.index_name = input.index_name;
  layout.index_text = input.index_text;
  const Progress rest = part_of(progress, found, 1.0);
  if (input.form == PackedForm::version_1) {
    pack_plainly(ranks, layout, output, rest);
    return;
  }
  const std::string file = compressed(ranks, layout, input.precision, part_of(rest, 0.0, 0.9));
  const auto size = static_cast<double>(file.size());
  const bool may_be_large = ranks.bytes < kSmallText || size * kGoodFactor > ranks.bytes;
  const bool is_exact = input.precision.level == tit::Precision::Level::exact;
  if (input.form == PackedForm::smallest && is_exact && may_be_large &&
      pack_plainly(ranks, layout, output, part_of(rest, 0.9, 1.0)) < file.size()) {
    return;
  }
  write_at(*create_file(output), file, 0, output);
}

}  // namespace tisim
