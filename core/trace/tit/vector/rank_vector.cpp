#include "trace/tit/vector/rank_vector.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "trace/tit/grammar/sequence_encoder.hpp"

namespace tisim::tit {

IndexedSequence::IndexedSequence(const Grammar& grammar, const std::vector<std::uint64_t>& weights)
    : rules_(grammar.rules.size()) {
  std::vector<std::uint64_t> length(rules_.size()), sum(rules_.size());
  for (const std::uint32_t rule : grammar.used_first()) {
    rules_[rule].reserve(grammar.rules[rule].size());
    for (const Item item : grammar.rules[rule]) {
      const std::uint32_t number = item.number();
      const std::uint64_t once = item.is_rule() ? length[number] : 1;
      const std::uint64_t weight = item.is_rule() ? sum[number] : weights[number];
      rules_[rule].push_back({length[rule], sum[rule], once, weight, item});
      length[rule] += once * item.exponent;
      sum[rule] += weight * item.exponent;
    }
  }
}

IndexedSequence::Found IndexedSequence::at(std::uint64_t position) const {
  const std::vector<Part>* rule = &rules_[0];
  std::uint64_t sum = 0;
  for (;;) {
    const auto after =
        std::upper_bound(rule->begin(), rule->end(), position,
                         [](std::uint64_t at, const Part& part) { return at < part.start; });
    const Part& part = *(after - 1);
    position -= part.start;
    const std::uint64_t passed = position / part.length;
    position -= passed * part.length;
    sum += part.sum_before + passed * part.sum;
    if (!part.item.is_rule()) return {part.item.number(), sum + part.sum};
    rule = &rules_[part.item.number()];
  }
}

namespace {

// Shorter sequences are kept expanded.
constexpr std::size_t kFewRanks = 8192;
constexpr std::uint64_t kMaxShifts = 4;
// Upper bound on ranks and on the size of a block of ranks.
constexpr std::uint64_t kMaxRanks = std::uint64_t{1} << 31;

std::uint64_t bits(std::int64_t value) { return static_cast<std::uint64_t>(value); }
std::int64_t number(std::uint64_t bits_of_it) { return static_cast<std::int64_t>(bits_of_it); }
// Modulo 2^64: a file may contain any values.
std::int64_t sum(std::int64_t a, std::int64_t b) { return number(bits(a) + bits(b)); }

}  // namespace

std::int64_t RankVector::decoded(Code code, std::int32_t rank) const {
  if (code.alone || form_ == Form::sequence) return code.value;
  return form_ == Form::sequence_relative ? sum(code.value, rank) : code.value ^ rank;
}

std::int64_t RankVector::shifted(std::int32_t rank) const {
  std::uint64_t moved = bits(rank);
  for (const Shift shift : shifts_) {
    const bool wraps = moved % shift.span + shift.distance >= shift.span;
    moved += shift.distance - (wraps ? shift.span : 0);
  }
  return sum(number(moved), constant_);
}

// Rounds down, modulo 2^64.
std::int64_t RankVector::Multiple::of(std::int64_t other) const {
  const std::int64_t product = number(bits(other) * times);
  const auto divisor = static_cast<std::int64_t>(parts);
  return product / divisor - (product % divisor < 0 ? 1 : 0);
}

std::int64_t RankVector::at(std::size_t position, std::int32_t rank) const {
  switch (form_) {
    case Form::constant:
      return constant_;
    case Form::relative:
      return sum(rank, constant_);
    case Form::exclusive:
      return rank ^ constant_;
    case Form::shifted:
      return shifted(rank);
    case Form::sequence:
    case Form::sequence_relative:
    case Form::sequence_exclusive:
      return decoded(
          codes_[terminals_.empty() ? indexed_.at(position).terminal : terminals_[position]], rank);
    case Form::sequence_steps:
      return values_ == nullptr ? number(indexed_.at(position).sum) : values()[position];
    case Form::plain_relative:
      return sum(values()[position], rank);
    case Form::plain:
    case Form::plain_steps:
      return values()[position];
    case Form::multiple:
      return sum(multiple_.of((*multiple_.others)[position]), multiple_.rest->at(position, rank));
  }
  return 0;
}

std::vector<std::int64_t> RankVector::all(const std::vector<std::int32_t>& ranks) const {
  std::vector<std::int64_t> values(ranks.size());
  if (is_sequence()) {
    const std::vector<std::uint32_t> terminals = grammar_.expanded();
    std::int64_t last = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const Code code = codes_[terminals[i]];
      last = form_ == Form::sequence_steps ? sum(last, code.value) : decoded(code, ranks[i]);
      values[i] = last;
    }
  } else if (form_ == Form::multiple) {
    values = multiple_.rest->all(ranks);
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = sum(multiple_.of((*multiple_.others)[i]), values[i]);
    }
  } else {
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = at(i, ranks[i]);
  }
  return values;
}

