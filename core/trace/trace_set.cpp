#include "trace/trace_set.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "trace/dialect.hpp"
#include "trace/error.hpp"
#include "trace/merged.hpp"
#include "trace/rank_numbers.hpp"

namespace tisim {

namespace {

constexpr std::size_t kAllBuffers = 64U << 20;  // of all ranks together
constexpr std::size_t kLeastBuffer = 1U << 10;
constexpr std::size_t kMostBuffer = 256U << 10;

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

std::shared_ptr<const TraceSet> TraceSet::open(std::vector<TraceFile> files, std::string name,
                                               const TraceOptions& options) {
  if (files.empty()) throw TraceError(name, 0, "has no trace file in it");
  const std::shared_ptr<TraceSet> set(new TraceSet(options));
  set->grammar_.vocabulary = &set->vocabulary_;
  set->grammar_.mistaken_null_is_any = options.mistaken_null_is_any;
  set->grammar_.dialect =
      options.dialect == Dialect::automatic ? detect_dialect(files) : options.dialect;
  if (files.size() == 1) {
    const MergedFile merged(files.front());
    set->split_ = merged.ranks() > 1;
    set->files_ = set->split_ ? merged.split() : std::move(files);
  } else {
    set->sort_by_rank(std::move(files), name);
  }
  set->grammar_.ranks = static_cast<std::int32_t>(set->files_.size());
  return set;
}

void TraceSet::sort_by_rank(std::vector<TraceFile> files, const std::string& name) {
  std::vector<std::pair<std::int64_t, std::size_t>> order;
  order.reserve(files.size());
  for (std::size_t i = 0; i < files.size(); ++i) order.emplace_back(rank_of(files[i]), i);
  std::sort(order.begin(), order.end());
  std::vector<std::int64_t> ranks;
  ranks.reserve(files.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (i > 0 && order[i].first == order[i - 1].first) {
      throw TraceError(files[order[i].second].name, 0,
                       "is of rank " + std::to_string(order[i].first) + ", and so is " +
                           files[order[i - 1].second].name + "; a rank has one file");
    }
    ranks.push_back(order[i].first);
  }
  check_ranks_complete(ranks, name, "file");
  files_.reserve(files.size());
  for (const auto& [rank, index] : order) files_.push_back(std::move(files[index]));
}

std::uint64_t TraceSet::bytes() const {
  return std::accumulate(
      files_.begin(), files_.end(), std::uint64_t{0},
      [](std::uint64_t sum, const TraceFile& file) { return sum + file.size(); });
}

std::size_t TraceSet::buffer_size() const {
  return std::clamp(kAllBuffers / files_.size(), kLeastBuffer, kMostBuffer);
}

std::unique_ptr<RankReader> TraceSet::open(std::int32_t rank, CallTable& calls) const {
  return std::make_unique<TextReader>(shared_from_this(), grammar_, rank,
                                      files_[static_cast<std::size_t>(rank)], split_, buffer_size(),
                                      calls);
}

}  // namespace tisim
