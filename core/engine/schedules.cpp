#include "engine/schedules.hpp"

#include <utility>

namespace tisim {

std::int32_t Schedules::find(std::uint64_t key, std::int32_t context, std::uint32_t epoch) const {
  const auto found = by_key_.find(key);
  if (found == by_key_.end()) return -1;
  const Schedule& schedule = schedules_[found->second];
  return schedule.context == context && schedule.epoch == epoch ? found->second : -1;
}

std::int32_t Schedules::add(Schedule schedule) {
  if (schedule.kept) {
    const auto old = by_key_.find(schedule.key);
    if (old != by_key_.end()) drop(old->second);
  }
  operations_ += schedule.ops.size() + kRecord;
  if (operations_ > most_) make_room();
  const std::int32_t index = schedules_.acquire();
  if (schedule.kept) by_key_[schedule.key] = index;
  schedules_[index] = std::move(schedule);
  schedules_[index].live = true;
  return index;
}

void Schedules::drop(std::int32_t index) {
  const Schedule& schedule = schedules_[index];
  operations_ -= schedule.ops.size() + kRecord;
  if (schedule.kept) by_key_.erase(schedule.key);
  schedules_[index] = Schedule{};
  schedules_.release(index);
}

// Goes round all schedules and drops those that were not used since it came by the last time. It
// goes a few steps a call only: where all are running there is nothing to find.
void Schedules::make_room() {
  for (std::size_t steps = kSteps; operations_ > most_ && steps > 0; --steps) {
    hand_ = hand_ + 1 < schedules_.capacity() ? hand_ + 1 : 0;
    const auto index = static_cast<std::int32_t>(hand_);
    Schedule& schedule = schedules_[index];
    if (!schedule.live || schedule.running) continue;
    if (schedule.recent) {
      schedule.recent = false;
    } else {
      drop(index);
    }
  }
}

}  // namespace tisim
