// Finds the smallest form of a vector of ranks.
#include <algorithm>
#include <set>
#include <unordered_map>
#include <utility>

#include "tit/grammar/sequence_encoder.hpp"
#include "tit/vector/rank_vector.hpp"

namespace tisim {
namespace tit {

// Closed forms first, since nothing is smaller; then plain values and grammars, by their bytes.
class RankVectorFit {
 public:
  RankVectorFit(const std::vector<std::int64_t>& values, const std::vector<std::int32_t>& ranks,
                bool are_ranks)
      : values_(values), ranks_(ranks), are_ranks_(are_ranks) {}

  RankVector fit() {
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
    candidate.values_ = values_;
    if (form == Form::plain_relative) {
      if (!like_ranks_) return;
      for (std::size_t i = 0; i < values_.size(); ++i) candidate.values_[i] = distance(i);
    }
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

}  // namespace tit
}  // namespace tisim
