// Flows that share links max-min fairly.
//
// All flows from one host to another take the same route and get the same share, so they are one
// variable of the system, a *pair*, with a multiplicity. A pair has a virtual clock that counts the
// bytes a flow of unit factor has moved; a flow ends when that clock reaches its `finish`, so that
// a change of the share costs nothing for each flow.
//
// The system that is solved (Casanova and Marchal 2002; Velho et al. 2013): maximise the smallest
// value * penalty subject to  sum of weight * multiplicity * value <= capacity  on shared links,
// max of weight * value <= capacity  on fat pipes, and  value <= bound.
//
// What a link does to a pair that is alone on it is a bound of that pair. A link whose pairs cannot
// saturate it even at their bounds is *slack*: it constrains nobody and connects nothing. A change
// is propagated through links that are not slack only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "network/load.hpp"
#include "solver/system.hpp"
#include "platform/model.hpp"
#include "platform/routes.hpp"
#include "solver/share_cache.hpp"
#include "support/heap.hpp"
#include "support/number_index.hpp"
#include "support/pool.hpp"
#include "support/stack.hpp"

namespace tisim {

struct Flow {
  double finish = 0.0;  // on the clock of its pair; until the latency is paid: how far to go
  std::int32_t pair = -1;
  std::int32_t owner = 0;   // whoever is told of the end
  std::uint64_t order = 0;  // flows that end together are reported in the order of their start
  std::int32_t child = -1, sibling = -1;  // in the heap of its pair's flows
};

class Network {
 public:
  Network(const Model& model, const PlatformData& platform);

  // The pair of two hosts, -1 when its route is not known yet (see `missing`).
  std::int32_t pair(std::int32_t source, std::int32_t destination);
  void add_route(std::int32_t source, std::int32_t destination, Route route);
  std::int32_t missing_source() const { return missing_source_; }
  std::int32_t missing_destination() const { return missing_destination_; }

  // A new flow. Where `latency` comes back positive, the caller calls `activate` that much later;
  // otherwise the flow is active already.
  std::int32_t start(std::int32_t pair, double bytes, std::int32_t owner, double now,
                     double* latency);
  void activate(std::int32_t flow, double now);

  // Share the links anew after all changes of an instant.
  void solve(double now);
  bool is_solved() const { return touched_.empty(); }

  bool idle() const { return ends_.empty() && bottleneck_ends_.empty(); }
  double next_end();
  // Appends the owners of the flows that end at `now`, in the order in which they started.
  void collect_ended(double now, Stack<std::int32_t>& owners);

  // What a profile changes, before anything else of the instant (changing_links.cpp).
  void set_bandwidth(std::int32_t link, double bandwidth);
  void set_latency(std::int32_t link, double latency);
  // Takes a flow out before it has ended; nobody is told.
  void drop(std::int32_t flow, double now);
  // A flow that was taken out while it paid its latency: true, and it is gone.
  bool discard(std::int32_t flow);
  // Whether the link is on the way of a pair, there or (with crosstraffic) back.
  bool leads_over(std::int32_t pair, std::int32_t link) const;
  // A link on the way that is one of `which`, -1: none.
  std::int32_t find_on_way(std::int32_t pair, const std::vector<bool>& which) const;
  std::int32_t pair_of(std::int32_t flow) const { return flows_[flow].pair; }
  // Appends the links without bandwidth that flows wait for.
  void list_starving(std::vector<std::int32_t>& links) const;

  // From how many pairs on a component is not solved whole; tests have small ones.
  void set_large(std::size_t pairs) { large_ = pairs; }

  // Notes what each link carries from now on, in that many bins, an even number (load.cpp).
  void record_load(std::size_t bins);
  const LinkLoad& load();

  std::size_t flows_in_progress() const { return flows_.in_use(); }
  std::size_t solves() const { return solves_; }

