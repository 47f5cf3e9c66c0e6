// Records the calls of one rank, with their attributes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "trace/tit/file/attributes.hpp"
#include "trace/tit/grammar/sequence_encoder.hpp"
#include "trace/tit/recorder/part_log.hpp"

namespace tisim::tit {

class DistinctCalls {
 public:
  struct Entry {
    std::uint32_t shape;
    std::uint32_t count;    // of its numbers
    std::uint64_t columns;  // bit i: its number i stands elsewhere, and is 0 here
    std::uint64_t hash;     // of all that makes it different
    std::size_t first;      // of its numbers
  };

  // The number of a call; a new one if it was not met before.
  std::uint32_t number_of(std::uint32_t shape, std::uint64_t columns, const std::int64_t* numbers,
                          std::uint32_t count);

  std::uint32_t size() const { return static_cast<std::uint32_t>(entries_.size()); }
  const Entry& entry(std::uint32_t call) const { return entries_[call]; }
  const std::int64_t* numbers(std::uint32_t call) const {
    return numbers_.data() + entries_[call].first;
  }
  void clear();
  // Bytes in use, and bytes that are allocated.
  std::size_t used() const {
    return entries_.size() * (sizeof(Entry) + 2 * sizeof(std::uint32_t)) +
           numbers_.size() * sizeof(std::int64_t);
  }
  std::size_t memory() const {
    return entries_.capacity() * sizeof(Entry) + slots_.capacity() * sizeof(std::uint32_t) +
           numbers_.capacity() * sizeof(std::int64_t);
  }

 private:
  bool equal(const Entry& entry, std::uint32_t shape, std::uint64_t columns,
             const std::int64_t* numbers, std::uint32_t count) const;
  void grow();

  std::vector<Entry> entries_;
  std::vector<std::int64_t> numbers_;
  std::vector<std::uint32_t> slots_;  // a call's number plus 1, or 0; linear probing
};

// The attributes of the calls that one rank makes, as a recorder is told them.

// Values of fixed attributes become a part of their call. The others wait in the order of their
// calls until all before them are known, and go to the log then.
class AttributeRecorder {
 public:
  static constexpr std::int64_t kRefused = -1;

  // `log` must outlive it. Values go there when they take `full` bytes.
  AttributeRecorder(PartLog& log, std::uint32_t rank, std::size_t full)
      : log_(log), rank_(rank), full_(full) {}

  // The number of an attribute, which is declared once; kRefused when there are too many, or when
  // it was declared as another kind.
  std::int64_t declare(const Attribute& attribute);
  std::size_t declared() const { return streams_.size(); }
  bool is_fixed(std::uint32_t attribute) const { return streams_[attribute].is_fixed; }
  // The number of a text, or kRefused when texts take too much memory.
  std::int64_t text(const std::string& text);
  bool is_text(std::uint32_t attribute) const {
    return streams_[attribute].kind == AttributeKind::text;
  }
  bool has_text(std::int64_t number) const {
    return number >= 0 && static_cast<std::size_t>(number) < texts_.size();
  }

  // The next call has this value, or one that is not known yet and must not be of a fixed
  // attribute: then it gets a ticket.
  void set(std::uint32_t attribute, std::int64_t value);
  std::int64_t set_later(std::uint32_t attribute);
  // The value of a ticket; false when there is no such ticket.
  bool set_ticket(std::int64_t ticket, std::int64_t value);

  // Tests for attributes of the next call, and takes them: values of fixed ones follow `numbers`.
  bool has_next() const { return !next_.empty(); }
  void take_next(std::vector<std::uint32_t>& fixed, std::vector<std::uint32_t>& streamed,
                 std::vector<std::int64_t>& numbers);

  // Puts the values that are known into the log. At the end, the others never will be.
  void write();
  void end();

  std::size_t memory() const;

 private:
  // Values that wait behind one that is not known yet are at most so many.
  static constexpr std::size_t kMostWaiting = 65536;

  struct Waiting {
    bool is_known = false;
    std::uint64_t code = 0;
  };
  struct Stream {
    std::string name;
    AttributeKind kind;
    bool is_fixed;
    std::uint64_t first;  // number of the first that waits
    std::deque<Waiting> waiting;
  };
  struct Next {
    std::uint32_t attribute;
    bool is_known;
    std::int64_t value;
  };

  void put(const Next& next);
  void pass_on(std::uint32_t attribute);
  Next& next_of(std::uint32_t attribute);

  PartLog& log_;
  std::uint32_t rank_;
  std::size_t full_;
  std::vector<Stream> streams_;  // of each attribute
  std::vector<Next> next_;       // of the next call, ascending
  Bytes values_;                 // that are not in the log
  std::unordered_map<std::string, std::uint32_t> texts_;
  std::size_t text_bytes_ = 0;
};

// Records what one rank does, while it does it, in bounded memory.

// The calls of a stretch of the program become a grammar. A grammar that is full ends the stretch:
// it goes to the log, and the next one begins empty. Where a stretch ends depends on the calls
// before that place, so the stretches of a loop that is longer than one are equal from iteration
// to iteration, and stand in the log once. Numbers that hardly repeat leave their calls.
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

  // The attributes of the next call.
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
    return encoder_.memory() + calls_.memory() + values_.data.capacity() + attributes_.memory() +
           known_.capacity() * sizeof(Known) + shapes_.capacity() * sizeof(ShapeState);
  }

 private:
  struct ShapeState {
    std::uint32_t holes;
    std::uint32_t numbers;  // of holes and fixed attributes
    std::uint64_t volumes;  // holes that are volumes, not whole numbers
    std::uint64_t columns;  // holes whose numbers leave their calls
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
  Bytes values_;                       // that are not in the log
  std::vector<std::int64_t> reduced_;  // room for the numbers of a call
  std::vector<Known> known_;
  std::uint32_t segments_ = 0;
  std::uint64_t recent_ = 0;  // a hash of the last 64 calls
  std::uint64_t calls_made_ = 0;
  std::uint64_t flushed_calls_ = 0;
  std::size_t full_;         // bytes of grammar and calls at which a stretch ends
  std::size_t most_values_;  // bytes of values
  std::size_t most_known_;
  std::uint64_t many_distinct_;  // calls of a shape that are different, before columns are tried
};

}  // namespace tisim::tit
