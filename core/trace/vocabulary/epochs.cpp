#include "trace/vocabulary/epochs.hpp"

#include <algorithm>
#include <utility>

namespace tisim {

namespace {

bool makes_window(Operation call) {
  return call == Operation::win_create || call == Operation::win_allocate ||
         call == Operation::win_allocate_shared || call == Operation::win_create_dynamic;
}

}  // namespace

std::string Epochs::error_of(const Op& op, std::span<const std::int32_t> group,
                             std::int32_t ranks) const {
  const Operation call = window_call_of(op);
  const std::string what =
      std::string(window_traits_of(call).name) + " of window " + std::to_string(window_of(op));
  const std::string begun = ", which line " + std::to_string(since) + " began";
  if (makes_window(call)) {
    return exists ? what + ", which line " + std::to_string(made) + " created; free it first" : "";
  }
  if (!exists) {
    return what + (freed > 0 ? ", which line " + std::to_string(freed) + " freed"
                             : ", which no win_create or win_allocate created");
  }
  if (op.comm != comm) {
    return what + ", which was created on communicator " + std::to_string(comm) + ", not " +
           std::to_string(op.comm) + "; give it with comm=";
  }
  const auto outside = [&](std::int32_t rank) { return rank >= ranks; };
  if (op.peer >= ranks || std::ranges::any_of(group, outside)) {
    return what + " names a rank that is not in its communicator, whose ranks are 0 to " +
           std::to_string(ranks - 1);
  }
  switch (call) {
    case Operation::win_free:
    case Operation::win_fence:
      return is_open() ? what + " inside an epoch" + begun : "";
    case Operation::win_post:
      return posted ? what + " after another one not ended by a win_wait" + begun : "";
    case Operation::win_wait:
      return posted ? "" : what + " without a win_post before it";
    case Operation::win_complete:
      return started ? "" : what + " without a win_start before it";
    case Operation::win_start:
    case Operation::win_lock:
    case Operation::win_lock_all:
      if (started || locked_all || (call != Operation::win_lock && !locks.empty()) ||
          (call == Operation::win_lock && locks.contains(op.peer))) {
        return what + " inside an epoch" + begun;
      }
      return fenced && accessed ? what + " inside the epoch of the win_fence on line " +
                                      std::to_string(since) + "; a win_fence ends it"
                                : "";
    case Operation::win_unlock:
      return locks.contains(op.peer)
                 ? ""
                 : what + " of rank " + std::to_string(op.peer) + ", which is not locked";
    case Operation::win_unlock_all:
      return locked_all ? "" : what + " without a win_lock_all before it";
    case Operation::win_flush:
    case Operation::win_flush_local:
      return locked_all || locks.contains(op.peer)
                 ? ""
                 : what + " of rank " + std::to_string(op.peer) + ", which is not locked";
    case Operation::win_flush_all:
    case Operation::win_flush_local_all:
      return locked_all || !locks.empty() ? "" : what + ", but nothing is locked";
    default:
      break;
  }
  if (op.peer == kProcNull || fenced || locked_all || locks.contains(op.peer) ||
      std::ranges::find(targets, op.peer) != targets.end()) {
    return "";
  }
  return what + " at rank " + std::to_string(op.peer) +
         " outside an epoch: a win_fence, win_start, win_lock or win_lock_all must come first";
}

void Epochs::take(const Op& op, std::vector<std::int32_t> group) {
  const Operation call = window_call_of(op);
  if (makes_window(call)) {
    *this = Epochs{};
    made = op.line;
    exists = true;
    comm = op.comm;
    return;
  }
  switch (call) {
    case Operation::win_free:
      *this = Epochs{};
      freed = op.line;
      return;
    case Operation::win_fence:
      fenced = (op.bytes & kNoSucceed) == 0;
      accessed = false;
      since = op.line;
      return;
    case Operation::win_post:
      posted = true;
      origins = std::move(group);
      since = op.line;
      return;
    case Operation::win_start:
      fenced = false;
      started = true;
      targets = std::move(group);
      since = op.line;
      return;
    case Operation::win_wait:
      posted = false;
      origins.clear();
      return;
    case Operation::win_complete:
      started = false;
      targets.clear();
      return;
    case Operation::win_lock:
      fenced = false;
      locks.insert(op.peer);
      since = op.line;
      return;
    case Operation::win_unlock:
      locks.erase(op.peer);
      return;
    case Operation::win_lock_all:
      fenced = false;
      locked_all = true;
      since = op.line;
      return;
    case Operation::win_unlock_all:
      locked_all = false;
      return;
    default:
      accessed = true;
      return;
  }
}

}  // namespace tisim
