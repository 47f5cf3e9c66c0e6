// One operation of one rank, produced by the trace reader and executed by the interpreter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "trace/vocabulary/table.hpp"

namespace tisim {

// Special peers and tags of a trace, following SimGrid's tracer and MPI.
inline constexpr std::int32_t kAnySource = -555;
inline constexpr std::int32_t kAnyTag = -444;
inline constexpr std::int32_t kProcNull = -666;

// Tag of the request of a call on a file or window. No message has it: only a number names such a
// request.
inline constexpr std::int32_t kUnnamedRequestTag = std::numeric_limits<std::int32_t>::min();

// Origin of the offset of an lseek.
enum class SeekFrom : std::uint8_t { beginning, position, end };

// Bits of Op::flags. All operations of a line but the first have `kContinuation`.
inline constexpr std::uint8_t kContinuation = 1;  // belongs to the line of the operation before it
inline constexpr std::uint8_t kNullIsMistaken = 2;  // -333 in a receive, read as ANY_SOURCE
// A started persistent receive whose source SimGrid's tracer did not write (`peer` is kAnySource);
// the wait for it names the true source.
inline constexpr std::uint8_t kSourceLost = 4;
// A nop for a `location`; its call has the words: file and line.
inline constexpr std::uint8_t kHasLocation = 8;
// A wait, test or start that names its requests by number, or a non-blocking collective whose
// request has a number.
inline constexpr std::uint8_t kNumbered = 8;
// A compute of several threads; an operation `threads` follows.
inline constexpr std::uint8_t kThreaded = 16;
// A nop for an `init` or a `finalize`.
inline constexpr std::uint8_t kIsInit = 16;
inline constexpr std::uint8_t kIsFinalize = 32;

// `kind` determines the meaning of the other fields:
//   compute, sleep          amount: flops, seconds
//                           kThreaded: the flops of the thread that computes most
//   threads                 amount: volume of all threads / volume of that thread; tag: how many
//   sends, also persistent  peer, bytes, tag
//   receives, probes        peer (or kAnySource), bytes (the buffer; -1: unknown), tag
//   sendrecv                the sending half; a recv_half with kContinuation follows
//   wait, test, start,
//   cancel, request_free    the key of a request: peer (source), bytes (destination rank), tag
//                           kNumbered: bytes is its number, peer is kAnySource
//   waitall, testany ...    kNumbered: call is the list of numbers; else nothing
//   waitany_recorded ...    call: arguments: completed requests; listed: requests waited for
//   wait_last, test_last    nothing: the most recently posted pending request (legacy dialect)
//   number_request          bytes: the number of the request created by its line
//   number_persistent       the same for a persistent request
//   collectives, comm_*     call: index into the CallTable; also of `custom`. kNumbered: tag is the
//                           number of the request
//   file                    tag: the Operation; peer: the handle; bytes of read, write, pread and
//                           pwrite. A file_offset with kContinuation follows the last two and
//                           lseek. Calls of MPI-IO are like those of POSIX. A synchronising one is
//                           only a marker; a barrier and each rank's own part follow it with
//                           kContinuation. A number_request may follow one that makes a request
//     open, stat,           call: words: the name as in the trace, for open also the flags;
//     unlink, mkdir         arguments: for open the size of the file, -1: unknown
//     lseek                 call: arguments: a SeekFrom
//     file_set_view         call: arguments: the numbers of a FileView; none: bytes of the file
//   file_offset             bytes: the offset
//
//   window                  tag: the Operation and, above it, the window's number; peer: target.
//                           Collective calls and fences are followed by collectives with
//                           kContinuation, as calls on files are
//     accesses              bytes: size of the data. A number_request may follow
//     win_create ...        bytes: the size
//     win_lock              bytes: 1: exclusive
//     win_fence             bytes: FenceAssertion bits
//     win_post, win_start   call: arguments: the ranks of the communicator
//
// 24 bytes, no padding; `line` is 1-based in the rank's file.
struct Op {
  Kind kind = Kind::end;
  std::uint8_t flags = 0;
  std::uint16_t comm = 0;  // communicator id in the trace, 0: the world
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

// Assertions about a fence.
inline constexpr std::int64_t kNoPrecede = 1;  // no accesses before it
inline constexpr std::int64_t kNoSucceed = 2;  // no accesses after it

// The tag of an operation of kind `window` combines its call and its window.
inline constexpr std::int32_t kMaxWindows = 1 << 23;
inline std::int32_t window_tag(Operation call, std::int32_t window) {
  return static_cast<std::int32_t>(call) | window << 8;
}
inline Operation window_call_of(const Op& op) { return static_cast<Operation>(op.tag & 255); }
inline std::int32_t window_of(const Op& op) { return op.tag >> 8; }

// The file operation of an operation of kind `file`.
inline Operation file_call_of(const Op& op) { return static_cast<Operation>(op.tag); }

}  // namespace tisim
