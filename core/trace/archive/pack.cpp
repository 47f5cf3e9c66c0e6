#include "trace/archive/pack.hpp"

#include <charconv>

#include "trace/archive/merged.hpp"
#include "trace/archive/rank_numbers.hpp"
#include "trace/error.hpp"
#include "trace/packed/file.hpp"
#include "trace/packed/writer.hpp"
#include "trace/text/dialect.hpp"
#include "trace/text/line_buffer.hpp"

namespace tisim {

namespace {

constexpr std::size_t kLineBuffer = 256U << 10;

// Bytes that have been packed, of all.
struct PackProgress {
  const Progress& progress;
  double all = 0;
  double before = 0;  // in the files before the one at hand
};

// `marked`: the file is a part of a split one.
void pack_rank(PackedWriter& writer, const TraceFile& file, std::int32_t rank,
               const std::string& name, bool marked, PackProgress& done) {
  writer.begin_rank(rank, name);
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
      writer.line(line, ++number);
      newline = !lines.is_cut(line.data() + line.size());
    }
    tell(done.progress, (done.before + static_cast<double>(lines.position())) / done.all);
  }
  done.before += static_cast<double>(lines.position());
  writer.end_rank(newline);
}

double size_of(const std::vector<TraceFile>& files) {
  double size = 0;
  for (const TraceFile& file : files) size += static_cast<double>(file.size());
  return size;
}

}  // namespace

void pack(const PackInput& input, const std::string& output, const Progress& progress) {
  if (input.files.size() == 1 && PackedFile::recognises(input.files.front())) {
    throw TraceError(input.files.front().name, 0, "is packed already");
  }
  PackedLayout layout;
  layout.dialect =
      input.dialect == Dialect::automatic ? detect_dialect(input.files) : input.dialect;
  layout.index_name = input.index_name;
  layout.index_text = input.index_text;
  if (input.files.size() == 1) {
    const MergedFile merged(input.files.front(), MergedFile::Comments::kept,
                            part_of(progress, 0.0, 0.2));
    layout.merged = true;
    const std::vector<TraceFile> parts = merged.split(part_of(progress, 0.2, 0.5));
    const Progress rest = part_of(progress, 0.5, 1.0);
    PackProgress done{rest, size_of(parts)};
    PackedWriter writer(output, merged.ranks());
    for (std::int32_t rank = 0; rank < merged.ranks(); ++rank) {
      pack_rank(writer, parts[static_cast<std::size_t>(rank)], rank, input.names.front(), true,
                done);
    }
    writer.finish(layout);
    return;
  }
  const std::vector<std::int64_t> ranks =
      ranks_of(input.files, input.name, part_of(progress, 0.0, 0.1));
  const Progress rest = part_of(progress, 0.1, 1.0);
  PackProgress done{rest, size_of(input.files)};
  PackedWriter writer(output, static_cast<std::int32_t>(ranks.size()));
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    pack_rank(writer, input.files[i], static_cast<std::int32_t>(ranks[i]), input.names[i], false,
              done);
  }
  writer.finish(layout);
}

}  // namespace tisim
