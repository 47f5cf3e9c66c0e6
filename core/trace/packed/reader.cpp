#include "trace/packed/reader.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>

#include "trace/error.hpp"
#include "trace/tit/codec/bytes.hpp"
#include "trace/tit/file/volume_code.hpp"

namespace tisim {

namespace {

// Limit on calls in a row that are not actions, such as comments: a tiny file may have 2^62.
constexpr std::uint64_t kMaxIdleCalls = 16777216;

std::uint32_t line_in_op(std::uint64_t line) {
  return static_cast<std::uint32_t>(std::min(line, PackedReader::kMaxLines));
}

}  // namespace

PackedReader::PackedReader(const std::shared_ptr<const void>& owner, const TraceGrammar& grammar,
                           std::int32_t rank, const PackedFile& file, CallTable& calls)
    : shared_(&SharedCallPlans::of(owner, file, grammar, calls)),
      plans_(&shared_->plans(file.class_of(rank), false)),
      rank_(rank),
      position_(file.position_of(rank)),
      has_volumes_(plans_->program().rank_class().has_volumes) {
  frames_ = std::make_unique<Frame[]>(plans_->program().depth());
  frames_[0] = {0, 0, 1};
  depth_ = 1;
}

PackedReader::~PackedReader() = default;

// A buffer for at least `least` operations that do not fit in a batch; the current one must be
// empty.
PackedReader::OverflowOps& PackedReader::overflow_buffer(std::uint32_t least) {
  if (!overflow_ || overflow_->capacity < least) overflow_ = std::make_unique<OverflowOps>(least);
  overflow_->first = 0;
  return *overflow_;
}

bool PackedReader::uses_mistaken_null() const {
  return mistaken_null_ || plans_->uses_mistaken_null();
}

bool PackedReader::uses_lost_type() const { return lost_type_ || plans_->uses_lost_type(); }

std::size_t PackedReader::read(Op* out, std::size_t capacity) {
  std::size_t made = take_overflow(out, capacity);
  std::uint64_t idle = 0;  // calls after the last action
  try {
    while (made < capacity) {
      if (at_ == end_ && (!pass_turns(made == 0) || !next_stretch())) break;
      std::size_t more = 0;
      if (!has_volumes_) {
        more = read_stretch(out + made, capacity - made);
      } else if (!shared_->file().draws_volumes()) {
        more = read_with_volumes(out + made, capacity - made);
      } else {
        more = read_call(out + made, capacity - made);
      }
      made += more;
      idle = more > 0 ? 0 : idle + 1;
      if (idle > kMaxIdleCalls) {
        shared_->file().damaged("it has 16,777,216 lines without an action");
      }
    }
  } catch (const tit::FormatError& error) {
    shared_->file().damaged(error.what());
  }
  return made;
}

bool PackedReader::next_stretch() {
  if (repeats_ > 0) {
    --repeats_;
    const Frame& frame = frames_[depth_ - 1];
    const ProgramSegment& segment = plans_->program().rule(frame.rule)[frame.segment - 1];
    at_ = segment.calls;
    end_ = at_ + segment.length;
    calls_begun_ += segment.length;
    return true;
  }
  while (depth_ > 0) {
    Frame& frame = frames_[depth_ - 1];
    const std::vector<ProgramSegment>& rule = plans_->program().rule(frame.rule);
    if (frame.segment == rule.size()) {
      if (--frame.remaining == 0) {
        --depth_;
      } else {
        frame.segment = 0;
      }
      continue;
    }
    const ProgramSegment& segment = rule[frame.segment++];
    if (segment.calls == nullptr) {
      frames_[depth_++] = {segment.length, 0, segment.repeats};
      continue;
    }
    at_ = segment.calls;
    end_ = at_ + segment.length;
    repeats_ = segment.repeats - 1;
    calls_begun_ += segment.length;
    return true;
  }
  return false;
}

// True if the call before `at_` is the rank's last one.
bool PackedReader::at_last_call() const {
  if (at_ != end_ || repeats_ > 0) return false;
  for (std::uint32_t i = 0; i < depth_; ++i) {
    const Frame& frame = frames_[i];
    if (frame.remaining > 1 || frame.segment < plans_->program().rule(frame.rule).size())
      return false;
  }
  return true;
}

// Reads calls of a class without volumes in a column.
std::size_t PackedReader::read_stretch(Op* out, std::size_t capacity) {
  if (line_ > kMaxLines - std::max(capacity, std::size_t{kBatch})) return read_call(out, capacity);
  // Operations are prepared once most of them have been produced several times.
  constexpr std::uint64_t kOften = 4;
  if (!prepared_ && line_ >= kOften * plans_->program().rank_class().signatures.size())
    prepare_plain_calls();
  std::size_t made = 0;
  if (!prepared_) {
    made = put_plain(out, capacity);
  } else if (capacity >= kBatch || saves_memory_ || shared_->file().ranks() > kMaxBatchedRanks) {
    made = put_prepared(out, capacity);
  } else {
    // Many at once: the end of a small batch within the stretch would be unpredictable.
    OverflowOps& overflow = overflow_buffer(kBatch);
    overflow.count = static_cast<std::uint32_t>(put_prepared(overflow.ops.get(), kBatch));
    made = take_overflow(out, capacity);
  }
  return made > 0 ? made : read_call(out, capacity);
}

// Writes calls whose plans are plain.
std::size_t PackedReader::put_plain(Op* out, std::size_t capacity) {
  const CallPlan* const plans = plans_->data();
  const ProgramCall* const start = at_;
  const std::size_t count = std::min(capacity, static_cast<std::size_t>(end_ - start));
  std::size_t made = 0;
  for (; made < count; ++made) {
    const CallPlan& plan = plans[start[made].call];
    if (plan.form != CallForm::plain) break;
    plan.put(rank_, position_, static_cast<std::uint32_t>(line_ + made + 1), out[made]);
  }
  if (made > 0) before_ = plans[start[made - 1].call].kind + 1;
  at_ += made;
  line_ += made;
  return made;
}

// Writes calls with prepared operations, including further repetitions of the stretch.
std::size_t PackedReader::put_prepared(Op* out, std::size_t capacity) {
  const CallPlan* const plans = plans_->data();
  const Op* const prepared = prepared_.get();
  Op* op = out;
  Op* const last = out + capacity;
  for (;;) {
    const ProgramCall* const start = at_;
    const std::size_t count =
        std::min(static_cast<std::size_t>(last - op), static_cast<std::size_t>(end_ - start));
    const auto line = static_cast<std::uint32_t>(line_);
    std::size_t made = 0;
    for (; made < count; ++made) {
      const Op& its = prepared[start[made].call];
      if (its.line == 0) break;
      op[made] = its;
      op[made].line = line + static_cast<std::uint32_t>(made) + 1;
    }
    if (made > 0) before_ = plans[start[made - 1].call].kind + 1;
    at_ += made;
    line_ += made;
    op += made;
    if (op == last) break;
    if (at_ == end_) {
      if (repeats_ == 0 || loop_ || !next_stretch()) break;
    } else {
      const std::size_t more = put_cached(op, last);
      if (more == 0) break;
      op += more;
    }
  }
  return static_cast<std::size_t>(op - out);
}

// Writes the next call if its several operations are cached and fit before `last`. A call with a
// single operation will be prepared instead.
std::size_t PackedReader::put_cached(Op* out, const Op* last) {
  const CallPlan& plan = plans_->data()[at_->call];
  const bool may_be_kept = plan.form == CallForm::patched || plan.form == CallForm::parsed;
  if (!may_be_kept || plan.has_columns || plan.details >= cached_.size()) return 0;
  const Cached& cached = cached_[plan.details];
  const auto room = static_cast<std::size_t>(last - out);
  if (cached.count < 2 || static_cast<std::size_t>(cached.count) > room) return 0;
  if (cached.step > kMaxLines - line_ - room) return 0;
  ++at_;
  before_ = plan.kind + 1;
  line_ += cached.step;
  const auto count = static_cast<std::size_t>(cached.count);
  for (std::size_t i = 0; i < count; ++i) {
    out[i] = cached.ops[i];
    out[i].line = static_cast<std::uint32_t>(line_);
  }
  return count;
}

// Reads a call that need not be plain.
std::size_t PackedReader::read_call(Op* out, std::size_t capacity) {
  const std::uint32_t call = (at_++)->call;
  const CallPlan& plan = plans_->at(call);
  Op ops[1 + LineParser::kMaxOps];
  std::size_t count = 0;
  std::uint32_t site = tit::SiteTable::kNone;
  if (has_volumes_ || plan.has_columns)
    site = shared_->file().site_table().find(before_, plan.kind);
  if (has_volumes_) {
    const std::uint64_t value = volume_at(site);
    if (value != 0) {
      ops[0].kind = Kind::compute;
      ops[0].amount = shared_->file().amount_of(value);
      ops[0].line = line_in_op(++line_);
      count = 1;
    }
  }
  before_ = plan.kind + 1;
  const std::uint64_t line = line_;
  const std::size_t made = make(call, plan, site, ops + count);
  if (made == 1 && line_ == line + 1 && !plan.has_columns && (has_volumes_ || prepared_)) {
    keep_prepared(call, ops[count]);
  }
  return put(ops, count + made, out, capacity);
}

std::size_t PackedReader::put(const Op* ops, std::size_t count, Op* out, std::size_t capacity) {
  const std::size_t fit = std::min(count, capacity);
  std::copy(ops, ops + fit, out);
  if (fit < count) {
    OverflowOps& overflow = overflow_buffer(OverflowOps::kMinCapacity);
    overflow.count = static_cast<std::uint32_t>(count - fit);
    std::copy(ops + fit, ops + count, overflow.ops.get());
  }
  return fit;
}

std::size_t PackedReader::make(std::uint32_t call, const CallPlan& plan, std::uint32_t site,
                               Op* ops) {
  if (plan.form == CallForm::silent) return 0;
  if (plan.form == CallForm::plain) {
    plan.put(rank_, position_, line_in_op(++line_), ops[0]);
    return 1;
  }
  if (!plan.has_columns) return make_cached(call, plan, ops);
  if (site == tit::SiteTable::kNone) {
    shared_->file().damaged("a call has no room for its values");
  }
  std::vector<std::int64_t>& numbers = shared_->numbers;
  plans_->program().numbers(call, position_, numbers);
  const tit::TraceTables& tables = shared_->file().tables();
  const tit::Signature& signature =
      tables.signatures[plans_->program().rank_class().signatures[call]];
  const tit::Shape& shape = tables.shapes[signature.shape];
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (signature.arguments[i].mode != tit::Mode::column) continue;
    numbers[i] = shared_->file().argument_of(shape.holes[i], value_at(++site));
  }
  std::uint64_t step = 1;
  const std::size_t count = make_from(call, plan, ops, step);
  line_ += step;
  for (std::size_t i = 0; i < count; ++i) ops[i].line = line_in_op(line_);
  return count;
}

