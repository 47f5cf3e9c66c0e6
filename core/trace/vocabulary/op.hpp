// One operation of one rank, as the trace reader makes it and the interpreter executes it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tisim {

// Special peers and tags of a trace (SEMANTICS of SimGrid's tracer and of MPI).
inline constexpr std::int32_t kAnySource = -555;
inline constexpr std::int32_t kAnyTag = -444;
inline constexpr std::int32_t kProcNull = -666;

// Every kind a trace line can become. A line that stands for several operations (sendRecv, a
// reduction with its flops) becomes several, all but the first with `kContinuation`.
enum class Kind : std::uint8_t {
  end,      // the rank's trace is over
  nop,      // counted, does nothing (init, finalize, location, comm_size)
  compute,  // amount: flops
  sleep,    // amount: seconds
  send,     // peer, bytes, tag
  ssend,    // a send that waits for the transfer whatever its size
  bsend,    // a send that never waits
  isend,    // as above, the request is pending under the key (me, peer, tag)
  issend,
  ibsend,
  recv,  // peer (or kAnySource), bytes (the buffer; -1: unknown, probe for it), tag
  irecv,
  sendrecv,  // the sending half: peer, bytes, tag; a `recv_half` with kContinuation follows
  recv_half,
  wait,       // the oldest pending request of the key (peer -> bytes as a rank, tag)
  wait_last,  // legacy dialect: the pending request that was posted last
  waitall,
  waitany,
  waitsome,
  test,       // same key as wait
  test_last,  // legacy dialect: the pending request that was posted last
  testall,
  testany,
  testsome,
  probe,
  iprobe,
  send_init,  // persistent requests, same fields as isend/irecv
  ssend_init,
  bsend_init,
  recv_init,
  start,  // the key of wait
  startall,
  collective,   // call: index into the CallTable
  icollective,  // a non-blocking collective; its request is pending
  wait_icollective,
  comm_split,  // call: index into the CallTable (parent, new, color, key)
  comm_dup,
  comm_free,
  custom,  // call: index into the CallTable (the line's words)
};

inline constexpr std::uint8_t kContinuation = 1;  // belongs to the line of the operation before it
inline constexpr std::uint8_t kNullIsMistaken = 2;  // -333 in a receive, read as ANY_SOURCE
// A started persistent receive whose source SimGrid's tracer did not write (`peer` is kAnySource):
// the wait for it names the true source.
inline constexpr std::uint8_t kSourceLost = 4;
// A `location` whose words are the call: its file and line.
inline constexpr std::uint8_t kHasLocation = 8;

// 24 bytes, no padding; `line` is 1-based in the rank's file.
struct Op {
  Kind kind = Kind::end;
  std::uint8_t flags = 0;
  std::uint16_t comm = 0;  // communicator id as the trace names it, 0: the world
  std::int32_t peer = 0;
  union {
    double amount;
    std::int64_t bytes = 0;
    std::int64_t call;
  };
  std::int32_t tag = 0;
  std::uint32_t line = 0;
};
static_assert(sizeof(Op) == 24);

}  // namespace tisim
