// A 4-ary min-heap of dated events whose positions are known, so that a date can be changed.
#pragma once

#include <cstddef>
#include <cstdint>

#include "support/stack.hpp"

namespace tisim {

// `Positions` tells the heap where an event keeps its position: `void set(id, position)` and
// `position get(id)`, -1 when the event is not in the heap. Events of equal date leave in the
// order in which they were pushed or last moved.
template <class Positions>
class EventHeap {
 public:
  struct Entry {
    double date;
    std::uint32_t sequence;
    std::uint32_t id;
  };

  explicit EventHeap(Positions positions) : positions_(positions) {}

  bool empty() const { return entries_.empty(); }
  std::size_t size() const { return entries_.size(); }
  double top_date() const { return entries_[0].date; }
  std::uint32_t top_id() const { return entries_[0].id; }

  void push(double date, std::uint32_t id) {
    entries_.push_back({date, sequence_++, id});
    sift_up(entries_.size() - 1);
  }

  // Insert, or give a new date to, the event `id`.
  void update(double date, std::uint32_t id) {
    const std::int32_t position = positions_.get(id);
    if (position < 0) {
      push(date, id);
      return;
    }
    const auto at = static_cast<std::size_t>(position);
    const bool later = date >= entries_[at].date;
    entries_[at] = {date, sequence_++, id};
    if (later) {
      sift_down(at);
    } else {
      sift_up(at);
    }
  }

  // The date under which the event `id`, which is in the heap, stands.
  double date_of(std::uint32_t id) const {
    return entries_[static_cast<std::size_t>(positions_.get(id))].date;
  }

  void pop() { remove_at(0); }

  // What `f` is told, each event in no particular order, may not change the heap.
  template <class F>
  void for_each(F f) const {
    for (const Entry& entry : entries_) f(entry.id);
  }

  void clear() {
    for (const Entry& entry : entries_) positions_.set(entry.id, -1);
    entries_.clear();
  }

  void remove(std::uint32_t id) {
    const std::int32_t position = positions_.get(id);
    if (position >= 0) remove_at(static_cast<std::size_t>(position));
  }

 private:
  // Sequence numbers wrap around; live ones are never 2^31 apart.
  static bool before(const Entry& a, const Entry& b) {
    return a.date < b.date ||
           (a.date == b.date && static_cast<std::int32_t>(a.sequence - b.sequence) < 0);
  }

  void place(std::size_t at, const Entry& entry) {
    entries_[at] = entry;
    positions_.set(entry.id, static_cast<std::int32_t>(at));
  }

  void remove_at(std::size_t at) {
    positions_.set(entries_[at].id, -1);
    const Entry last = entries_.back();
    entries_.pop_back();
    if (at == entries_.size()) return;
    entries_[at] = last;
    if (at > 0 && before(last, entries_[(at - 1) / 4])) {
      sift_up(at);
    } else {
      sift_down(at);
    }
  }

  void sift_up(std::size_t at) {
    const Entry entry = entries_[at];
    while (at > 0) {
      const std::size_t parent = (at - 1) / 4;
      if (!before(entry, entries_[parent])) break;
      place(at, entries_[parent]);
      at = parent;
    }
    place(at, entry);
  }

  void sift_down(std::size_t at) {
    const Entry entry = entries_[at];
    const std::size_t count = entries_.size();
    for (;;) {
      const std::size_t first = 4 * at + 1;
      if (first >= count) break;
      std::size_t best = first;
      const std::size_t end = first + 4 < count ? first + 4 : count;
      for (std::size_t child = first + 1; child < end; ++child) {
        if (before(entries_[child], entries_[best])) best = child;
      }
      if (!before(entries_[best], entry)) break;
      place(at, entries_[best]);
      at = best;
    }
    place(at, entry);
  }

  Stack<Entry> entries_;
  std::uint32_t sequence_ = 0;
  Positions positions_;
};

}  // namespace tisim