std::size_t PackedReader::make_cached(std::uint32_t call, const CallPlan& plan, Op* ops) {
  if (saves_memory_) {
    plans_->program().numbers(call, position_, shared_->numbers);
    std::uint64_t step = 1;
    const std::size_t count = make_from(call, plan, ops, step);
    line_ += step;
    for (std::size_t i = 0; i < count; ++i) ops[i].line = line_in_op(line_);
    return count;
  }
  if (plan.details >= cached_.size()) cached_.resize(plan.details + std::size_t{1}, Cached{});
  Cached& cached = cached_[plan.details];
  std::uint64_t step = cached.step;
  std::size_t count = 0;
  if (cached.count < 0) {
    plans_->program().numbers(call, position_, shared_->numbers);
    const CallPlans* const before = plans_;
    count = make_from(call, plan, ops, step);
    // An `init` clears the cache.
    if (plans_ == before && count <= Cached::kMaxOps) {
      cached.count = static_cast<std::int8_t>(count);
      cached.step = step;
      std::copy(ops, ops + count, cached.ops);
    }
  } else {
    count = static_cast<std::size_t>(cached.count);
    std::copy(cached.ops, cached.ops + count, ops);
  }
  line_ += step;
  for (std::size_t i = 0; i < count; ++i) ops[i].line = line_in_op(line_);
  return count;
}

