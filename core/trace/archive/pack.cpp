#include "trace/archive/pack.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <utility>

#include "trace/archive/merged.hpp"
#include "trace/archive/rank_numbers.hpp"
#include "trace/archive/rewrite.hpp"
#include "trace/compressed/writer.hpp"
#include "trace/error.hpp"
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

// Gives all lines of a rank's own file to the writer; whether the last one has a newline.
bool pack_file(const TraceFile& file, PackProgress& done, CompressedWriter& writer) {
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

// The same for a rank's part of a merged file, in which marks tell the numbers of lines.
bool pack_part(const TraceFile& file, PackProgress& done, CompressedWriter& writer) {
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
  // All means of volumes together are small: there need not be a grammar of volumes.
  const bool in_column = precision.level == tit::Precision::Level::mean;
  CompressedWriter writer(static_cast<std::int32_t>(ranks.files.size()), ranks.merged, in_column);
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
  const CompressedFile file(input.files.front());
  if (input.dialect != Dialect::automatic && input.dialect != file.dialect()) {
    throw TraceError(name, 0, "is packed in the other dialect; unpack it to change that");
  }
  write_at(*create_file(output), rewritten(file, input.precision, progress), 0, output);
}

}  // namespace

void pack(const PackInput& input, const std::string& output, const Progress& progress) {
  if (input.files.size() == 1 && CompressedFile::recognises(input.files.front())) {
    pack_again(input, output, progress);
    return;
  }
  const double found = input.files.size() == 1 ? 0.5 : 0.1;
  const Ranks ranks = find_ranks(input, part_of(progress, 0.0, found));
  const Dialect dialect =
      input.dialect == Dialect::automatic ? detect_dialect(input.files) : input.dialect;
  tit::FileLayout layout;
  layout.legacy = dialect == Dialect::legacy;
  layout.merged = ranks.merged;
  layout.index_name = input.index_name;
  layout.index_text = input.index_text;
  const std::string file =
      packed_bytes(ranks, std::move(layout), input.precision, part_of(progress, found, 1.0));
  write_at(*create_file(output), file, 0, output);
}

}  // namespace tisim
