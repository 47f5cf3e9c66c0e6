// A reader at the turns of loops, and its volumes.
#include <algorithm>
#include <cstddef>
#include <cstring>

#include "trace/compressed/reader.hpp"

namespace tisim {

namespace {

constexpr std::uint32_t kLongLoop = 4;  // repetitions; fewer are not worth a stop

// A computation.
[[gnu::always_inline]] inline void put_compute(double amount, std::uint32_t line, Op& op) {
  static constexpr Op kCompute{Kind::compute, 0, 0, 0, {0}, 0, 0};
  std::memcpy(static_cast<void*>(&op), &kCompute, offsetof(Op, amount));  // at once
  op.amount = amount;
  op.tag = 0;
  op.line = line;
}

}  // namespace

bool CompressedReader::stop_at_loops() {
  const tit::RankColumn* const column = shared_->file().column_of(rank_).column;
  if (column != nullptr && !column->blocks.empty()) return false;
  if (shared_->file().draws_volumes()) return false;  // by the numbers of calls, turns too
  loop_ = std::make_unique<Loop>();
  return true;
}

// How often the loop, a turn of which is at the cursor, is still to be repeated; none: no turn is
// there. The stretch at hand has been read.
std::optional<std::uint64_t> CompressedReader::repetitions_at_turn() {
  if (loop_->inside && loop_->is_stretch) return repeats_;
  while (repeats_ == 0 && depth_ > 0) {
    Frame& frame = frames_[depth_ - 1];
    const std::vector<ProgramSegment>& rule = plans_->program().rule(frame.rule);
    if (frame.segment < rule.size()) {
      const std::uint32_t repeats = rule[frame.segment].repeats;
      if (loop_->inside || repeats < kLongLoop) break;
      return repeats;
    }
    if (loop_->inside && depth_ == loop_->depth) return frame.left - 1;
    if (--frame.left == 0) {
      --depth_;
    } else {
      frame.segment = 0;
    }
  }
  return std::nullopt;
}

std::optional<LoopTurn> CompressedReader::next_turn() {
  if (!loop_ || !loop_->heeded || loop_->told || at_ != end_ || has_waiting()) {
    return std::nullopt;
  }
  const std::optional<std::uint64_t> left = repetitions_at_turn();
  if (!left) return std::nullopt;
  loop_->lines_of_last = line_ - loop_->line;
  loop_->calls_of_last = calls_begun_ - loop_->calls;
  loop_->line = line_;
  loop_->calls = calls_begun_;
  const bool is_first = !loop_->inside;
  if (*left == 0) {
    loop_->inside = false;
  } else {
    loop_->told = true;
  }
  return LoopTurn{*left, line_, is_first};
}

// Goes on at a turn that has been told, or that nobody wants to know of if it `may_pass`.
bool CompressedReader::pass_turn(bool may_pass) {
  while (const std::optional<std::uint64_t> left = repetitions_at_turn()) {
    if (!loop_->told && loop_->heeded && !may_pass) return false;
    if (*left == 0) {
      loop_->inside = false;
      continue;
    }
    loop_->told = false;
    if (!loop_->inside) {
      const Frame& frame = frames_[depth_ - 1];
      const ProgramSegment& segment = plans_->program().rule(frame.rule)[frame.segment];
      loop_->inside = true;
      loop_->is_stretch = segment.calls != nullptr;
      loop_->depth = depth_ + (loop_->is_stretch ? 0 : 1);
    }
    return true;
  }
  return true;
}

void CompressedReader::skip_repetitions(std::uint64_t count) {
  if (loop_->is_stretch) {
    repeats_ -= static_cast<std::uint32_t>(count);
  } else {
    frames_[depth_ - 1].left -= static_cast<std::uint32_t>(count);
  }
  line_ += count * loop_->lines_of_last;
  calls_begun_ += count * loop_->calls_of_last;
  loop_->line = line_;
  loop_->calls = calls_begun_;
  loop_->told = repetitions_at_turn() != std::uint64_t{0};  // the end of the loop is told yet
}

// Calls of a class with volumes in a column.
std::size_t CompressedReader::read_with_volumes(Op* out, std::size_t capacity) {
  const CompressedFile& file = shared_->file();
  if (!column_) column_ = std::make_unique<ColumnStream>(file, file.column_of(rank_));
  if (line_ > kMostLines - 2 * ColumnStream::kMostAhead) return read_call(out, capacity);
  if (column_->ahead() == 0) {
    const CallPlan& plan = plans_->data()[at_->call];
    const auto count = std::min(static_cast<std::ptrdiff_t>(most_ahead()), end_ - at_);
    column_->read_ahead(at_, static_cast<std::uint32_t>(count),
                        plan.has_columns
                            ? tit::VolumeSites::kSpecial
                            : file.volume_sites().number(file.site_table(), before_, plan.kind));
  }
  std::size_t made = 0;
  if (capacity >= 2 * std::size_t{column_->ahead()}) {
    made = put_calls_ahead(out);
  } else {
    // All of them, and not as many as there is room for: that could not be foretold.
    Waiting& waiting = room_to_wait(2 * most_ahead());
    waiting.count = put_calls_ahead(waiting.ops.get());
    made = take_waiting(out, capacity);
  }
  return made > 0 ? made : read_call(out, capacity);
}

// Calls whose volumes have been read, as long as their operations are at hand.
std::uint32_t CompressedReader::put_calls_ahead(Op* out) {
  const tit::VolumeSites& sites = shared_->file().volume_sites();
  const double* const amounts = sites.amounts();
  const auto listed = [=](std::uint32_t value) __attribute__((always_inline)) {
    return amounts[value];
  };
  const auto other = [this](std::uint32_t value) { return shared_->file().amount_of(value); };
  if (!ready_) {
    const CallPlan* const plans = plans_->data();
    const auto put_plan = [=, this](std::uint32_t call, std::uint32_t line, Op& op) {
      if (plans[call].form != CallForm::plain) return false;
      plans[call].put(rank_, position_, line, op);
      return true;
    };
    return sites.is_listed() ? put_with(out, listed, put_plan) : put_with(out, other, put_plan);
  }
  const Op* const ready = ready_.get();
  const auto put_kept = [=](std::uint32_t call, std::uint32_t line, Op & op)
      __attribute__((always_inline)) {
    const Op& made = ready[call];
    if (made.line == 0) return false;
    op = made;
    op.line = line;
    return true;
  };
  return sites.is_listed() ? put_with(out, listed, put_kept) : put_with(out, other, put_kept);
}

template <class AmountOf, class PutCall>
std::uint32_t CompressedReader::put_with(Op* const out, const AmountOf& amount_of,
                                         const PutCall& put_call) {
  const ProgramCall* const calls = at_;
  const std::uint32_t* const values = column_->values_ahead();
  const std::size_t count = column_->ahead();
  auto line = static_cast<std::uint32_t>(line_);
  Op* op = out;
  std::size_t taken = 0;
  for (; taken != count; ++taken) {
    // Whether there is a volume cannot be foretold: one is written in any case.
    const std::uint32_t value = values[taken];
    const std::uint32_t is_computed = value != 0 ? 1 : 0;
    put_compute(amount_of(value), line + 1, *op);
    line += is_computed + 1;
    op += is_computed;
    if (!put_call(calls[taken].call, line, *op)) {
      line -= is_computed + 1;
      op -= is_computed;
      break;
    }
    ++op;
  }
  if (taken > 0) before_ = plans_->data()[calls[taken - 1].call].kind + 1;
  column_->take_ahead(static_cast<std::uint32_t>(taken));
  line_ = line;
  at_ += taken;
  return static_cast<std::uint32_t>(op - out);
}

// For the next time: the operation of a call that is the same each time.
void CompressedReader::keep_ready(std::uint32_t call, const Op& op) {
  if (!ready_ && !begin_ready()) return;
  ready_[call] = op;
}

// Room for operations that are the same each time; false where it takes too much.
bool CompressedReader::begin_ready() {
  constexpr std::size_t kMostReady = 1024;
  const std::size_t calls = plans_->program().rank_class().signatures.size();
  if (saves_memory_ || calls > kMostReady) return false;
  ready_ = std::make_unique<Op[]>(calls);
  return true;
}

// The operations of all calls that are known to be plain.
void CompressedReader::make_ready() {
  if (!begin_ready()) return;
  const std::size_t calls = plans_->program().rank_class().signatures.size();
  const CallPlan* const plans = plans_->data();
  for (std::size_t call = 0; call < calls; ++call) {
    if (plans[call].form == CallForm::plain && !plans[call].has_columns) {
      plans[call].put(rank_, position_, 1, ready_[call]);
    }
  }
}

std::uint64_t CompressedReader::value_at(std::uint32_t site) {
  if (site == tit::SiteTable::kNone) return 0;
  const CompressedFile::Site& found = shared_->file().site(site);
  if (!found.varies) return found.value;
  if (!column_)
    column_ = std::make_unique<ColumnStream>(shared_->file(), shared_->file().column_of(rank_));
  return column_->next(found.model);
}

// Of the volume before a call.
std::uint64_t CompressedReader::volume_at(std::uint32_t site) {
  if (shared_->file().draws_volumes()) {
    if (site == tit::SiteTable::kNone) return 0;
    return shared_->file().drawn_volume(site, rank_, bytes_read() - 1);
  }
  if (!column_ || column_->ahead() == 0) return value_at(site);
  const std::uint64_t value = *column_->values_ahead();
  column_->take_ahead(1);
  return value;
}

}  // namespace tisim
