// A trace: the operations of every rank of one run.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "support/progress.hpp"
#include "trace/compressed/attributes.hpp"
#include "trace/compressed/file.hpp"
#include "trace/grammar/trace_grammar.hpp"
#include "trace/reader.hpp"
#include "trace/storage/trace_file.hpp"
#include "trace/vocabulary/call.hpp"
#include "trace/vocabulary/vocabulary.hpp"
#include "trace/volumes/compute_noise.hpp"
#include "trace/volumes/speedups.hpp"
#include "trace/volumes/volume_factors.hpp"

namespace tisim {

// How its lines are read.
struct TraceOptions {
  // Whether -333 as the source of a receive is ANY_SOURCE; else it is PROC_NULL.
  bool mistaken_null_is_any = true;
  // Whether a receive from any source is one from whom it matched, where the trace says so.
  bool sources_are_matched = false;
  std::vector<std::string> custom_actions = {};
  ComputeNoise compute_noise = {};
  Speedups speedups = {};
  VolumeFactors volume_factors = {};
};

// Immutable: any number of simulations and threads read it at once.
class TraceSet : public std::enable_shared_from_this<TraceSet> {
 public:
  // `files`: one a rank in any order, one of all ranks, or a packed one. `name` stands for all of
  // them in errors. Throws TraceError, and std::invalid_argument for names of custom actions that
  // cannot be.
  static std::shared_ptr<const TraceSet> open(std::vector<TraceFile> files, const std::string& name,
                                              Dialect dialect = Dialect::automatic,
                                              const TraceOptions& options = {},
                                              const Progress& progress = {});

  // The same files, read with other options. Throws std::invalid_argument.
  std::shared_ptr<const TraceSet> with(const TraceOptions& options) const;

  std::int32_t ranks() const { return grammar_.ranks; }
  // Whether it is a packed trace, whose readers share what they know of lines.
  bool is_compressed() const { return files_->compressed != nullptr; }
  Dialect dialect() const { return grammar_.dialect; }
  // The file of a rank as errors name it.
  std::string file(std::int32_t rank) const;
  // All bytes that its readers read, and those of one of them.
  std::uint64_t bytes() const;
  std::uint64_t bytes_of(std::int32_t rank) const;
  // The number of its actions, when that is known without reading all of them.
  std::optional<std::uint64_t> actions() const;
  // How exactly its file keeps the volumes of computations: "exact", or a level of
  // tit/column/precision.hpp.
  std::string precision() const;

  // What an optional section that the core does not read says; none: it has no such section.
  // Throws TraceError.
  std::optional<std::string> section(const std::string& name) const {
    return files_->compressed ? files_->compressed->unknown_section(name) : std::nullopt;
  }

  // Its attributes of calls (tit/file/attributes.hpp); nullptr when it has none. Throws TraceError.
  const CompressedAttributes* attributes() const {
    return files_->compressed ? files_->compressed->attributes() : nullptr;
  }
  // The lines of a rank that have attributes; the trace must have some, and outlive the walk.
  AttributeWalk walk_attributes(std::int32_t rank) const {
    return AttributeWalk(*files_->compressed, rank);
  }
  // Whether it says whom receives from any source matched.
  bool has_matched_sources() const;

  // Calls of the trace are interned in `calls`, which must outlive the reader; the set lives as
  // long as its readers.
  std::unique_ptr<RankReader> open(std::int32_t rank, CallTable& calls) const;

 private:
  struct Files {
    std::vector<TraceFile> by_rank;
    bool split = false;  // they are parts of one file
    // Instead of them, of a packed trace.
    std::unique_ptr<const CompressedFile> compressed;

    std::int32_t ranks() const;
  };

  TraceSet(std::shared_ptr<const Files> files, Dialect dialect, const TraceOptions& options);
  static Files sorted_by_rank(std::vector<TraceFile> files, const std::string& name,
                              const Progress& progress);

  std::shared_ptr<const Files> files_;
  Vocabulary vocabulary_;
  TraceGrammar grammar_;
  ComputeNoise compute_noise_;
  Speedups speedups_;
  VolumeFactors volume_factors_;
  bool sources_are_matched_;
};

}  // namespace tisim
