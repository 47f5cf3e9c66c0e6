// A reader at the turns of loops, and its volumes.
#include "trace/compressed/reader.hpp"

namespace tisim {

namespace {

constexpr std::uint32_t kLongLoop = 4;  // repetitions; fewer are not worth a stop

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
  if (!loop_ || loop_->told || at_ != end_ || has_waiting()) {
    return std::nullopt;
  }
  const std::optional<std::uint64_t> left = repetitions_at_turn();
  if (!left) return std::nullopt;
  loop_->lines_of_last = line_ - loop_->line;
  loop_->calls_of_last = calls_begun_ - loop_->calls;
  loop_->line = line_;
  loop_->calls = calls_begun_;
  if (*left == 0) {
    loop_->inside = false;
  } else {
    loop_->told = true;
  }
  return LoopTurn{*left, line_};
}

// Goes on at a turn that has been told, or that nobody wants to know of if it `may_pass`.
bool CompressedReader::pass_turn(bool may_pass) {
  while (const std::optional<std::uint64_t> left = repetitions_at_turn()) {
    if (!loop_->told && !may_pass) return false;
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