// Produces the operations of a call from its numbers.
std::size_t PackedReader::make_from(std::uint32_t call, const CallPlan& plan, Op* ops,
                                    std::uint64_t& step) {
  const CallDetails& details = plans_->details(plan);
  if (plan.form == CallForm::patched && plans_->apply(details, shared_->numbers, ops, step)) {
    return details.count;
  }
  const tit::TraceTables& tables = shared_->file().tables();
  const std::uint32_t signature = plans_->program().rank_class().signatures[call];
  const std::vector<tit::Hole>& holes = tables.shapes[tables.signatures[signature].shape].holes;
  step = 1;
  if (!holes.empty() && holes.back().mark == tit::kStepMark) {
    step = static_cast<std::uint64_t>(shared_->numbers.back());
  }
  return parse(call, ops, step);
}

std::size_t PackedReader::parse(std::uint32_t call, Op* ops, std::uint64_t step) {
  const PackedFile& file = shared_->file();
  const tit::TraceTables& tables = file.tables();
  const std::uint32_t signature = plans_->program().rank_class().signatures[call];
  CallTable& calls = shared_->calls();
  std::string& line = calls.scratch().text;
  line.clear();
  append_line(tables.shapes[tables.signatures[signature].shape], shared_->numbers, rank_, line);
  LineParser parser(shared_->grammar(), rank_, file.file().name, calls);
  parser.set_double_default(double_default_);
  const bool cut = at_last_call() && !file.has_last_newline(rank_);
  std::size_t count = 0;
  try {
    count = parser.parse(line, line_ + step, cut, ops);
  } catch (const TraceError& error) {
    throw TraceError(this->file(), error.line, error.message);
  }
  mistaken_null_ = mistaken_null_ || parser.uses_mistaken_null();
  lost_type_ = lost_type_ || parser.uses_lost_type();
  if (parser.double_default() != double_default_) {
    double_default_ = parser.double_default();
    switch_to(shared_->plans(file.class_of(rank_), double_default_));
  }
  return count;
}

