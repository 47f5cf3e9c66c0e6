// Who acts at the present instant, in the order in which they were woken.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>

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
  std::int32_t take() { return owners_[next_++]; }
  // All have acted.
  void clear() {
    owners_.clear();
    next_ = 0;
  }

  // Throws BrokenInvariant.
  void verify() const;

 private:
  Stack<std::int32_t> owners_;
  std::size_t next_ = 0;
};

}  // namespace tisim
