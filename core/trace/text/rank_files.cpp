#include "trace/text/rank_files.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <limits>
#include <numeric>
#include <string>

#include "trace/error.hpp"
#include "trace/grammar/words.hpp"
#include "trace/text/line_buffer.hpp"

namespace tisim {

namespace {

constexpr std::size_t kMaxNamed = 8;

// The rank of the first line that is not a comment.
std::int64_t rank_of(const TraceFile& file) {
  LineBuffer lines(file, 4096);
  std::uint64_t number = 0;
  while (lines.refill()) {
    for (const char* p = lines.begin(); p != lines.end();) {
      const std::string_view line = LineBuffer::line_at(p, lines.end());
      p += line.size() + 1;
      ++number;
      const std::size_t start = line.find_first_not_of(" \t\r");
      if (start == std::string_view::npos || line[start] == '#') continue;
      return leading_rank(line, file.name, number);
    }
  }
  throw TraceError(file.name, 0, "contains no action, so its rank is unknown");
}

}  // namespace

void check_ranks_complete(const std::vector<std::int64_t>& ranks, const std::string& place,
                          std::string_view thing) {
  const auto count = static_cast<std::int64_t>(ranks.size());
  if (ranks.empty() || ranks.back() == count - 1) return;
  std::string missing;
  std::size_t named = 0;
  std::size_t next = 0;
  std::int64_t absent = ranks.back() + 1 - count;
  for (std::int64_t rank = 0; rank < ranks.back() && named < kMaxNamed; ++rank) {
    if (ranks[next] == rank) {
      ++next;
    } else {
      missing += (named++ > 0 ? ", " : "") + std::to_string(rank);
    }
  }
  if (static_cast<std::size_t>(absent) > named) missing += ", ...";
  throw TraceError(place, 0,
                   std::string(absent == 1 ? "rank " : "ranks ") + missing + " of 0 to " +
                       std::to_string(ranks.back()) + (absent == 1 ? " has" : " have") + " no " +
                       std::string(thing) + "; ranks are numbered from 0 without a gap");
}

std::vector<std::int64_t> ranks_of(std::span<const TraceFile> files, const std::string& name,
                                   const Progress& progress) {
  std::vector<std::int64_t> ranks;
  ranks.reserve(files.size());
  for (const TraceFile& file : files) {
    ranks.push_back(rank_of(file));
    report_progress(progress,
                    static_cast<double>(ranks.size()) / static_cast<double>(files.size()));
  }
  std::vector<std::size_t> order(files.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return ranks[a] != ranks[b] ? ranks[a] < ranks[b] : a < b;
  });
  std::vector<std::int64_t> present;
  present.reserve(files.size());
  for (const std::size_t i : order) {
    if (!present.empty() && ranks[i] == present.back()) {
      const std::size_t twin = order[present.size() - 1];
      throw TraceError(files[i].name, 0,
                       "is of rank " + std::to_string(ranks[i]) + ", and so is " +
                           files[twin].name + "; a rank must have only one file");
    }
    present.push_back(ranks[i]);
  }
  check_ranks_complete(present, name, "file");
  return ranks;
}

namespace {

constexpr std::size_t kReadBuffer = 256U << 10;
constexpr std::size_t kWriteBuffers = 64U << 20;  // shared by all ranks

// Calls `take(rank, number, text)` for each line; `text` includes the newline if the file has it.
template <class Take>
void for_each_line(const TraceFile& file, MergedFile::Comments comments, const Progress& progress,
                   Take take) {
  const auto size = static_cast<double>(file.size());
  LineBuffer lines(file, kReadBuffer);
  std::uint64_t number = 0;
  std::int64_t rank = 0;
  while (lines.refill()) {
    for (const char* p = lines.begin(); p != lines.end();) {
      const std::string_view line = LineBuffer::line_at(p, lines.end());
      p += line.size() + 1;
      ++number;
      const std::size_t start = std::min(line.find_first_not_of(" \t\r"), line.size());
      if (start < line.size() && line[start] != '#') {
        rank = leading_rank(line, file.name, number);
      } else if (comments == MergedFile::Comments::left_out) {
        continue;
      }
      const bool cut = lines.is_cut(line.data() + line.size());
      take(rank, number, std::string_view(line.data(), line.size() + (cut ? 0 : 1)));
    }
    report_progress(progress, static_cast<double>(lines.position()) / size);
  }
}

std::string mark(std::uint64_t number) { return kLineMark + std::to_string(number) + "\n"; }

}  // namespace

