// Actions of a class of ranks, counted by call site and context.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/progress.hpp"
#include "trace/inspect/call_meaning.hpp"
#include "trace/inspect/statistics.hpp"
#include "trace/packed/file.hpp"

namespace tisim {

// Where in a program its calls are made, as far as the trace records it.

// Numbers the sites of a trace: calls of one kind with the same call path. A path that differs
// between the ranks of a class counts as none.
class CallSites {
 public:
  // `file` must outlive it. Throws TraceError.
  explicit CallSites(const PackedFile& file);

  std::size_t count() const { return sites_.size(); }
  // The site that represents the end of a rank's trace.
  std::size_t end() const { return sites_.size(); }
  std::size_t of(std::uint32_t rank_class, std::uint32_t call) const {
    return numbers_[rank_class][call];
  }
  std::uint32_t kind_of(std::size_t site) const { return sites_[site].first; }
  // Callers first; empty if unknown.
  std::string_view path_of(std::size_t site) const { return sites_[site].second; }

 private:
  std::vector<std::pair<std::uint32_t, std::string_view>> sites_;  // kinds and paths
  std::vector<std::vector<std::size_t>> numbers_;                  // of the calls of each class
};

// Counts the calls of a class of ranks, based on its grammar.

// Calls are counted by rule. Only values in a rank's column are read one by one.
class ClassCounter {
 public:
  // All must outlive it.
  ClassCounter(const PackedFile& file, std::uint32_t rank_class, CallReader& reader,
               const CallSites& sites, Statistics& into);

  // Counts the calls of all ranks of the class with their sizes and volumes, except for varying
  // values in columns. Throws TraceError.
  void count();
  // The ranks with such columns.
  const std::vector<std::uint32_t>& positions_with_values() const { return with_values_; }
  // How often a rank of the class makes a call, and the call's action; empty if it has none.
  std::uint64_t times(std::uint32_t call) const {
    return uses_[call].times[0] + uses_[call].times[1];
  }
  const std::string& action(std::uint32_t call) const { return uses_[call].meanings[0]->action; }
  // True if the class starts persistent requests; true if all its ranks create the same ones.
  bool starts_requests() const;
  bool has_same_requests() const;
  // Adds sizes and volumes from the column of the rank at a position in the class.
  void read_column(std::uint32_t position);

 private:
  struct CallUse {
    std::array<std::uint64_t, 2> times{};  // while the default type is bytes, double
    std::array<std::optional<CallMeaning>, 2> meanings{};
    bool same = true;  // on all ranks
    bool columns = false;
  };

  std::uint32_t signature(std::uint32_t call) const { return class_.signatures[call]; }
  std::size_t site(std::uint32_t call) const;
  const CallMeaning& meaning(std::uint32_t call, bool double_default);
  void count_by_rank(std::uint32_t call);
  void count_computations(const std::vector<CallContext>& contexts);
  void take_computation(std::uint32_t call, std::size_t site, std::uint64_t times);
  void count_constant_columns(const std::vector<CallContext>& contexts);
  std::uint32_t first_site(std::uint32_t before, std::uint32_t call) const;

  const PackedFile& file_;
  std::uint32_t number_;
  const CallSites& sites_;
  const tit::TraceTables& tables_;
  const tit::RankClass& class_;
  const PackedProgram& program_;
  const std::vector<std::int32_t>& ranks_;
  CallReader& reader_;
  Statistics& into_;
  std::vector<CallUse> uses_;
  std::vector<std::uint32_t> with_values_;  // positions of ranks
  std::vector<std::uint32_t> without_values_;
  std::vector<std::int64_t> numbers_;
};

}  // namespace tisim
