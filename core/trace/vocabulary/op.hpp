// One operation of one rank, as the trace reader makes it and the interpreter executes it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "trace/vocabulary/table.hpp"

namespace tisim {

// Special peers and tags of a trace (SEMANTICS of SimGrid's tracer and of MPI).
inline constexpr std::int32_t kAnySource = -555;
inline constexpr std::int32_t kAnyTag = -444;
inline constexpr std::int32_t kProcNull = -666;

// The tag of the request of a call on a file or a window, which no message has: only its number
// names it.
inline constexpr std::int32_t kUnnamedRequestTag = std::numeric_limits<std::int32_t>::min();

// Where the offset of an lseek is counted from.
enum class SeekFrom : std::uint8_t { beginning, position, end };

// Bits of Op::flags. All operations of a line but the first have `kContinuation`.
inline constexpr std::uint8_t kContinuation = 1;  // belongs to the line of the operation before it
inline constexpr std::uint8_t kNullIsMistaken = 2;  // -333 in a receive, read as ANY_SOURCE
// A started persistent receive whose source SimGrid's tracer did not write (`peer` is kAnySource):
// the wait for it names the true source.
inline constexpr std::uint8_t kSourceLost = 4;
// A nop that stands for a `location`, whose words are the call: its file and line.
inline constexpr std::uint8_t kHasLocation = 8;
// A wait, test or start whose requests are given by their numbers, or a non-blocking collective
// whose request has one.
inline constexpr std::uint8_t kNumbered = 8;
// A compute of several threads; an operation `threads` follows.
inline constexpr std::uint8_t kThreaded = 16;
// A nop that stands for an `init`, a `finalize`.
inline constexpr std::uint8_t kIsInit = 16;
inline constexpr std::uint8_t kIsFinalize = 32;

// `kind` says what the other fields mean:
//   compute, sleep          amount: flops, seconds
//                           kThreaded: the flops of the thread that computes most
//   threads                 amount: what all threads compute / what that thread does; tag: how many
//   sends, also persistent  peer, bytes, tag
//   receives, probes        peer (or kAnySource), bytes (the buffer; -1: unknown), tag
//   sendrecv                the sending half; a recv_half with kContinuation follows
//   wait, test, start,
//   cancel, request_free    the key of a request: peer (source), bytes (destination rank), tag
//                           kNumbered: bytes is its number, peer is kAnySource
//   waitall, testany ...    kNumbered: call is the list of numbers; else nothing
//   waitany_recorded ...    call: arguments: what it completed; listed: what it waited for
//   wait_last, test_last    nothing: the pending request that was posted last (legacy dialect)
//   number_request          bytes: the number of the request that its line has made
//   number_persistent       the same for a persistent request
//   collectives, comm_*     call: index into the CallTable; so has `custom`. kNumbered: tag is the
//                           number of the request
//   file                    tag: the Operation; peer: the handle; bytes of read, write, pread and
//                           pwrite. A file_offset with kContinuation follows the last two and
//                           lseek. Calls of MPI-IO are like those of POSIX. One that synchronises
//                           only says so; a barrier and, with kContinuation, what each rank does
//                           follow. Behind one that makes a request a number_request may follow
//     open, stat,           call: words: the name as the trace has it, of open also the flags;
//     unlink, mkdir         arguments: of open the size of the file, -1: not known
//     lseek                 call: arguments: a SeekFrom
//     file_set_view         call: arguments: the numbers of a FileView; none: bytes of the file
//   file_offset             bytes: the offset
//
//   window                  tag: the Operation and, above it, the window's number; peer: the
//   target.
//                           Calls of all ranks, and a fence, have collectives behind them, with
//                           kContinuation, as calls on files have
//     accesses              bytes: of the data. A number_request may follow
//     win_create ...        bytes: the size
//     win_lock              bytes: 1: exclusive
//     win_fence             bytes: FenceAssertion bits
//     win_post, win_start   call: arguments: the ranks of the communicator
//
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

// The promises of the ranks about a fence.
inline constexpr std::int64_t kNoPrecede = 1;  // nothing was accessed before it
inline constexpr std::int64_t kNoSucceed = 2;  // nothing is accessed behind it

// The tag of an operation of kind `window` holds its call and its window.
inline constexpr std::int32_t kMostWindows = 1 << 23;
inline std::int32_t window_tag(Operation call, std::int32_t window) {
  return static_cast<std::int32_t>(call) | window << 8;
}
inline Operation window_call_of(const Op& op) { return static_cast<Operation>(op.tag & 255); }
inline std::int32_t window_of(const Op& op) { return op.tag >> 8; }

// The file operation of an operation of kind `file`.
inline Operation file_call_of(const Op& op) { return static_cast<Operation>(op.tag); }

}  // namespace tisim
