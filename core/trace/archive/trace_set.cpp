#include "trace/archive/trace_set.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "trace/archive/merged.hpp"
#include "trace/archive/rank_numbers.hpp"
#include "trace/compressed/matched/matched_sources.hpp"
#include "trace/compressed/reader.hpp"
#include "trace/error.hpp"
#include "trace/text/dialect.hpp"
#include "trace/text/reader.hpp"
#include "trace/volumes/adjusted_reader.hpp"

namespace tisim {

namespace {

constexpr std::size_t kAllBuffers = 64U << 20;  // of all ranks together
constexpr std::size_t kLeastBuffer = 1U << 10;
constexpr std::size_t kMostBuffer = 256U << 10;

}  // namespace

TraceSet::TraceSet(std::shared_ptr<const Files> files, Dialect dialect, const TraceOptions& options)
    : files_(std::move(files)),
      vocabulary_(options.custom_actions),
      compute_noise_(options.compute_noise),
      speedups_(options.speedups),
      volume_factors_(options.volume_factors),
      sources_are_matched_(options.sources_are_matched) {
  grammar_.ranks = files_->ranks();
  grammar_.dialect = dialect;
  grammar_.mistaken_null_is_any = options.mistaken_null_is_any;
  grammar_.keeps_locations = !options.speedups.empty();
  grammar_.vocabulary = &vocabulary_;
}

std::int32_t TraceSet::Files::ranks() const {
  if (compressed) return compressed->ranks();
  return static_cast<std::int32_t>(by_rank.size());
}

std::shared_ptr<const TraceSet> TraceSet::open(std::vector<TraceFile> files,
                                               const std::string& name, Dialect dialect,
                                               const TraceOptions& options,
                                               const Progress& progress) {
  if (files.empty()) throw TraceError(name, 0, "has no trace file in it");
  Files sorted;
  if (files.size() == 1 && CompressedFile::recognises(files.front())) {
    sorted.compressed = std::make_unique<const CompressedFile>(std::move(files.front()));
  } else if (files.size() == 1) {
    const MergedFile merged(files.front(), MergedFile::Comments::left_out,
                            part_of(progress, 0.0, 0.4));
    sorted.split = merged.ranks() > 1;
    sorted.by_rank = sorted.split ? merged.split(part_of(progress, 0.4, 1.0)) : std::move(files);
  } else {
    sorted = sorted_by_rank(std::move(files), name, progress);
  }
  if (dialect == Dialect::automatic) {
    dialect = sorted.compressed ? sorted.compressed->dialect() : detect_dialect(sorted.by_rank);
  }
  return std::shared_ptr<const TraceSet>(
      new TraceSet(std::make_shared<const Files>(std::move(sorted)), dialect, options));
}

std::shared_ptr<const TraceSet> TraceSet::with(const TraceOptions& options) const {
  return std::shared_ptr<const TraceSet>(new TraceSet(files_, grammar_.dialect, options));
}

TraceSet::Files TraceSet::sorted_by_rank(std::vector<TraceFile> files, const std::string& name,
                                         const Progress& progress) {
  const std::vector<std::int64_t> ranks = ranks_of(files, name, progress);
  Files sorted;
  sorted.by_rank.resize(files.size());
  for (std::size_t i = 0; i < files.size(); ++i) {
    sorted.by_rank[static_cast<std::size_t>(ranks[i])] = std::move(files[i]);
  }
  return sorted;
}

std::string TraceSet::file(std::int32_t rank) const {
  if (files_->compressed) return files_->compressed->display_name(rank);
  return files_->by_rank[static_cast<std::size_t>(rank)].name;
}

std::uint64_t TraceSet::bytes() const {
  if (files_->compressed) return files_->compressed->calls();
  return std::accumulate(
      files_->by_rank.begin(), files_->by_rank.end(), std::uint64_t{0},
      [](std::uint64_t sum, const TraceFile& file) { return sum + file.size(); });
}

std::uint64_t TraceSet::bytes_of(std::int32_t rank) const {
  if (files_->compressed) return files_->compressed->calls_of(rank);
  return files_->by_rank[static_cast<std::size_t>(rank)].size();
}

std::string TraceSet::precision() const {
  const bool is_exact =
      !files_->compressed || files_->compressed->tables().layout.precision.empty();
  return is_exact ? "exact" : files_->compressed->tables().layout.precision;
}

bool TraceSet::has_matched_sources() const {
  const CompressedAttributes* const all = attributes();
  return all != nullptr && all->number_of(kMatchedAttribute);
}

std::optional<std::uint64_t> TraceSet::actions() const {
  return files_->compressed ? std::optional(files_->compressed->actions()) : std::nullopt;
}

std::unique_ptr<RankReader> TraceSet::open(std::int32_t rank, CallTable& calls) const {
  const std::size_t buffer =
      std::clamp(kAllBuffers / static_cast<std::size_t>(ranks()), kLeastBuffer, kMostBuffer);
  std::unique_ptr<RankReader> reader;
  if (files_->compressed) {
    reader = std::make_unique<CompressedReader>(shared_from_this(), grammar_, rank,
                                                *files_->compressed, calls);
    if (sources_are_matched_ && has_matched_sources()) {
      reader = std::make_unique<MatchedSourcesReader>(std::move(reader), *files_->compressed, rank);
    }
  } else {
    reader = std::make_unique<TextReader>(shared_from_this(), grammar_, rank,
                                          files_->by_rank[static_cast<std::size_t>(rank)],
                                          files_->split, buffer, calls);
  }
  const ComputeNoiseStream noise(compute_noise_, rank);
  if (!noise.is_on() && speedups_.empty() && volume_factors_.empty()) return reader;
  std::optional<SpeedupStream> speedups;
  if (!speedups_.empty()) speedups.emplace(speedups_, calls);
  return std::make_unique<AdjustedReader>(std::move(reader), noise, std::move(speedups),
                                          volume_factors_);
}

}  // namespace tisim
