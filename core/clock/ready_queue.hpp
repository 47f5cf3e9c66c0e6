// Who acts at the present instant, in the order in which they were woken.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>

#include "support/drawn_order.hpp"
#include "support/stack.hpp"

namespace tisim {

// Owners: the number of a rank, or ~ the number of an activity.
class ReadyQueue {
 public:
  bool empty() const { return next_ == owners_.size(); }
  void push(std::int32_t owner) { owners_.push_back(owner); }
  // Somebody who was taken from the queue goes on before all others.
  void put_first(std::int32_t owner) {
    if (next_ == 0) throw std::logic_error("nobody was taken from the ready queue");
    owners_[--next_] = owner;
  }
  std::int32_t take() {
    order_.choose(owners_, next_);
    return owners_[next_++];
  }
  // All have acted.
  void clear() {
    owners_.clear();
    next_ = 0;
  }

#ifdef TISIM_VERIFY
  // Of those who wait to act a drawn one is taken.
  void draw_order(std::uint32_t seed) { order_.draw(seed); }
#endif

  // Throws BrokenInvariant.
  void verify() const;

 private:
  Stack<std::int32_t> owners_;
  std::size_t next_ = 0;
  [[no_unique_address]] DrawnOrder order_;
};

}  // namespace tisim
