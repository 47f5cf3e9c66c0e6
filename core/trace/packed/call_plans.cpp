#include "trace/packed/call_plans.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "trace/error.hpp"
#include "trace/tit/file/volume_code.hpp"

namespace tisim {

namespace {

constexpr std::size_t kNoHole = std::numeric_limits<std::size_t>::max();
// Maximum number of peers by rank that the plans of a class may keep.
constexpr std::size_t kMaxPeers = std::size_t{1} << 24;

}  // namespace

void append_line(const tit::Shape& shape, const std::vector<std::int64_t>& numbers,
                 std::int32_t rank, std::string& out) {
  if (shape.text.empty() || shape.text.front() != tit::kNoRankMark) {
    out.append(std::to_string(rank)).append(" ");
  }
  tit::append_text(shape.text, numbers.data(), out);
}

SharedCallPlans& SharedCallPlans::of(const std::shared_ptr<const void>& owner,
                                     const PackedFile& file, const TraceGrammar& grammar,
                                     CallTable& calls) {
  std::shared_ptr<void>& kept = calls.shared_by_readers(&grammar);
  if (!kept) kept = std::make_shared<SharedCallPlans>(owner, file, grammar, calls);
  return *static_cast<SharedCallPlans*>(kept.get());
}

CallPlans& SharedCallPlans::plans(std::uint32_t rank_class, bool double_default) {
  auto& plans = plans_[2 * std::size_t{rank_class} + (double_default ? 1 : 0)];
  if (!plans) {
    plans = std::make_unique<CallPlans>(file_, rank_class, grammar_, double_default, calls_,
                                        double_default ? known_of_doubles_ : known_);
  }
  return *plans;
}

CallPlans::CallPlans(const PackedFile& file, std::uint32_t rank_class, const TraceGrammar& grammar,
                     bool double_default, CallTable& calls, KnownCalls& known)
    : file_(file),
      program_(file.program(rank_class)),
      grammar_(grammar),
      calls_(calls),
      known_(known),
      double_default_(double_default),
      plans_(program_.rank_class().signatures.size()) {
  // Lines are parsed when they are reached, so that calls are interned as from a text.
  for (std::uint32_t call = 0; call < plans_.size(); ++call) {
    CallPlan& plan = plans_[call];
    plan.kind = file_.tables().kinds[program_.rank_class().signatures[call]];
    for (const tit::Argument& argument : signature(call).arguments) {
      if (argument.mode == tit::Mode::column) plan.has_columns = true;
    }
    if (signature(call).shape == tit::kSilentShape) plan.form = CallForm::silent;
  }
}

const tit::Signature& CallPlans::signature(std::uint32_t call) const {
  return file_.tables().signatures[program_.rank_class().signatures[call]];
}

void CallPlans::make(std::uint32_t call) {
  CallPlan& plan = plans_[call];
  std::unique_ptr<const KnownCall>& known =
      known_.by_signature[program_.rank_class().signatures[call]];
  if (known && reuse_known_call(call, *known)) return;
  const bool used_mistaken_null = std::exchange(uses_mistaken_null_, false);
  const bool used_lost_type = std::exchange(uses_lost_type_, false);
  CallDetails details;
  bool resolved = false;
  try {
    resolved = find(call, details);
  } catch (const TraceError&) {
    // The error is reported when the line is parsed for its rank.
  }
  if (!resolved) {
    plan.form = CallForm::parsed;
  } else if (!make_plain(call, details, plan)) {
    plan.form = CallForm::patched;
  }
  if (resolved && !known && is_class_independent(call, details)) {
    known = std::make_unique<const KnownCall>(
        KnownCall{plan, details, uses_mistaken_null_, uses_lost_type_});
  }
  uses_mistaken_null_ = uses_mistaken_null_ || used_mistaken_null;
  uses_lost_type_ = uses_lost_type_ || used_lost_type;
  if (plan.form != CallForm::plain) add_details(std::move(details), plan);
}

void CallPlans::add_details(CallDetails details, CallPlan& plan) {
  plan.details = static_cast<std::uint32_t>(details_.size());
  details_.push_back(std::move(details));
}

// Uses the plan of a call created for another class, if it applies to the numbers of all ranks.
bool CallPlans::reuse_known_call(std::uint32_t call, const KnownCall& known) {
  for (const FieldPatch& patch : known.details.patches) {
    if (!values_fit(call, patch, patch.hole)) return false;
  }
  plans_[call] = known.plan;
  if (known.plan.form != CallForm::plain) add_details(known.details, plans_[call]);
  uses_mistaken_null_ = uses_mistaken_null_ || known.uses_mistaken_null;
  uses_lost_type_ = uses_lost_type_ || known.uses_lost_type;
  return true;
}

bool CallPlans::apply(const CallDetails& details, const std::vector<std::int64_t>& numbers, Op* ops,
                      std::uint64_t& step) const {
  step = details.step;
  for (std::size_t i = 0; i < details.count; ++i) ops[i] = details.ops[i];
  for (const FieldPatch& patch : details.patches) {
    const std::int64_t value = numbers[patch.hole];
    if (patch.mode == tit::Mode::column && !in_range(patch, value)) return false;
    Op& op = ops[patch.op];
    switch (patch.field) {
      case FieldPatch::Field::peer:
        op.peer = static_cast<std::int32_t>(value);
        break;
      case FieldPatch::Field::tag:
        op.tag = static_cast<std::int32_t>(value);
        break;
      case FieldPatch::Field::bytes:
        op.bytes = value * patch.scale;
        break;
      case FieldPatch::Field::amount:
        op.amount = tit::volume_value(static_cast<std::uint64_t>(value));
        break;
      case FieldPatch::Field::step:
        step = static_cast<std::uint64_t>(value);
        break;
    }
  }
  return true;
}

// The peers of a call on all ranks of the class.
const std::int32_t* CallPlans::peers_of(std::uint32_t call, std::size_t hole) {
  std::vector<std::int32_t>& peers = peers_.emplace_back();
  std::vector<std::int64_t> numbers;
  for (std::uint32_t at = 0; at < program_.ranks().size(); ++at) {
    program_.numbers(call, at, numbers);
    peers.push_back(static_cast<std::int32_t>(numbers[hole]));
  }
  return peers.data();
}

// True if the masks and peers of a plan can express all patches.
bool CallPlans::make_plain(std::uint32_t call, const CallDetails& details, CallPlan& plan) {
  constexpr std::uint32_t kAll = ~std::uint32_t{0};
  if (details.count != 1 || details.step != 1 || plan.has_columns) return false;
  plan.op = details.ops[0];
  std::size_t by_rank = kNoHole;
  for (const FieldPatch& patch : details.patches) {
    const std::int64_t value = signature(call).arguments[patch.hole].value;
    if (patch.mode == tit::Mode::relative && patch.field == FieldPatch::Field::peer) {
      plan.op.peer = static_cast<std::int32_t>(value);
      plan.peer_sum = kAll;
    } else if (patch.mode == tit::Mode::exclusive && patch.field == FieldPatch::Field::peer) {
      plan.op.peer = static_cast<std::int32_t>(value);
      plan.peer_flip = kAll;
    } else if (patch.mode == tit::Mode::relative && patch.field == FieldPatch::Field::bytes &&
               patch.scale == 1) {
      plan.op.bytes = value;
      plan.bytes_sum = kAll;
    } else if (patch.mode == tit::Mode::by_rank && patch.field == FieldPatch::Field::peer) {
      by_rank = patch.hole;
    } else {
      return false;
    }
  }
  if (by_rank != kNoHole) {
    if ((peers_.size() + 1) * program_.ranks().size() > kMaxPeers) return false;
    plan.op.peer = 0;
    plan.peers = peers_of(call, by_rank);
    plan.by_position = kAll;
  }
  plan.form = CallForm::plain;
  return true;
}

// Determines which fields of a call's operations depend on which numbers of its line.

namespace {

// Limits of numbers that a patch handles; lines with larger ones are parsed, with their errors.
constexpr std::int64_t kMaxPatched = 1'000'000'000'000;
constexpr std::int64_t kMaxScale = 1'000'000;

// Trial values for a number in a column.
constexpr std::int64_t kTriedValue = 1;
constexpr std::int64_t kOtherTriedValue = 2;

bool has_amount(const Op& op) { return op.kind == Kind::compute || op.kind == Kind::sleep; }

// True if lines of this kind are the same on all ranks except for their numbers and have no entry
// in the call table, so that `bytes` is a number of bytes.
bool is_message(Form form) {
  return form == Form::send || form == Form::receive || form == Form::request;
}
bool is_message(Kind kind) { return is_message(traits_of(kind).form); }

bool is_patched(tit::Mode mode) { return mode != tit::Mode::constant; }

// Ignores the fields that a patch may change.
bool same_otherwise(const Op& a, const Op& b) {
  return a.kind == b.kind && a.flags == b.flags && a.comm == b.comm;
}

bool same(const Op* a, const Op* b, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const bool are_same = same_otherwise(a[i], b[i]) && a[i].peer == b[i].peer &&
                          a[i].bytes == b[i].bytes && a[i].tag == b[i].tag;
    if (!are_same) return false;
  }
  return true;
}

}  // namespace

