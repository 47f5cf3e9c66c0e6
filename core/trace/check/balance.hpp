// How evenly work and messages are spread over the ranks.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/walk/finding.hpp"
#include "trace/walk/messages.hpp"

namespace tisim {

// Adds notes only: an uneven program is not wrong.
class Balance {
 public:
  explicit Balance(std::int32_t ranks) : ranks_(static_cast<std::size_t>(ranks)) {}

  // `times`: so often.
  void take(std::int32_t rank, const Op& op, std::uint64_t times = 1) {
    if (op.kind == Kind::compute)
      ranks_[static_cast<std::size_t>(rank)].compute.add(op.amount, op.line, times);
  }
  void take(std::int32_t rank, const TraceMessage& message, std::uint64_t times = 1) {
    if (message.is_receive) return;
    ranks_[static_cast<std::size_t>(rank)].sent.add(static_cast<double>(message.bytes),
                                                    message.line, times);
  }
  void report(const TraceSet& set, Findings& findings) const;

 private:
  // A sum, and the line of the largest of its parts.
  struct Sum {
    double total = 0;
    double largest = 0;
    std::uint32_t line = 0;

    void add(double amount, std::uint32_t at_line, std::uint64_t times) {
      total += static_cast<double>(times) * amount;
      if (amount <= largest) return;
      largest = amount;
      line = at_line;
    }
  };
  struct Share {
    Sum compute;  // flops
    Sum sent;     // bytes, but for those of collectives
  };

  std::vector<Share> ranks_;
};

}  // namespace tisim
