// Checks the schedule of a collective where it enters the core.
//
// Algorithms are written by users. The interpreter trusts the schedules that it executes: a peer is
// an index of a rank, a wait names a pending request. So every row is checked once, here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>

namespace tisim {

// The action of a row of a schedule.
enum class StepCode : std::int32_t {
  send,
  ssend,
  isend,  // starts the request of its slot
  recv,   // the peer may be kAnySource
  irecv,
  wait,       // for the request of its slot
  waitall,    // a row whose peer is a number of requests, then a row for each with its slot
  sendrecv,   // the sending half; a row `recv_half` follows
  recv_half,  // the receiving half
  compute,    // size: flops
  // Accesses to the file of a collective read or write; a row `file_offset` with the offset as its
  // size follows.
  file_read,
  file_write,
  file_iread,  // starts the request of its slot
  file_iwrite,
  file_offset,
  file_own  // the rank reads or writes its own part, as it would in a call of its own
};
inline constexpr std::int32_t kStepCodes = 16;

// The columns of a schedule; one row for each operation. Peers are ranks of the communicator.
struct ScheduleRows {
  std::span<const std::int32_t> codes;  // StepCode
  std::span<const std::int32_t> peers;
  std::span<const double> sizes;  // bytes
  std::span<const std::int32_t> tags;
  std::span<const std::int32_t> slots;  // of a request; -1: none
};

// An error in a schedule. what() is "step 5: sends to rank 8 of ...". Steps are counted from 1 as
// the algorithm makes its calls: a sendrecv or a waitall is one step of several rows.
struct ScheduleError : std::runtime_error {
  explicit ScheduleError(const std::string& what, std::int64_t bad_row = -1)
      : std::runtime_error(what), row(bad_row) {}
  std::int64_t row;  // that is wrong, -1: all of them
};

// The largest message of a schedule in bytes: a double holds every smaller whole number.
inline constexpr double kLargestMessage = 9007199254740992.0;  // 2^53

// The step that a row belongs to. Rows that come after unknown codes belong to steps of their own.
std::size_t step_of(std::span<const std::int32_t> codes, std::span<const std::int32_t> peers,
                    std::size_t row);

// Throws a ScheduleError unless the interpreter can execute these rows on a rank of a communicator
// of `size` ranks. The schedule of a non-blocking collective starts requests and has no wait.
// `has_file`: the call is about a file.
void check_schedule(const ScheduleRows& rows, std::int32_t size, bool blocking,
                    bool has_file = false);

}  // namespace tisim
