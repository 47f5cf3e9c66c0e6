// Decides if it matters which requests a recorded waitany or waitsome completed.
#pragma once

#include <cstddef>
#include <vector>

#include "trace/vocabulary/call.hpp"
#include "trace/vocabulary/op.hpp"

namespace tisim {

// Calls of which each completes some requests of a list and leaves the rest to the next one, until
// none is left. If the rank does nothing else meanwhile but compute, the order in which the
// requests are complete decides nothing; else what it does may depend on that order.
class CompletionGroup {
 public:
  struct Effect {
    std::size_t decided = 0;  // the group has ended: so many of its calls decided what comes
    bool closes = false;      // the operation completes its last requests
  };
  // Takes the operations of a rank, one after the other.
  Effect take(const Op& op, const CallTable& calls);

  bool is_open() const { return calls_ > 0; }
  // The requests of the last group.
  const std::vector<double>& listed() const { return listed_; }
  std::size_t left() const { return left_.size(); }

 private:
  void remove(const std::vector<double>& completed);

  std::vector<double> listed_;
  std::vector<double> left_;
  std::size_t calls_ = 0;
};

}  // namespace tisim
