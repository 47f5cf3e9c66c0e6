// The flows in progress: their progress and end dates.
//
// All flows from one host to another get the same share, so they are one variable of the max-min
// system, a *pair*, with a virtual clock that counts the bytes moved by a flow of unit factor. A
// flow ends when that clock reaches its `finish`. The pairs of a solver bottleneck have no clocks
// of their own: they follow that of the bottleneck, which integrates its level over time.
//
// Invariants: each active flow is in the heap of its pair. Each pair with moving flows is in
// exactly one heap of ends, that of its bottleneck or the common one of all other pairs. Clocks
// never go back while a pair has flows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "network/load.hpp"
#include "resource/pairing_heap.hpp"
#include "resource/virtual_clock.hpp"
#include "solver/listener.hpp"
#include "solver/system.hpp"
#include "support/heap.hpp"
#include "support/pool.hpp"
#include "support/stack.hpp"

namespace tisim {

struct Flow {
  double finish = 0.0;  // reading of the pair's clock at its end; before activation: its length
  std::int32_t pair = -1;
  std::int32_t owner = 0;   // notified of the end
  std::uint64_t order = 0;  // flows that end together are reported in starting order
  // Links in the heap of its pair's flows; before activation, `sibling` is the next flow in the
  // list of those that pay their latency until the same date.
  std::int32_t child = -1, sibling = -1;
};

// An active flow and its end at current rates.
struct FlowEnd {
  std::int32_t pair = -1, owner = 0;
  double seconds = 0.0;  // seconds from now
};

class Flows final : public max_min::ShareListener {
 public:
  explicit Flows(max_min::System& system);
  Flows(const Flows&) = delete;
  Flows& operator=(const Flows&) = delete;

  // Called after pairs have been added to the system.
  void add_pairs() {
    while (progress_.size() < system_.variables()) progress_.push_back({});
  }

  // Creates an inactive flow.
  std::int32_t create(std::int32_t pair, double bytes, std::int32_t owner);
  void activate(std::int32_t flow, double now);

  // Flows that pay their latencies until the same date form a list.
  void follow(std::int32_t flow, std::int32_t other) { flows_[other].sibling = flow; }
  std::int32_t follower(std::int32_t flow) const { return flows_[flow].sibling; }
  // Removes the flow from the front of its list and returns the next one, or -1.
  std::int32_t pop_front(std::int32_t flow) { return std::exchange(flows_[flow].sibling, -1); }

  bool idle() const { return ends_.empty() && bottleneck_ends_.empty(); }
  double next_end();
  // Appends the owners of the flows that end at `now`, in starting order.
  void collect_ended(double now, Stack<std::int32_t>& owners);

  // Date at which subsequent share changes take effect.
  void set_now(double now) { now_ = now; }

  // Removes an active flow before its end. Its pair must not be in a bottleneck.
  void remove(std::int32_t flow, double now);
  bool is_active(std::int32_t flow) const;
  // Marks a flow that still pays its latency as lost; it can be released after that.
  void lose(std::int32_t flow) { flows_[flow].owner = kLost; }
  bool is_lost(std::int32_t flow) const { return flows_[flow].owner == kLost; }
  void release_lost(std::int32_t flow) {
    --waiting_;
    flows_.release(flow);
  }
  // Moves all flows of a pair to another that has no flows and the same share.
  void move_all(std::int32_t from, std::int32_t to);

  void record_load(std::size_t bins) { load_ = std::make_unique<LoadRecorder>(system_, bins); }
  const TimeBins& load() { return load_->load(); }

  std::int32_t pair_of(std::int32_t flow) const { return flows_[flow].pair; }
  std::int32_t owner_of(std::int32_t flow) const { return flows_[flow].owner; }
  std::size_t in_progress() const { return flows_.in_use(); }
  // Appends the active flows, in no particular order. Requires a solved system.
  void list_ends(double now, std::vector<FlowEnd>& ends) const;

  // Checks that no flow is lost and that heaps and clocks are consistent. Throws std::logic_error.
  // Requires a solved system.
  void verify(double now) const;

