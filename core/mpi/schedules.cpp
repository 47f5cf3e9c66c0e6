#include "mpi/schedules.hpp"

#include <utility>

namespace tisim {

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
  record.peers = std::make_unique_for_overwrite<std::int32_t[]>(schedule.ops.size());
  for (std::size_t i = 0; i < schedule.ops.size(); ++i) record.peers[i] = schedule.ops[i].peer;
  record.key = schedule.key;
  record.shape = shapes_.take(std::move(schedule.ops), schedule.slots);
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

// Goes round all schedules and drops those that were not used since it came by the last time. It
// goes a few steps a call only: where all are running there is nothing to find.
void Schedules::make_room() {
  for (std::size_t steps = kSteps; operations_ > most_ && steps > 0; --steps) {
    hand_ = hand_ + 1 < schedules_.capacity() ? hand_ + 1 : 0;
    const auto index = static_cast<std::int32_t>(hand_);
    Record& schedule = schedules_[index];
    if (!schedule.live || schedule.running) continue;
    if (schedule.recent) {
      schedule.recent = false;
    } else {
      drop(index);
    }
  }
}

}  // namespace tisim
