// A trace: the operations of every rank of one run, whatever form its files have.
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

// How its lines are read.
struct TraceOptions {
  // True: -333 as the source of a receive is ANY_SOURCE; false: it is PROC_NULL.
  bool mistaken_null_is_any = true;
  // True: receives from any source name the rank that they matched, where the trace has it.
  bool sources_are_matched = false;
  // True: recorded waitany and waitsome take the first complete requests if nothing depends on it.
  bool completions_are_free = false;
  // True: of calls that were recorded in both layers of I/O those of POSIX are read, not of MPI-IO.
  bool is_posix_layer = false;
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
  ~TraceSet();

  // The same files, read with other options. Throws std::invalid_argument.
  std::shared_ptr<const TraceSet> with(const TraceOptions& options) const;

  std::int32_t ranks() const;
  Dialect dialect() const;
  // The file of a rank as errors name it.
  std::string file(std::int32_t rank) const;
  // All bytes that its readers read, and those of one of them.
  std::uint64_t bytes() const;
  std::uint64_t bytes_of(std::int32_t rank) const;
  // The number of its actions, when that is known without reading all of them.
  std::optional<std::uint64_t> actions() const;
  // How exactly its file keeps the volumes of computations: "exact", or the level at which it was
  // packed.
  std::string precision() const;
  // True if it was recorded and says that ranks were cut off: their programs did not end.
  bool is_cut() const;
  // True if it names the matched sources of receives from any source.
  bool has_matched_sources() const;
  // True if it names them and these receives of the rank compete with its others for messages. The
  // matched sources then apply in any case.
  bool sources_decide(std::int32_t rank) const;
  // True if readers with the same call table share their knowledge of lines.
  bool shares_lines() const { return packed() != nullptr; }

  // Calls of the trace are interned in `calls`, which must outlive the reader; the set lives as
  // long as its readers.
  std::unique_ptr<RankReader> open(std::int32_t rank, CallTable& calls) const;

  // The file of a packed trace, for those who inspect it (packed/file.hpp); nullptr for text.
  const PackedFile* packed() const;

 private:
  struct Files;
  struct Reading;

  TraceSet(std::shared_ptr<const Files> files, Dialect dialect, const TraceOptions& options);

  std::shared_ptr<const Files> files_;
  std::unique_ptr<const Reading> reading_;
};

}  // namespace tisim