// The line of a call on the first rank of the class, and its operations.
struct CallPlans::Probe {
  std::uint32_t call;
  CallTable& calls;
  std::vector<std::int64_t> numbers = {};
  Op ops[LineParser::kMaxOps] = {};
  std::size_t count = 0;
};

bool CallPlans::find(std::uint32_t call, CallDetails& details) {
  // The line of a single rank gives its operations directly: no trial is needed.
  const bool has_columns = plans_[call].has_columns;
  const bool is_alone = program_.ranks().size() == 1 && !has_columns;
  if (is_alone) return find_patches(call, details, calls_);
  if (!find_patches(call, details, tried_) || !equals_parsed(call, details, tried_)) return false;
  if (is_message(details.ops[0].kind)) return true;
  // Parse again with the final table: calls of trial lines must not enter the trace's table.
  std::vector<std::int64_t> numbers;
  first_numbers(call, numbers);
  parse(call, numbers, program_.ranks().front(), calls_, details.ops);
  return true;
}

// True if the call makes the same operations on all its ranks, except for patched fields.
bool CallPlans::is_class_independent(std::uint32_t call, const CallDetails& details) const {
  const tit::Signature& call_signature = signature(call);
  const Action* const action = action_of(call);
  if (action == nullptr || !is_message(action->form)) return false;
  std::size_t patched = 0;
  for (const tit::Argument& argument : call_signature.arguments) {
    if (argument.mode == tit::Mode::by_rank || argument.mode == tit::Mode::column) return false;
    if (is_patched(argument.mode)) ++patched;
  }
  return patched == details.patches.size();
}

