#include "trace/compressed/reader.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "tit/codec/error.hpp"
#include "tit/file/volume_code.hpp"
#include "trace/error.hpp"

namespace tisim {

namespace {

constexpr std::uint64_t kMostLines = std::numeric_limits<std::uint32_t>::max();

std::uint32_t line_in_op(std::uint64_t line) {
  return static_cast<std::uint32_t>(std::min(line, kMostLines));
}

}  // namespace

// A call makes at most a computation before it and the operations of its line.
struct CompressedReader::Waiting {
  Op ops[1 + LineParser::kMostOps];
  std::uint32_t first = 0;
  std::uint32_t count = 0;
};

CompressedReader::CompressedReader(const std::shared_ptr<const void>& owner,
                                   const TraceGrammar& grammar, std::int32_t rank,
                                   const CompressedFile& file, CallTable& calls)
    : shared_(&SharedCallPlans::of(owner, file, grammar, calls)),
      plans_(&shared_->plans(file.class_of(rank), false)),
      rank_(rank),
      position_(file.position_of(rank)),
      has_volumes_(plans_->program().rank_class().has_volumes) {
  frames_ = std::make_unique<Frame[]>(plans_->program().depth());
  frames_[0] = {0, 0, 1};
  depth_ = 1;
}

CompressedReader::~CompressedReader() = default;

bool CompressedReader::has_waiting() const { return waiting_ && waiting_->count > 0; }

bool CompressedReader::uses_mistaken_null() const {
  return mistaken_null_ || plans_->uses_mistaken_null();
}

bool CompressedReader::uses_lost_type() const { return lost_type_ || plans_->uses_lost_type(); }

std::size_t CompressedReader::read(Op* out, std::size_t capacity) {
  std::size_t made = 0;
  if (has_waiting()) {
    Waiting& waiting = *waiting_;
    for (; made < capacity && waiting.count > 0; --waiting.count) {
      out[made++] = waiting.ops[waiting.first++];
    }
  }
  try {
    while (made < capacity) {
      if (at_ == end_ && ((loop_ && !pass_turn(made == 0)) || !next_stretch())) break;
      if (!has_volumes_) {
        made += read_stretch(out + made, capacity - made);
      } else if (!shared_->file().draws_volumes()) {
        made += read_with_volumes(out + made, capacity - made);
      } else {
        made += read_call(out + made, capacity - made);
      }
    }
  } catch (const tit::FormatError& error) {
    shared_->file().damaged(error.what());
  }
  return made;
}

bool CompressedReader::next_stretch() {
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
      if (--frame.left == 0) {
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

// Whether the call before `at_` is the rank's last one.
bool CompressedReader::at_last_call() const {
  if (at_ != end_ || repeats_ > 0) return false;
  for (std::uint32_t i = 0; i < depth_; ++i) {
    const Frame& frame = frames_[i];
    if (frame.left > 1 || frame.segment < plans_->program().rule(frame.rule).size()) return false;
  }
  return true;
}

// A call of the form plain.
inline void CompressedReader::put_plain(const CallPlan& plan, std::uint64_t line, Op& op) const {
  const auto rank = static_cast<std::uint32_t>(rank_);
  op.kind = plan.op.kind;
  op.flags = plan.op.flags;
  op.comm = plan.op.comm;
  op.peer = static_cast<std::int32_t>(
      (static_cast<std::uint32_t>(plan.op.peer) + (rank & plan.peer_sum)) ^
      (rank & plan.peer_flip));
  op.bytes = plan.op.bytes + (rank & plan.bytes_sum);
  op.tag = plan.op.tag;
  op.line = static_cast<std::uint32_t>(line);
}

// A computation.
inline void put_compute(double amount, std::uint32_t line, Op& op) {
  op.kind = Kind::compute;
  op.flags = 0;
  op.comm = 0;
  op.peer = 0;
  op.amount = amount;
  op.tag = 0;
  op.line = line;
}

// Calls of a class without volumes in a column.
std::size_t CompressedReader::read_stretch(Op* out, std::size_t capacity) {
  const CallPlan* const plans = plans_->data();
  const ProgramCall* const start = at_;
  const std::uint64_t line = line_;
  const std::size_t count = std::min(capacity, static_cast<std::size_t>(end_ - start));
  if (line > kMostLines - count) return read_call(out, capacity);
  std::size_t made = 0;
  for (; made < count; ++made) {
    const CallPlan& plan = plans[start[made].call];
    if (plan.form != CallForm::plain) break;
    put_plain(plan, line + made + 1, out[made]);
  }
  at_ += made;
  line_ += made;
  if (made > 0) before_ = plans[start[made - 1].call].kind + 1;
  if (made < count) made += read_call(out + made, capacity - made);
  return made;
}

// Calls of a class with volumes in a column.
std::size_t CompressedReader::read_with_volumes(Op* out, std::size_t capacity) {
  const CompressedFile& file = shared_->file();
  if (!column_) column_ = std::make_unique<ColumnStream>(file, file.column_of(rank_));
  if (line_ > kMostLines - 2 * capacity) return read_call(out, capacity);
  if (column_->ahead() == 0 && !volume_done_) {
    const CallPlan& plan = plans_->data()[at_->call];
    column_->read_ahead(at_, end_,
                        plan.has_columns
                            ? tit::VolumeSites::kSpecial
                            : file.volume_sites().number(file.site_table(), before_, plan.kind));
  }
  const std::size_t made = put_calls_ahead(out, capacity);
  if (made > 0) return made;
  return read_call(out, capacity);
}

// The next call, if that is a quick one: plain, or one operation that this rank has made before.
inline bool CompressedReader::put_quickly(const CallPlan& plan, std::uint32_t line, Op& op) const {
  if (__builtin_expect(plan.form == CallForm::plain, 1)) {
    put_plain(plan, line, op);
    return true;
  }
  const bool may_be_cached = plan.form == CallForm::patched || plan.form == CallForm::parsed;
  if (!may_be_cached || plan.has_columns || plan.details >= cached_.size()) return false;
  const Cached& cached = cached_[plan.details];
  if (cached.count != 1 || cached.step != 1) return false;
  op = cached.ops[0];
  op.line = line;
  return true;
}

// Calls whose volumes have been read.
std::size_t CompressedReader::put_calls_ahead(Op* out, std::size_t capacity) {
  const CallPlan* const plans = plans_->data();
  const CompressedFile& file = shared_->file();
  const double* const amounts =
      file.volume_sites().is_listed() ? file.volume_sites().amounts() : nullptr;
  const auto amount_of = [&](std::uint32_t value) {
    return amounts != nullptr ? amounts[value] : file.amount_of(value);
  };
  const ProgramCall* at = at_;
  const std::uint32_t* const values = column_->values_ahead();
  const std::uint32_t count = column_->ahead();
  std::uint32_t taken = 0;
  auto line = static_cast<std::uint32_t>(line_);
  std::size_t made = 0;
  if (volume_done_) {
    if (!put_quickly(plans[at->call], line + 1, out[0])) return 0;
    volume_done_ = false;
    ++at;
    ++line;
    ++made;
  }
  for (; taken < count && made + 1 < capacity; ++taken, ++at) {
    // Whether there is a volume cannot be foretold: one is written in any case.
    const std::uint32_t value = values[taken];
    const std::uint32_t is_computed = value != 0 ? 1 : 0;
    put_compute(amount_of(value), line + 1, out[made]);
    if (!put_quickly(plans[at->call], line + is_computed + 1, out[made + is_computed])) break;
    line += is_computed + 1;
    made += is_computed + 1;
  }
  if (taken < count && made + 1 == capacity) {
    const std::uint32_t value = values[taken];
    if (value != 0) {
      put_compute(amount_of(value), ++line, out[made++]);
      ++taken;
      volume_done_ = true;
    } else if (put_quickly(plans[at->call], line + 1, out[made])) {
      ++line;
      ++made;
      ++taken;
      ++at;
    }
  }
  column_->take_ahead(taken);
  line_ = line;
  if (at != at_) before_ = plans[at[-1].call].kind + 1;
  at_ = at;
  return made;
}

// Any call, which need not be plain.
std::size_t CompressedReader::read_call(Op* out, std::size_t capacity) {
  const std::uint32_t call = (at_++)->call;
  const CallPlan& plan = plans_->at(call);
  Op ops[1 + LineParser::kMostOps];
  std::size_t count = 0;
  std::uint32_t site = tit::SiteTable::kNone;
  if (has_volumes_ || plan.has_columns)
    site = shared_->file().site_table().find(before_, plan.kind);
  if (has_volumes_ && !volume_done_) {
    const std::uint64_t value = volume_at(site);
    if (value != 0) {
      ops[0].kind = Kind::compute;
      ops[0].amount = shared_->file().amount_of(value);
      ops[0].line = line_in_op(++line_);
      count = 1;
    }
  }
  volume_done_ = false;
  before_ = plan.kind + 1;
  count += make(call, plan, site, ops + count);
  return put(ops, count, out, capacity);
}

std::size_t CompressedReader::put(const Op* ops, std::size_t count, Op* out, std::size_t capacity) {
  const std::size_t fit = std::min(count, capacity);
  std::copy(ops, ops + fit, out);
  if (fit < count) {
    if (!waiting_) waiting_ = std::make_unique<Waiting>();
    waiting_->first = 0;
    waiting_->count = static_cast<std::uint32_t>(count - fit);
    std::copy(ops + fit, ops + count, waiting_->ops);
  }
  return fit;
}

std::size_t CompressedReader::make(std::uint32_t call, const CallPlan& plan, std::uint32_t site,
                                   Op* ops) {
  if (plan.form == CallForm::silent) return 0;
  if (plan.form == CallForm::plain) {
    put_plain(plan, line_in_op(++line_), ops[0]);
    return 1;
  }
  if (!plan.has_columns) return make_cached(call, plan, ops);
  if (site == tit::SiteTable::kNone) {
    shared_->file().damaged("a call has no place for its values");
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

std::size_t CompressedReader::make_cached(std::uint32_t call, const CallPlan& plan, Op* ops) {
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
    if (plans_ == before) {  // no `init` that has thrown the cache away
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

// The operations of a call whose numbers are at hand.
std::size_t CompressedReader::make_from(std::uint32_t call, const CallPlan& plan, Op* ops,
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

std::size_t CompressedReader::parse(std::uint32_t call, Op* ops, std::uint64_t step) {
  const CompressedFile& file = shared_->file();
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
    follow(shared_->plans(file.class_of(rank_), double_default_));
  }
  return count;
}

// From now on the operations are those of `plans`.
void CompressedReader::follow(CallPlans& plans) {
  mistaken_null_ = mistaken_null_ || plans_->uses_mistaken_null();
  lost_type_ = lost_type_ || plans_->uses_lost_type();
  plans_ = &plans;
  if (loop_ && loop_->inside) loop_.reset();  // what is repeated now is something else
  cached_.clear();
}

}  // namespace tisim
