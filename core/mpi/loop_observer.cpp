#include "mpi/loop_observer.hpp"

#include <array>

namespace tisim {

namespace {

// Effect of an operation on skipping repetitions.
enum class SkipEffect : std::uint8_t {
  none,
  obstacle,            // not predictable from earlier repetitions, or must not be skipped
  receive,             // an obstacle if from any source
  makes_communicator,  // or frees one
};

// Table by kind: every operation is checked.
struct SkipEffects {
  std::array<SkipEffect, 256> of{};

  constexpr SkipEffects() {
    using enum Kind;
    for (const Kind kind : {test, test_last, testall, testany, testsome, probe, iprobe, cancel,
                            request_free, custom, file, window, launch}) {
      of[static_cast<std::uint8_t>(kind)] = SkipEffect::obstacle;
    }
    for (const Kind kind : {recv, irecv, recv_half, recv_init}) {
      of[static_cast<std::uint8_t>(kind)] = SkipEffect::receive;
    }
    for (const Kind kind : {comm_split, comm_dup, comm_idup, comm_group, comm_free}) {
      of[static_cast<std::uint8_t>(kind)] = SkipEffect::makes_communicator;
    }
  }
};
constexpr SkipEffects kSkipEffects;

}  // namespace

void LoopObserver::open(RankReader& reader) { readers_ += reader.stop_at_loops() ? 1 : 0; }

std::size_t LoopObserver::read(Rank& rank, std::span<Op> ops) {
  const std::int32_t index = rank.first + rank.number;
  LoopPosition& position = positions_[static_cast<std::size_t>(index)];
  // Pending skips are performed in any case.
  rank.reader->set_stops_at_turns(stops_at_turns_ || position.to_skip > 0);
  while (const std::optional<LoopTurn> turn = rank.reader->next_turn()) {
    pass(index, rank, *turn);
    if (position.to_skip == 0 || turn->remaining == 0) continue;
    rank.reader->skip_repetitions(position.to_skip);
    position.to_skip = 0;
  }
  const std::size_t count = rank.reader->read(ops.data(), ops.size());
  operations_ += count;
  position.operations += count;
  inspect(index, ops.first(count));
  return count;
}

void LoopObserver::pass(std::int32_t index, const Rank& rank, const LoopTurn& turn) {
  LoopPosition& position = positions_[static_cast<std::size_t>(index)];
  ++turns_;
  if (turn.is_first || position.left == 0) {
    position.length = turn.remaining;
    ++position.loops;
  } else {
    ++position.turns;
  }
  position.left = turn.remaining - position.to_skip;
  position.actions = rank.actions;
  position.operations = 0;
  position.date = clock_.now();
  if (turn.remaining > 0) last_turned_ = index;
}

void LoopObserver::skip(std::int32_t index, std::uint64_t repetitions, std::uint64_t actions) {
  LoopPosition& position = positions_[static_cast<std::size_t>(index)];
  position.left -= repetitions;
  position.to_skip = repetitions;
  position.actions += actions;
}

void LoopObserver::set_stops_at_turns(bool stops) {
  if (stops && !stops_at_turns_) {
    for (LoopPosition& position : positions_) {
      if (position.to_skip == 0) position.left = 0;
    }
  }
  stops_at_turns_ = stops;
}

void LoopObserver::inspect(std::int32_t index, std::span<const Op> ops) {
  for (const Op& op : ops) {
    const SkipEffect effect = kSkipEffects.of[static_cast<std::uint8_t>(op.kind)];
    if (effect == SkipEffect::none) continue;
    const bool is_any = op.peer == kAnySource && (op.flags & kSourceLost) == 0;
    if (effect == SkipEffect::makes_communicator) {
      ++communicators_made_;
    } else if (effect == SkipEffect::obstacle || is_any) {
      note({op.kind, index, op.line});
    }
  }
}

}  // namespace tisim