 private:
  using Element = max_min::Element;
  using RouteType = max_min::RouteType;
  using Pair = max_min::Pair;
  using Progress = max_min::Progress;
  using Member = max_min::Member;
  using Link = max_min::Link;
  using FatPipe = max_min::FatPipe;
  using Surroundings = max_min::Surroundings;
  static constexpr double kHasRoom = max_min::kHasRoom;
  static constexpr double kUnknown = max_min::kUnknown;
  static constexpr double kNobody = max_min::kNobody;
  // What the solver has found for a pair, bytes/s of one flow of factor 1.
  struct Share {
    std::int32_t pair;
    double value;
  };
  // What a pair weighs on a link, and its level.
  struct Asker {
    double weight, level;
  };
  struct PairPositions {
    Network* network;
    void set(std::uint32_t id, std::int32_t position) const {
      network->progress_[id].heap_position = position;
    }
    std::int32_t get(std::uint32_t id) const { return network->progress_[id].heap_position; }
  };

  // What decides the share of a flow besides the capacities of its links.
  struct BottleneckPositions {
    Network* network;
    void set(std::uint32_t id, std::int32_t position) const {
      network->bottlenecks_[id].position = position;
    }
    std::int32_t get(std::uint32_t id) const { return network->bottlenecks_[id].position; }
  };
  // Levels between which the solution of a bottleneck keeps its form. One that comes very close to
  // them is left to the solver to decide about.
  struct Bounds {
    double lowest = 0.0;   // that of the last of the other pairs
    double highest = 0.0;  // at which something else may hold back its pairs
    bool hold(double level) const {
      return level > lowest * (1 + 1e-12) && level < highest * (1 - 1e-12);
    }
  };
  // A link that alone holds back many pairs (bottleneck.cpp).
  struct Bottleneck {
    explicit Bottleneck(PairPositions positions) : ends(positions) {}
    EventHeap<PairPositions> ends;  // of its pairs, on `clock`
    double level = 0.0;             // bytes: the share of a pair times its penalty
    double clock = 0.0;             // bytes times seconds
    double updated = 0.0;           // seconds, when `clock` was right
    double remaining = 0.0;         // bytes/s, what the other pairs leave of the link
    double usage = 0.0;             // 1/s, the weights of its pairs
    Bounds bounds;
    std::vector<std::int32_t> links;  // of its component
    std::int32_t link = -1;
    std::int32_t changes = 0;
    std::int32_t position = -1;  // in the heap of all bottlenecks
    bool adjusted = false;       // at this instant
    bool broken = false;         // the solution has taken another form
  };
  // What the solver has found to be one.
  struct Proposal {
    const Link* link = nullptr;
    std::size_t first = 0;  // of the shares of its pairs
    Bounds bounds;
  };
  struct Terms {
    double latency = 0.0;  // seconds
    double penalty = 0.0;  // seconds; 0: nothing to weigh it by
    double bound = -1.0;   // bytes/s, of the narrowest link when the flow started; negative: none
  };
  // How a pair depends on links that change.
  struct Course {
    Terms terms;
    std::vector<std::int32_t> links;  // of the way there
    bool is_old = false;              // its flows began before something changed
    bool pays_latency = true;
    std::vector<std::int32_t> old;  // pairs for the flows of this one that began earlier
  };
  struct ChangingLinks {
    std::vector<bool> changes;                     // of each link
    std::vector<double> delay;                     // seconds more than the platform says
    std::vector<std::vector<std::int32_t>> pairs;  // that lead over a link that changes
    std::vector<Course> courses;                   // of each pair
  };

