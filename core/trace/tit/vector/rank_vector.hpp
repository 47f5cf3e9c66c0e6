// A number for each rank in the smallest form.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "trace/tit/codec/bytes.hpp"
#include "trace/tit/grammar/grammar.hpp"

namespace tisim::tit {

// Each terminal has a weight; sums of weights are modulo 2^64. A lookup takes a binary search in
// each of the nested rules at the position.
class IndexedSequence {
 public:
  IndexedSequence() = default;
  IndexedSequence(const Grammar& grammar, const std::vector<std::uint64_t>& weights);

  struct Found {
    std::uint32_t terminal;
    std::uint64_t sum;  // of the weights up to and including the position
  };
  // The position must be less than the length of the sequence.
  Found at(std::uint64_t position) const;

 private:
  // An item, the prefix sums before it in its rule, and the length and sum of one repetition.
  struct Part {
    std::uint64_t start, sum_before;
    std::uint64_t length, sum;
    Item item;
  };

  std::vector<std::vector<Part>> rules_;
};

// One number for each rank of a class; the more regular, the smaller.

// The ranks themselves are not stored: the caller provides them in the same order.
class RankVector {
 public:
  RankVector() = default;
  // A small form for these values, one per rank. Ranks are not negative. `are_ranks`: values may be
  // relative to the rank; negative ones (MPI_ANY_SOURCE) never are.
  static RankVector of(const std::vector<std::int64_t>& values,
                       const std::vector<std::int32_t>& ranks, bool are_ranks);
  // The value of the rank at this position. Takes constant or logarithmic time.
  std::int64_t at(std::size_t position, std::int32_t rank) const;
  // The values of all ranks; faster than one by one.
  std::vector<std::int64_t> all(const std::vector<std::int32_t>& ranks) const;
  // Calls `take(rank, value)` for all ranks below `count`, which must all have a value.
  template <class Take>
  void for_each(std::uint32_t count, const Take& take) const {
    if (!is_sequence()) {
      for (std::uint32_t rank = 0; rank < count; ++rank) {
        take(rank, at(rank, static_cast<std::int32_t>(rank)));
      }
      return;
    }
    Expansion terminals(grammar_);
    std::uint64_t sum = 0;  // modulo 2^64
    for (std::uint32_t rank = 0; rank < count; ++rank) {
      std::uint32_t terminal = 0;
      terminals.next(terminal);
      const Code code = codes_[terminal];
      sum += static_cast<std::uint64_t>(code.value);
      take(rank, form_ == Form::sequence_steps ? static_cast<std::int64_t>(sum)
                                               : decoded(code, static_cast<std::int32_t>(rank)));
    }
  }
  // True if all ranks have the same value.
  bool is_constant() const { return form_ == Form::constant; }

  void write(Bytes& out) const;
  // Reads a vector of `count` ranks. Throws FormatError if the bytes are not one.
  static RankVector read(ByteReader& in, std::size_t count);
  static RankVector read(ByteReader& in, std::size_t count, const std::vector<RankVector>& before);

 private:
  // The first number in a file. Values are coded as they are, as the difference to the rank, as
  // `rank xor value`, or as the step from the previous value.
  enum class Form : std::uint8_t {
    constant,   // c
    relative,   // rank + c
    exclusive,  // rank xor c
    shifted,    // the rank moved in blocks, + c
    sequence,   // a grammar over distinct values
    sequence_relative,
    sequence_exclusive,
    sequence_steps,
    plain,  // each value in the same number of bytes
    plain_relative,
    plain_steps,
    multiple  // a multiple of an earlier vector's values, plus a rest
  };
  static constexpr Form kLastForm = Form::multiple;

  // Moves ranks by `distance` within each block of `span` ranks, wrapping around at its end: a
  // neighbour in a periodic process grid, where a block is a line, plane ... of the grid.
  struct Shift {
    std::uint64_t span, distance;
  };
  // A distinct value of a sequence; `alone`: it is not relative to the rank.
  struct Code {
    std::int64_t value;
    bool alone;
  };

  using Values = std::vector<std::int64_t>;
  static constexpr std::uint64_t kMaxTimes = 65'536;  // of a multiple, and its parts
  // floor(value of the other vector * times / parts) + rest.
  struct Multiple {
    std::size_t back;  // distance to that vector, at least 1
    std::shared_ptr<const Values> others;
    std::uint64_t times, parts;
    std::shared_ptr<const RankVector> rest;  // not itself a multiple

    std::int64_t of(std::int64_t other) const;
  };

  friend class RankVectorFit;

  // True if a vector of multiples may refer to it. Its file has at least a byte for each of its
  // values, which all multiples share: so memory is proportional to the file.
  bool may_have_multiples() const { return form_ == Form::plain || form_ == Form::plain_steps; }
  bool is_sequence() const { return form_ >= Form::sequence && form_ < Form::plain; }
  const Values& values() const { return *values_; }
  std::int64_t shifted(std::int32_t rank) const;
  std::int64_t decoded(Code code, std::int32_t rank) const;
  void write_codes(Bytes& out) const;
  void read_codes(ByteReader& in);
  void write_plain(Bytes& out) const;
  void read_plain(ByteReader& in, std::size_t count);
  void write_multiple(Bytes& out) const;
  void read_multiple(ByteReader& in, std::size_t count, const std::vector<RankVector>& before);
  void index(std::size_t count);

  Form form_ = Form::constant;
  std::int64_t constant_ = 0;
  std::vector<Shift> shifts_;
  std::vector<Code> codes_;  // terminals of the grammar
  Grammar grammar_;
  std::shared_ptr<const Values> values_;  // of a plain form; relative ones without the rank
  Multiple multiple_{};
  // A short sequence expanded to terminals, or to values for one of steps.
  std::vector<std::uint32_t> terminals_;
  IndexedSequence indexed_;
};

}  // namespace tisim::tit
