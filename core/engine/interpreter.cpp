// Executes the operations of a rank until it has to wait.

#include <algorithm>
#include <string>
#include <string_view>

#include "engine/simulation.hpp"
#include "trace/error.hpp"
#include "trace/vocabulary.hpp"

namespace tisim {

namespace {
std::string_view name_of(Kind kind) {
  for (const Action& action : known_actions()) {
    if (action.kind == kind) return action.name;
  }
  return "the action";
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
    if (rank.schedule < 0 && rank.driven) {
      rank.phase = rank.reader ? Phase::custom : Phase::idle;
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
    done = fetch(rank, index) ? begin(rank, index) : rank.schedule < 0;
  }
}

// Takes the rank's next operation; false at the end of a schedule.
bool Simulation::fetch(Rank& rank, std::int32_t index) {
  rank.phase = Phase::next;
  if (rank.schedule >= 0) {
    const Schedule& schedule = schedules_[at(rank.schedule)];
    if (rank.step == schedule.ops.size()) {
      leave_collective(rank);
      if (recorder_) record_action(index, Op{}, 1);
      return false;
    }
    rank.op = schedule.ops[rank.step++];
    if (recorder_) record_action(index, rank.op, 1);
    return true;
  }
  if (rank.cursor == rank.filled) refill(rank, index);
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
bool Simulation::finds_nothing(const Rank& rank) const {
  switch (rank.op.kind) {
    case Kind::wait:
    case Kind::test:
      return (rank.op.flags & kByNumber) == 0 && find_request(rank) < 0;
    case Kind::wait_last:
    case Kind::waitall:
      return rank.pending_first < 0;
    default:
      return false;
  }
}

void Simulation::refill(Rank& rank, std::int32_t index) {
  Job& job = jobs_[at(rank.job)];
  if (!rank.reader) {
    rank.reader = job.traces->open(index - job.first, job.calls);
    // Few ranks read far ahead, many ranks little: the buffers together stay small.
    rank.buffer.resize(static_cast<std::size_t>(std::clamp(65536 / job.size, 8, 512)));
  } else {
    const Headway done{rank.actions, rank.reader->bytes_read()};
    headway_.actions += done.actions - rank.counted.actions;
    headway_.bytes += done.bytes - rank.counted.bytes;
    rank.counted = done;
  }
  rank.cursor = 0;
  rank.filled =
      static_cast<std::uint32_t>(rank.reader->read(rank.buffer.data(), rank.buffer.size()));
  if (rank.filled == 0) {
    rank.buffer[0] = Op{};
    rank.filled = 1;
  }
}

bool Simulation::begin(Rank& rank, std::int32_t index) {
  switch (rank.op.kind) {
    case Kind::end:
      return finish_rank(rank, index);
    case Kind::nop:
      return true;
    case Kind::compute:
      if (rank.op.amount <= 0 || !model_.simulate_computation) return true;
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
      std::int32_t request = -1;
      if (rank.schedule >= 0) {
        request = rank.slots[rank.op.line];
      } else if ((rank.op.flags & kByNumber) != 0) {
        request = static_cast<std::int32_t>(rank.op.bytes);
      } else {
        request = find_request(rank);
      }
      return request < 0 || wait_request(rank, index, request);
    }
    case Kind::wait_last:
      return rank.pending_last < 0 || wait_request(rank, index, rank.pending_last);
    case Kind::waitall:
      return await_pending(rank, index);
    case Kind::test:
      if (find_request(rank) < 0) return true;
      if (model_.test_sleep <= 0) return finish_test(rank, index);
      sleep(index, static_cast<double>(test_sleeps_) * model_.test_sleep, Phase::testing);
      return false;
    case Kind::collective:
      return enter_collective(rank, index);
    case Kind::custom:
      rank.since = now_;
      rank.phase = Phase::custom;
      rank.driven = true;
      need_ = {index, 0, static_cast<std::uint32_t>(rank.op.call)};
      stop_ = Stop::need_action;
      return false;
    default:
      throw TraceError(file_of(rank), rank.op.line,
                       "'" + std::string(name_of(rank.op.kind)) +
                           "' is read but not simulated yet; take the line out of the trace");
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
      if (rank.op.kind == Kind::test) test_sleeps_ = 1;
      return true;
    case Phase::finishing_all:
      return wait_all(rank, index);
    case Phase::testing: {
      // Asking for a message's state takes SimGrid a round of the instant, so that all who test at
      // once raise or reset their common counter after those who need not ask.
      const std::int32_t found = find_request(rank);
      if (found < 0 || requests_[found].message < 0) return finish_test(rank, index);
      rank.phase = Phase::tested;
      wake(index);
      return false;
    }
    case Phase::tested:
      return finish_test(rank, index);
    case Phase::probing:
      return finish_probe(rank, index);
    case Phase::needs_schedule:
      return true;  // its first operation is fetched next
    default:
      return true;
  }
}

bool Simulation::finish_rank(Rank& rank, std::int32_t index) {
  // What is pending at the end is waited for.
  if (rank.pending_first >= 0) {
    --rank.cursor;  // the end comes again
    return await_pending(rank, index);
  }
  if (recorder_) record_action(index, rank.op, 0);
  rank.phase = Phase::finished;
  rank.finish = now_;
  rank.buffer = {};
  Job& job = jobs_[at(rank.job)];
  if (--job.running == 0) woken_.push_back({WokenType::job, rank.job});
  return false;
}

bool Simulation::finish_test(Rank& rank, std::int32_t index) {
  const std::int32_t found = find_request(rank);
  const Request request = requests_[found];
  if (!request.complete) {
    if (model_.grow_injected_times) ++test_sleeps_;
    return true;
  }
  drop_request(rank, found);
  if (request.message >= 0) {
    if (request.side == kReceiver) {
      if (!finish_receive(rank, index, request.message)) return false;
    } else {
      let_go(request.message);
    }
  }
  test_sleeps_ = 1;
  return true;
}

bool Simulation::begin_probe(Rank& rank, std::int32_t index) {
  // SimGrid computes for the time that a probe takes, so that probing shares the cores.
  const double flops = static_cast<double>(probe_sleeps_) * model_.iprobe_sleep *
                       cpu_.speed(rank.host) * model_.iprobe_cpu_usage;
  if (flops <= 0) return finish_probe(rank, index);
  compute(index, flops, Phase::probing);
  return false;
}

bool Simulation::finish_probe(Rank& rank, std::int32_t index) {
  const std::int32_t source = rank.op.peer == kAnySource ? kAnySource : global(rank, rank.op.peer);
  const std::int32_t found = matcher_.peek(source, index, rank.op.tag, context_of(rank));
  if (found < 0) {
    if (model_.grow_injected_times) ++probe_sleeps_;
    return begin_probe(rank, index);
  }
  probe_sleeps_ = 1;
  rank.op.bytes = matcher_.message(found).bytes;
  return receive(rank, index);
}

}  // namespace tisim
