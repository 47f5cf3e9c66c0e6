// A message from the moment its send or its receive is posted until both sides have let it go.
#pragma once

#include <cstdint>

#include "mpi/rank/rank.hpp"
#include "trace/vocabulary/op.hpp"

namespace tisim {

enum class MessageState : std::uint8_t {
  posted_receive,  // waits for its send
  unexpected,      // waits for its receive (an eager one may be on its way or arrived meanwhile)
  matched          // both ends are known
};

inline constexpr std::int32_t kBlockingCall = -1;  // a rank waits for the message itself
inline constexpr std::int32_t kNoRequest = -2;     // that end does not wait

// There may be millions of them. A read or write of a file that its rank does not wait for is a
// message to nobody: it is matched, and no pair of the network carries it
// (file/started_accesses.hpp).
struct Message {
  std::int64_t bytes = 0;  // of the send once it is known, of the buffer before
  std::int32_t source = kAnySource;
  std::int32_t destination = 0;
  std::int32_t tag = 0;
  std::int32_t context = 0;
  std::int32_t pair = -1;  // of the network, or its connection; known from the sender
  std::int32_t next = -1;  // in its channel
  // Unexpected messages of the destination, by arrival; of a posted receive, `older` is the one
  // before it in its channel, unless it is the first.
  std::int32_t older = -1;
  std::int32_t newer = -1;
  std::uint32_t posted = 0;  // order of posting
  std::int32_t request[2] = {kNoRequest, kNoRequest};
  MessageState state = MessageState::posted_receive;
  Side first_waiter = kSender;  // whose wait was registered first
  std::uint8_t holders = 0;
  bool waited : 1 = false;
  bool detached : 1 = false;  // the sender went on at once
  bool flowing : 1 = false;   // its transfer has started, or is queued
  bool arrived : 1 = false;   // and is over
  // Over FIFO connections (class Handshake)
  bool request_read : 1 = false;  // by the receiver
  bool started : 1 = false;       // the first of its body was first in its connection
  bool sent : 1 = false;          // the sender needs it no more, although it has not arrived
  bool withdrawn : 1 = false;     // its send was cancelled
};
static_assert(sizeof(Message) == 56);

}  // namespace tisim
