// A trace: the operations of every rank of one run, independent of the form of its files.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "support/progress.hpp"
#include "trace/reader.hpp"
#include "trace/vocabulary/call.hpp"
#include "trace/vocabulary/vocabulary.hpp"
#include "trace/volume_adjustments.hpp"

namespace tisim {

class PackedFile;
struct TraceFile;

// How lines are read.
struct TraceOptions {
  // True: -333 as the source of a receive is ANY_SOURCE; false: it is PROC_NULL.
  bool mistaken_null_is_any = true;
  // True: receives from any source name the rank that they matched, if the trace records it.
  bool sources_are_matched = false;
  // True: recorded waitany and waitsome take the first complete requests if nothing depends on it.
  bool completions_are_free = false;
  // True: of calls recorded in both I/O layers, read those of POSIX instead of MPI-IO.
  bool is_posix_layer = false;
  std::vector<std::string> custom_actions = {};
  ComputeNoise compute_noise = {};
  Speedups speedups = {};
  VolumeFactors volume_factors = {};
};

// Immutable: any number of simulations and threads read it at once.
class TraceSet : public std::enable_shared_from_this<TraceSet> {
 public:
  // `files`: one per rank in any order, one for all ranks, or a packed one. `name` names the whole
  // trace in errors. Throws TraceError, and std::invalid_argument for invalid names of custom
  // actions.
  static std::shared_ptr<const TraceSet> open(std::vector<TraceFile> files, const std::string& name,
                                              Dialect dialect = Dialect::automatic,
                                              const TraceOptions& options = {},
                                              const Progress& progress = {});
  ~TraceSet();

  // Returns the same files with other options. Throws std::invalid_argument.
  std::shared_ptr<const TraceSet> with(const TraceOptions& options) const;

  std::int32_t ranks() const;
  Dialect dialect() const;
  // The file of a rank as shown in errors.
  std::string file(std::int32_t rank) const;
  // Bytes that all readers read, and those of one reader.
  std::uint64_t bytes() const;
  std::uint64_t bytes_of(std::int32_t rank) const;
  // Number of actions, if it is known without reading all of them.
  std::optional<std::uint64_t> actions() const;
  // Precision of the computed volumes in its file: "exact", or the level at which it was packed.
  std::string precision() const;
  // True if it was recorded and says that ranks were cut off before their programs ended.
  bool is_cut() const;
  // True if it records the matched sources of receives from any source.
  bool has_matched_sources() const;
  // True if it records them, and if these receives of the rank compete with its others for
  // messages. The matched sources then apply regardless of the options.
  bool sources_decide(std::int32_t rank) const;
  // True if readers with the same call table share decoded lines.
  bool shares_lines() const { return packed() != nullptr; }

  // Interns calls of the trace in `calls`, which must outlive the reader; the set lives as long as
  // its readers.
  std::unique_ptr<RankReader> open(std::int32_t rank, CallTable& calls) const;

  // The file of a packed trace, for inspection (packed/file.hpp); nullptr for text.
  const PackedFile* packed() const;

 private:
  struct Files;
  struct Reading;

  TraceSet(std::shared_ptr<const Files> files, Dialect dialect, const TraceOptions& options);

  std::shared_ptr<const Files> files_;
  std::unique_ptr<const Reading> reading_;
};

}  // namespace tisim
