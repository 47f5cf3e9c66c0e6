#include "trace/archive/rank_numbers.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "trace/error.hpp"
#include "trace/grammar/words.hpp"
#include "trace/text/line_buffer.hpp"

namespace tisim {

namespace {

constexpr std::size_t kMostNamed = 8;

// The rank of the first line that is no comment.
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
  throw TraceError(file.name, 0, "has no action in it, so no one knows whose trace it is");
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
  for (std::int64_t rank = 0; rank < ranks.back() && named < kMostNamed; ++rank) {
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
    tell(progress, static_cast<double>(ranks.size()) / static_cast<double>(files.size()));
  }
  std::vector<std::size_t> order(files.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return ranks[a] < ranks[b]; });
  std::vector<std::int64_t> present;
  present.reserve(files.size());
  for (const std::size_t i : order) {
    if (!present.empty() && ranks[i] == present.back()) {
      const std::size_t twin = order[present.size() - 1];
      throw TraceError(files[i].name, 0,
                       "is of rank " + std::to_string(ranks[i]) + ", and so is " +
                           files[twin].name + "; a rank has one file");
    }
    present.push_back(ranks[i]);
  }
  check_ranks_complete(present, name, "file");
  return ranks;
}

}  // namespace tisim
