#include "simulation/interpreter.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace tisim {

// A switch over roles or phases must name each of them, so that a new one does not compile unless
// handled here.
#pragma GCC diagnostic error "-Wswitch-enum"

namespace {
// Returns true if operations were inserted that belong to the previous one.
bool has_inserted(const Rank& rank) {
  return rank.cursor < rank.buffer.size() && (rank.buffer[rank.cursor].flags & kContinuation) != 0;
}

[[noreturn]] void fail_impossible(const char* what, unsigned number) {
  throw std::logic_error(std::string("a rank cannot be woken in ") + what + " " +
                         std::to_string(number));
}
}  // namespace

bool Interpreter::run(std::int32_t index) {
  runtime_.interruption.clear();
  bool done = resume(runtime_.ranks[index], index);
  for (;;) {
    if (!done) {
      if (runtime_.log.is_open()) runtime_.log.stop_rank(index, runtime_.clock.now());
      return !runtime_.interruption.happened();
    }
    Rank& rank = runtime_.ranks[index];
    if (rank.schedule < 0 && rank.driven && !has_inserted(rank)) {
      rank.phase = runtime_.jobs.of(rank).traces ? Phase::custom : Phase::idle;
      completions_.push_back({CompletionType::rank, index});
      return true;
    }
    if (runtime_.log.is_full()) {
      // The rank resumes here once the log has room.
      runtime_.log.stop_rank(index, runtime_.clock.now());
      rank.phase = Phase::between_operations;
      runtime_.clock.ready().put_first(index);
      runtime_.interruption.interrupt(Stop::event_log_full);
      return false;
    }
    done = fetch(rank, index) ? begin(rank, index) : end_schedule(rank, index);
  }
}

bool Interpreter::resume(Rank& rank, std::int32_t index) {
  if (runtime_.log.is_open()) {
    const bool accessed = runtime_.log.was_woken_by_access(index);
    const Phase phase = accessed ? Phase::accessing : rank.phase;
    runtime_.log.continue_rank(index, static_cast<std::uint8_t>(phase), runtime_.clock.now());
  }
  return proceed(rank, index);
}

// Takes the rank's next operation. Returns false at the end of a schedule.
bool Interpreter::fetch(Rank& rank, std::int32_t index) {
  rank.phase = Phase::between_operations;
  if (rank.schedule >= 0) {
    if (rank.step == mpi_.schedules.in_call(rank.schedule)) return false;
    rank.op = mpi_.schedules.op(rank.schedule, rank.step++);
    if (actions_.is_open()) actions_.begin(rank, index, rank.op, 1);
    return true;
  }
  rank.op = mpi_.source.next(rank);
  if ((rank.op.flags & kContinuation) == 0) {
    rank.actions += rank.op.kind != Kind::end;
    if (actions_.is_open() && rank.op.kind != Kind::end) actions_.begin(rank, index, rank.op, 0);
  }
  return true;
}

bool Interpreter::end_schedule(Rank& rank, std::int32_t index) {
  if (!mpi_.collectives.end_schedule(rank, index)) return false;
  if (actions_.is_open()) actions_.end(rank, index, 1);
  if (rank.stage == Stage::none) {
    leave(rank, index);
    return true;
  }
  const bool is_of_file = rank.stage == Stage::parts || rank.stage == Stage::transfer;
  return is_of_file ? files_.next_stage(rank, index) : mpi_.creation.next_stage(rank, index);
}

// Ranks leave a barrier at slightly different times.
void Interpreter::leave(const Rank& rank, std::int32_t index) {
  if (runtime_.model.jitter_barrier <= 0 || rank.op.kind != Kind::collective) return;
  if (runtime_.jobs.call_of(rank).operation != Operation::barrier) return;
  mpi_.jitter.leave(index, runtime_.clock.now());
}

