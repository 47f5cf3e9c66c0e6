#include "mpi/rounds.hpp"

#include <utility>

namespace tisim {

void CollectiveRounds::begin(Rank& rank, std::int32_t index, std::int32_t tag) {
  Rounds rounds;
  rounds.rank = index;
  rounds.schedule = rank.schedule;
  rounds.step = rank.step;
  rounds.left = 1;  // guard until all requests are counted
  schedules_.begin(rounds.schedule);
  const std::int32_t collective = requests_.add_rounds(rank, tag, std::move(rounds));
  take(rank, collective);
}

// Moves the requests that a round has started into it.
void CollectiveRounds::take(Rank& rank, std::int32_t collective) {
  for (std::int32_t& slot : rank.slots) {
    const std::int32_t found = std::exchange(slot, -1);
    if (found < 0) continue;
    const Request request = requests_[found];
    if (requests_.take_into_round(found, collective) || request.message < 0) continue;
    messages_.end_unattended(request);
  }
  requests_.count_down(collective);
}

void CollectiveRounds::advance(std::int32_t collective) {
  Rounds& rounds = *requests_.collective(collective).rounds;
  Rank& rank = runtime_.ranks[rounds.rank];
  if (is_dead(rank)) return;
  if (!std::exchange(rounds.paid, true)) {
    const double seconds = seconds_between(rank, rounds);
    if (seconds > 0) {
      Clock& clock = runtime_.clock;
      return clock.agenda().push(clock.now() + seconds, EventType::round, collective);
    }
  }
  if (!is_over(rounds)) return post_round(rank, collective);
  schedules_.end(rounds.schedule);
  requests_.end_rounds(collective);
}

void CollectiveRounds::skip_waitall(Rounds& rounds) const {
  const Op op = schedules_.op(rounds.schedule, rounds.step);
  if (op.kind == Kind::waitall) rounds.step += 1 + static_cast<std::uint32_t>(op.peer);
}

double CollectiveRounds::seconds_between(const Rank& rank, const Rounds& rounds) const {
  double seconds = 0.0;
  for (const std::int64_t bytes : rounds.received) {
    seconds += protocol_.receive_overhead(rank, bytes);
  }
  Rounds next = {.schedule = rounds.schedule, .step = rounds.step};
  if (!is_over(next)) skip_waitall(next);
  for (; !is_over(next); ++next.step) {
    const Op op = schedules_.op(next.schedule, next.step);
    if (op.kind == Kind::waitall) break;
    if (op.kind == Kind::isend) seconds += protocol_.send_overhead(rank, op);
  }
  return seconds;
}

// Executes operations of the rank's collective while the rank is in another call.
void CollectiveRounds::post_round(Rank& rank, std::int32_t collective) {
  Rounds& rounds = *requests_.collective(collective).rounds;
  const std::int32_t index = rounds.rank;
  const Op op = rank.op;
  const std::int32_t schedule = std::exchange(rank.schedule, rounds.schedule);
  slots_.clear();
  slots_.resize(static_cast<std::size_t>(schedules_.slots(rounds.schedule)), -1);
  std::swap(rank.slots, slots_);
  rounds.received.clear();
  rounds.paid = false;
  rounds.left = 1;
  for (skip_waitall(rounds); !is_over(rounds); ++rounds.step) {
    rank.op = schedules_.op(rounds.schedule, rounds.step);
    if (rank.op.kind == Kind::waitall) break;
    rank.op.kind == Kind::isend ? messages_.post_send(rank, index) : messages_.receive(rank, index);
  }
  take(rank, collective);
  std::swap(rank.slots, slots_);
  rank.schedule = schedule;
  rank.op = op;
}

}  // namespace tisim
