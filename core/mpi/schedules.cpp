#include "mpi/schedules.hpp"

#include <cstring>
#include <utility>

#include "support/invariant.hpp"

namespace tisim {

namespace {

// Operations have no padding, so their bytes can be compared.
bool same(const std::vector<Op>& a, const std::vector<Op>& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(Op)) == 0);
}

std::uint64_t hash_of(const std::vector<Op>& ops) {
  std::uint64_t hash = ops.size();
  for (const Op& op : ops) {
    std::uint64_t words[sizeof(Op) / sizeof(std::uint64_t)];
    std::memcpy(words, &op, sizeof op);
    for (const std::uint64_t word : words) hash = tisim::hash_of(hash ^ word);
  }
  return hash;
}

// Counts the operations up to the last one with a peer.
std::size_t count_peers(const std::vector<Op>& ops) {
  std::size_t count = ops.size();
  const auto has_none = [](Kind kind) { return kind == Kind::wait || kind == Kind::waitall; };
  while (count > 0 && has_none(ops[count - 1].kind)) --count;
  return count;
}

}  // namespace

std::int32_t ScheduleShapes::take(std::vector<Op> ops, std::size_t in_call, std::int32_t slots) {
  const std::size_t peers = count_peers(ops);
  for (std::size_t i = 0; i < peers; ++i) ops[i].peer = 0;
  const std::uint64_t hash = hash_of(ops);
  std::int32_t index = index_.find(hash, [&](std::int32_t other) {
    return shapes_[other].in_call == in_call && same(shapes_[other].ops, ops);
  });
  if (index < 0) {
    index = shapes_.acquire();
    shapes_[index] = {std::move(ops), peers, in_call, slots, 0, hash};
    index_.insert(index, [this](std::int32_t number) { return hash_at(number); });
  }
  ++shapes_[index].users;
  return index;
}

void ScheduleShapes::leave(std::int32_t index) {
  if (--shapes_[index].users > 0) return;
  index_.erase(index, [this](std::int32_t number) { return hash_at(number); });
  shapes_[index] = ScheduleShape{};
  shapes_.release(index);
}

void ScheduleShapes::verify(const std::vector<std::uint32_t>& users) const {
  ensure(shapes_.is_consistent(), "a shape is dropped once");
  ensure(shapes_.in_use() == index_.size(), "every shape is in the index");
  for (std::size_t i = 0; i < users.size(); ++i) {
    ensure(shapes_[static_cast<std::int32_t>(i)].users == users[i], "a shape counts its schedules");
  }
}

std::int32_t Schedules::find(std::uint64_t key, std::int32_t context, std::uint32_t epoch) const {
  const std::int32_t found = find(key);
  if (found < 0) return -1;
  const Record& schedule = schedules_[found];
  return schedule.context == context && schedule.epoch == epoch ? found : -1;
}

std::int32_t Schedules::add(Schedule schedule) {
  if (schedule.kept) {
    const std::int32_t old = find(schedule.key);
    if (old >= 0) drop(old);
  }
  operations_ += schedule.ops.size() + kRecord;
  if (operations_ > most_) make_room();
  const std::int32_t index = schedules_.acquire();
  Record& record = schedules_[index];
  const std::size_t peers = count_peers(schedule.ops);
  record.peers = std::make_unique_for_overwrite<std::int32_t[]>(peers);
  for (std::size_t i = 0; i < peers; ++i) record.peers[i] = schedule.ops[i].peer;
  record.key = schedule.key;
  record.shape = shapes_.take(std::move(schedule.ops), schedule.in_call, schedule.slots);
  record.context = schedule.context;
  record.epoch = schedule.epoch;
  record.kept = schedule.kept;
  record.live = true;
  if (record.kept) {
    index_.insert(index, [this](std::int32_t number) { return hash_at(number); });
  }
  return index;
}

void Schedules::drop(std::int32_t index) {
  operations_ -= size(index) + kRecord;
  if (schedules_[index].kept) {
    index_.erase(index, [this](std::int32_t number) { return hash_at(number); });
  }
  shapes_.leave(schedules_[index].shape);
  schedules_[index] = Record{};
  schedules_.release(index);
}

// Cycles through the schedules and drops those not used since the last visit (the CLOCK algorithm).
// Takes a few steps per call only: if all are running there is nothing to drop.
void Schedules::make_room() {
  if (schedules_.capacity() == 0) return;
  for (std::size_t steps = kSteps; operations_ > most_ && steps > 0; --steps) {
    hand_ = hand_ + 1 < schedules_.capacity() ? hand_ + 1 : 0;
    const auto index = static_cast<std::int32_t>(hand_);
    Record& schedule = schedules_[index];
    if (!schedule.live || schedule.runs > 0) continue;
    if (schedule.recent) {
      schedule.recent = false;
    } else {
      drop(index);
    }
  }
}

void Schedules::verify() const {
  ensure(schedules_.is_consistent(), "a schedule is dropped once");
  std::size_t operations = 0;
  std::size_t kept = 0;
  std::vector<std::uint32_t> users(shapes_.capacity());
  const std::vector<bool> free = schedules_.free_numbers();
  for (std::size_t i = 0; i < free.size(); ++i) {
    const auto index = static_cast<std::int32_t>(i);
    const Record& schedule = schedules_[index];
    ensure(schedule.live != free[i], "schedules are live until they are dropped");
    if (!schedule.live) continue;
    operations += size(index) + kRecord;
    ++users.at(static_cast<std::size_t>(schedule.shape));
    if (!schedule.kept) continue;
    ++kept;
    ensure(find(schedule.key) == index, "a cached schedule is found by its key");
  }
  ensure(operations == operations_, "the operations of schedules are counted");
  ensure(kept == index_.size(), "only live schedules are cached");
  shapes_.verify(users);
}

}  // namespace tisim
