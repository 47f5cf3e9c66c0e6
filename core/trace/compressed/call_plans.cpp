#include "trace/compressed/call_plans.hpp"

#include <limits>
#include <utility>

#include "trace/error.hpp"
#include "trace/tit/file/volume_code.hpp"

namespace tisim {

namespace {

constexpr std::size_t kNoHole = std::numeric_limits<std::size_t>::max();
// Peers by rank that the plans of a class may keep.
constexpr std::size_t kMostPeers = std::size_t{1} << 24;

}  // namespace

void append_line(const tit::Shape& shape, const std::vector<std::int64_t>& numbers,
                 std::int32_t rank, std::string& out) {
  if (shape.text.empty() || shape.text.front() != tit::kNoRankMark) {
    out.append(std::to_string(rank)).append(" ");
  }
  tit::append_text(shape.text, numbers.data(), out);
}

SharedCallPlans& SharedCallPlans::of(const std::shared_ptr<const void>& owner,
                                     const CompressedFile& file, const TraceGrammar& grammar,
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

CallPlans::CallPlans(const CompressedFile& file, std::uint32_t rank_class,
                     const TraceGrammar& grammar, bool double_default, CallTable& calls,
                     KnownCalls& known)
    : file_(file),
      program_(file.program(rank_class)),
      grammar_(grammar),
      calls_(calls),
      known_(known),
      double_default_(double_default),
      plans_(program_.rank_class().signatures.size()) {
  // The lines are parsed when they are met, so that calls are interned as those of a text.
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
  if (known && take_known(call, *known)) return;
  if (take_kind(call)) return;
  const bool used_mistaken_null = std::exchange(uses_mistaken_null_, false);
  const bool used_lost_type = std::exchange(uses_lost_type_, false);
  CallDetails details;
  bool found = false;
  try {
    found = find(call, details);
  } catch (const TraceError&) {
    // It is said when the line is parsed for its rank.
  }
  if (!found) {
    plan.form = CallForm::parsed;
  } else if (!make_plain(call, details, plan)) {
    plan.form = CallForm::patched;
  }
  if (found && !known && is_for_all_classes(call, details)) {
    known = std::make_unique<const KnownCall>(
        KnownCall{plan, details, uses_mistaken_null_, uses_lost_type_});
    const KnownCall*& of_kind = known_.by_kind[plan.kind];
    if (of_kind == nullptr && is_for_all_of_kind(call, details)) of_kind = known.get();
  }
  uses_mistaken_null_ = uses_mistaken_null_ || used_mistaken_null;
  uses_lost_type_ = uses_lost_type_ || used_lost_type;
  if (plan.form != CallForm::plain) add_details(std::move(details), plan);
}

void CallPlans::add_details(CallDetails details, CallPlan& plan) {
  plan.details = static_cast<std::uint32_t>(details_.size());
  details_.push_back(std::move(details));
}

// Takes the plan of a call that was made for another class, if the numbers of all ranks go through.
bool CallPlans::take_known(std::uint32_t call, const KnownCall& known) {
  for (const FieldPatch& patch : known.details.patches) {
    if (!values_fit(call, patch, patch.hole)) return false;
  }
  plans_[call] = known.plan;
  if (known.plan.form != CallForm::plain) add_details(known.details, plans_[call]);
  uses_mistaken_null_ = uses_mistaken_null_ || known.uses_mistaken_null;
  uses_lost_type_ = uses_lost_type_ || known.uses_lost_type;
  return true;
}

// Makes the plan of a message from that of another one of its kind, which has other ranks in it.
bool CallPlans::take_kind(std::uint32_t call) {
  CallPlan& plan = plans_[call];
  const KnownCall* const known = known_.by_kind[plan.kind];
  if (known == nullptr) return false;
  const tit::Signature& said = signature(call);
  const tit::Shape& shape = file_.tables().shapes[said.shape];
  for (std::size_t hole = 0; hole < said.arguments.size(); ++hole) {
    const bool is_constant = said.arguments[hole].mode == tit::Mode::constant;
    if (!shape.is_rank(hole) && !is_constant) return false;
  }
  CallDetails details = known->details;
  details.patches.clear();
  for (FieldPatch patch : known->details.patches) {
    const tit::Argument& rank = said.arguments[patch.hole];
    const bool is_peer = patch.field == FieldPatch::Field::peer;
    patch.mode = rank.mode;
    patch.field = FieldPatch::Field::peer;  // in the range of ranks, wherever it goes
    if (rank.mode == tit::Mode::column || !values_fit(call, patch, patch.hole)) return false;
    if (!is_peer) patch.field = FieldPatch::Field::bytes;
    if (rank.mode != tit::Mode::constant) {
      details.patches.push_back(patch);
    } else if (is_peer) {
      details.ops[0].peer = static_cast<std::int32_t>(rank.value);
    } else {
      details.ops[0].bytes = rank.value;
    }
  }
  if (!make_plain(call, details, plan)) return false;
  uses_lost_type_ = uses_lost_type_ || known->uses_lost_type;
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

// Whether all patches can be said by the masks and peers of a plan.
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
    if ((peers_.size() + 1) * program_.ranks().size() > kMostPeers) return false;
    plan.op.peer = 0;
    plan.peers = peers_of(call, by_rank);
    plan.by_position = kAll;
  }
  plan.form = CallForm::plain;
  return true;
}

}  // namespace tisim
