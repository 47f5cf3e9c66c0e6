// Checks the schedule of a collective on entry to the core.
//
// Algorithms are written by users, and the interpreter trusts the schedules that it executes: a
// peer is a valid rank index, a wait names a pending request. So every row is checked once, here.
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
  recv,   // peer may be kAnySource
  irecv,
  wait,       // waits for the request of its slot
  waitall,    // a row with the number of requests as its peer, then a row with the slot of each
  sendrecv,   // the sending half; followed by a row `recv_half`
  recv_half,  // the receiving half
  compute,    // size: flops
  // Accesses to the file of a collective read or write, followed by a row `file_offset` with the
  // offset as its size.
  file_read,
  file_write,
  file_iread,  // starts the request of its slot
  file_iwrite,
  file_offset,
  file_own  // the rank accesses its own part, as in an individual call
};
inline constexpr std::int32_t kStepCodes = 16;

// The columns of a schedule, one row per operation. Peers are ranks of the communicator.
struct ScheduleRows {
  std::span<const std::int32_t> codes;  // StepCode
  std::span<const std::int32_t> peers;
  std::span<const double> sizes;  // bytes
  std::span<const std::int32_t> tags;
  std::span<const std::int32_t> slots;  // slots of requests; -1: none
};

// An error in a schedule. what() is "step 5: sends to rank 8 of ...". Steps are the calls of the
// algorithm, counted from 1: a sendrecv or a waitall is one step of several rows.
struct ScheduleError : std::runtime_error {
  explicit ScheduleError(const std::string& what, std::int64_t bad_row = -1)
      : std::runtime_error(what), row(bad_row) {}
  std::int64_t row;  // the invalid row; -1: all rows
};

// Largest message of a schedule, bytes: a double represents all smaller integers exactly.
inline constexpr double kMaxMessageBytes = 9007199254740992.0;  // 2^53

// Returns the step of a row. Rows after unknown codes count as separate steps.
std::size_t step_of(std::span<const std::int32_t> codes, std::span<const std::int32_t> peers,
                    std::size_t row);

// Throws a ScheduleError unless the interpreter can execute these rows on a rank of a communicator
// of `size` ranks. The schedule of a non-blocking collective starts requests and has no wait.
// `has_file`: the call accesses a file.
void check_schedule(const ScheduleRows& rows, std::int32_t size, bool blocking,
                    bool has_file = false);

}  // namespace tisim
