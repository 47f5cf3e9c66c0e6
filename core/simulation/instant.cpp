#include "simulation/instant.hpp"

#include <algorithm>
#include <limits>

namespace tisim {

void Instant::settle() {
  clock_.date_sleeps();
  if (!cpu_.is_settled()) cpu_.settle(clock_.now());
  if (!disks_.is_settled()) disks_.settle(clock_.now());
  if (!network_.is_solved()) network_.solve(clock_.now());
}

double Instant::next_end() {
  double date = std::numeric_limits<double>::infinity();
  if (!clock_.agenda().empty()) date = clock_.agenda().next();
  if (!network_.idle()) date = std::min(date, network_.next_end());
  return date;
}

void Instant::advance_to(double date) {
  clock_.move_to(date);
  changes_.apply();
  end_dated();
  end_transfers();
}

void Instant::end_dated() {
  Agenda& agenda = clock_.agenda();
  owners_.clear();
  while (!agenda.empty() && agenda.next() - clock_.now() < clock_.together()) {
    const std::uint32_t id = agenda.top();
    agenda.pop();
    const std::int32_t index = Agenda::index(id);
    switch (Agenda::type(id)) {
      case EventType::wake_rank:
        owners_.push_back(index);
        break;
      case EventType::wake_activity:
        owners_.push_back(~index);
        break;
      case EventType::cpu:
        cpu_.collect_ended(index, clock_.now(), owners_);
        break;
      case EventType::disk:
        disks_.collect_ended(index, clock_.now(), owners_);
        break;
      case EventType::latency:
        transfers_.activate(index);
        break;
      case EventType::round:
        rounds_.advance(index);
        break;
    }
  }
  for (const std::int32_t owner : owners_) clock_.wake(owner);
}

void Instant::end_transfers() {
  owners_.clear();
  network_.collect_ended(clock_.now(), owners_);
  order_.shuffle(owners_);
  for (const std::int32_t owner : owners_) {
    transfers_.end(owner);
    if (owner >= 0) {
      messages_.end_transfer(owner);
    } else {
      clock_.wake(owner);
    }
  }
}

}  // namespace tisim