// A rank delayed after a barrier delays its rendezvous requests: it reads those of other ranks
// meanwhile. Detached sends are not delayed, or barriers and short messages would take too long.
bool Interpreter::is_late(Rank& rank, std::int32_t index) {
  if (runtime_.model.jitter_barrier <= 0 || rank.op.peer == kProcNull ||
      mpi_.protocol.is_detached(rank.op)) {
    return false;
  }
  const double seconds = mpi_.jitter.late(index) - runtime_.clock.now();
  if (seconds <= 0) return false;
  runtime_.sleep(rank, index, seconds, Phase::leaving);
  return true;
}

bool Interpreter::begin(Rank& rank, std::int32_t index) {
  const KindTraits& traits = traits_of(rank.op.kind);
  switch (traits.role) {
    case Role::end:
      return lifetime_.finish(rank, index);
    case Role::nothing:
      return true;
    case Role::compute:
      return compute(rank, index);
    case Role::sleep:
      return sleep(rank, index);
    case Role::send:
      return !is_late(rank, index) && mpi_.messages.send(rank, index);
    case Role::receive:
      return mpi_.probes.receive(rank, index);
    case Role::exchange:
      return !is_late(rank, index) && mpi_.send_receive.begin(rank, index);
    case Role::threads:
      throw std::logic_error("the threads of a computation have no computation before them");
    case Role::receive_half:
      throw std::logic_error("the receiving half of a sendrecv has no sending half before it");
    case Role::complete_one:
    case Role::complete_last:
    case Role::complete_collective:
      return traits.blocks ? mpi_.waits.wait(rank, index) : mpi_.tests.test(rank, index);
    case Role::complete_all:
      return traits.blocks ? mpi_.waits.wait_pending(rank, index) : mpi_.tests.test_each(rank);
    case Role::complete_any:
      return traits.blocks ? mpi_.waits.wait_any(rank, index) : mpi_.tests.test_any(rank, index);
    case Role::complete_some:
      return traits.blocks ? mpi_.waits.wait_some(rank, index) : mpi_.tests.test_each(rank);
    case Role::cancel:
      mpi_.cancellations.cancel(rank);
      return true;
    case Role::free_request:
      mpi_.cancellations.free(rank);
      return true;
    case Role::probe:
      return mpi_.probes.probe(rank, index);
    case Role::make_persistent:
      mpi_.persistent.create(rank);
      return true;
    case Role::start:
      return mpi_.persistent.start(rank, index);
    case Role::start_all:
      mpi_.persistent.start_all(rank);
      return true;
    case Role::number_request:
      mpi_.requests.number_last(rank);
      return true;
    case Role::number_persistent:
      mpi_.requests.number_persistent(rank);
      return true;
    case Role::collective:
      return mpi_.collectives.enter(rank, index);
    case Role::make_communicator:
      return mpi_.creation.enter(rank, index);
    case Role::free_communicator:
      mpi_.communicators.free(rank);
      return true;
    case Role::file:
      return files_.begin(rank, index);
    case Role::file_offset:
      throw std::logic_error("an offset has no call on a file before it");
    case Role::window:
      return mpi_.windows.begin(rank, index);
    case Role::launch:
      rank.since = runtime_.clock.now();
      rank.phase = Phase::launching;
      runtime_.interruption.ask_launch(
          {.rank = index, .call = static_cast<std::uint32_t>(rank.op.call)});
      return false;
    case Role::custom:
      return ask_action(rank, index);
  }
  fail_impossible("an operation of kind", static_cast<unsigned>(rank.op.kind));
}