MergedFile::MergedFile(const TraceFile& file, Comments comments, const Progress& progress)
    : file_(&file), comments_(comments) {
  // Every rank has at least one line, so the size of the file limits the number of ranks.
  const std::uint64_t most = file.size() / 3 + 1;
  for_each_line(file, comments, progress,
                [&](std::int64_t rank, std::uint64_t number, std::string_view text) {
                  if (static_cast<std::uint64_t>(rank) >= most) {
                    throw TraceError(file.name, number,
                                     "is of rank " + std::to_string(rank) +
                                         ", but ranks below it have no lines");
                  }
                  const auto at = static_cast<std::size_t>(rank);
                  if (at >= parts_.size()) parts_.resize(at + 1);
                  Part& part = parts_[at];
                  if (number != part.last_line + 1) part.length += mark(number).size();
                  part.length += text.size();
                  part.last_line = number;
                });
  if (parts_.empty()) throw TraceError(file.name, 0, "contains no action");
  std::vector<std::int64_t> present;
  for (std::size_t rank = 0; rank < parts_.size(); ++rank) {
    if (parts_[rank].length > 0) present.push_back(static_cast<std::int64_t>(rank));
  }
  check_ranks_complete(present, file.name, "line");
}

// Buffers each rank's text until a write is worthwhile.
class MergedFile::Writer {
 public:
  explicit Writer(const MergedFile& merged)
      : name_(merged.file_->name), target_(make_temporary_file()), parts_(merged.parts_.size()) {
    const std::size_t share = kWriteBuffers / parts_.size();
    limit_ = std::clamp<std::size_t>(share, 256, kReadBuffer);
    std::uint64_t offset = 0;
    for (std::size_t rank = 0; rank < parts_.size(); ++rank) {
      parts_[rank].offset = offset;
      offset += merged.parts_[rank].length;
    }
  }

  void write(std::int64_t rank, std::uint64_t number, std::string_view text) {
    Target& part = parts_[static_cast<std::size_t>(rank)];
    if (number != part.last_line + 1) part.waiting += mark(number);
    part.waiting += text;
    part.last_line = number;
    if (part.waiting.size() >= limit_) flush(part);
  }

  std::vector<TraceFile> finish() {
    std::vector<TraceFile> files;
    files.reserve(parts_.size());
    for (Target& part : parts_) {
      flush(part);
      files.push_back({.name = name_,
                       .path = {},
                       .descriptor = target_,
                       .offset = part.offset,
                       .length = part.written});
    }
    return files;
  }

 private:
  struct Target {
    std::uint64_t offset = 0;
    std::uint64_t written = 0;
    std::uint64_t last_line = 0;
    std::string waiting;
  };

  void flush(Target& part) {
    write_at(*target_, part.waiting, part.offset + part.written,
             name_ + " in a temporary file (in TMPDIR)");
    part.written += part.waiting.size();
    part.waiting.clear();
  }

  std::string name_;
  std::shared_ptr<const Descriptor> target_;
  std::vector<Target> parts_;
  std::size_t limit_;
};

std::vector<TraceFile> MergedFile::split(const Progress& progress) const {
  Writer writer(*this);
  for_each_line(*file_, comments_, progress,
                [&](std::int64_t rank, std::uint64_t number, std::string_view text) {
                  writer.write(rank, number, text);
                });
  return writer.finish();
}

}  // namespace tisim