// The numbers of the call on the first rank of the class, with trial values for those in columns.
void CallPlans::first_numbers(std::uint32_t call, std::vector<std::int64_t>& numbers) const {
  program_.numbers(call, 0, numbers);
  const tit::Signature& call_signature = signature(call);
  for (std::size_t hole = 0; hole < call_signature.arguments.size(); ++hole) {
    if (call_signature.arguments[hole].mode == tit::Mode::column) numbers[hole] = kTriedValue;
  }
}

std::size_t CallPlans::parse(std::uint32_t call, const std::vector<std::int64_t>& numbers,
                             std::int32_t rank, CallTable& calls, Op* ops) {
  std::string& line = calls.scratch().text;
  line.clear();
  append_line(file_.tables().shapes[signature(call).shape], numbers, rank, line);
  LineParser parser(grammar_, rank, file_.file().name, calls);
  parser.set_double_default(double_default_);
  const std::size_t count = parser.parse(line, 1, false, ops);
  uses_mistaken_null_ = uses_mistaken_null_ || parser.uses_mistaken_null();
  uses_lost_type_ = uses_lost_type_ || parser.uses_lost_type();
  return count;
}

// The action of a call's line; nullptr if it is unknown without parsing the line.
const Action* CallPlans::action_of(std::uint32_t call) const {
  const std::uint32_t shape = signature(call).shape;
  std::optional<const Action*>& known = known_.actions[shape];
  if (!known) {
    const std::string_view text = file_.tables().shapes[shape].text;
    known = grammar_.vocabulary->find(text.substr(0, text.find_first_of(" \t")));
  }
  return *known;
}

