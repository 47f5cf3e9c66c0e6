// Order and arguments of the collectives that the ranks of a communicator call.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "support/mixing.hpp"
#include "support/progress.hpp"
#include "trace/check/finding.hpp"
#include "trace/check/sequence_hash.hpp"
#include "trace/vocabulary/collective_call.hpp"
#include "trace/walk/rank_walk.hpp"

namespace tisim {

// Properties common to the calls of a collective on all ranks.

// The parts of a call that must be equal on every rank.
struct CollectiveSignature {
  Kind kind = Kind::collective;
  Operation operation = Operation::barrier;
  std::int64_t root = 0;
  // Hash of the count vectors of a collective that has them; -1: may differ between ranks.
  std::int64_t bytes = -1;

  friend bool operator==(const CollectiveSignature&, const CollectiveSignature&) = default;
};

// Signature of the current collective.
CollectiveSignature signature_of(const RankWalk& walk, const CollectiveCall& call);
std::uint64_t hash_of(const CollectiveSignature& signature);

// Sent minus expected data of this rank, each transfer with its own weight: the sum over all ranks
// is 0 if every rank expects what it is sent. For gatherv, scatterv, alltoallv and neighbourhood
// collectives.
std::uint64_t balance_of(const RankWalk& walk, const CollectiveCall& call);

// Error of a rank that sends a different amount than it expects from ranks that do the same.
std::optional<std::string> self_mismatch(const RankWalk& walk, const CollectiveCall& call);

// Name of the action that a signature describes.
std::string name_of(const CollectiveSignature& signature);

// Message about a rank whose call differs from another's; `whose` names the other.
std::string describe_difference(const CollectiveSignature& mine, const CollectiveSignature& other,
                                const std::string& whose);

// Checks that all ranks of a communicator call the same collectives in the same order, with
// matching arguments.

// Calls of a communicator are grouped into windows of this many; a differing window is read again.
class CollectiveOrder {
 public:
  static constexpr std::uint64_t kWindow = 256;

  // `set`, `communicators` and `progress` must outlive it.
  CollectiveOrder(const TraceSet& set, const Communicators& communicators, const Progress& progress)
      : set_(&set),
        communicators_(&communicators),
        progress_(&progress),
        groups_(communicators.groups()) {}

  // The parts of a call that are compared across ranks.
  struct RankCall {
    std::uint32_t group = 0;
    std::uint64_t signature = 0;  // a hash
    std::uint64_t balance = 0;    // sent minus expected, mixed
  };

  // Adds the current collective; ranks must come one after the other. Returns nullopt if the
  // operation is not a collective.
  std::optional<RankCall> take(const RankWalk& walk, std::int32_t rank, Findings& findings);
  // Equivalent to taking the sequence of calls `times` times.
  void repeat(std::int32_t rank, std::span<const RankCall> calls, std::uint64_t times);
  void end_rank(std::int32_t rank);
  // Throws TraceError.
  void report(Findings& findings);

 private:
  struct Group {
    bool has_first = false;
    std::int32_t seen = 0;        // ranks that call any collective
    std::int32_t first_rank = 0;  // reference for the other ranks
    std::uint64_t first_count = 0;
    std::vector<SequenceHash> windows;   // of the first rank
    std::vector<std::uint64_t> balance;  // by window: sent minus expected, mixed
  };
  struct RankCalls {
    std::uint64_t count = 0;
    SequenceHash window;  // the calls of the current window
    bool differs = false;
    std::uint64_t differs_in = 0;  // window number
  };
  struct Difference {
    std::uint32_t group;
    std::int32_t rank;
    std::uint64_t window;
  };

  void repeat_in_group(std::int32_t rank, std::span<const RankCall> calls, std::uint64_t times);
  void add_balance(std::uint32_t group, std::uint64_t number, std::uint64_t balance);
  void close_window(std::uint32_t group, std::int32_t rank, RankCalls& calls);
  void report_absent(std::uint32_t group, Findings& findings);
  void report_difference(const Difference& difference, Findings& findings);
  void report_balances(std::uint32_t group, Findings& findings);
  std::vector<std::uint64_t> unbalanced_calls(std::uint32_t group,
                                              std::span<const std::uint64_t> windows);
  void report_transfers(std::uint32_t group, std::uint64_t number, Findings& findings);

  const TraceSet* set_;
  const Communicators* communicators_;
  const Progress* progress_;
  std::vector<Group> groups_;
  std::unordered_map<std::uint32_t, RankCalls> rank_calls_;  // by group
  std::vector<Difference> differences_;
};

}  // namespace tisim
