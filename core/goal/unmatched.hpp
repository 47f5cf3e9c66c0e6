// Receives without messages, or messages without receives, of a rank.
//
// `take` returns the oldest match, in constant time unless the requested source or tag is a
// wildcard.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "goal/schedule.hpp"

namespace tisim {

class Unmatched {
 public:
  // `source` and `tag` may be kGoalAny.
  void add(std::int32_t source, std::int32_t tag, std::uint32_t value) {
    ++size_;
    std::int32_t place = static_cast<std::int32_t>(entries_.size());
    if (free_ < 0) {
      entries_.emplace_back();
    } else {
      place = free_;
      free_ = entry(place).next;
    }
    entry(place) = {number_++, value, -1};
    const auto [queue, is_new] = queues_.try_emplace(key(source, tag), Queue{place, place});
    if (is_new) return;
    entry(queue->second.last).next = place;
    queue->second.last = place;
  }

  std::optional<std::uint32_t> take(std::int32_t source, std::int32_t tag) {
    auto oldest = queues_.end();
    const auto consider = [&](Queues::iterator queue) {
      if (queue == queues_.end()) return;
      if (oldest == queues_.end() ||
          entry(queue->second.first).number < entry(oldest->second.first).number)
        oldest = queue;
    };
    if (source != kGoalAny && tag != kGoalAny) {
      for (const std::int32_t from : {source, kGoalAny}) {
        for (const std::int32_t tagged : {tag, kGoalAny}) consider(queues_.find(key(from, tagged)));
      }
    } else {
      for (auto queue = queues_.begin(); queue != queues_.end(); ++queue) {
        const auto from = static_cast<std::int32_t>(queue->first >> 32);
        const auto tagged = static_cast<std::int32_t>(queue->first & 0xffffffffU);
        if (fits(from, source) && fits(tagged, tag)) consider(queue);
      }
    }
    if (oldest == queues_.end()) return std::nullopt;
    const std::int32_t place = oldest->second.first;
    const Entry taken = entry(place);
    if (taken.next < 0) {
      queues_.erase(oldest);
    } else {
      oldest->second.first = taken.next;
    }
    entry(place).next = free_;
    free_ = place;
    --size_;
    return taken.value;
  }

  std::size_t size() const { return size_; }

 private:
  struct Entry {
    std::uint64_t number = 0;  // smaller is older
    std::uint32_t value = 0;
    std::int32_t next = -1;  // next in its queue, or in the free list
  };
  struct Queue {
    std::int32_t first, last;
  };
  using Queues = std::unordered_map<std::uint64_t, Queue>;

  static std::uint64_t key(std::int32_t source, std::int32_t tag) {
    return std::uint64_t{static_cast<std::uint32_t>(source)} << 32 |
           static_cast<std::uint32_t>(tag);
  }
  static bool fits(std::int32_t wanted, std::int32_t offered) {
    return wanted == offered || wanted == kGoalAny || offered == kGoalAny;
  }
  Entry& entry(std::int32_t place) { return entries_[static_cast<std::size_t>(place)]; }

  Queues queues_;  // by source and tag; never empty
  std::vector<Entry> entries_;
  std::int32_t free_ = -1;
  std::uint64_t number_ = 0;
  std::size_t size_ = 0;
};

}  // namespace tisim
