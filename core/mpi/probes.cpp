// Looking for messages without receiving them.

#include "simulation/simulation.hpp"

namespace tisim {

// SimGrid computes for the time that a look takes, so that probing shares the cores. It takes the
// longer the more looks have failed, on whatever rank.
bool Simulation::begin_probe(Rank& rank, std::int32_t index) {
  rank.looked_twice = false;
  const double flops = static_cast<double>(probe_sleeps_) * model_.iprobe_sleep *
                       cpu_.speed(rank.host) * model_.iprobe_cpu_usage;
  if (flops <= 0) return look(rank, index);
  compute(index, flops, Phase::probing);
  return false;
}

// The message that a receive would take now, -1: none.
std::int32_t Simulation::see(const Rank& rank, std::int32_t index) {
  const std::int32_t source = rank.op.peer == kAnySource ? kAnySource : global(rank, rank.op.peer);
  return matcher_.peek(source, index, rank.op.tag, context_of(rank));
}

// What the rank sees now it knows when all who act in this round of the instant have done so. Where
// messages are sent eagerly, SimGrid looks for those first and for others in the next round.
bool Simulation::look(Rank& rank, std::int32_t index) {
  rank.waiting = see(rank, index);
  if (rank.waiting >= 0 && model_.eager_threshold > 0 && !rank.looked_twice &&
      !matcher_.message(rank.waiting).flowing) {
    rank.waiting = -1;
  }
  rank.phase = Phase::probed;
  wake(index);
  return false;
}

// A probe and a receive that does not know its size look until there is a message.
bool Simulation::finish_probe(Rank& rank, std::int32_t index) {
  if (rank.waiting >= 0) {
    probe_sleeps_ = 1;
    failed_probes_ = 0;
    if (rank.op.kind == Kind::probe || rank.op.kind == Kind::iprobe) return true;
    rank.op.bytes = matcher_.message(rank.waiting).bytes;
    return receive(rank, index);
  }
  if (model_.grow_injected_times) ++probe_sleeps_;
  if (rank.op.kind == Kind::iprobe) return true;
  const bool free = model_.iprobe_sleep * model_.iprobe_cpu_usage <= 0;
  if ((free || nothing_will_come()) && see(rank, index) < 0) {
    ++looking_;
    rank.phase = Phase::looking;
    return false;
  }
  return begin_probe(rank, index);
}

// A message has come that no receive waited for.
void Simulation::look_again(std::int32_t destination) {
  if (ranks_[at(destination)].phase != Phase::looking) return;
  --looking_;
  wake(destination);
}

// Whether everybody waits for somebody else, or looks for a message: then nobody will ever send
// one. Asked the less often the longer this takes.
bool Simulation::nothing_will_come() {
  ++failed_probes_;
  if ((failed_probes_ & (failed_probes_ - 1)) != 0) return false;
  if (network_.flows_in_progress() > 0 || next_ready_ < ready_.size()) return false;
  for (std::int32_t i = 0; at(i) < ranks_.size(); ++i) {
    if (!waits_for_others(i)) return false;
  }
  return true;
}

// A probe or a receive that looks goes on by itself when its message is there, an MPI_Iprobe
// always.
bool Simulation::waits_for_others(std::int32_t index) {
  const Rank& rank = ranks_[at(index)];
  switch (rank.phase) {
    case Phase::waiting:
    case Phase::waiting_all:
    case Phase::waiting_any:
    case Phase::meeting:
    case Phase::looking:
    case Phase::finished:
      return true;
    case Phase::probing:
    case Phase::probed:
      return rank.op.kind != Kind::iprobe && see(rank, index) < 0;
    default:
      return false;
  }
}

}  // namespace tisim
