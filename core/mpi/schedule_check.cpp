#include "mpi/schedule_check.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

#include "trace/vocabulary/op.hpp"

namespace tisim {

namespace {

std::string text_of(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%.17g", number);
  return text;
}

// Walks through the rows of a schedule and tracks which slots contain pending requests.
class ScheduleChecker {
 public:
  ScheduleChecker(const ScheduleRows& rows, std::int32_t size, bool blocking, bool has_file)
      : rows_(rows), size_(size), blocking_(blocking), has_file_(has_file) {}

  void check() {
    check_lengths();
    pending_.assign(rows_.codes.size(), false);
    while (row_ < rows_.codes.size()) {
      check_row();
      ++row_;
    }
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw ScheduleError(
        "step " + std::to_string(step_of(rows_.codes, rows_.peers, row_)) + ": " + what,
        static_cast<std::int64_t>(row_));
  }

  void check_lengths() const {
    const std::size_t length = rows_.codes.size();
    for (const std::size_t other :
         {rows_.peers.size(), rows_.sizes.size(), rows_.tags.size(), rows_.slots.size()}) {
      if (other == length) continue;
      throw ScheduleError("its columns differ in length: " + std::to_string(length) + " kinds, " +
                          std::to_string(rows_.peers.size()) + " peers, " +
                          std::to_string(rows_.sizes.size()) + " sizes, " +
                          std::to_string(rows_.tags.size()) + " tags, " +
                          std::to_string(rows_.slots.size()) + " slots");
    }
  }

  void check_row() {
    const auto code = static_cast<StepCode>(rows_.codes[row_]);
    check_is_in_round(code);
    switch (code) {
      case StepCode::send:
      case StepCode::ssend:
        check_send();
        return;
      case StepCode::isend:
        check_send();
        start_request();
        return;
      case StepCode::recv:
        check_receive();
        return;
      case StepCode::irecv:
        check_receive();
        start_request();
        return;
      case StepCode::wait:
        if (!blocking_) fail("waits, which is not allowed in a non-blocking collective");
        finish_request();
        return;
      case StepCode::waitall:
        check_waitall();
        if (!blocking_) end_round();
        return;
      case StepCode::sendrecv:
        check_send();
        if (!follows(StepCode::recv_half)) fail("is a sendrecv without its receiving half");
        ++row_;
        check_receive();
        return;
      case StepCode::recv_half:
        fail("is the receiving half of a sendrecv without its sending half");
      case StepCode::compute:
        if (!(rows_.sizes[row_] >= 0) || !std::isfinite(rows_.sizes[row_])) {
          fail("computes " + text_of(rows_.sizes[row_]) + " flops; must be at least 0");
        }
        return;
      case StepCode::file_iread:
      case StepCode::file_iwrite:
        start_request();
        check_file();
        return;
      case StepCode::file_read:
      case StepCode::file_write:
        check_file();
        return;
      case StepCode::file_own:
        if (!has_file_)
          fail("reads or writes a file, which is only allowed in collective file calls");
        return;
      case StepCode::file_offset:
        fail("is an offset without a read or write");
    }
    fail("has the unknown code " + std::to_string(rows_.codes[row_]) +
         "; call the methods of the endpoint instead of writing rows");
  }

  void check_file() {
    if (!has_file_) fail("reads or writes a file, which is only allowed in collective file calls");
    check_bytes("moves ");
    if (!follows(StepCode::file_offset)) fail("reads or writes a file, but has no offset");
    ++row_;
    check_bytes("begins at an offset of ");
  }

  bool follows(StepCode code) const {
    return row_ + 1 < rows_.codes.size() &&
           rows_.codes[row_ + 1] == static_cast<std::int32_t>(code);
  }

  void check_send() const {
    check_peer("sends to rank ");
    check_bytes("sends ");
  }

  void check_receive() const {
    if (rows_.peers[row_] != kAnySource) check_peer("receives from rank ");
    check_bytes("receives ");
  }