void RankVector::index(std::size_t count) {
  std::vector<std::uint64_t> steps;
  for (const Code code : codes_) steps.push_back(bits(code.value));
  if (count > kFewRanks) {
    indexed_ = IndexedSequence(grammar_, steps);
    return;
  }
  terminals_ = grammar_.expanded();
  if (form_ != Form::sequence_steps) return;
  Values values;
  std::int64_t last = 0;
  for (const std::uint32_t terminal : terminals_) {
    values.push_back(last = sum(last, codes_[terminal].value));
  }
  values_ = std::make_shared<const Values>(std::move(values));
  terminals_.clear();
}

void RankVector::write(Bytes& out) const {
  out.varint(static_cast<std::uint64_t>(form_));
  if (is_sequence()) {
    write_codes(out);
    grammar_.write(out);
  } else if (form_ == Form::multiple) {
    write_multiple(out);
  } else if (form_ >= Form::plain) {
    write_plain(out);
  } else {
    out.zigzag(constant_);
  }
  if (form_ != Form::shifted) return;
  out.varint(shifts_.size());
  for (const Shift shift : shifts_) {
    out.varint(shift.span);
    out.varint(shift.distance);
  }
}

RankVector RankVector::read(ByteReader& in, std::size_t count) { return read(in, count, {}); }

RankVector RankVector::read(ByteReader& in, std::size_t count,
                            const std::vector<RankVector>& before) {
  RankVector vector;
  vector.form_ = static_cast<Form>(
      in.at_most(static_cast<std::uint64_t>(kLastForm), "the form of a vector of ranks"));
  if (vector.is_sequence()) {
    vector.read_codes(in);
    vector.grammar_ = Grammar::read(in, static_cast<std::uint32_t>(vector.codes_.size()));
    if (vector.grammar_.length() != count) {
      throw FormatError("a vector of ranks does not have a value for each rank");
    }
    vector.index(count);
  } else if (vector.form_ == Form::multiple) {
    vector.read_multiple(in, count, before);
  } else if (vector.form_ >= Form::plain) {
    vector.read_plain(in, count);
  } else {
    vector.constant_ = in.zigzag();
  }
  if (vector.form_ != Form::shifted) return vector;
  for (std::uint64_t left = in.at_most(kMaxShifts, "a number of shifts"); left > 0; --left) {
    const std::uint64_t span = in.at_most(kMaxRanks, "a block of ranks");
    if (span == 0) throw FormatError("a block of ranks is empty");
    vector.shifts_.push_back({span, in.at_most(span - 1, "a distance of ranks")});
  }
  return vector;
}

// Distinct values: their number, then the difference of each to the previous one. If they are
// relative to the rank, a low bit tells whether this one is not.
void RankVector::write_codes(Bytes& out) const {
  const bool has_bit = form_ == Form::sequence_relative || form_ == Form::sequence_exclusive;
  out.varint(codes_.size());
  std::int64_t last = 0;
  for (const Code code : codes_) {
    const std::uint64_t step = zigzag(number(bits(code.value) - bits(last)));
    out.varint(has_bit ? 2 * step + (code.alone ? 1 : 0) : step);
    last = code.value;
  }
}

void RankVector::read_codes(ByteReader& in) {
  const bool has_bit = form_ == Form::sequence_relative || form_ == Form::sequence_exclusive;
  const std::size_t size = in.count("a number of distinct values");
  std::int64_t last = 0;
  for (std::size_t i = 0; i < size; ++i) {
    const std::uint64_t coded = in.varint();
    last = sum(last, unzigzag(has_bit ? coded >> 1 : coded));
    codes_.push_back({last, has_bit && (coded & 1) != 0});
  }
}

