// A 4-ary min-heap of dated events with known positions, so that dates can be changed.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "support/stack.hpp"

namespace tisim {

// `Positions` stores the position of each event: `void set(id, position)` and `position get(id)`,
// -1 if the event is not in the heap. Events of equal date leave in the order in which they were
// pushed or last moved. Dates are never negative.
template <class Positions>
class EventHeap {
 public:
  // `sequence`: of the first event.
  explicit EventHeap(Positions positions, std::uint32_t sequence = 0)
      : sequence_(sequence), positions_(positions) {}

  bool empty() const { return entries_.empty(); }
  std::size_t size() const { return entries_.size(); }
  double top_date() const { return entries_[0].date(); }
  std::uint32_t top_id() const { return entries_[0].id(); }

  void push(double date, std::uint32_t id) {
    const Entry entry = make(date, id);
    entries_.push_back(entry);
    sift_up(entries_.size() - 1, entry);
  }

  // Inserts the event `id` or changes its date.
  void update(double date, std::uint32_t id) {
    const std::int32_t position = positions_.get(id);
    if (position < 0) {
      push(date, id);
      return;
    }
    const Entry entry = make(date, id);
    const auto at = static_cast<std::size_t>(positions_.get(id));
    if (entries_[at].key() < entry.key()) {
      fill(at, entry);
    } else {
      sift_up(at, entry);
    }
  }

  // Returns the date of the event `id`, which must be in the heap.
  double date_of(std::uint32_t id) const {
    return entries_[static_cast<std::size_t>(positions_.get(id))].date();
  }

  // For events whose stored position may refer to another heap.
  bool contains(std::uint32_t id) const {
    const std::int32_t position = positions_.get(id);
    return position >= 0 && static_cast<std::size_t>(position) < entries_.size() &&
           entries_[static_cast<std::size_t>(position)].id() == id;
  }

  void pop() { remove_at(0); }

  // Calls f(id) for each event, in no particular order; `f` must not change the heap.
  template <class F>
  void for_each(F f) const {
    for (const Entry& entry : entries_) f(entry.id());
  }

  // The same with the dates of the events.
  template <class F>
  void for_each_dated(F f) const {
    for (const Entry& entry : entries_) f(entry.date(), entry.id());
  }

  // Returns true if an event has a date from `first` to `last`.
  bool has_between(double first, double last, std::size_t at = 0) const {
    if (at >= entries_.size() || entries_[at].date() > last) return false;
    if (entries_[at].date() >= first) return true;
    const std::size_t end = std::min(4 * at + 5, entries_.size());
    for (std::size_t child = 4 * at + 1; child < end; ++child) {
      if (entries_[child].date() <= last && has_between(first, last, child)) return true;
    }
    return false;
  }

  // Returns true if every event leaves after its parent and its position is stored correctly.
  bool is_consistent(bool (*has_position)(std::uint32_t id)) const {
    for (std::size_t at = 0; at < entries_.size(); ++at) {
      const Entry& entry = entries_[at];
      if (at > 0 && entry.key() < entries_[(at - 1) / 4].key()) return false;
      if (!has_position(entry.id())) continue;
      if (positions_.get(entry.id()) != static_cast<std::int32_t>(at)) return false;
    }
    return true;
  }

  void clear() {
    for (const Entry& entry : entries_) positions_.set(entry.id(), -1);
    entries_.clear();
  }

  void remove(std::uint32_t id) {
    const std::int32_t position = positions_.get(id);
    if (position >= 0) remove_at(static_cast<std::size_t>(position));
  }

 private:
  // The order of two events is unpredictable. Comparing them as one 128-bit number avoids branches:
  // the bits of the date, which order non-negative dates correctly, then the sequence number, then
  // the event.
  __extension__ using Key = unsigned __int128;
  struct Entry {
    std::uint64_t bits;   // bits of the date
    std::uint64_t order;  // sequence number and event
    Key key() const { return Key{bits} << 64 | order; }
    double date() const { return std::bit_cast<double>(bits); }
    std::uint32_t id() const { return static_cast<std::uint32_t>(order); }
  };

  Entry make(double date, std::uint32_t id) {
    if (sequence_ == ~std::uint32_t{0}) [[unlikely]]
      renumber();
    return {std::bit_cast<std::uint64_t>(date), std::uint64_t{sequence_++} << 32 | id};
  }

  // Restarts the sequence numbers. A sorted list is a heap.
  [[gnu::noinline]] void renumber() {
    std::sort(entries_.begin(), entries_.end(),
              [](const Entry& a, const Entry& b) { return a.key() < b.key(); });
    const std::size_t count = entries_.size();
    sequence_ = 0;
    for (std::size_t at = 0; at < count; ++at) {
      place(at, make(entries_[at].date(), entries_[at].id()));
    }
  }

  void place(std::size_t at, const Entry& entry) {
    entries_[at] = entry;
    positions_.set(entry.id(), static_cast<std::int32_t>(at));
  }

  void remove_at(std::size_t at) {
    positions_.set(entries_[at].id(), -1);
    const Entry last = entries_.back();
    entries_.pop_back();
    if (at < entries_.size()) {
      fill(at, last);
    } else if (at == 0) {
      entries_.clear_and_release();
    }
  }

  // Fills a hole with an entry. The smallest child moves up at each level, down to a leaf, and the
  // entry is sifted up from there: it seldom moves far.
  void fill(std::size_t hole, const Entry& entry) {
    const std::size_t count = entries_.size();
    std::size_t first = 4 * hole + 1;
    for (; first + 4 <= count; first = 4 * hole + 1) {
      const Entry* const child = &entries_[first];
      const std::size_t a = child[1].key() < child[0].key() ? 1 : 0;
      const std::size_t b = child[3].key() < child[2].key() ? 3 : 2;
      const std::size_t all_if_b = std::size_t{0} - (child[b].key() < child[a].key() ? 1 : 0);
      const std::size_t best = first + (a ^ ((a ^ b) & all_if_b));
      place(hole, entries_[best]);
      hole = best;
    }
    if (first < count) {
      std::size_t best = first;
      for (std::size_t child = first + 1; child < count; ++child) {
        best = entries_[child].key() < entries_[best].key() ? child : best;
      }
      place(hole, entries_[best]);
      hole = best;
    }
    sift_up(hole, entry);
  }

  void sift_up(std::size_t at, const Entry& entry) {
    while (at > 0) {
      const std::size_t parent = (at - 1) / 4;
      if (entries_[parent].key() < entry.key()) break;
      place(at, entries_[parent]);
      at = parent;
    }
    place(at, entry);
  }

  Stack<Entry> entries_;
  std::uint32_t sequence_;
  Positions positions_;
};

}  // namespace tisim