  void check_peer(const char* does) const {
    const std::int32_t peer = rows_.peers[row_];
    if (peer >= 0 && peer < size_) return;
    fail(does + std::to_string(peer) + " of a communicator of " + std::to_string(size_) +
         " ranks; ranks are 0 to " + std::to_string(size_ - 1));
  }

  void check_bytes(const char* does) const {
    const double bytes = rows_.sizes[row_];
    if (bytes >= 0 && bytes <= kMaxMessageBytes && bytes == std::floor(bytes)) return;
    fail(does + text_of(bytes) + " bytes; give a whole number from 0 to 2^53");
  }

  void start_request() {
    const std::int32_t slot = rows_.slots[row_];
    if (slot < 0 || static_cast<std::size_t>(slot) >= pending_.size()) {
      fail("starts the request " + std::to_string(slot) +
           "; requests are numbered from 0 in the order of their start");
    }
    if (pending_[static_cast<std::size_t>(slot)]) {
      fail("starts the request " + std::to_string(slot) +
           ", which is still pending; wait for it first");
    }
    pending_[static_cast<std::size_t>(slot)] = true;
  }

  void finish_request() {
    const std::int32_t slot = rows_.slots[row_];
    if (slot < 0 || static_cast<std::size_t>(slot) >= pending_.size() ||
        !pending_[static_cast<std::size_t>(slot)]) {
      fail("waits for the request " + std::to_string(slot) +
           ", which is not pending; wait once for each result of isend or irecv");
    }
    pending_[static_cast<std::size_t>(slot)] = false;
  }

  // Steps after a waitall of a non-blocking collective run concurrently with the program.
  void end_round() {
    if (std::find(pending_.begin(), pending_.end(), true) != pending_.end()) {
      fail("ends a round of a non-blocking collective, but does not wait for all of its requests");
    }
    has_ended_round_ = true;
  }

  void check_is_in_round(StepCode code) const {
    const bool may_follow =
        code == StepCode::isend || code == StepCode::irecv || code == StepCode::waitall;
    if (has_ended_round_ && !may_follow) {
      fail("is in a later round of a non-blocking collective, but no isend, irecv or waitall");
    }
  }

  void check_waitall() {
    const std::int32_t count = rows_.peers[row_];
    const std::size_t left = rows_.codes.size() - row_ - 1;
    if (count < 0 || static_cast<std::size_t>(count) > left) {
      fail("waits for " + std::to_string(count) + " requests, but names " + std::to_string(left));
    }
    for (std::int32_t i = 0; i < count; ++i) {
      if (!follows(StepCode::waitall)) {
        fail("waits for " + std::to_string(count) + " requests, but names " + std::to_string(i));
      }
      ++row_;
      finish_request();
    }
  }

  const ScheduleRows& rows_;
  std::int32_t size_;
  bool blocking_;
  bool has_file_;
  std::size_t row_ = 0;
  std::vector<bool> pending_;  // by slot
  bool has_ended_round_ = false;
};

}  // namespace

std::size_t step_of(std::span<const std::int32_t> codes, std::span<const std::int32_t> peers,
                    std::size_t row) {
  std::size_t step = 0;
  std::size_t of_waitall = 0;  // remaining rows of the last waitall
  for (std::size_t i = 0; i <= row && i < codes.size(); ++i) {
    const auto code = static_cast<StepCode>(codes[i]);
    if (code == StepCode::waitall && of_waitall > 0) {
      --of_waitall;
      continue;
    }
    of_waitall = 0;
    const bool second_half = code == StepCode::file_offset ||
                             (code == StepCode::recv_half && i > 0 &&
                              static_cast<StepCode>(codes[i - 1]) == StepCode::sendrecv);
    if (!second_half) ++step;
    if (code == StepCode::waitall && i < peers.size() && peers[i] > 0) {
      of_waitall = static_cast<std::size_t>(peers[i]);
    }
  }
  return step;
}

void check_schedule(const ScheduleRows& rows, std::int32_t size, bool blocking, bool has_file) {
  ScheduleChecker(rows, size, blocking, has_file).check();
}

}  // namespace tisim