bool CallPlans::find_patches(std::uint32_t call, CallDetails& details, CallTable& tried) {
  const tit::Signature& call_signature = signature(call);
  const tit::Shape& shape = file_.tables().shapes[call_signature.shape];
  Probe probe{call, tried};
  first_numbers(call, probe.numbers);
  for (std::size_t hole = 0; hole < call_signature.arguments.size(); ++hole) {
    if (shape.holes[hole].mark == tit::kStepMark) {
      details.step = static_cast<std::uint64_t>(probe.numbers[hole]);
    }
  }
  probe.count = parse(call, probe.numbers, program_.ranks().front(), tried, probe.ops);
  for (std::size_t i = 0; i < probe.count; ++i) {
    details.ops[i] = probe.ops[i];
    if ((probe.ops[i].flags & (kIsInit | kSourceLost)) != 0) return false;
  }
  details.count = probe.count;
  // `start` may have another meaning on the rank that it names.
  const Action* const action = action_of(call);
  if (action != nullptr && action->form == Form::start) return false;
  std::vector<std::int64_t> others;
  for (std::size_t hole = 0; hole < call_signature.arguments.size(); ++hole) {
    const tit::Mode mode = call_signature.arguments[hole].mode;
    if (!is_patched(mode)) continue;
    if (hole > std::numeric_limits<std::uint8_t>::max()) return false;
    FieldPatch patch;
    patch.hole = static_cast<std::uint8_t>(hole);
    patch.mode = mode;
    if (shape.holes[hole].mark == tit::kStepMark) {
      patch.field = FieldPatch::Field::step;
      details.patches.push_back(patch);
      continue;
    }
    std::int64_t other = kOtherTriedValue;
    if (mode != tit::Mode::column) {
      // The number on another rank. If it is the same on all ranks, the first one's suffices.
      const std::size_t ranks = program_.ranks().size();
      for (std::size_t at = ranks; --at > 0;) {
        program_.numbers(call, static_cast<std::uint32_t>(at), others);
        other = others[hole];
        if (other != probe.numbers[hole]) break;
      }
      if (ranks == 1 || other == probe.numbers[hole]) continue;
    }
    if (!find_patch(probe, hole, other, patch) || !values_fit(call, patch, hole)) return false;
    details.patches.push_back(patch);
  }
  return true;
}

