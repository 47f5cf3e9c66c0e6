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

// The common properties of the calls of a collective on different ranks.

// The parts of a call that have to be the same on every rank.
struct CollectiveSignature {
  Kind kind = Kind::collective;
  Operation operation = Operation::barrier;
  std::int64_t root = 0;
  // For collectives with count vectors, a hash of them; -1: need not be the same.
  std::int64_t bytes = -1;

  friend bool operator==(const CollectiveSignature&, const CollectiveSignature&) = default;
};

// Signature of the collective at hand.
CollectiveSignature signature_of(const RankWalk& walk, const CollectiveCall& call);
std::uint64_t hash_of(const CollectiveSignature& signature);

// Sent less expected data of this rank, each transfer with a weight of its own: the sum over all
// ranks is 0 when every rank expects what it is sent. For gatherv, scatterv, alltoallv and
// neighbourhood collectives.
std::uint64_t balance_of(const RankWalk& walk, const CollectiveCall& call);

// Error of a rank that does not expect from the others what it sends them, where all have to be
// alike.
std::optional<std::string> own_contradiction(const RankWalk& walk, const CollectiveCall& call);

// The action that a signature is of.
std::string name_of(const CollectiveSignature& signature);

// The message about a rank whose call is not that of another; `whose` names the other.
std::string describe_difference(const CollectiveSignature& mine, const CollectiveSignature& other,
                                const std::string& whose);

// Checks that all ranks of a communicator call the same collectives in the same order, with
// matching arguments.

// The calls of a communicator are taken in windows of so many; a window that differs is read again.
class CollectiveOrder {
 public:
  static constexpr std::uint64_t kWindow = 256;

  // `set`, `communicators` and `progress` must outlive it.
  CollectiveOrder(const TraceSet& set, const Communicators& communicators, const Progress& progress)
      : set_(&set),
        communicators_(&communicators),
        progress_(&progress),
        groups_(communicators.groups()) {}

  // The parts of a call that are compared with other ranks.
  struct RankCall {
    std::uint32_t group = 0;
    std::uint64_t signature = 0;  // a hash
    std::uint64_t balance = 0;    // what is sent less what is expected, mixed
  };

  // Takes the collective at hand into account, of ranks one after the other. Nothing when the
  // operation is none.
  std::optional<RankCall> take(const RankWalk& walk, std::int32_t rank, Findings& findings);
  // The same as to take all the calls, one after the other, so often.
  void repeat(std::int32_t rank, std::span<const RankCall> calls, std::uint64_t times);
  void end_rank(std::int32_t rank);
  // Throws TraceError.
  void report(Findings& findings);

 private:
  struct Group {
    bool has_first = false;
    std::int32_t seen = 0;        // ranks that call any collective
    std::int32_t first_rank = 0;  // whose calls the others are compared with
    std::uint64_t first_count = 0;
    std::vector<SequenceHash> windows;   // the first rank's calls
    std::vector<std::uint64_t> balance;  // by window: what is sent less what is expected, mixed
  };
  struct RankCalls {
    std::uint64_t count = 0;
    SequenceHash window;  // the calls of the window at hand
    bool differs = false;
    std::uint64_t differs_in = 0;  // the window
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
  std::unordered_map<std::uint32_t, RankCalls> of_rank_;  // by group
  std::vector<Difference> differences_;
};

}  // namespace tisim