// Uses the operations of `plans` from here on.
void PackedReader::switch_to(CallPlans& plans) {
  mistaken_null_ = mistaken_null_ || plans_->uses_mistaken_null();
  lost_type_ = lost_type_ || plans_->uses_lost_type();
  plans_ = &plans;
  if (loop_ && loop_->inside) loop_.reset();  // the repeated operations have changed
  cached_.clear();
  prepared_.reset();
}

// Stops of a reader at the turns of loops, and its volumes.

namespace {

constexpr std::uint32_t kLongLoop = 4;  // minimum number of repetitions that is worth a stop

// Writes a computation.
[[gnu::always_inline]] inline void put_compute(double amount, std::uint32_t line, Op& op) {
  static constexpr Op kCompute{Kind::compute, 0, 0, 0, {0}, 0, 0};
  std::memcpy(static_cast<void*>(&op), &kCompute, offsetof(Op, amount));  // with one copy
  op.amount = amount;
  op.tag = 0;
  op.line = line;
}

}  // namespace

bool PackedReader::stop_at_loops() {
  const tit::RankColumn* const column = shared_->file().column_of(rank_).column;
  if (column != nullptr && !column->blocks.empty()) return false;
  if (shared_->file().draws_volumes()) return false;  // drawn by call index, so turns differ
  loop_ = std::make_unique<Loop>();
  return true;
}

// Remaining repetitions of the loop with a turn at the cursor; nullopt: no turn is here. The
// current stretch has been read.
std::optional<std::uint64_t> PackedReader::repetitions_at_turn() {
  if (loop_->inside && loop_->is_stretch) return repeats_;
  while (repeats_ == 0 && depth_ > 0) {
    Frame& frame = frames_[depth_ - 1];
    const std::vector<ProgramSegment>& rule = plans_->program().rule(frame.rule);
    if (frame.segment < rule.size()) {
      const std::uint32_t repeats = rule[frame.segment].repeats;
      if (loop_->inside || repeats < kLongLoop) break;
      return repeats;
    }
    if (loop_->inside && depth_ == loop_->depth) return frame.remaining - 1;
    if (--frame.remaining == 0) {
      --depth_;
    } else {
      frame.segment = 0;
    }
  }
  return std::nullopt;
}

std::optional<LoopTurn> PackedReader::next_turn() {
  if (!loop_ || !loop_->stops || loop_->reported || at_ != end_ || has_overflow()) {
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
    loop_->reported = true;
  }
  return LoopTurn{*left, line_, is_first};
}

