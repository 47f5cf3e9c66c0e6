// Executes the operations of a rank until it has to wait.

#include <algorithm>
#include <stdexcept>
#include <string>

#include "simulation/simulation.hpp"
#include "trace/error.hpp"

namespace tisim {

namespace {
// Whether operations were inserted that belong to the one before.
bool goes_on(const Rank& rank) {
  return rank.cursor < rank.buffer.size() && (rank.buffer[rank.cursor].flags & kContinuation) != 0;
}
}  // namespace

// False: somebody outside has to do something first; `stop_` says what.
bool Simulation::run_rank(std::int32_t index) {
  stop_ = Stop::done;
  bool done = false;
  {
    Rank& rank = ranks_[at(index)];
    if (recorder_) recorder_->unblock(index, rank.phase, now_);
    if (rank.phase == Phase::next) {
      done = true;
    } else if (rank.phase == Phase::posted) {
      done = begin(rank, index);
    } else {
      done = continue_operation(rank, index);
    }
  }
  for (;;) {
    if (!done) {
      if (recorder_) recorder_->block(index, now_);
      return stop_ == Stop::done;
    }
    Rank& rank = ranks_[at(index)];
    if (rank.schedule < 0 && rank.driven && !goes_on(rank)) {
      rank.phase = jobs_[at(rank.job)].traces ? Phase::custom : Phase::idle;
      woken_.push_back({WokenType::rank, index});
      return true;
    }
    if (recorder_ && recorder_->full()) {
      // It goes on from here as soon as there is room.
      recorder_->block(index, now_);
      rank.phase = Phase::next;
      wake_first(index);
      stop_ = Stop::records;
      return false;
    }
    done = fetch(rank, index) ? begin(rank, index) : end_schedule(rank, index);
  }
}

// Takes the rank's next operation; false at the end of a schedule.
bool Simulation::fetch(Rank& rank, std::int32_t index) {
  rank.phase = Phase::next;
  if (rank.schedule >= 0) {
    if (rank.step == schedules_.size(rank.schedule)) return false;
    rank.op = schedules_.op(rank.schedule, rank.step++);
    if (recorder_) record_action(index, rank.op, 1);
    return true;
  }
  if (rank.cursor == rank.buffer.size()) refill(rank, index);
  rank.op = rank.buffer[rank.cursor++];
  if ((rank.op.flags & kContinuation) == 0) {
    rank.actions += rank.op.kind != Kind::end;
    if (recorder_ && rank.op.kind != Kind::end) record_action(index, rank.op, 0);
  }
  return true;
}

void Simulation::record_action(std::int32_t index, const Op& op, std::uint8_t level) {
  ActionStart action{};
  action.time = now_;
  if (op.kind == Kind::compute || op.kind == Kind::sleep) {
    action.amount = op.amount;
  } else {
    action.bytes = op.bytes;
  }
  action.rank = index;
  action.peer = op.peer;
  action.tag = op.tag;
  action.line = op.line;
  action.comm = op.comm;
  action.kind = static_cast<std::uint8_t>(op.kind);
  action.operation = -1;
  action.level = level;
  if (op.kind == Kind::collective || op.kind == Kind::icollective) {
    const Rank& rank = ranks_[at(index)];
    const Call& call = jobs_[at(rank.job)].calls[static_cast<std::uint32_t>(op.call)];
    action.operation = static_cast<std::int8_t>(call.operation);
    action.tag = comm_index(rank, op.comm);
    action.members = communicators_[at(action.tag)].size;
    const std::int32_t root = root_of(call, action.members);
    action.peer = root < 0 ? -1 : communicators_[at(action.tag)].member(root) - rank.first;
  } else if (op.kind >= Kind::send && op.kind <= Kind::recv_half && op.peer >= 0) {
    const Rank& rank = ranks_[at(index)];
    action.peer = global(rank, op.peer) - rank.first;
  } else if (level == 0) {
    action.idle = static_cast<std::uint8_t>(finds_nothing(ranks_[at(index)]));
  }
  recorder_->begin(action);
}

// Whether the rank's operation waits for a request, or tests one, and there is none.
bool Simulation::finds_nothing(Rank& rank) {
  switch (rank.op.kind) {
    case Kind::wait:
    case Kind::test:
    case Kind::wait_last:
    case Kind::test_last:
    case Kind::wait_icollective:
      return named_request(rank) < 0;
    case Kind::waitall:
    case Kind::waitany:
    case Kind::waitsome:
      return rank.pending_first < 0;
    default:
      return false;
  }
}

void Simulation::refill(Rank& rank, std::int32_t index) {
  Job& job = jobs_[at(rank.job)];
  if (!rank.reader && !rank.read_out) {
    rank.reader = job.traces->open(index - job.first, job.calls);
  } else {
    headway_.actions += rank.actions - rank.counted.actions;
    headway_.bytes += rank.bytes_read - rank.counted.bytes;
    rank.counted = {rank.actions, rank.bytes_read};
  }
  // Few ranks read far ahead, many ranks little: the buffers together stay small. What was inserted
  // may have made this one longer.
  rank.buffer.resize(static_cast<std::size_t>(std::clamp(65536 / job.size, 8, 512)), Op{});
  rank.cursor = 0;
  std::size_t filled = 0;
  if (rank.reader) filled = read_on(rank);
  if (filled == 0) rank.buffer[filled++] = Op{};
  rank.buffer.resize(filled, Op{});
}

// Fills the buffer as far as the trace goes; at its end the reader is let go. The number of
// operations read.
std::size_t Simulation::read_on(Rank& rank) {
  const std::size_t filled = rank.reader->read(rank.buffer.begin(), rank.buffer.size());
  rank.bytes_read = rank.reader->bytes_read();
  if (filled < rank.buffer.size()) rank.let_go_of_reader();
  return filled;
}

// Puts operations before those that the rank has not executed yet.
void Simulation::insert(Rank& rank, std::span<const Op> ops) {
  const auto count = static_cast<std::uint32_t>(ops.size());
  if (rank.cursor < count) {
    const std::uint32_t missing = count - rank.cursor;
    rank.buffer.resize(rank.buffer.size() + missing, Op{});
    std::move_backward(rank.buffer.begin(), rank.buffer.end() - missing, rank.buffer.end());
    rank.cursor += missing;
  }
  rank.cursor -= count;
  std::copy(ops.begin(), ops.end(), rank.buffer.begin() + rank.cursor);
}

// What is wrong with the line that a rank executes.
void Simulation::fail(const Rank& rank, const std::string& message) const {
  const std::uint32_t line = rank.schedule >= 0 ? rank.collective.line : rank.op.line;
  throw TraceError(file_of(rank), line, message);
}

bool Simulation::begin(Rank& rank, std::int32_t index) {
  switch (rank.op.kind) {
    case Kind::end:
      return finish_rank(rank, index);
    case Kind::nop:
      return true;
    case Kind::compute:
      // The flops of a reduction take their time in any case, as in SimGrid.
      if (rank.op.amount <= 0) return true;
      if (!model_.simulate_computation && (rank.op.flags & kContinuation) == 0) return true;
      rank.since = now_;
      compute(index, rank.op.amount, Phase::computing);
      return false;
    case Kind::sleep:
      if (rank.op.amount <= 0) return true;
      rank.since = now_;
      sleep(index, rank.op.amount, Phase::sleeping);
      return false;
    case Kind::send:
    case Kind::ssend:
    case Kind::bsend:
    case Kind::isend:
    case Kind::issend:
    case Kind::ibsend:
      return send(rank, index);
    case Kind::recv:
    case Kind::irecv:
      return receive(rank, index);
    case Kind::sendrecv:
      return sendrecv(rank, index);
    case Kind::wait: {
      const std::int32_t request =
          rank.schedule >= 0 ? rank.slots[rank.op.line] : named_request(rank);
      return request < 0 || wait_request(rank, index, request);
    }
    case Kind::waitall:
      return await_pending(rank, index);
    case Kind::test:
      return begin_test(rank, index);
    case Kind::collective:
    case Kind::icollective:
      return enter_collective(rank, index);
    default:
      return begin_rarely(rank, index);
  }
}

bool Simulation::begin_rarely(Rank& rank, std::int32_t index) {
  switch (rank.op.kind) {
    case Kind::wait_last:
    case Kind::wait_icollective: {
      const std::int32_t request = named_request(rank);
      return request < 0 || wait_request(rank, index, request);
    }
    case Kind::test_last:
      return begin_test(rank, index);
    case Kind::waitany:
      return wait_any(rank, index);
    case Kind::waitsome: {
      // SimGrid waits for any, then tests each of the others.
      Op rest = rank.op;
      rest.kind = Kind::testsome;
      rest.flags |= kContinuation;
      insert(rank, {&rest, 1});
      return wait_any(rank, index);
    }
    case Kind::testall:
    case Kind::testsome:
      test_each(rank);
      return true;
    case Kind::testany:
      return test_any(rank, index);
    case Kind::probe:
    case Kind::iprobe:
      return rank.op.peer == kProcNull || begin_probe(rank, index);
    case Kind::send_init:
    case Kind::ssend_init:
    case Kind::bsend_init:
    case Kind::recv_init:
      make_persistent(rank);
      return true;
    case Kind::start:
      return start_persistent(rank, index);
    case Kind::startall:
      start_all(rank);
      return true;
    case Kind::comm_split:
    case Kind::comm_dup:
      return form_communicator(rank, index);
    case Kind::comm_free:
      free_communicator(rank);
      return true;
    case Kind::custom:
      rank.since = now_;
      rank.phase = Phase::custom;
      rank.driven = true;
      need_ = {.rank = index, .call = static_cast<std::uint32_t>(rank.op.call)};
      stop_ = Stop::need_action;
      return false;
    default:
      throw std::logic_error("an operation that the interpreter does not know");
  }
}

bool Simulation::continue_operation(Rank& rank, std::int32_t index) {
  switch (rank.phase) {
    case Phase::computing:
      rank.compute += now_ - rank.since;
      return true;
    case Phase::sleeping:
      rank.other += now_ - rank.since;
      return true;
    case Phase::injecting_send:
    case Phase::needs_route:
      return post_send(rank, index);
    case Phase::waiting:
      if (rank.waiting_side == kReceiver) return finish_receive(rank, index, rank.waiting);
      let_go(rank.waiting);
      return true;
    case Phase::injecting_receive:
      if (rank.op.kind == Kind::test || rank.op.kind == Kind::test_last) test_sleeps_ = 1;
      if (rank.op.kind == Kind::testany) test_any_sleeps_ = 1;
      return true;
    case Phase::finishing_all:
      return wait_all(rank, index);
    default:
      return continue_rarely(rank, index);
  }
}

bool Simulation::continue_rarely(Rank& rank, std::int32_t index) {
  switch (rank.phase) {
    case Phase::starting:
      rank.other += now_ - rank.since;
      return true;
    case Phase::testing:
      // Asking for the state of messages takes SimGrid a round of the instant, so that all who
      // test at once raise or reset their common counter after those who need not ask.
      if (!asks_for_message(rank)) return finish_test(rank, index);
      rank.phase = Phase::tested;
      wake(index);
      return false;
    case Phase::tested:
      return rank.op.kind == Kind::testany ? finish_test_any(rank, index)
                                           : finish_test(rank, index);
    case Phase::probing:
      return look(rank, index);
    case Phase::probed:
      if (rank.waiting < 0 && model_.eager_threshold > 0 && !rank.looked_twice) {
        rank.looked_twice = true;
        return look(rank, index);
      }
      return finish_probe(rank, index);
    case Phase::looking:
      return begin_probe(rank, index);
    case Phase::finishing_any:
      return finish_any(rank, index);
    case Phase::meeting:
      return find_schedule(rank, index);
    case Phase::unborn:
      return be_born(rank, index);
    case Phase::killed:
      return bury(rank, index);
    case Phase::dead:
      return false;
    default:
      return true;  // needs_schedule: its first operation is fetched next
  }
}

bool Simulation::finish_rank(Rank& rank, std::int32_t index) {
  // What is pending at the end is waited for.
  if (rank.pending_first >= 0) {
    --rank.cursor;  // the end comes again
    return await_pending(rank, index);
  }
  if (model_.barrier_finalization && !rank.synchronised_end && !rank.driven) {
    synchronise_end(rank);
    return true;
  }
  if (recorder_) record_action(index, rank.op, 0);
  rank.phase = Phase::finished;
  rank.finish = now_;
  rank.let_go_of_trace();
  Job& job = jobs_[at(rank.job)];
  if (--job.running == 0) woken_.push_back({WokenType::job, rank.job});
  return false;
}

// The barrier that ends a program (smpi/barrier-finalization), then the end again.
void Simulation::synchronise_end(Rank& rank) {
  rank.synchronised_end = true;
  --rank.cursor;
  Op barrier;
  barrier.kind = Kind::collective;
  barrier.flags = kContinuation;
  barrier.line = rank.op.line;
  barrier.call = jobs_[at(rank.job)].calls.intern(Call{});
  insert(rank, {&barrier, 1});
}

}  // namespace tisim
