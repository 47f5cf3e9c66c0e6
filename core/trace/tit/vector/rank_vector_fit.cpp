// Finds the smallest form of a vector of ranks.
#include <algorithm>
#include <set>
#include <unordered_map>
#include <utility>

#include "trace/tit/grammar/sequence_encoder.hpp"
#include "trace/tit/vector/rank_vector.hpp"

namespace tisim {
namespace tit {

// Closed forms first, since nothing is smaller; then plain values and grammars, by their bytes.
class RankVectorFit {
 public:
  RankVectorFit(const std::vector<std::int64_t>& values, const std::vector<std::int32_t>& ranks,
                bool are_ranks)
      : values_(values), ranks_(ranks), are_ranks_(are_ranks) {}

  RankVector fit(const std::vector<RankVector>& before = {}) {
    if (fit_constant() || (are_ranks_ && (fit_relative() || fit_exclusive() || fit_shifted()))) {
      return std::move(best_);
    }
    try_plain(Form::plain);
    if (are_ranks_) try_plain(Form::plain_relative);
    try_plain(Form::plain_steps);
    try_sequence(Form::sequence);
    try_sequence(Form::sequence_steps);
    if (are_ranks_) {
      try_sequence(Form::sequence_relative);
      try_sequence(Form::sequence_exclusive);
    }
    try_multiples(before);
    if (best_.is_sequence()) best_.index(values_.size());
    return std::move(best_);
  }

 private:
  using Form = RankVector::Form;

  std::int64_t step_to(std::size_t i) const {
    const auto before = static_cast<std::uint64_t>(i == 0 ? 0 : values_[i - 1]);
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(values_[i]) - before);
  }
  std::int64_t distance(std::size_t i) const { return values_[i] - ranks_[i]; }
  // Differences of larger numbers might exceed 64 bits.
  bool all_like_ranks() const {
    return std::all_of(values_.begin(), values_.end(), [](std::int64_t value) {
      return value >= 0 && value < std::int64_t{1} << 31;
    });
  }

  bool all_are(RankVector candidate) {
    for (std::size_t i = 0; i < values_.size(); ++i) {
      if (candidate.at(i, ranks_[i]) != values_[i]) return false;
    }
    best_ = std::move(candidate);
    return true;
  }

  RankVector closed(Form form, std::int64_t constant) const {
    RankVector candidate;
    candidate.form_ = form;
    candidate.constant_ = constant;
    return candidate;
  }

  bool fit_constant() { return all_are(closed(Form::constant, values_.empty() ? 0 : values_[0])); }
  bool fit_relative() {
    like_ranks_ = all_like_ranks();
    return like_ranks_ && all_are(closed(Form::relative, distance(0)));
  }
  bool fit_exclusive() {
    return like_ranks_ && all_are(closed(Form::exclusive, values_[0] ^ ranks_[0]));
  }

  // In a grid with k periodic axes the distances are 2^k numbers: their largest less any sum of the
  // spans. The spans are multiples of one another, so the smallest sums tell them.
  bool fit_shifted() {
    constexpr std::size_t kMostDistances = 16;
    if (!like_ranks_) return false;
    std::set<std::int64_t> distances;
    for (std::size_t i = 0; i < values_.size(); ++i) {
      distances.insert(distance(i));
      if (distances.size() > kMostDistances) return false;
    }
    RankVector candidate = closed(Form::shifted, 0);
    const std::vector<std::int64_t> falling(distances.rbegin(), distances.rend());
    std::int64_t rest = falling[0];
    for (std::size_t k = 1; k < falling.size(); k *= 2) {
      const std::int64_t span = falling[0] - falling[k];
      const std::int64_t shift = (rest % span + span) % span;
      candidate.shifts_.push_back(
          {static_cast<std::uint64_t>(span), static_cast<std::uint64_t>(shift)});
      rest -= shift;
    }
    candidate.constant_ = rest;
    return all_are(std::move(candidate));
  }

  void try_plain(Form form) {
    RankVector candidate;
    candidate.form_ = form;
    std::vector<std::int64_t> values = values_;
    if (form == Form::plain_relative) {
      if (!like_ranks_) return;
      for (std::size_t i = 0; i < values_.size(); ++i) values[i] = distance(i);
    }
    candidate.values_ = std::make_shared<const std::vector<std::int64_t>>(std::move(values));
    keep_smaller(std::move(candidate));
  }

  RankVector::Code code(Form form, std::size_t i) const {
    if (form == Form::sequence) return {values_[i], false};
    if (form == Form::sequence_steps) return {step_to(i), false};
    if (values_[i] < 0) return {values_[i], true};
    return {form == Form::sequence_relative ? distance(i) : values_[i] ^ ranks_[i], false};
  }

