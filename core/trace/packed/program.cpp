#include "trace/packed/program.hpp"

#include <algorithm>
#include <utility>

namespace tisim {

namespace {

constexpr std::uint64_t kMaxExpandedCalls = 64;  // maximum number of calls of an expanded item

ProgramCall* append(std::uint32_t call, std::uint64_t times, ProgramCall* at) {
  for (std::uint64_t i = 0; i < times; ++i) *at++ = {call, 0};
  return at;
}

}  // namespace

std::vector<std::uint32_t> order_of_rules(const tit::Grammar& grammar) {
  std::vector<std::uint32_t> uses(grammar.rules.size(), 0);
  for (const auto& rule : grammar.rules) {
    for (const tit::Item& item : rule) {
      if (item.is_rule()) ++uses[item.number()];
    }
  }
  std::vector<std::uint32_t> order{0};
  for (std::size_t i = 0; i < order.size(); ++i) {
    for (const tit::Item& item : grammar.rules[order[i]]) {
      if (item.is_rule() && --uses[item.number()] == 0) order.push_back(item.number());
    }
  }
  return order;
}

std::vector<std::uint64_t> uses_of_rules(const tit::Grammar& grammar) {
  std::vector<std::uint64_t> uses(grammar.rules.size(), 0);
  uses[0] = 1;
  for (const std::uint32_t rule : order_of_rules(grammar)) {
    for (const tit::Item& item : grammar.rules[rule]) {
      if (item.is_rule()) uses[item.number()] += uses[rule] * item.exponent;
    }
  }
  return uses;
}

PackedProgram::PackedProgram(const tit::TraceTables& tables, const tit::RankClass& rank_class,
                             const std::vector<std::int32_t>& ranks,
                             const tit::SiteTable& site_table, const tit::VolumeSites& volume_sites)
    : tables_(&tables),
      class_(&rank_class),
      ranks_(&ranks),
      site_table_(&site_table),
      volume_sites_(&volume_sites) {
  constexpr std::size_t kUsualBudget = std::size_t{1} << 16;
  constexpr std::size_t kBudgetPerItem = 8;
  std::uint32_t vectors = 0;
  first_vectors_.reserve(rank_class.signatures.size());
  contexts_.reserve(rank_class.signatures.size());
  for (const std::uint32_t signature : rank_class.signatures) {
    CallContext its;
    its.kind = tables.kinds[signature];
    first_vectors_.push_back(vectors);
    for (const tit::Argument& argument : tables.signatures[signature].arguments) {
      if (argument.mode == tit::Mode::by_rank) ++vectors;
      if (argument.mode == tit::Mode::column) its.has_columns = true;
    }
    contexts_.push_back(its);
  }
  lengths_ = rank_class.grammar.lengths();
  std::size_t items = 0;
  for (const auto& rule : rank_class.grammar.rules) items += rule.size();
  budget_ = kUsualBudget + kBudgetPerItem * items;
  const std::vector<std::uint32_t> order = order_of_rules(rank_class.grammar);
  std::vector<std::uint32_t> depths(order.size(), 1);
  rules_.resize(rank_class.grammar.rules.size());
  // Used rules come first, so that their users know whether they are a single stretch.
  for (auto rule = order.rbegin(); rule != order.rend(); ++rule) {
    make_rule(*rule);
    for (const ProgramSegment& segment : rules_[*rule]) {
      if (segment.calls == nullptr) {
        depths[*rule] = std::max(depths[*rule], depths[segment.length] + 1);
      }
    }
  }
  depth_ = depths[0];
  call_scratch_ = {};
}

// Writes the calls of the rule to `at`; returns the end of them.
ProgramCall* PackedProgram::expand(std::uint32_t rule, std::uint64_t times, ProgramCall* at) const {
  for (std::uint64_t i = 0; i < times; ++i) {
    for (const tit::Item& item : class_->grammar.rules[rule]) {
      at = item.is_rule() ? expand(item.number(), item.exponent, at)
                          : append(item.number(), item.exponent, at);
    }
  }
  return at;
}

ProgramSegment PackedProgram::stretch(const std::vector<ProgramCall>& calls,
                                      std::uint32_t repeats) {
  const auto length = static_cast<std::uint32_t>(calls.size());
  // Readers may access one element past the last call.
  auto kept = std::make_unique<ProgramCall[]>(calls.size() + 1);
  std::copy(calls.begin(), calls.end(), kept.get());
  find_sites(kept.get(), calls.size());
  call_arrays_.push_back(std::move(kept));
  return {call_arrays_.back().get(), length, repeats};
}

// Adds the repetitions of a stretch. A few repetitions of a short one are expanded. A long loop is
// kept, so that a reader can stop at its turns, unless column values vary between turns anyway:
// then several turns are merged.
void PackedProgram::repeat(const ProgramSegment& once, std::uint32_t repeats,
                           std::vector<ProgramSegment>& segments) {
  const std::uint64_t length = std::uint64_t{once.length} * repeats;
  std::uint32_t turns = repeats;
  if (length > kMaxExpandedCalls) {
    turns = class_->has_volumes ? static_cast<std::uint32_t>(kMaxExpandedCalls / once.length) : 1;
  }
  if (turns < 2 || std::uint64_t{once.length} * turns > budget_) {
    segments.push_back({once.calls, once.length, repeats});
    return;
  }
  std::vector<ProgramCall> calls;
  for (std::uint32_t i = 0; i < turns; ++i) {
    calls.insert(calls.end(), once.calls, once.calls + once.length);
  }
  budget_ -= calls.size();
  segments.push_back(stretch(calls, repeats / turns));
  if (repeats % turns > 0) repeat(once, repeats % turns, segments);
}

void PackedProgram::find_sites(ProgramCall* calls, std::size_t count) const {
  if (!class_->has_volumes || count == 0) return;
  std::uint32_t before = contexts_[calls[0].call].kind + 1;
  for (std::size_t i = 1; i < count; ++i) {
    const CallContext& its = contexts_[calls[i].call];
    calls[i].volume_site = its.has_columns ? tit::VolumeSites::kSpecial
                                           : volume_sites_->number(*site_table_, before, its.kind);
    before = its.kind + 1;
  }
}

void PackedProgram::make_rule(std::uint32_t rule) {
  std::vector<ProgramSegment>& segments = rules_[rule];
  std::vector<ProgramCall>& calls = call_scratch_;
  calls.clear();
  const auto end_stretch = [&](std::uint32_t repeats) {
    if (calls.empty()) return;
    segments.push_back(stretch(calls, repeats));
    calls.clear();
  };
  for (const tit::Item& item : class_->grammar.rules[rule]) {
    const std::uint32_t number = item.number();
    const std::uint64_t length = item.exponent * (item.is_rule() ? lengths_[number] : 1);
    if (length <= kMaxExpandedCalls && length <= budget_) {
      budget_ -= length;
      const std::size_t before = calls.size();
      calls.resize(before + length);
      if (item.is_rule()) {
        expand(number, item.exponent, calls.data() + before);
      } else {
        append(number, item.exponent, calls.data() + before);
      }
      continue;
    }
    end_stretch(1);
    if (!item.is_rule()) {
      calls.push_back({number, 0});
      repeat(stretch(calls, 1), item.exponent, segments);
      calls.clear();
    } else if (rules_[number].size() == 1 && rules_[number][0].calls != nullptr &&
               rules_[number][0].repeats == 1) {
      repeat(rules_[number][0], item.exponent, segments);
    } else {
      segments.push_back({nullptr, number, item.exponent});
    }
  }
  end_stretch(1);
}

void PackedProgram::numbers(std::uint32_t call, std::uint32_t position,
                            std::vector<std::int64_t>& into) const {
  const std::int32_t rank = (*ranks_)[position];
  const tit::Signature& signature = tables_->signatures[class_->signatures[call]];
  std::uint32_t vector = first_vectors_[call];
  into.clear();
  into.reserve(signature.arguments.size());
  for (const tit::Argument& argument : signature.arguments) {
    // Sums wrap around: out-of-range results of damaged files are refused when the line is read.
    const auto value = static_cast<std::uint64_t>(argument.value);
    switch (argument.mode) {
      case tit::Mode::constant:
        into.push_back(argument.value);
        break;
      case tit::Mode::relative:
        into.push_back(static_cast<std::int64_t>(value + static_cast<std::uint64_t>(rank)));
        break;
      case tit::Mode::exclusive:
        into.push_back(argument.value ^ rank);
        break;
      case tit::Mode::by_rank:
        into.push_back(class_->vectors[vector++].at(position, rank));
        break;
      case tit::Mode::column:
        into.push_back(0);
        break;
    }
  }
}

}  // namespace tisim
