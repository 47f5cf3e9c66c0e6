// Decides whether it matters which requests a recorded waitany or waitsome completed.
#pragma once

#include <cstddef>
#include <vector>

#include "trace/vocabulary/call.hpp"
#include "trace/vocabulary/op.hpp"

namespace tisim {

// Calls that each complete some requests of a list and leave the rest to the next call, until none
// is left. If the rank only computes in between, the order of completion has no effect; otherwise
// the rank's actions may depend on it.
class CompletionGroup {
 public:
  struct Effect {
    std::size_t decided = 0;  // calls that decided what follows, if the group ended early
    bool closes = false;      // whether the operation completes its last requests
  };
  // Takes the operations of a rank one after the other.
  Effect take(const Op& op, const CallTable& calls);

  bool is_open() const { return calls_ > 0; }
  // The requests of the last group.
  const std::vector<double>& listed() const { return listed_; }
  std::size_t remaining() const { return remaining_.size(); }

 private:
  void remove(const std::vector<double>& completed);

  std::vector<double> listed_;
  std::vector<double> remaining_;
  std::size_t calls_ = 0;
};

}  // namespace tisim
