// Executes all ranks of a trace together, without time, as far as possible.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "support/progress.hpp"
#include "trace/requests/pending_requests.hpp"
#include "trace/vocabulary/collective_call.hpp"
#include "trace/vocabulary/epochs.hpp"
#include "trace/walk/messages.hpp"
#include "trace/walk/rank_walk.hpp"

namespace tisim {

// Requests in the order in which they were posted. Unlike a std::deque, it uses no memory while it
// is empty, which matters with a million of them.
class RequestQueue {
 public:
  bool empty() const { return first_ == items_.size(); }
  std::size_t size() const { return items_.size() - first_; }
  std::int32_t front() const { return items_[first_]; }
  void push_back(std::int32_t request) { items_.push_back(request); }
  void pop_front() {
    if (2 * ++first_ <= items_.size()) return;
    items_.erase(items_.begin(), items_.begin() + static_cast<std::ptrdiff_t>(first_));
    first_ = 0;
    if (items_.empty()) items_ = {};
  }

 private:
  std::vector<std::int32_t> items_;
  std::size_t first_ = 0;  // index of the first one in the queue
};

// Guarantees that no replay gets further than this run: every send is buffered, a rank leaves a
// collective as soon as some algorithm could let it, and a receive from any source only needs more
// messages to have arrived than earlier receives have taken. So a rank that is stuck here is stuck
// in every order of events.
//
// The order of execution does not decide what can be executed: a rank that can continue now can
// still continue later, so ranks may be held anywhere. They are held at the turns of their loops.
// When no other rank can continue, and messages in flight, requests and open collectives are as
// when all were held before, each rank repeats what it did in between as long as all have
// repetitions left: those are skipped.
//
// Without loops the time is linear in the trace; memory is proportional to the open operations.
class PermissiveRun {
 public:
  // `set`, `communicators` and `progress` must outlive it.
  PermissiveRun(const TraceSet& set, const Communicators& communicators, Loops loops,
                const Progress& progress);

  // Executes as much as possible. Returns false if the trace uses what this run does not support
  // (custom actions, persistent requests): then nothing is known. Throws TraceError.
  bool run();

  // Why a rank cannot continue.
  enum class Wait : std::uint8_t { none, receive, probe, all, any, collective };
  struct Block {
    Wait wait = Wait::none;
    std::int32_t on = -1;  // a rank that it waits for; -1: any
    std::int32_t tag = 0;  // of the awaited message
    std::uint32_t line = 0;
    bool at_end = false;  // after the last line, waiting for pending requests
    Kind kind = Kind::end;
    Operation operation = Operation::barrier;  // if it is a collective
  };
  // Valid after the run.
  Block block_of(std::int32_t rank) const;

 private:
  struct RankState {
    std::unique_ptr<RankWalk> walk;
    PendingList pending;
    std::int32_t requests = 0;  // number of pending requests
    RequestNumbers numbers;
    std::vector<std::pair<std::uint32_t, std::uint64_t>> entered;  // collectives, by group
    std::uint64_t arrived = 0;                                     // messages to this rank
    std::uint64_t completed = 0;  // receives that have certainly completed
    std::uint64_t steps = 0;      // operations begun
    std::uint64_t left = 0;       // remaining repetitions of the loop in which it is held
    std::uint32_t loops = 0;      // number of loops begun
    bool in_loop = false;
    bool held = false;
    Wait wait = Wait::none;
    std::int32_t request = -1;  // the request it waits for
    bool lists = false;         // waits for the requests marked as awaited, not for all
    TraceChannel probed;
    std::uint32_t group = 0;  // of the collective it waits in
    std::uint64_t number = 0;
    bool needs_root = false;  // waits for the root of the collective; else for all
    std::int64_t root = 0;
    bool queued = false;
    bool ending = false;
    bool over = false;
    Kind kind = Kind::end;  // of the operation it waits in
    Operation operation = Operation::barrier;
    std::uint32_t line = 0;
  };
  // Messages sent but not received, or receives posted but not matched.
  struct Channel {
    std::uint64_t surplus = 0;
    RequestQueue receives;  // requests of the destination
  };
  // A collective that not all ranks have entered.
  struct OpenCollective {
    std::int32_t entered = 0;
    bool has_root = false;
    std::vector<std::int32_t> waiting;  // for the other ranks or the root
  };
  struct Group {
    std::uint64_t first = 0;  // the number of open.front()
    std::deque<OpenCollective> open;
  };
  // The ranks that a rank waits for in a collective.
  enum class CollectiveDependency : std::uint8_t { none, root, all };

  void wake(std::int32_t rank);
  void execute();
  void advance(std::int32_t rank);
  bool take(RankState& state, std::int32_t rank);
  bool take_window(RankState& state, std::int32_t rank);
  bool try_finish_wait(RankState& state);
  void send(const RankState& state, std::int32_t peer, std::int32_t tag);
  std::int32_t post(RankState& state, std::int32_t source, std::int32_t destination,
                    std::int32_t tag);
  void post_receive(RankState& state, std::int32_t peer, std::int32_t tag);
  NumberedRequest& take_number(RankState& state, std::int32_t number);
  void end_request(RankState& state, std::int32_t request);
  void free_request(RankState& state, std::int32_t request);
  std::int32_t named_request(RankState& state);
  bool mark_awaited(RankState& state);
  // A receive from any source, or of any tag.
  bool is_any(std::int32_t request) const;
  bool may_have_arrived(const RankState& state, std::int32_t request) const;
  // The first awaited request that satisfies the condition; -1: none.
  template <class Condition>
  std::int32_t find_awaited(const RankState& state, Condition condition) const {
    for (std::int32_t at = state.pending.first; at >= 0; at = requests_.next(at)) {
      if ((requests_[at].awaited || !state.lists) && condition(at)) return at;
    }
    return -1;
  }
  std::int32_t rank_of(const RankState& state) const {
    return static_cast<std::int32_t>(&state - ranks_.data());
  }
  bool enter(RankState& state, std::int32_t rank);
  void exchange(RankState& state, const CollectiveCall& call);
  static CollectiveDependency dependency_of(const CollectiveCall& call, std::int32_t rank);
  static std::uint64_t& entered_in(RankState& state, std::uint32_t group);
  std::int32_t missing_rank_of(const RankState& waiting) const;
  bool hold(std::int32_t rank, LoopTurn turn);
  void release();
  std::uint64_t signature() const;
  std::uint64_t signature_of(const RankState& state) const;

  const TraceSet* set_;
  const Communicators* communicators_;
  const Progress* progress_;
  std::vector<RankState> ranks_;
  PendingRequests requests_;  // of all ranks
  std::unordered_map<TraceChannel, Channel, ChannelHash> channels_;
  std::vector<Group> groups_;
  std::deque<std::int32_t> ready_;
  std::map<std::pair<std::int32_t, std::int32_t>, Epochs> epochs_;  // by rank and window
  bool is_supported_ = true;
  // State of the loops.
  Loops loops_;
  std::vector<std::int32_t> held_;
  std::uint64_t signature_ = 0;  // when all ranks were last held
  bool has_signature_ = false;
  int misses_ = 0;  // mismatches since repetitions were last skipped
};

}  // namespace tisim
