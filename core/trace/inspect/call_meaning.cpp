#include "trace/inspect/call_meaning.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <numeric>
#include <span>
#include <string_view>
#include <tuple>
#include <unordered_map>

#include "trace/error.hpp"
#include "trace/grammar/line_parser.hpp"
#include "trace/packed/call_plans.hpp"
#include "trace/vocabulary/collective_call.hpp"

namespace tisim {

namespace {

bool after(DefaultTypeEffect effect, bool before) {
  return effect == DefaultTypeEffect::kept ? before : effect == DefaultTypeEffect::doubles;
}

// The first and last call of each rule, and the default type after it if that was bytes or double
// before.
class RuleEnds {
 public:
  struct Ends {
    std::uint32_t first = 0;
    std::uint32_t last = 0;
    std::array<bool, 2> after{false, true};
  };

  RuleEnds(const tit::Grammar& grammar, const std::vector<DefaultTypeEffect>& effects)
      : effects_(effects), rules_(grammar.rules.size()) {
    for (const std::uint32_t rule : grammar.used_first()) {
      const std::vector<tit::Item>& items = grammar.rules[rule];
      if (items.empty()) continue;
      Ends& ends = rules_[rule];
      ends.first = of(items.front()).first;
      ends.last = of(items.back()).last;
      for (const tit::Item& item : items) {
        const Ends inner = of(item);
        for (bool& state : ends.after) state = inner.after[state ? 1 : 0];
      }
    }
  }

  Ends of(tit::Item item) const {
    if (item.is_rule()) return rules_[item.number()];
    const DefaultTypeEffect effect = effects_[item.number()];
    return {item.number(), item.number(), {after(effect, false), after(effect, true)}};
  }

 private:
  const std::vector<DefaultTypeEffect>& effects_;
  std::vector<Ends> rules_;
};

class ContextCounts {
 public:
  void add(std::uint32_t before, std::uint32_t call, bool double_default, std::uint64_t times) {
    // Numbers of calls and rules are below 2^31.
    const std::uint64_t key = std::uint64_t{before} << 32 | call << 1 | (double_default ? 1 : 0);
    times_[key] += times;
  }

  std::vector<CallContext> sorted() const {
    std::vector<CallContext> all;
    all.reserve(times_.size());
    for (const auto& [key, times] : times_) {
      all.push_back({static_cast<std::uint32_t>(key >> 32), static_cast<std::uint32_t>(key) >> 1,
                     (key & 1) != 0, times});
    }
    std::sort(all.begin(), all.end(), [](const CallContext& a, const CallContext& b) {
      return std::tie(a.before, a.call, a.double_default) <
             std::tie(b.before, b.call, b.double_default);
    });
    return all;
  }

