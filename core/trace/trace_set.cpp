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

TraceSet::TraceSet(std::shared_ptr<const Files> files, Dialect dialect, const TraceOptions& options)
    : files_(std::move(files)), vocabulary_(options.custom_actions) {
  grammar_.ranks = static_cast<std::int32_t>(files_->by_rank.size());
  grammar_.dialect = dialect;
  grammar_.mistaken_null_is_any = options.mistaken_null_is_any;
  grammar_.vocabulary = &vocabulary_;
}

std::shared_ptr<const TraceSet> TraceSet::open(std::vector<TraceFile> files,
                                               const std::string& name, Dialect dialect,
                                               const TraceOptions& options) {
  if (files.empty()) throw TraceError(name, 0, "has no trace file in it");
  if (dialect == Dialect::automatic) dialect = detect_dialect(files);
  Files sorted;
  if (files.size() == 1) {
    const MergedFile merged(files.front());
    sorted.split = merged.ranks() > 1;
    sorted.by_rank = sorted.split ? merged.split() : std::move(files);
  } else {
    sorted = sorted_by_rank(std::move(files), name);
  }
  return std::shared_ptr<const TraceSet>(
      new TraceSet(std::make_shared<const Files>(std::move(sorted)), dialect, options));
}

std::shared_ptr<const TraceSet> TraceSet::with(const TraceOptions& options) const {
  return std::shared_ptr<const TraceSet>(new TraceSet(files_, grammar_.dialect, options));
}

TraceSet::Files TraceSet::sorted_by_rank(std::vector<TraceFile> files, const std::string& name) {
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
  Files sorted;
  sorted.by_rank.reserve(files.size());
  for (const auto& [rank, index] : order) sorted.by_rank.push_back(std::move(files[index]));
  return sorted;
}

std::uint64_t TraceSet::bytes() const {
  return std::accumulate(
      files_->by_rank.begin(), files_->by_rank.end(), std::uint64_t{0},
      [](std::uint64_t sum, const TraceFile& file) { return sum + file.size(); });
}

std::unique_ptr<RankReader> TraceSet::open(std::int32_t rank, CallTable& calls) const {
  const std::vector<TraceFile>& files = files_->by_rank;
  const std::size_t buffer = std::clamp(kAllBuffers / files.size(), kLeastBuffer, kMostBuffer);
  return std::make_unique<TextReader>(shared_from_this(), grammar_, rank,
                                      files[static_cast<std::size_t>(rank)], files_->split, buffer,
                                      calls);
}

}  // namespace tisim
