#include "clock/clock.hpp"

#include "support/invariant.hpp"

namespace tisim {

void ReadyQueue::verify() const {
  ensure(next_ <= owners_.size(), "the next ready rank is within the queue");
}

void Agenda::verify(double now) const {
  ensure(heap_.empty() || heap_.top_date() >= now, "no event of the agenda is in the past");
  ensure(heap_.is_consistent([](std::uint32_t id) { return is_of_resource(id); }),
         "the agenda is a heap, and the positions of resources in it are right");
  heap_.for_each([this](std::uint32_t id) {
    ensure(type(id) <= EventType::disk, "events of the agenda have a type");
    ensure(!is_of_resource(id) || static_cast<std::size_t>(index(id)) + 1 < positions_.size(),
           "events of resources have an existing resource");
  });
  std::size_t dated = 0;
  heap_.for_each([&dated](std::uint32_t id) { dated += is_of_resource(id) ? 1 : 0; });
  std::size_t placed = 0;
  for (std::size_t at = 1; at < positions_.size(); ++at) placed += positions_[at] >= 0 ? 1 : 0;
  ensure(dated == placed, "every resource with a position in the agenda has an event");
}

void Clock::push_sleeps() {
  for (auto sleep = sleeps_.rbegin(); sleep != sleeps_.rend(); ++sleep) {
    agenda_.push(sleep->first, EventType::wake_rank, sleep->second);
  }
  sleeps_.clear();
}

void Clock::verify() const {
  ready_.verify();
  agenda_.verify(now_);
  for (const auto& [end, rank] : sleeps_) {
    ensure(end >= now_, "no sleep ends in the past");
    ensure(rank >= 0, "sleepers are ranks");
  }
}

}  // namespace tisim