  std::int32_t make_pair(const Route& forward, const Route& backward);
  Terms terms_of(const std::vector<std::int32_t>& links, double latency) const;
  double penalty_of(double bandwidth) const;
  double bound_of(const Terms& terms) const;
  void weigh(RouteType& type, const Terms& terms) const;
  void limit_by_links(RouteType& type, std::size_t first) const;
  std::uint32_t type_number(const RouteType& type);
  static std::uint64_t hash_of_type(const RouteType& type);
  void watch_changes();
  void enlist(std::int32_t pair, Course course);
  double delay_of(const Route& route) const;
  void change_pairs(std::int32_t link, double latency, double penalty);
  std::int32_t set_aside(std::int32_t pair);
  std::int32_t old_pair(std::int32_t pair);
  void shift(std::int32_t pair, double latency, double penalty);
  void renew(std::int32_t pair, std::int32_t link, double latency);
  void list_flows(std::int32_t root, std::vector<std::int32_t>& flows) const;
  void add_element(std::size_t first, std::int32_t link, double weight);
  std::uint16_t weight_number(double weight);
  std::int32_t add_pair(std::size_t first, RouteType type);
  std::size_t copy_elements(std::int32_t pair);
  std::int32_t without_latency(std::int32_t pair);
  bool slack(const Link& link) const;
  static double asked(std::int32_t count, const RouteType& type);
  void add_flow(Progress& progress, std::int32_t flow);
  std::int32_t take_flow(Progress& progress);
  std::int32_t meld(std::int32_t a, std::int32_t b);
  void change_count(std::int32_t pair, std::int32_t by);
  void list(std::int32_t pair, Element& element, std::size_t place);
  void give(std::int32_t pair, double share, double now);
  void charge(std::size_t pair, double value, double since, double now);
  void unload(std::size_t pair);
  void date_end(std::int32_t pair, double now);
  void end_flows(std::int32_t pair, double now);
  void advance(Bottleneck& bottleneck, double now);
  void advance_with_others(std::int32_t pair, double now);
  // Moves the clock of a pair on.
  void advance(std::int32_t index, double now) {
    const Pair& pair = pairs_[index_of(index)];
    if (pair.bottleneck >= 0) return advance_with_others(index, now);
    Progress& progress = progress_[index_of(index)];
    if (load_) charge(index_of(index), pair.value, progress.updated, now);
    progress.clock += pair.value * (now - progress.updated);
    progress.updated = now;
  }
  const RouteType& type_of(const Pair& pair) const { return types_[pair.type]; }
  double penalty(const Pair& pair) const { return type_of(pair).penalty; }
  double priority(const Pair& pair) const { return type_of(pair).priority; }
  // The elements of a pair, as a range.
  std::span<Element> way(const Pair& pair) {
    return {elements_.begin() + pair.elements, type_of(pair).elements};
  }
  std::span<const Element> way(const Pair& pair) const {
    return {elements_.begin() + pair.elements, type_of(pair).elements};
  }
  double weight(const Element& element) const { return weights_[element.weight]; }
  double weight(const Member& member) const { return weights_[member.weight]; }
  void propose(const Link& link, double level);
  void form(double now);
  void join(std::int32_t bottleneck, std::int32_t pair);
  void order_end(Bottleneck& bottleneck, std::int32_t pair);
  void set_level(Bottleneck& bottleneck, double level);
  double date_of(const Bottleneck& bottleneck) const;
  void dissolve(std::int32_t bottleneck, double now);
  void leave(std::int32_t pair, const Bottleneck& bottleneck);
  void adjust_bottlenecks(double now);
  void adjust(std::int32_t pair, double now);
  Bottleneck& note_adjusted(std::int32_t bottleneck);
  bool fits(Bottleneck& bottleneck, const Pair& pair);
  bool hold(std::int32_t link, std::int32_t bottleneck);
  void collect_from_bottlenecks(double now, double latest);
  void forget_visits();
  bool solve_nearby(std::int32_t seed, int large, double now);
  bool meet_links();
  bool meet(Link& link, double& before);
  void include(std::int32_t pair);
  bool include_from(const Link& link, double level);
  void weigh_nearby();
  bool complete();
  double resume_level();
  double saturates_at(const Link& link, double most);
  void note_slack_links();
  static bool is_held(const Link& link) { return link.held_by >= 0; }
  bool gather(std::int32_t seed, std::size_t most, double now);
  void begin_component();
  void sweep_members(Link& link);
  void solve_component(double now);
  bool recall(ShareCache::Solution& place, std::uint64_t hash);
  void remember(ShareCache::Solution& place, std::uint64_t hash) const;
  void fill_up();
  void open(Link& link);
  void change(Link& link);
  void close(Link& link);
  void update_levels();
  double lowest_level() const;
  bool fix_bounded(double level);
  void saturate(double level);
  bool saturate_all(Link& link, double level);
  bool is_fixed(std::int32_t pair) const { return pairs_[index_of(pair)].mark != visit_; }
  void fix(std::int32_t pair, double share);
  void reach(std::int32_t link);
  double fatpipe_usage(const Link& link) const;
  static std::size_t index_of(std::int32_t i) { return static_cast<std::size_t>(i); }

