#include "trace/pack.hpp"

#include <charconv>

#include "trace/dialect.hpp"
#include "trace/error.hpp"
#include "trace/line_buffer.hpp"
#include "trace/merged.hpp"
#include "trace/packed_file.hpp"
#include "trace/packed_writer.hpp"
#include "trace/rank_numbers.hpp"
#include "trace/reader.hpp"

namespace tisim {

namespace {

constexpr std::size_t kBuffer = 256U << 10;

// `marked`: the file is a part of a split one.
void pack_rank(PackedWriter& writer, const TraceFile& file, std::int32_t rank,
               const std::string& name, bool marked) {
  writer.begin_rank(rank, name);
  LineBuffer lines(file, kBuffer);
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
  }
  writer.end_rank(newline);
}

}  // namespace

void pack(const PackInput& input, const std::string& output) {
  if (input.files.size() == 1 && PackedFile::recognises(input.files.front())) {
    throw TraceError(input.files.front().name, 0, "is packed already");
  }
  PackedLayout layout;
  layout.dialect =
      input.dialect == Dialect::automatic ? detect_dialect(input.files) : input.dialect;
  layout.index_name = input.index_name;
  layout.index_text = input.index_text;
  if (input.files.size() == 1) {
    const MergedFile merged(input.files.front(), MergedFile::Comments::kept);
    layout.merged = true;
    const std::vector<TraceFile> parts = merged.split();
    PackedWriter writer(output, merged.ranks());
    for (std::int32_t rank = 0; rank < merged.ranks(); ++rank) {
      pack_rank(writer, parts[static_cast<std::size_t>(rank)], rank, input.names.front(), true);
    }
    writer.finish(layout);
    return;
  }
  const std::vector<std::int64_t> ranks = ranks_of(input.files, input.name);
  PackedWriter writer(output, static_cast<std::int32_t>(ranks.size()));
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    pack_rank(writer, input.files[i], static_cast<std::int32_t>(ranks[i]), input.names[i], false);
  }
  writer.finish(layout);
}

}  // namespace tisim
