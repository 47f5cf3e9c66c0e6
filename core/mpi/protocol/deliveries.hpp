// What the transfer of a message means for its two sides: who goes on when it is over, and whether
// it can begin at all.
#pragma once

#include <cstdint>

#include "mpi/matching/matcher.hpp"
#include "mpi/rank/runtime.hpp"
#include "mpi/request/request_table.hpp"
#include "transfer/transfers.hpp"

namespace tisim {

class Deliveries {
 public:
  Deliveries(const Runtime& runtime, Transfers& transfers, Matcher& matcher, RequestTable& requests)
      : runtime_(runtime), transfers_(transfers), matcher_(matcher), requests_(requests) {}

  // Whether something that is off, or a dead rank, is on a message's way over a pair. It is noted
  // as lost then.
  bool is_lost(std::int32_t message, std::int32_t pair) {
    return transfers_.may_fail() && lose_if_obstructed(message, pair);
  }
  // The sender needs its message no more, before that has arrived.
  void finish_send(std::int32_t message);
  // Nobody waits for this side of a message, which is complete.
  void end_unattended(std::int32_t message, Side side) {
    if (side == kReceiver && runtime_.log.is_open()) runtime_.log.complete_unattended(message);
    release(message);
  }
  // One side of a message needs it no more.
  void release(std::int32_t message) {
    if (--matcher_.message(message).holders > 0) return;
    if (runtime_.log.is_open()) runtime_.log.release(message);
    matcher_.messages().release(message);
  }
  // The transfer of a message is over: those who wait for it go on, whoever came first first.
  void arrive(std::int32_t message);

 private:
  bool lose_if_obstructed(std::int32_t message, std::int32_t pair);
  void notify(std::int32_t message, Side side);

  Runtime runtime_;
  Transfers& transfers_;
  Matcher& matcher_;
  RequestTable& requests_;
};

}  // namespace tisim