 private:
  friend struct NetworkTampering;  // corrupts the state to test `verify`
  static constexpr std::int32_t kLost = std::numeric_limits<std::int32_t>::min();

  // Progress of the flows of a pair.
  struct Progress {
    VirtualClock clock;  // bytes; in a bottleneck, `updated` refers to the bottleneck's clock
    double end = 0.0;    // seconds, end of its next flow; the heap may have an earlier date
    std::int32_t first_flow = -1;  // the next to end; root of a pairing heap
    std::int32_t heap_position = -1;
  };
  static_assert(sizeof(Progress) == 32);

  struct PairPositions {
    Flows* flows;
    void set(std::uint32_t id, std::int32_t position) const {
      flows->progress_[id].heap_position = position;
    }
    std::int32_t get(std::uint32_t id) const { return flows->progress_[id].heap_position; }
  };
  struct BottleneckPositions {
    Flows* flows;
    void set(std::uint32_t id, std::int32_t position) const {
      flows->bottlenecks_[id].position = position;
    }
    std::int32_t get(std::uint32_t id) const { return flows->bottlenecks_[id].position; }
  };
  // The common clock of the pairs of a bottleneck.
  struct CommonClock {
    explicit CommonClock(PairPositions positions) : ends(positions) {}
    EventHeap<PairPositions> ends;  // ends of the pairs, on `clock`
    VirtualClock clock;             // bytes times seconds
    double level = 0.0;             // bytes, rate of the clock
    std::int32_t position = -1;     // position in the heap of all bottlenecks
  };

  void set_shares(std::span<const max_min::Share> before) override;
  void form(std::int32_t bottleneck, std::span<const max_min::Share> before, double level) override;
  void set_level(std::int32_t bottleneck, double level) override;
  void join(std::int32_t bottleneck, std::int32_t pair) override;
  void update_member(std::int32_t bottleneck, std::int32_t pair) override;
  void remove_member(std::int32_t bottleneck, std::int32_t pair) override;
  void dissolve(std::int32_t bottleneck, Stack<std::int32_t>& members) override;
  void leave(std::int32_t bottleneck, std::int32_t pair) override;

  // Advances the clock of a pair.
  void advance(std::int32_t pair, double now) {
    const max_min::Variable& variable = system_.variable(pair);
    if (variable.bottleneck >= 0) return advance_with_others(pair, now);
    advance_alone(pair, variable.share, now);
  }
  void advance_alone(std::int32_t pair, double share, double now) {
    VirtualClock& clock = progress(pair).clock;
    if (load_) load_->charge(pair, share, clock.updated, now);
    clock.advance(share, now);
  }
  void advance_with_others(std::int32_t pair, double now);
  void advance_common(CommonClock& common, double now);
  void date_end(std::int32_t pair, double now);
  void end_flows(std::int32_t pair, double now);
  void collect_from_bottlenecks(double now, double latest);
  static double date_of(const CommonClock& common);

  // Checks the heap of a pair and returns its number of flows.
  std::int32_t verify_heap(std::int32_t pair) const;
  void verify_end(std::int32_t pair, double now) const;
  void verify_bottlenecks() const;

  Progress& progress(std::int32_t pair) { return progress_[static_cast<std::size_t>(pair)]; }
  const Progress& progress(std::int32_t pair) const {
    return progress_[static_cast<std::size_t>(pair)];
  }
  CommonClock& common(std::int32_t number) {
    return bottlenecks_[static_cast<std::size_t>(number)];
  }
  PairingHeap<Flow> heap(Progress& progress) { return {flows_, progress.first_flow}; }

  max_min::System& system_;
  Stack<Progress> progress_;  // by pair
  Pool<Flow> flows_;
  std::size_t waiting_ = 0;  // inactive flows
  EventHeap<PairPositions> ends_;
  std::vector<CommonClock> bottlenecks_;
  EventHeap<BottleneckPositions> bottleneck_ends_;
  std::unique_ptr<LoadRecorder> load_;  // null: not recorded
  std::uint64_t order_ = 0;
  double now_ = 0.0;
  Stack<std::int32_t> ended_;  // scratch of `collect_ended`
};

}  // namespace tisim