  const Model& model_;
  const PlatformData& platform_;
  RouteTable routes_;
  std::vector<Link> links_;
  std::vector<FatPipe> pipes_;
  Stack<Pair> pairs_;
  Stack<Progress> progress_;  // of each pair
  std::vector<RouteType> types_;
  NumberIndex type_index_;
  Stack<Element> elements_;
  std::vector<double> weights_;                            // that elements have
  std::unordered_map<std::int32_t, std::int32_t> unpaid_;  // pairs for flows without latency
  NumberIndex pair_of_hosts_;
  Stack<std::uint64_t> hosts_of_pair_;  // of those that it finds
  Pool<Flow> flows_;
  EventHeap<PairPositions> ends_;
  std::vector<Bottleneck> bottlenecks_;
  EventHeap<BottleneckPositions> bottleneck_ends_;
  std::size_t bottlenecks_in_use_ = 0;
  static constexpr std::size_t kFewest = 8;  // pairs that are worth one
  static constexpr std::size_t kMost = 512;  // pairs of a link that comes later
  static constexpr std::size_t kAny = std::numeric_limits<std::size_t>::max();
  static constexpr std::int32_t kCrowd = 32;  // pairs of a link that may well become a bottleneck
  std::uint64_t order_ = 0;
  std::size_t solves_ = 0;
  // The mark of the component that is gathered, an even number, and that of the first one of this
  // solve.
  std::uint32_t visit_ = 0;
  std::uint32_t first_visit_ = 0;
  ShareCache cache_;
  std::unique_ptr<LinkLoad> load_;           // null: nobody asks
  std::unique_ptr<ChangingLinks> changing_;  // null: links stay what they are
  std::int32_t missing_source_ = -1, missing_destination_ = -1;

  Stack<std::int32_t> dirty_links_;
  Stack<std::int32_t> touched_;    // pairs whose count changed
  Stack<std::int32_t> component_;  // pairs; scratch of the solver
  std::size_t unfixed_ = 0;        // of them
  double lowest_limit_ = 0.0;      // none of them has its limit at a lower level
  double resumed_at_ = 0.0;        // pairs with lower levels keep their shares
  std::size_t kept_ = 0;           // how often one has been met that does
  std::size_t large_ = 512;
  bool whole_ = false;          // components are to be solved whole at this instant
  bool nearby_ = false;         // what is solved is part of one
  std::size_t met_ = 0;         // links of it
  Stack<Surroundings> around_;  // of those
  Stack<Asker> askers_;         // the pairs of a link
  double lowest_ = 0.0;         // the highest level of those that are fixed
  bool held_up_ = false;        // by a link that has nothing left
  Proposal proposal_;
  std::vector<std::int32_t> adjusted_;  // bottlenecks
  Stack<Share> shares_;
  Stack<std::int32_t> component_links_;
  Stack<Link*> to_sweep_;    // those with pairs that have no flows any more
  Stack<Link*> open_links_;  // that have pairs to fix
  Stack<double> levels_;     // of these
  Stack<Link*> changed_;
  Stack<std::int32_t> ended_;  // flows
};

}  // namespace tisim
