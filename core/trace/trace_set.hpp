// A trace: the operations of every rank of one run.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "trace/call.hpp"
#include "trace/file.hpp"
#include "trace/line_parser.hpp"
#include "trace/reader.hpp"
#include "trace/vocabulary.hpp"

namespace tisim {

struct TraceOptions {
  Dialect dialect = Dialect::automatic;
  // Whether -333 as the source of a receive is ANY_SOURCE; else it is PROC_NULL.
  bool mistaken_null_is_any = true;
  std::vector<std::string> custom_actions;
};

// Immutable: any number of simulations and threads read it at once.
class TraceSet : public std::enable_shared_from_this<TraceSet> {
 public:
  // `files`: one a rank in any order, or one of all ranks. `name` stands for all of them in
  // errors. Throws TraceError, and std::invalid_argument for names of custom actions that cannot
  // be.
  static std::shared_ptr<const TraceSet> open(std::vector<TraceFile> files, std::string name,
                                              const TraceOptions& options);

  std::int32_t ranks() const { return grammar_.ranks; }
  Dialect dialect() const { return grammar_.dialect; }
  // The file of a rank as errors name it.
  const std::string& file(std::int32_t rank) const {
    return files_[static_cast<std::size_t>(rank)].name;
  }
  // All bytes that its readers read.
  std::uint64_t bytes() const;

  // Calls of the trace are interned in `calls`, which must outlive the reader; the set lives as
  // long as its readers.
  std::unique_ptr<RankReader> open(std::int32_t rank, CallTable& calls) const;

 private:
  explicit TraceSet(const TraceOptions& options) : vocabulary_(options.custom_actions) {}
  void sort_by_rank(std::vector<TraceFile> files, const std::string& name);
  std::size_t buffer_size() const;

  Vocabulary vocabulary_;
  TraceGrammar grammar_;
  std::vector<TraceFile> files_;  // by rank
  bool split_ = false;            // they are parts of one file
};

}  // namespace tisim