  // Gives up as soon as it cannot be smaller than what was found.
  void try_sequence(Form form) {
    RankVector candidate;
    candidate.form_ = form;
    SequenceEncoder encoder;
    std::unordered_map<std::int64_t, std::uint32_t> terminal_of[2];
    for (std::size_t i = 0; i < values_.size(); ++i) {
      const RankVector::Code value = code(form, i);
      if (!value.alone && form >= Form::sequence_relative && form <= Form::sequence_exclusive &&
          values_[i] >= std::int64_t{1} << 31) {
        return;
      }
      const auto next = static_cast<std::uint32_t>(candidate.codes_.size());
      const auto [at, is_new] = terminal_of[value.alone ? 1 : 0].emplace(value.value, next);
      if (is_new) {
        candidate.codes_.push_back(value);
        if (candidate.codes_.size() + encoder.items() >= best_size_) return;
      }
      encoder.add(at->second);
    }
    if (candidate.codes_.size() + encoder.items() >= best_size_) return;
    candidate.grammar_ = encoder.take();
    candidate.grammar_.limit_depth(kDeepestGrammar - 64);
    keep_smaller(std::move(candidate));
  }

  // Of the nearest vectors that may have multiples: others are seldom related.
  void try_multiples(const std::vector<RankVector>& before) {
    constexpr int kMostTried = 8;
    constexpr std::size_t kFewValues = 8;  // which take fewer bytes than a multiple
    if (values_.size() < kFewValues) return;
    int left = kMostTried;
    for (std::size_t back = 1; back <= before.size() && left > 0; ++back) {
      const RankVector& other = before[before.size() - back];
      if (!other.may_have_multiples()) continue;
      try_multiple(other, back);
      --left;
    }
  }

  void try_multiple(const RankVector& other, std::size_t back) {
    RankVector::Multiple multiple = closest_multiple(other.values());
    const std::vector<std::int64_t> rest = rest_of(multiple, other.values());
    if (spread(rest) >= spread(values_)) return;
    multiple.back = back;
    multiple.others = other.values_;
    multiple.rest = std::make_shared<const RankVector>(RankVectorFit(rest, ranks_, false).fit());
    RankVector candidate;
    candidate.form_ = Form::multiple;
    candidate.multiple_ = std::move(multiple);
    keep_smaller(std::move(candidate));
  }

  std::vector<std::int64_t> rest_of(const RankVector::Multiple& multiple,
                                    const std::vector<std::int64_t>& others) const {
    std::vector<std::int64_t> rest;
    rest.reserve(values_.size());
    for (std::size_t i = 0; i < values_.size(); ++i) {
      rest.push_back(static_cast<std::int64_t>(static_cast<std::uint64_t>(values_[i]) -
                                               static_cast<std::uint64_t>(multiple.of(others[i]))));
    }
    return rest;
  }

  static std::uint64_t spread(const std::vector<std::int64_t>& numbers) {
    const auto ends = std::minmax_element(numbers.begin(), numbers.end());
    return static_cast<std::uint64_t>(*ends.second) - static_cast<std::uint64_t>(*ends.first);
  }

  // The slope between the others' smallest and largest value, and the fractions closest to it (by
  // its continued fraction): the one that leaves the narrowest rest. A line need not begin at zero,
  // as a number of instructions that grows with the size of a rank's part.
  RankVector::Multiple closest_multiple(const std::vector<std::int64_t>& others) const {
    const auto ends = std::minmax_element(others.begin(), others.end());
    const auto value_at = [&](auto at) {
      return values_[static_cast<std::size_t>(at - others.begin())];
    };
    const auto above = static_cast<std::uint64_t>(value_at(ends.second)) -
                       static_cast<std::uint64_t>(value_at(ends.first));
    RankVector::Multiple best{0, nullptr, 0, 1, nullptr};
    if (static_cast<std::int64_t>(above) <= 0) return best;
    std::uint64_t best_spread = spread(values_);
    std::uint64_t over = above, under = spread(others);
    std::uint64_t times = 1, times_before = 0, parts = 0, parts_before = 1;
    while (under != 0) {
      const std::uint64_t whole = over / under;
      if (whole > RankVector::kMostTimes) break;
      over = std::exchange(under, over % under);
      times_before = std::exchange(times, whole * times + times_before);
      parts_before = std::exchange(parts, whole * parts + parts_before);
      if (times > RankVector::kMostTimes || parts > RankVector::kMostTimes) break;
      const RankVector::Multiple candidate{0, nullptr, times, parts, nullptr};
      const std::uint64_t candidate_spread = spread(rest_of(candidate, others));
      if (candidate_spread >= best_spread) continue;
      best_spread = candidate_spread;
      best = candidate;
    }
    return best;
  }

  void keep_smaller(RankVector candidate) {
    Bytes bytes;
    candidate.write(bytes);
    if (bytes.data.size() >= best_size_) return;
    best_size_ = bytes.data.size();
    best_ = std::move(candidate);
  }

  const std::vector<std::int64_t>& values_;
  const std::vector<std::int32_t>& ranks_;
  const bool are_ranks_;
  bool like_ranks_ = false;
  RankVector best_;
  std::size_t best_size_ = ~std::size_t{0};
};

RankVector RankVector::of(const std::vector<std::int64_t>& values,
                          const std::vector<std::int32_t>& ranks, bool are_ranks) {
  return RankVectorFit(values, ranks, are_ranks).fit();
}

RankVector RankVector::of(const std::vector<std::int64_t>& values,
                          const std::vector<std::int32_t>& ranks,
                          const std::vector<RankVector>& before) {
  return RankVectorFit(values, ranks, false).fit(before);
}

}  // namespace tit
}  // namespace tisim
