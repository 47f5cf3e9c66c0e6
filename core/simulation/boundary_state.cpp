#include "simulation/boundary_state.hpp"

#include <algorithm>
#include <cmath>

#include "support/number_index.hpp"

namespace tisim {

namespace {

// Hashes numbers one after the other.
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
  const auto waits = [&](Side side) { return message.request[side] != kNoRequest; };
  hash.add(message.source, message.destination, message.tag, message.context, message.bytes);
  hash.add(message.state, waits(kSender), waits(kReceiver), message.holders, message.waited,
           message.detached, message.flowing, message.arrived);
}

std::uint64_t message_hash(const Message& message) {
  StateHash hash;
  add(hash, message);
  return hash.value();
}

void add(StateHash& hash, const Mpi& mpi, std::int32_t request) {
  if (request < 0) return hash.add(0);
  const Request& r = mpi.requests[request];
  hash.add(1, r.side, r.source, r.destination, r.tag, r.comm, r.type, r.complete, r.awaited,
           r.listed);
  if (r.type != RequestType::collective) hash.add(r.origin);
  if (r.message >= 0) add(hash, mpi.matcher.message(r.message));
}

void add(StateHash& hash, const Mpi& mpi, const Rank& rank, const LoopPosition& loop) {
  hash.add(rank.phase, rank.stage, rank.final_barrier, rank.waiting_side, rank.awaited,
           rank.pending_collectives, rank.epoch, rank.starting, rank.ready.size());
  // Where it is in its buffer depends on how long the batches before were, which comes back after
  // many turns only.
  const std::uint64_t ahead = rank.buffer.size() - rank.cursor;
  hash.add(rank.actions - loop.actions, loop.operations - ahead, rank.schedule >= 0);
  if (rank.schedule >= 0) {
    hash.add(rank.step, rank.collective.call);
    for (const std::int32_t request : rank.slots) add(hash, mpi, request);
  }
  if (rank.phase == Phase::waiting) add(hash, mpi.matcher.message(rank.waiting));
  for (std::int32_t at = rank.pending_first; at >= 0; at = mpi.requests[at].next) {
    add(hash, mpi, at);
  }
  for (const PersistentRequest& one : rank.persistent()) hash.add(one.active, one.number);
}

std::uint64_t channel_hash(const Mpi& mpi, const Channel& channel) {
  StateHash hash;
  hash.add(channel.source, channel.destination, channel.tag, channel.context);
  for (std::int32_t at = channel.head; at >= 0; at = mpi.matcher.message(at).next) {
    add(hash, mpi.matcher.message(at));
  }
  return hash.value();
}

// Kinds of ends.
enum class Ending : std::uint8_t { wake, latency, computation, flow };

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
        ends_.push_back({key_of(Ending::latency, source.network.pair_of(index),
                                message_key(source.network.owner_of(index))),
                         date - now});
        break;
      case EventType::cpu:
        source.cpu.for_each_end(index, now, [&](std::int32_t owner, double seconds) {
          ends_.push_back({key_of(Ending::computation, index, owner), seconds});
        });
        break;
      case EventType::wake_activity:
      case EventType::disk:  // only processes read and write, and beside them nothing is skipped
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
    const double one = std::abs(ends_[i].seconds - other.ends_[i].seconds);
    if (!std::isfinite(one)) return std::nullopt;
    most = std::max(most, one);
  }
  return most;
}

}  // namespace tisim
