#include "simulation/steady_states.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

#include "support/number_index.hpp"

namespace tisim {

namespace {

// Hashes a sequence of numbers.
class StateHash {
 public:
  template <class... Numbers>
  void add(Numbers... numbers) {
    (add_one(static_cast<std::uint64_t>(numbers)), ...);
  }
  std::uint64_t value() const { return value_; }

 private:
  void add_one(std::uint64_t number) { value_ = hash_of(value_ ^ number) + 0x9e3779b97f4a7c15U; }

  std::uint64_t value_ = 0;
};

void add(StateHash& hash, const Message& message) {
  const auto waits = [&](Side side) {
    return message.holds(side) || message.request[side] != kNoRequest;
  };
  hash.add(message.source, message.destination, message.tag, message.context, message.bytes);
  hash.add(message.state, waits(kSender), waits(kReceiver), message.holders, message.waited,
           message.detached, message.flowing, message.arrived, message.awaited);
}

std::uint64_t message_hash(const Message& message) {
  StateHash hash;
  add(hash, message);
  return hash.value();
}

void add(StateHash& hash, const Mpi& mpi, std::int32_t request) {
  if (RequestTable::is_held(request)) {
    hash.add(2, RequestTable::side_of(request));
    return add(hash, mpi.matcher.message(RequestTable::message_of(request)));
  }
  if (request < 0) return hash.add(0);
  const Request& r = mpi.requests[request];
  hash.add(1, r.side, r.comm, r.type, r.complete, r.awaited, r.listed);
  if (r.listed) {
    const RequestKey& key = mpi.requests.listing(request).key;
    hash.add(key.source, key.destination, key.tag);
  }
  if (r.type != RequestType::collective) {
    hash.add(r.origin);
  } else if (const Rounds* const rounds = mpi.requests.collective(r.origin).rounds.get()) {
    hash.add(rounds->step, rounds->left, rounds->paid, rounds->received.size());
  }
  if (r.message >= 0) add(hash, mpi.matcher.message(r.message));
}

void add(StateHash& hash, const Mpi& mpi, const Rank& rank, const LoopPosition& loop) {
  hash.add(rank.phase, rank.stage, rank.final_barrier, rank.waiting_side, rank.awaited,
           rank.pending.collectives, rank.epoch, rank.starting, rank.ready.size());
  // The absolute buffer position depends on the lengths of earlier batches and recurs only after
  // many turns, so hash the position relative to the loop turn.
  const std::uint64_t ahead = rank.buffer.size() - rank.cursor;
  hash.add(rank.actions - loop.actions, loop.operations - ahead, rank.schedule >= 0);
  if (rank.schedule >= 0) {
    hash.add(rank.step, rank.collective.call);
    for (const std::int32_t request : rank.slots) add(hash, mpi, request);
  }
  if (rank.phase == Phase::waiting) add(hash, mpi.matcher.message(rank.waiting));
  for (std::int32_t at = rank.pending.first; at >= 0; at = mpi.requests.listing(at).next) {
    add(hash, mpi, at);
  }
  for (const PersistentRequest& request : rank.persistent()) {
    hash.add(request.active, request.number);
  }
}

std::uint64_t channel_hash(const Mpi& mpi, const Channel& channel) {
  StateHash hash;
  hash.add(channel.source, channel.destination, channel.tag, channel.context);
  for (std::int32_t at = channel.head; at >= 0; at = mpi.matcher.message(at).next) {
    add(hash, mpi.matcher.message(at));
  }
  return hash.value();
}

// Kinds of pending ends.
enum class Ending : std::uint8_t { wake, latency, computation, flow, round };

template <class... Numbers>
std::uint64_t key_of(Ending ending, Numbers... numbers) {
  StateHash hash;
  hash.add(ending, numbers...);
  return hash.value();
}

}  // namespace

BoundaryState::BoundaryState(const StateSource& source, const LoopObserver& loops) {
  StateHash hash;
  for (std::size_t i = 0; i < source.ranks.size(); ++i) {
    const auto index = static_cast<std::int32_t>(i);
    add(hash, source.mpi, source.ranks[index], loops[index]);
  }
  std::uint64_t waiting = 0;
  source.mpi.matcher.for_each_waiting(
      [&](const Channel& channel) { waiting += channel_hash(source.mpi, channel); });
  hash.add(waiting);
  add_ends(source);
  for (const End& end : ends_) hash.add(end.key);
  hash_ = hash.value();
}

void BoundaryState::add_ends(const StateSource& source) {
  const double now = source.clock.now();
  const auto message_key = [&](std::int32_t owner) {
    return owner < 0 ? std::uint64_t{0} : message_hash(source.mpi.matcher.message(owner));
  };
  source.clock.agenda().for_each([&](double date, std::uint32_t id) {
    const std::int32_t index = Agenda::index(id);
    switch (Agenda::type(id)) {
      case EventType::wake_rank:
        ends_.push_back({key_of(Ending::wake, index), date - now});
        break;
      case EventType::latency:
        for (std::int32_t flow = index; flow >= 0; flow = source.network.follower(flow)) {
          ends_.push_back({key_of(Ending::latency, source.network.pair_of(flow),
                                  message_key(source.network.owner_of(flow))),
                           date - now});
        }
        break;
      case EventType::cpu:
        source.cpu.for_each_end(index, now, [&](std::int32_t owner, double seconds) {
          ends_.push_back({key_of(Ending::computation, index, owner), seconds});
        });
        break;
      case EventType::round: {
        const Rounds& rounds = *source.mpi.requests.collective(index).rounds;
        ends_.push_back({key_of(Ending::round, rounds.rank, rounds.step), date - now});
        break;
      }
      case EventType::wake_activity:
      case EventType::disk:  // only processes access files, and nothing is skipped with them
        break;
    }
  });
  std::vector<FlowEnd> flows;
  source.network.list_ends(now, flows);
  for (const FlowEnd& flow : flows) {
    ends_.push_back({key_of(Ending::flow, flow.pair, message_key(flow.owner)), flow.seconds});
  }
  std::sort(ends_.begin(), ends_.end(), [](const End& a, const End& b) {
    return a.key != b.key ? a.key < b.key : a.seconds < b.seconds;
  });
}

std::optional<double> BoundaryState::difference(const BoundaryState& other) const {
  if (hash_ != other.hash_ || ends_.size() != other.ends_.size()) return std::nullopt;
  double most = 0.0;
  for (std::size_t i = 0; i < ends_.size(); ++i) {
    const double deviation = std::abs(ends_[i].seconds - other.ends_[i].seconds);
    if (!std::isfinite(deviation)) return std::nullopt;
    most = std::max(most, deviation);
  }
  return most;
}

namespace {

// Number of equal periods required before the first skip, and after a skip.
constexpr std::uint32_t kMinEqualFirst = 3, kMinEqualAgain = 2;
// Turns of the leader per period: other ranks may have loops of other lengths, or states that recur
// only after several iterations.
constexpr std::uint64_t kStrides[] = {1, 2, 12};
constexpr std::uint64_t kMaxUnequalTurns = 12;  // turns after which the period length changes
constexpr std::uint32_t kMaxPause = 64;         // maximum back-off, periods
// If nothing repeats, comparing states must cost next to nothing: the number of items examined is
// limited to a fraction of the simulated operations, each of which costs several times as much. The
// first items are free, or short programs would never begin; a state of many ranks has many.
constexpr std::uint64_t kOperationsPerItem = 16;
constexpr std::uint64_t kFreeItems = 1024;
constexpr std::uint64_t kFreeItemsPerRank = 256;
constexpr std::uint64_t kItemsPerTurn = 3;     // cost of stopping at a turn
constexpr std::uint64_t kItemsPerInstant = 2;  // cost of checking for ties
constexpr double kFirstGap = 1.0 / 64;         // fraction of a period
constexpr double kNarrower = 1.0 / 16;
constexpr double kTie = 1e-3;  // fraction of the precision
constexpr double kUlps = 16;
constexpr double kTiesTolerated = 100;     // dates per period that may shift by the precision
constexpr std::uint32_t kMaxRestarts = 4;  // times that comparisons may restart within a loop

}  // namespace

SteadyStates::Sums SteadyStates::Sums::plus(std::uint64_t times, const Sums& more) const {
  const auto factor = static_cast<double>(times);
  return {turns + times * more.turns,       actions + times * more.actions,
          messages + times * more.messages, bytes + static_cast<std::int64_t>(times) * more.bytes,
          compute + factor * more.compute,  other + factor * more.other};
}

SteadyStates::Sums SteadyStates::Sums::minus(const Sums& less) const {
  return {turns - less.turns, actions - less.actions, messages - less.messages,
          bytes - less.bytes, compute - less.compute, other - less.other};
}

bool SteadyStates::Sums::counts_like(const Sums& other_sums) const {
  return turns == other_sums.turns && actions == other_sums.actions &&
         messages == other_sums.messages && bytes == other_sums.bytes;
}

SteadyReport SteadyStates::report() const {
  SteadyReport report{end_, skipped_, all_, source_.clock.skipped(), cost(), loops_.obstacle()};
  if (report.obstacle) report.end = SteadyEnd::obstacle;
  if (loops_.readers() == 0) report.end = SteadyEnd::no_loops;
  return report;
}

double SteadyStates::tie_margin(double date) const {
  return std::max(kTie * source_.clock.precision(),
                  kUlps * (std::nextafter(date, 2 * date) - date));
}

// Events within the precision after `date` happen with it. Rounding of dates may decide whether
// they are within it, differently as the clock advances.
void SteadyStates::check_for_ties(double date) {
  items_examined_ += kItemsPerInstant;
  const double precision = source_.clock.precision();
  const double margin = tie_margin(date);
  has_ties_ = has_ties_ || source_.clock.agenda().has_between(date + precision - margin,
                                                              date + precision + margin);
}

// Alternates between joining all ties that rounding could decide and joining none, so that the
// difference between equal periods bounds the effect of rounding.
void SteadyStates::decide_ties() {
  const double margin = tie_margin(source_.clock.now());
  joins_ties_ = !joins_ties_;
  source_.clock.widen_instants(joins_ties_ ? margin : -margin);
}

void SteadyStates::pass_turn(double date) {
  if (loops_.obstacle()) return end_search(SteadyEnd::obstacle);
  if (suspend_if_over_budget()) return;
  if (leader_ < 0) follow(loops_.take_last_turned());
  const LoopPosition& leader = loops_[leader_];
  if (leader.left == 0 || leader.loops != loop_) {
    reset_back_off();
    follow(leader.left > 0 ? leader_ : -1);
    return;
  }
  if (is_at_boundary(date)) end_period();
}

// Makes a rank in a loop the leader; -1: none.
void SteadyStates::follow(std::int32_t leader) {
  leader_ = leader >= 0 && loops_[leader].left > 0 ? leader : -1;
  if (leader_ >= 0) {
    turns_ = loops_[leader_].turns;
    loop_ = loops_[leader_].loops;
  }
  slower_ = -1;
  stride_ = 0;
  gap_ = 0.0;
  start_ = -1.0;
  length_ = 0.0;
  unequal_periods_ = 0;
  stop_comparing();
  verifies_ = is_counted_ = false;
}

bool SteadyStates::is_at_boundary(double date) {
  const std::uint64_t turned = loops_[leader_].turns - turns_;
  if (turned < kStrides[stride_]) return false;
  const bool is_late = start_ >= 0 && turned > kStrides[stride_];
  if (is_late) {  // the whole iteration had no such gap
    gap_ *= kNarrower;
    give_up();
    start_ = -1.0;
  }
  return !is_late && date - source_.clock.now() > gap_;
}

void SteadyStates::end_period() {
  const double now = source_.clock.now();
  const double before = std::exchange(length_, start_ < 0 ? 0.0 : now - start_);
  const bool is_equal = length_ > 0 && std::abs(length_ - before) <= tolerance_ * length_;
  if (gap_ == 0.0) gap_ = kFirstGap * length_;
  turns_ = loops_[leader_].turns;
  start_ = now;
  if (compares_ && is_equal) {
    drift_ = std::max(drift_, std::abs(length_ - before));
    compare();
  } else if (compares_) {
    give_up();
  } else if (waits_ > 0) {
    --waits_;
  } else if (is_equal) {
    if (!can_afford_comparison()) return;
    compares_ = true;
    equal_ = 0;
    drift_ = 0.0;
    has_ties_ = false;
    state_ = capture_state();
    places_ = places();
    communicators_ = loops_.communicators_made();
  } else if (before > 0 && (++unequal_periods_) * kStrides[stride_] > kMaxUnequalTurns &&
             unequal_periods_ > 1) {
    change_stride();
  }
}

// Number of items examined so far.
std::uint64_t SteadyStates::cost() const {
  return items_examined_ + kItemsPerTurn * loops_.turns();
}

std::uint64_t SteadyStates::budget() const {
  return std::max(kFreeItems, kFreeItemsPerRank * source_.ranks.size()) +
         loops_.operations() / kOperationsPerItem;
}

void SteadyStates::end_search(SteadyEnd end) {
  end_ = end;
  stop_comparing();
  loops_.set_stops_at_turns(false);
}

// If too many items have been examined, suspends the search until the program has advanced twice as
// far.
bool SteadyStates::suspend_if_over_budget() {
  if (compares_) return false;
  if (cost() <= budget()) return false;
  suspended_until_ = 2 * loops_.operations();
  loops_.set_stops_at_turns(false);
  return true;
}

void SteadyStates::end_suspension() {
  suspended_until_ = 0;
  loops_.set_stops_at_turns(true);
  loops_.take_last_turned();
  reset_back_off();
  follow(-1);
}

// Resets the back-off: an irregular loop does not predict the next one.
void SteadyStates::reset_back_off() {
  pause_ = 1;
  waits_ = 0;
  restarts_ = 0;
}

// Returns true if comparing the states at two boundaries is within the budget.
bool SteadyStates::can_afford_comparison() const {
  return cost() + 2 * BoundaryState::items_in(source_) <= budget();
}

BoundaryState SteadyStates::capture_state() {
  items_examined_ += BoundaryState::items_in(source_);
  return {source_, loops_};
}

void SteadyStates::compare() {
  BoundaryState state = capture_state();
  std::vector<Place> next = places();
  const std::optional<double> states = state.difference(state_);
  const std::optional<double> sums = difference(next);
  const bool makes_communicators = loops_.communicators_made() != communicators_;
  state_ = std::move(state);
  places_ = std::move(next);
  const double allowed = tolerance_ * length_;
  if (!states || !sums || makes_communicators) return give_up();
  if (has_ties_ && !may_decide_ties()) return give_up();
  if (has_ties_) decide_ties();
  drift_ = std::max({drift_, *states, *sums});
  if (drift_ > allowed) return restart_comparison();
  if (++equal_ < (verifies_ ? kMinEqualAgain : kMinEqualFirst)) return;
  const std::uint64_t periods = periods_to_skip();
  if (periods > 0 && has_ties_ && drift_ * static_cast<double>(periods_left()) > allowed) {
    restart_comparison();
  } else if (periods > 0) {
    skip(periods);
  } else {  // the loop ends soon
    verifies_ = false;
    give_up();
  }
}

// A period with ties decided differently may end at another time. So there are only few, and none
// if the effect could exceed the tolerance.
bool SteadyStates::may_decide_ties() const {
  return restarts_ < kMaxRestarts &&
         kTiesTolerated * source_.clock.precision() <= tolerance_ * length_;
}

// Periods that differ only in dates may still settle.
void SteadyStates::restart_comparison() {
  if (verifies_ || restarts_ == kMaxRestarts) return give_up();
  ++restarts_;
  equal_ = 0;
  drift_ = 0.0;
}

std::vector<SteadyStates::Place> SteadyStates::places() const {
  const double now = source_.clock.now();
  std::vector<Place> places(source_.ranks.size());
  for (std::size_t i = 0; i < places.size(); ++i) {
    const auto index = static_cast<std::int32_t>(i);
    const Rank& rank = source_.ranks[index];
    const LoopPosition& loop = loops_[index];
    places[i].sums = {loop.turns,      rank.actions, rank.messages_sent,
                      rank.bytes_sent, rank.compute, rank.other};
    places[i].left = loop.left;
    places[i].turned = now - loop.date;
  }
  return places;
}

// Maximum difference in seconds between the ranks' current and previous periods; none if their
// actions differ.
std::optional<double> SteadyStates::difference(std::vector<Place>& next) {
  double most = 0.0;
  bool is_same = true;
  slower_ = -1;
  for (std::size_t i = 0; i < next.size(); ++i) {
    next[i].added = next[i].sums.minus(places_[i].sums);
    if (next[i].left > 0 && next[i].added.turns < kStrides[stride_] && next[i].added.actions > 0) {
      slower_ = static_cast<std::int32_t>(i);
    }
    const std::optional<double> seconds = difference(places_[i], next[i]);
    is_same = is_same && seconds;
    most = std::max(most, seconds.value_or(0.0));
  }
  return is_same ? std::optional(most) : std::nullopt;
}

std::optional<double> SteadyStates::difference(const Place& before, const Place& next) const {
  if (next.left + next.added.turns != before.left) return std::nullopt;
  // A rank either repeats its loop or waits.
  if (next.added.turns > 0 ? next.left == 0 : next.added.actions > 0) return std::nullopt;
  double most = next.added.turns > 0 ? std::abs(next.turned - before.turned) : 0.0;
  if (equal_ > 0) {
    if (!next.added.counts_like(before.added)) return std::nullopt;
    most = std::max({most, std::abs(next.added.compute - before.added.compute),
                     std::abs(next.added.other - before.added.other)});
  }
  return most;
}

void SteadyStates::stop_comparing() {
  compares_ = false;
  source_.clock.widen_instants(0.0);
}

// Ends a comparison whose periods were not equal.
void SteadyStates::give_up() {
  stop_comparing();
  if (verifies_) {
    end_search(SteadyEnd::mismatch);
    return;
  }
  waits_ = pause_;
  pause_ = std::min(2 * pause_, kMaxPause);
  if (slower_ >= 0) {
    follow(slower_);
  } else {
    change_stride();
  }
}

void SteadyStates::change_stride() {
  stride_ = (stride_ + 1) % std::size(kStrides);
  unequal_periods_ = 0;
  length_ = 0.0;
}

// Number of whole periods after the current one.
std::uint64_t SteadyStates::periods_left() const {
  std::uint64_t fewest = std::numeric_limits<std::uint64_t>::max();
  for (const Place& place : places_) {
    if (place.added.turns > 0) fewest = std::min(fewest, (place.left - 1) / place.added.turns);
  }
  return fewest;
}

// At most half of the remaining periods, leaving enough to compare two more. Slightly different
// periods may keep drifting: the total drift must not exceed the tolerance.
std::uint64_t SteadyStates::periods_to_skip() const {
  const std::uint64_t left = periods_left();
  const std::uint64_t most =
      std::min(left / 2, left > kMinEqualAgain ? left - kMinEqualAgain - 1 : 0);
  const double allowed = tolerance_ * length_;
  if (drift_ * static_cast<double>(most) <= allowed) return most;
  return static_cast<std::uint64_t>(allowed / drift_);
}

void SteadyStates::skip(std::uint64_t periods) {
  for (std::size_t i = 0; i < places_.size(); ++i) {
    Place& place = places_[i];
    if (place.added.turns == 0) continue;
    const auto index = static_cast<std::int32_t>(i);
    loops_.skip(index, periods * place.added.turns, periods * place.added.actions);
    place.left -= periods * place.added.turns;
    Sums more = place.added;
    more.turns = 0;  // skipped turns are not passed
    place.sums = place.sums.plus(periods, more);
    Rank& rank = source_.ranks[index];
    rank.actions = place.sums.actions;
    rank.messages_sent = place.sums.messages;
    rank.bytes_sent = place.sums.bytes;
    rank.compute = place.sums.compute;
    rank.other = place.sums.other;
  }
  source_.clock.skip(static_cast<double>(periods) * length_);
  if (!is_counted_) all_ += loops_[leader_].length;
  is_counted_ = true;
  skipped_ += periods * kStrides[stride_];
  verifies_ = true;
  equal_ = 0;
  drift_ = 0.0;
}

}  // namespace tisim