 private:
  std::unordered_map<std::uint64_t, std::uint64_t> times_;
};

}  // namespace

std::vector<CallContext> contexts_of(const tit::Grammar& grammar,
                                     const std::vector<DefaultTypeEffect>& effects) {
  const RuleEnds ends(grammar, effects);
  ContextCounts counts;
  if (grammar.rules[0].empty()) return {};
  counts.add(0, ends.of(grammar.rules[0].front()).first, false, 1);
  // How often each rule occurs while the default type is bytes or double.
  std::vector<std::array<std::uint64_t, 2>> uses(grammar.rules.size());
  uses[0][0] = 1;
  std::vector<std::uint32_t> order = grammar.used_first();
  std::reverse(order.begin(), order.end());
  const auto follow = [&](tit::Item item, bool state, std::uint64_t times) {
    if (item.is_rule()) uses[item.number()][state ? 1 : 0] += times;
  };
  for (const std::uint32_t rule : order) {
    for (const bool entered : {false, true}) {
      const std::uint64_t times = uses[rule][entered ? 1 : 0];
      if (times == 0) continue;
      bool state = entered;
      std::uint32_t before = 0;
      for (const tit::Item& item : grammar.rules[rule]) {
        const RuleEnds::Ends inner = ends.of(item);
        // The context of the rule's own first call is counted where the rule is used.
        if (before > 0) counts.add(before, inner.first, state, times);
        follow(item, state, times);
        // From its second repetition on, an item leaves the default type unchanged.
        state = inner.after[state ? 1 : 0];
        if (item.exponent > 1) {
          const std::uint64_t again = times * (item.exponent - 1);
          counts.add(inner.last + 1, inner.first, state, again);
          follow(item, state, again);
        }
        before = inner.last + 1;
      }
    }
  }
  return counts.sorted();
}

std::uint32_t last_call_of(const tit::Grammar& grammar) {
  std::uint32_t rule = 0;
  while (!grammar.rules[rule].empty()) {
    const tit::Item last = grammar.rules[rule].back();
    if (!last.is_rule()) return last.number() + 1;
    rule = last.number();
  }
  return 0;
}

namespace {

constexpr std::size_t kMaxCalls = 4096;  // calls in the table before it is cleared

std::int64_t bytes_of(std::span<const double> counts, std::int64_t width) {
  constexpr double kMaxBytes = 0x1p62;
  const double elements = std::accumulate(counts.begin(), counts.end(), 0.0);
  return static_cast<std::int64_t>(std::min(elements * static_cast<double>(width), kMaxBytes));
}

}  // namespace

CallMeaning CallReader::read(std::uint32_t signature, const std::vector<std::int64_t>& numbers,
                             std::int32_t rank, bool double_default) {
  CallMeaning meaning;
  const tit::TraceTables& tables = file_.tables();
  const tit::Signature& call_signature = tables.signatures[signature];
  if (call_signature.shape == tit::kSilentShape) return meaning;
  if (calls_->size() > kMaxCalls) calls_ = std::make_unique<CallTable>();
  std::string& line = calls_->scratch().text;
  line.clear();
  append_line(tables.shapes[call_signature.shape], numbers, rank, line);
  LineParser parser(grammar_, rank, file_.file().name, *calls_);
  parser.set_double_default(double_default);
  Op ops[LineParser::kMaxOps];
  std::size_t count = 0;
  try {
    count = parser.parse(line, 1, false, ops);
  } catch (const TraceError&) {
    meaning.role = CallMeaning::Role::unreadable;
    meaning.action = action_word();
    return meaning;
  }
  if (count == 0) return meaning;
  meaning.role =
      ops[0].kind == Kind::compute ? CallMeaning::Role::computation : CallMeaning::Role::action;
  name(ops[0], meaning);
  measure(ops[0], meaning);
  for (std::size_t i = 0; i < count; ++i) {
    if (ops[i].kind == Kind::compute || ops[i].kind == Kind::sleep) meaning.amount += ops[i].amount;
  }
  if ((ops[0].flags & kIsInit) != 0) {
    meaning.effect =
        parser.double_default() ? DefaultTypeEffect::doubles : DefaultTypeEffect::bytes;
  }
  return meaning;
}

std::string CallReader::action_word() const {
  const std::vector<std::string_view>& words = calls_->scratch().words;
  return words.empty() ? "?" : std::string(words[0]);
}

void CallReader::name(const Op& op, CallMeaning& meaning) const {
  if (op.kind != Kind::nop && op.kind != Kind::custom) {
    meaning.action = name_of(op.kind, operation_of(op, *calls_));
    return;
  }
  meaning.action = action_word();
  const Action* action = grammar_.vocabulary->find(meaning.action);
  if (action != nullptr) meaning.action = action->name;
}

void CallReader::measure(const Op& op, CallMeaning& meaning) const {
  const Form form = traits_of(op.kind).form;
  if (has_collective_call(op.kind)) {
    measure_collective((*calls_)[static_cast<std::uint32_t>(op.call)], meaning);
  } else if (form == Form::send || form == Form::sendrecv || form == Form::receive) {
    // A receive of unspecified size has no size.
    meaning.has_size = op.bytes >= 0;
    meaning.size = std::max<std::int64_t>(op.bytes, 0);
    // Calls that create a persistent request send nothing yet: its start does.
    meaning.sends = sends(op.kind) && op.peer != kProcNull;
  } else if (op.kind == Kind::window &&
             window_traits_of(operation_of(op, *calls_)).form == WindowForm::access) {
    // An access to a window is a message of its origin.
    meaning.has_size = true;
    meaning.size = op.bytes;
    meaning.sends = op.peer >= 0;
  }
}

void CallReader::measure_collective(const Call& call, CallMeaning& meaning) const {
  const CollectiveCall decoded(call, grammar_.ranks);
  // A call on a communicator of unknown size need not fit.
  if (!decoded.fits || call.operation == Operation::barrier) return;
  meaning.has_size = true;
  if (is_among_neighbours(call.operation)) {
    meaning.size = decoded.bytes_to_neighbours();
  } else if (!decoded.send_counts.empty()) {
    meaning.size = bytes_of(decoded.send_counts, decoded.send_width);
  } else if (!decoded.receive_counts.empty() && decoded.send_count == 0) {
    meaning.size = bytes_of(decoded.receive_counts, decoded.receive_width);
  } else {
    meaning.size = decoded.send_bytes();
  }
}

bool is_same_on_all_ranks(const tit::TraceTables& tables, const tit::Signature& signature) {
  const tit::Shape& shape = tables.shapes[signature.shape];
  for (std::size_t hole = 0; hole < signature.arguments.size(); ++hole) {
    const tit::Mode mode = signature.arguments[hole].mode;
    if (mode == tit::Mode::constant || shape.is_rank(hole)) continue;
    // The distance of lines in a merged file is irrelevant.
    if (shape.holes[hole].mark != tit::kStepMark) return false;
  }
  return true;
}

bool has_columns(const tit::Signature& signature) {
  return std::any_of(
      signature.arguments.begin(), signature.arguments.end(),
      [](const tit::Argument& argument) { return argument.mode == tit::Mode::column; });
}

}  // namespace tisim