// Executes the next step of an operation when the rank is woken.
bool Interpreter::proceed(Rank& rank, std::int32_t index) {
  switch (rank.phase) {
    case Phase::computing:
      rank.compute += runtime_.clock.now() - rank.since;
      return true;
    case Phase::sleeping:
    case Phase::launching:
      rank.other += runtime_.clock.now() - rank.since;
      return true;
    case Phase::send_overhead:
    case Phase::needs_route:
      return mpi_.send_receive.post_send(rank, index);
    case Phase::waiting:
      return mpi_.messages.finish_wait(rank, index);
    case Phase::receive_overhead:
      mpi_.tests.received(rank);
      return true;
    case Phase::completing_all:
      return mpi_.waits.wait_awaited(rank, index);
    case Phase::completing_any:
      return mpi_.waits.finish_any(rank, index);
    case Phase::needs_disk:
      return files_.begin(rank, index);
    case Phase::needs_server:
      return files_.ask_servers(rank, index);
    case Phase::accessing:
      return files_.finish(rank, index);
    case Phase::in_window:
      return mpi_.windows.resume(rank, index);
    case Phase::initialising:
      lifetime_.finish_init(rank);
      return true;
    case Phase::testing:
      return mpi_.tests.ask(rank, index);
    case Phase::tested:
      return mpi_.tests.finish(rank, index);
    case Phase::probing:
      return mpi_.probes.look_up(rank, index);
    case Phase::probed:
      return mpi_.probes.finish(rank, index);
    case Phase::waiting_for_any_send:
      return mpi_.probes.begin(rank, index);
    case Phase::synchronising:
      return mpi_.collectives.find_schedule(rank, index);
    case Phase::needs_schedule:
      return true;  // the first operation of the schedule is fetched next
    case Phase::not_started:
      return lifetime_.start(rank, index);
    case Phase::dying:
      lifetime_.finish_killed(rank, index);
      return false;
    case Phase::dead:
      return false;  // its wait ended after its death
    case Phase::between_operations:
      return true;
    case Phase::posted:
    case Phase::leaving:
      return begin(rank, index);
    case Phase::idle:
    case Phase::waiting_all:
    case Phase::waiting_any:
    case Phase::custom:
    case Phase::finished:
      break;
  }
  fail_impossible("phase", static_cast<unsigned>(rank.phase));
}

bool Interpreter::compute(Rank& rank, std::int32_t index) {
  // The flops of a reduction always take time, as in SimGrid.
  const bool simulated =
      runtime_.model.simulate_computation || (rank.op.flags & kContinuation) != 0;
  if ((rank.op.flags & kThreaded) != 0) return compute_in_threads(rank, index, simulated);
  if (rank.op.amount <= 0 || !simulated) return true;
  rank.since = runtime_.clock.now();
  runtime_.compute(rank, index, rank.op.amount, Phase::computing);
  return false;
}

// On `cores` cores the threads take as long as the one with the most work, or as all of them with
// no core idle, whichever is longer. Each core is a computation that shares the host.
bool Interpreter::compute_in_threads(Rank& rank, std::int32_t index, bool simulated) {
  const Op threads = mpi_.source.next(rank);
  if (threads.kind != Kind::threads) throw std::logic_error("a computation lacks its threads");
  if (rank.op.amount <= 0 || !simulated) return true;
  const std::int32_t cores = runtime_.cpu.cores(rank.host, threads.tag);
  const double each = rank.op.amount * std::max(1.0, threads.amount / cores);
  rank.since = runtime_.clock.now();
  runtime_.compute(rank, index, each, Phase::computing);
  runtime_.cpu.add_threads(rank.host, each, index, cores - 1, rank.since);
  return false;
}

bool Interpreter::sleep(Rank& rank, std::int32_t index) {
  if (rank.op.amount <= 0) return true;
  rank.since = runtime_.clock.now();
  runtime_.sleep(rank, index, rank.op.amount, Phase::sleeping);
  return false;
}

// An external driver executes the operation and advances the rank in the meantime.
bool Interpreter::ask_action(Rank& rank, std::int32_t index) {
  rank.since = runtime_.clock.now();
  rank.phase = Phase::custom;
  rank.driven = true;
  runtime_.interruption.ask_action(
      {.rank = index, .call = static_cast<std::uint32_t>(rank.op.call)});
  return false;
}

}  // namespace tisim