// Finds the field that depends on the number of a hole, by parsing the line with `other` instead.
bool CallPlans::find_patch(Probe& probe, std::size_t hole, std::int64_t other, FieldPatch& patch) {
  using Field = FieldPatch::Field;
  const std::int64_t value = probe.numbers[hole];
  Op ops[LineParser::kMaxOps];
  probe.numbers[hole] = other;
  const std::size_t count =
      parse(probe.call, probe.numbers, program_.ranks().front(), probe.calls, ops);
  probe.numbers[hole] = value;
  if (count != probe.count) return false;
  bool differs = false;
  for (std::size_t i = 0; i < count; ++i) {
    const Op& before = probe.ops[i];
    const Op& after = ops[i];
    if (!same_otherwise(before, after)) return false;
    const int differences = (before.peer != after.peer ? 1 : 0) +
                            (before.bytes != after.bytes ? 1 : 0) +
                            (before.tag != after.tag ? 1 : 0);
    if (differences == 0) continue;
    if (differences > 1 || differs) return false;
    differs = true;
    patch.op = static_cast<std::uint8_t>(i);
    if (before.peer != after.peer) {
      patch.field = Field::peer;
      if (before.peer != value || after.peer != other) return false;
    } else if (before.tag != after.tag) {
      patch.field = Field::tag;
      if (before.tag != value || after.tag != other) return false;
    } else if (has_amount(before)) {
      // A second operation only exists if its amount is not 0.
      patch.field = Field::amount;
      const tit::Shape& shape = file_.tables().shapes[signature(probe.call).shape];
      if (i > 0 || shape.holes[hole].mark != tit::kVolumeMark) return false;
      if (before.amount != tit::volume_value(static_cast<std::uint64_t>(value)) ||
          after.amount != tit::volume_value(static_cast<std::uint64_t>(other))) {
        return false;
      }
    } else {
      // In a line with a call, the call's index is stored in place of the bytes.
      patch.field = Field::bytes;
      if (!is_message(before.kind) && probe.calls.size() > 0) return false;
      const std::int64_t step = other - value;
      const std::int64_t change = after.bytes - before.bytes;
      if (change % step != 0) return false;
      patch.scale = change / step;
      if (patch.scale < 1 || patch.scale > kMaxScale) return false;
      if (before.bytes != patch.scale * value) return false;
    }
  }
  return differs;
}

bool CallPlans::in_range(const FieldPatch& patch, std::int64_t value) const {
  switch (patch.field) {
    case FieldPatch::Field::peer:
      return value >= 0 && value < grammar_.ranks;
    case FieldPatch::Field::tag:
      return value >= 0 && value <= std::numeric_limits<std::int32_t>::max();
    case FieldPatch::Field::bytes:
      return value >= 0 && value <= kMaxPatched;
    case FieldPatch::Field::amount:
      return tit::is_volume_code(static_cast<std::uint64_t>(value));
    case FieldPatch::Field::step:
      return true;
  }
  return false;
}

// True if the patch can handle the numbers of all ranks.
bool CallPlans::values_fit(std::uint32_t call, const FieldPatch& patch, std::size_t hole) {
  if (patch.mode == tit::Mode::column) return true;
  const std::vector<std::int32_t>& ranks = program_.ranks();
  const std::int64_t value = signature(call).arguments[hole].value;
  if (patch.mode == tit::Mode::exclusive) {
    return std::all_of(ranks.begin(), ranks.end(),
                       [&](std::int32_t rank) { return in_range(patch, value ^ rank); });
  }
  std::vector<std::int64_t>& numbers = numbers_;
  if (patch.mode == tit::Mode::relative) {
    // The range includes all numbers between two of its members. Sums wrap around.
    const auto number = [&](std::int32_t rank) {
      return static_cast<std::int64_t>(static_cast<std::uint64_t>(value) +
                                       static_cast<std::uint64_t>(rank));
    };
    return in_range(patch, number(ranks.front())) && in_range(patch, number(ranks.back()));
  }
  for (std::uint32_t at = 0; at < program_.ranks().size(); ++at) {
    program_.numbers(call, at, numbers);
    if (!in_range(patch, numbers[hole])) return false;
  }
  return true;
}

// True if the operations for the last rank of the class equal those of its parsed line.
bool CallPlans::equals_parsed(std::uint32_t call, const CallDetails& details, CallTable& tried) {
  const std::int32_t rank = program_.ranks().back();
  const tit::Signature& call_signature = signature(call);
  std::vector<std::int64_t> numbers;
  program_.numbers(call, static_cast<std::uint32_t>(program_.ranks().size()) - 1, numbers);
  for (std::size_t hole = 0; hole < call_signature.arguments.size(); ++hole) {
    if (call_signature.arguments[hole].mode == tit::Mode::column) numbers[hole] = kOtherTriedValue;
  }
  Op parsed[LineParser::kMaxOps];
  Op applied[LineParser::kMaxOps];
  std::uint64_t step = 0;
  return parse(call, numbers, rank, tried, parsed) == details.count &&
         apply(details, numbers, applied, step) && same(parsed, applied, details.count);
}

}  // namespace tisim
