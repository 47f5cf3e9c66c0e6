#include "simulation/rank_lifetime.hpp"

namespace tisim {

void RankLifetime::schedule_start(std::int32_t index, double delay) {
  Rank& rank = runtime_.ranks[index];
  rank.phase = Phase::not_started;
  if (delay > 0) {
    runtime_.clock.wake_after(delay, index);
  } else if (transfers_.may_fail() || enter_init(rank, index)) {
    runtime_.clock.wake(index);
  }
}

bool RankLifetime::start(Rank& rank, std::int32_t index) {
  if (!transfers_.is_host_off(rank.host)) return enter_init(rank, index);
  failures_.kill(index, rank.host);
  return false;
}

// Starts the delay of smpi/init. Returns true if there is none and the rank begins its trace.
bool RankLifetime::enter_init(Rank& rank, std::int32_t index) {
  rank.phase = Phase::between_operations;
  if (runtime_.model.init_sleep <= 0) return true;
  rank.since = runtime_.clock.now();
  rank.phase = Phase::initialising;
  runtime_.clock.wake_after(runtime_.model.init_sleep, index);
  return false;
}

bool RankLifetime::finish(Rank& rank, std::int32_t index) {
  mpi_.requests.list_freed(rank);
  if (rank.pending.first >= 0) {
    --rank.cursor;  // the end is processed again
    return mpi_.waits.wait_pending(rank, index);
  }
  if (runtime_.model.barrier_finalization && !rank.final_barrier && !rank.driven) {
    insert_final_barrier(rank);
    return true;
  }
  if (actions_.is_open()) actions_.begin(rank, index, rank.op, 0);
  rank.phase = Phase::finished;
  mpi_.waits.make_progress(index);
  rank.finish = runtime_.clock.date();
  leave_job(rank);
  return false;
}

// Inserts the barrier, followed by the end again.
void RankLifetime::insert_final_barrier(Rank& rank) {
  rank.final_barrier = true;
  --rank.cursor;
  Op barrier;
  barrier.kind = Kind::collective;
  barrier.flags = kContinuation;
  barrier.line = rank.op.line;
  barrier.call = runtime_.jobs.of(rank).calls.intern(Call{});
  rank.insert({&barrier, 1});
}

void RankLifetime::finish_killed(Rank& rank, std::int32_t index) {
  if (actions_.is_open()) actions_.end(rank, index, 0);
  rank.phase = Phase::dead;
  leave_job(rank);
}

void RankLifetime::leave_job(Rank& rank) {
  rank.close_trace();
  if (--runtime_.jobs.of(rank).running == 0) {
    completions_.push_back({CompletionType::job, rank.job});
  }
}

}  // namespace tisim