// The smallest number, the number of bytes of each difference to it, then the highest bytes of all
// differences, the next ones, and so on: similar bytes are adjacent.
void RankVector::write_plain(Bytes& out) const {
  Values numbers = values();
  if (form_ == Form::plain_steps) {
    std::int64_t last = 0;
    for (std::int64_t& value : numbers)
      value = number(bits(value) - bits(std::exchange(last, value)));
  }
  const std::int64_t least =
      numbers.empty() ? 0 : *std::min_element(numbers.begin(), numbers.end());
  std::uint64_t largest = 0;
  for (const std::int64_t value : numbers) largest = std::max(largest, bits(value) - bits(least));
  std::uint8_t width = 1;
  while (width < 8 && largest >> (8 * width) != 0) ++width;
  out.zigzag(least);
  out.byte(width);
  for (int place = width; place-- > 0;) {
    for (const std::int64_t value : numbers) {
      out.byte(static_cast<std::uint8_t>((bits(value) - bits(least)) >> (8 * place)));
    }
  }
}

void RankVector::read_plain(ByteReader& in, std::size_t count) {
  const std::uint64_t least = bits(in.zigzag());
  const std::uint8_t width = in.byte();
  if (width == 0 || width > 8) throw FormatError("a number is encoded incorrectly");
  if (count > in.left() / width) {
    throw FormatError("a vector of ranks does not have a value for each rank");
  }
  std::vector<std::uint64_t> beyond(count, 0);
  for (int place = 0; place < width; ++place) {
    for (std::uint64_t& value : beyond) value = value << 8 | in.byte();
  }
  Values values(count);
  std::int64_t last = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t value = number(least + beyond[i]);
    last = form_ == Form::plain_steps ? sum(last, value) : value;
    values[i] = last;
  }
  values_ = std::make_shared<const Values>(std::move(values));
}

void RankVector::write_multiple(Bytes& out) const {
  out.varint(multiple_.back - 1);
  out.varint(multiple_.times);
  out.varint(multiple_.parts);
  multiple_.rest->write(out);
}

void RankVector::read_multiple(ByteReader& in, std::size_t count,
                               const std::vector<RankVector>& before) {
  const std::uint64_t back = in.varint();
  if (back >= before.size()) throw FormatError("a vector contains multiples of a missing one");
  const RankVector& other = before[before.size() - 1 - static_cast<std::size_t>(back)];
  if (!other.may_have_multiples()) {
    throw FormatError("a vector contains multiples of one that is not plain");
  }
  multiple_.back = static_cast<std::size_t>(back) + 1;
  multiple_.others = other.values_;
  multiple_.times = in.at_most(kMaxTimes, "a multiple");
  multiple_.parts = in.at_most(kMaxTimes, "the parts of a multiple");
  if (multiple_.parts == 0) throw FormatError("a multiple has no parts");
  // Without preceding vectors: the rest cannot be a multiple.
  multiple_.rest = std::make_shared<const RankVector>(read(in, count));
}

// Finds a small form of a vector of ranks: closed forms first, since nothing is smaller; then plain
// values and grammars, by size. Writers had more forms until 2026-11-27: shifted,
// sequence_exclusive and multiple.
class RankVectorFit {
 public:
  RankVectorFit(const std::vector<std::int64_t>& values, const std::vector<std::int32_t>& ranks,
                bool are_ranks)
      : values_(values), ranks_(ranks), are_ranks_(are_ranks) {}

  RankVector fit() {
    if (fit_constant() || (are_ranks_ && (fit_relative() || fit_exclusive()))) {
      return std::move(best_);
    }
    try_plain(Form::plain);
    if (are_ranks_) try_plain(Form::plain_relative);
    try_plain(Form::plain_steps);
    try_sequence(Form::sequence);
    try_sequence(Form::sequence_steps);
    if (are_ranks_) try_sequence(Form::sequence_relative);
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
    return {distance(i), false};
  }

  // Gives up as soon as it cannot be smaller than the best form so far.
  void try_sequence(Form form) {
    RankVector candidate;
    candidate.form_ = form;
    SequenceEncoder encoder;
    std::unordered_map<std::int64_t, std::uint32_t> terminal_of[2];
    for (std::size_t i = 0; i < values_.size(); ++i) {
      const RankVector::Code value = code(form, i);
      if (form == Form::sequence_relative && values_[i] >= std::int64_t{1} << 31) return;
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
    candidate.grammar_.limit_depth(kMaxGrammarDepth - 64);
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

}  // namespace tisim::tit