// Passes a turn that has been reported, or an unreported one if it `may_pass`.
bool PackedReader::pass_turn(bool may_pass) {
  while (const std::optional<std::uint64_t> left = repetitions_at_turn()) {
    if (!loop_->reported && loop_->stops && !may_pass) return false;
    if (*left == 0) {
      loop_->inside = false;
      continue;
    }
    loop_->reported = false;
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

void PackedReader::skip_repetitions(std::uint64_t count) {
  if (loop_->is_stretch) {
    repeats_ -= static_cast<std::uint32_t>(count);
  } else {
    frames_[depth_ - 1].remaining -= static_cast<std::uint32_t>(count);
  }
  line_ += count * loop_->lines_of_last;
  calls_begun_ += count * loop_->calls_of_last;
  loop_->line = line_;
  loop_->calls = calls_begun_;
  loop_->reported =
      repetitions_at_turn() != std::uint64_t{0};  // the end of the loop is still to be reported
}

// Reads calls of a class with volumes in a column.
std::size_t PackedReader::read_with_volumes(Op* out, std::size_t capacity) {
  const PackedFile& file = shared_->file();
  if (!column_) column_ = std::make_unique<ColumnStream>(file, file.column_of(rank_));
  if (line_ > kMaxLines - 2 * ColumnStream::kMaxAhead) return read_call(out, capacity);
  if (column_->ahead() == 0) {
    const CallPlan& plan = plans_->data()[at_->call];
    const auto count = std::min(static_cast<std::ptrdiff_t>(max_ahead()), end_ - at_);
    column_->read_ahead(at_, static_cast<std::uint32_t>(count),
                        plan.has_columns
                            ? tit::VolumeSites::kSpecial
                            : file.volume_sites().number(file.site_table(), before_, plan.kind));
  }
  std::size_t made = 0;
  if (capacity >= 2 * std::size_t{column_->ahead()}) {
    made = put_calls_ahead(out);
  } else {
    // All of them, not only as many as fit: that would be unpredictable.
    OverflowOps& overflow = overflow_buffer(2 * max_ahead());
    overflow.count = put_calls_ahead(overflow.ops.get());
    made = take_overflow(out, capacity);
  }
  return made > 0 ? made : read_call(out, capacity);
}

// Writes calls whose volumes have been read, as long as their operations are prepared.
std::uint32_t PackedReader::put_calls_ahead(Op* out) {
  const tit::VolumeSites& sites = shared_->file().volume_sites();
  const double* const amounts = sites.amounts();
  const auto listed = [=](std::uint32_t value) __attribute__((always_inline)) {
    return amounts[value];
  };
  const auto other = [this](std::uint32_t value) { return shared_->file().amount_of(value); };
  if (!prepared_) {
    const CallPlan* const plans = plans_->data();
    const auto put_plan = [=, this](std::uint32_t call, std::uint32_t line, Op& op) {
      if (plans[call].form != CallForm::plain) return false;
      plans[call].put(rank_, position_, line, op);
      return true;
    };
    return sites.is_listed() ? put_with(out, listed, put_plan) : put_with(out, other, put_plan);
  }
  const Op* const prepared = prepared_.get();
  const auto put_kept = [=](std::uint32_t call, std::uint32_t line, Op & op)
      __attribute__((always_inline)) {
    const Op& made = prepared[call];
    if (made.line == 0) return false;
    op = made;
    op.line = line;
    return true;
  };
  return sites.is_listed() ? put_with(out, listed, put_kept) : put_with(out, other, put_kept);
}

template <class AmountOf, class PutCall>
std::uint32_t PackedReader::put_with(Op* const out, const AmountOf& amount_of,
                                     const PutCall& put_call) {
  const ProgramCall* const calls = at_;
  const std::uint32_t* const values = column_->values_ahead();
  const std::size_t count = column_->ahead();
  auto line = static_cast<std::uint32_t>(line_);
  Op* op = out;
  std::size_t taken = 0;
  for (; taken != count; ++taken) {
    // The presence of a volume is unpredictable: write one in any case.
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

// Prepares the operation of a call that never varies for the next time.
void PackedReader::keep_prepared(std::uint32_t call, const Op& op) {
  if (!prepared_ && !allocate_prepared()) return;
  prepared_[call] = op;
}

// Allocates the prepared operations; returns false if they would take too much memory.
bool PackedReader::allocate_prepared() {
  constexpr std::size_t kMaxPrepared = 1024;
  const std::size_t calls = plans_->program().rank_class().signatures.size();
  if (saves_memory_ || calls > kMaxPrepared) return false;
  prepared_ = std::make_unique<Op[]>(calls);
  return true;
}

// Prepares the operations of all calls known to be plain.
void PackedReader::prepare_plain_calls() {
  if (!allocate_prepared()) return;
  const std::size_t calls = plans_->program().rank_class().signatures.size();
  const CallPlan* const plans = plans_->data();
  for (std::size_t call = 0; call < calls; ++call) {
    if (plans[call].form == CallForm::plain && !plans[call].has_columns) {
      plans[call].put(rank_, position_, 1, prepared_[call]);
    }
  }
}

std::uint64_t PackedReader::value_at(std::uint32_t site) {
  if (site == tit::SiteTable::kNone) return 0;
  const PackedFile::Site& value_site = shared_->file().site(site);
  if (!value_site.varies) return value_site.value;
  if (!column_)
    column_ = std::make_unique<ColumnStream>(shared_->file(), shared_->file().column_of(rank_));
  return column_->next(value_site.model);
}

// Value of the volume before a call.
std::uint64_t PackedReader::volume_at(std::uint32_t site) {
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
