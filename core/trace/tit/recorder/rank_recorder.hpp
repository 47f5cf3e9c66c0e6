// Records what one rank does, while it does it, in bounded memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "trace/tit/grammar/sequence_encoder.hpp"
#include "trace/tit/recorder/attribute_recorder.hpp"
#include "trace/tit/recorder/distinct_calls.hpp"
#include "trace/tit/recorder/part_log.hpp"
#include "trace/tit/recorder/recorded_shape.hpp"
#include "trace/tit/recorder/value_block.hpp"

namespace tisim {
namespace tit {

// The calls of a stretch of the program become a grammar. A grammar that is full ends the stretch:
// it goes to the log, and the next one begins empty. Where a stretch ends depends on the calls
// before that place, so the stretches of a loop that is longer than one are equal from iteration
// to iteration, and stand in the log once. Numbers that hardly repeat go into blocks of values.
//
// Memory beside a log in memory stays below the bound.
class RankRecorder {
 public:
  static constexpr std::size_t kLeastMemory = std::size_t{64} << 10;

  // `path` of the log; empty: it is kept in memory. `memory` in bytes.
  RankRecorder(std::uint32_t rank, std::uint32_t ranks, std::size_t memory, std::string path);

  // A new line; kRecordedCompute is there from the beginning.
  std::uint32_t shape(const RecordedShape& shape);
  std::size_t shapes() const { return declared_.size(); }
  std::uint32_t holes(std::uint32_t line) const {
    return static_cast<std::uint32_t>(declared_[line].line.holes());
  }

  // What the next call has beside its numbers.
  AttributeRecorder& attributes() { return attributes_; }
  // A call is made, with a number for each hole of its line.
  void call(std::uint32_t line, const std::int64_t* numbers) {
    if (!log_.error().empty()) return;
    if (attributes_.has_next()) {
      make_with_attributes(line, numbers);
    } else {
      make_shape(declared_[line].shape, numbers);
    }
  }

  // A line without numbers and attributes, such as a comment.
  void remark(const RecordedShape& line) {
    if (log_.error().empty()) make_shape(add_shape(line), nullptr);
  }

  // Puts everything so far into the log.
  void flush();
  // The same, and that the program is done.
  void end();

  PartLog& log() { return log_; }
  const PartLog& log() const { return log_; }
  std::uint64_t calls() const { return calls_made_; }
  // Bytes, without a log in memory.
  std::size_t memory() const {
    return encoder_.memory() + calls_.memory() + values_.memory() + attributes_.memory() +
           known_.capacity() * sizeof(Known) + shapes_.capacity() * sizeof(ShapeState);
  }

 private:
  struct ShapeState {
    std::uint32_t holes;
    std::uint32_t numbers;  // of holes and fixed attributes
    std::uint64_t volumes;  // holes that are volumes, not whole numbers
    std::uint64_t columns;  // holes whose numbers stand in blocks
    std::uint64_t made;     // calls of the stretch, and how many of them are different
    std::uint64_t distinct;
  };
  // A stretch in the log.
  struct Known {
    std::uint64_t hash[2];
    std::uint32_t number;
  };

  // A line, and the shapes of its calls: without attributes, and with any.
  struct Declared {
    struct Variant {
      std::vector<std::uint32_t> fixed;
      std::vector<std::uint32_t> streamed;
      std::uint32_t shape;
    };
    RecordedShape line;
    std::uint32_t shape;
    std::vector<Variant> variants;
  };

  std::uint32_t add_shape(const RecordedShape& shape);
  void make_shape(std::uint32_t shape, const std::int64_t* numbers);
  void make_with_attributes(std::uint32_t line, const std::int64_t* numbers);
  std::uint32_t number_of(std::uint32_t shape, const std::int64_t* numbers);
  void choose_column(std::uint32_t shape);
  void end_stretch();
  void write_values();
  std::string stretch(Grammar grammar) const;
  std::size_t load() const;

  PartLog log_;
  std::vector<ShapeState> shapes_;
  std::vector<Declared> declared_;
  AttributeRecorder attributes_;
  // Room for a call with attributes.
  std::vector<std::uint32_t> fixed_, streamed_;
  std::vector<std::int64_t> numbers_;
  DistinctCalls calls_;  // of the stretch
  SequenceEncoder encoder_;
  ValueBuffer values_;
  std::vector<std::int64_t> reduced_;  // room for the numbers of a call
  std::vector<Known> known_;
  std::uint32_t segments_ = 0;
  std::uint64_t recent_ = 0;  // a hash of the last 64 calls
  std::uint64_t calls_made_ = 0;
  std::uint64_t flushed_calls_ = 0;
  std::size_t full_;         // bytes of grammar and calls at which a stretch ends
  std::size_t most_values_;  // in a block
  std::size_t most_known_;
  std::uint64_t many_distinct_;  // calls of a shape that are different, before columns are tried
};

}  // namespace tit
}  // namespace tisim
