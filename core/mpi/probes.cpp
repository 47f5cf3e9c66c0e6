#include "mpi/probes.hpp"

namespace tisim {

bool Probes::begin(Rank& rank, std::int32_t index) {
  rank.probed_twice = false;
  messages_.make_progress(index);
  const double flops = cost_.probe_flops(runtime_.cpu.speed(rank.host));
  if (flops <= 0) return look_up(rank, index);
  rank.phase = Phase::probing;
  runtime_.cpu.start_probe(rank.host, flops, index, runtime_.clock.now());
  return false;
}

// Returns the message that a receive would take at this point, or -1.
std::int32_t Probes::find(const Rank& rank, std::int32_t index) {
  const std::int32_t source =
      rank.op.peer == kAnySource ? kAnySource : addresses_.global_rank(rank, rank.op.peer);
  return matcher_.peek(source, index, rank.op.tag, addresses_.context(rank));
}

// With eager messages, SimGrid first probes for those, and for others in the next round.
bool Probes::look_up(Rank& rank, std::int32_t index) {
  rank.waiting = find(rank, index);
  if (rank.waiting >= 0 && protocol_.has_eager_messages() && !rank.probed_twice &&
      !matcher_.message(rank.waiting).flowing) {
    rank.waiting = -1;
  }
  rank.phase = Phase::probed;
  runtime_.clock.wake(index);
  return false;
}

bool Probes::finish(Rank& rank, std::int32_t index) {
  if (rank.waiting < 0 && protocol_.has_eager_messages() && !rank.probed_twice) {
    rank.probed_twice = true;
    return look_up(rank, index);
  }
  if (rank.waiting >= 0) {
    cost_.probe_succeeded();
    failures_ = 0;
    if (rank.op.kind == Kind::probe || rank.op.kind == Kind::iprobe) return true;
    rank.op.bytes = matcher_.message(rank.waiting).bytes;
    return messages_.receive(rank, index);
  }
  cost_.probe_failed();
  if (rank.op.kind == Kind::iprobe) return true;
  if ((cost_.probe_is_free() || all_ranks_stuck()) && find(rank, index) < 0) {
    waiting_.add(rank);
    return false;
  }
  return begin(rank, index);
}

// Returns true if every rank waits for another or probes, so that no rank will ever send. Checked
// at exponentially increasing intervals.
bool Probes::all_ranks_stuck() {
  ++failures_;
  if ((failures_ & (failures_ - 1)) != 0) return false;
  if (network_.flows_in_progress() > 0 || !runtime_.clock.ready().empty()) return false;
  for (std::size_t i = 0; i < runtime_.ranks.size(); ++i) {
    if (!is_stuck(static_cast<std::int32_t>(i))) return false;
  }
  return true;
}

// Returns true if a rank cannot proceed without another. A probe or a probing receive proceeds when
// its message is there, an MPI_Iprobe always.
bool Probes::is_stuck(std::int32_t index) {
  const Rank& rank = runtime_.ranks[index];
  switch (rank.phase) {
    case Phase::waiting:
    case Phase::waiting_all:
    case Phase::waiting_any:
    case Phase::synchronising:
    case Phase::waiting_for_any_send:
    case Phase::in_window:
    case Phase::finished:
      return true;
    case Phase::probing:
    case Phase::probed:
      return rank.op.kind != Kind::iprobe && find(rank, index) < 0;
    default:
      return false;
  }
}

}  // namespace tisim
