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
    std::uint64_t columns;  // bit i: number i is stored elsewhere, and 0 here
    std::uint64_t hash;     // of the identifying fields
    std::size_t first;      // index of its first number
  };

  // The number of a call; a new number if the call is new.
  std::uint32_t number_of(std::uint32_t shape, std::uint64_t columns, const std::int64_t* numbers,
                          std::uint32_t count);

  std::uint32_t size() const { return static_cast<std::uint32_t>(entries_.size()); }
  const Entry& entry(std::uint32_t call) const { return entries_[call]; }
  const std::int64_t* numbers(std::uint32_t call) const {
    return numbers_.data() + entries_[call].first;
  }
  void clear();
  // Bytes in use, and bytes allocated.
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

// Records the attributes of one rank's calls.

// Values of fixed attributes become part of their call. Other values wait, in the order of their
// calls, until all earlier ones are known, and are then written to the log.
class AttributeRecorder {
 public:
  static constexpr std::int64_t kRefused = -1;

  // `log` must outlive it. Values are written to it when they take `full` bytes.
  AttributeRecorder(PartLog& log, std::uint32_t rank, std::size_t full)
      : log_(log), rank_(rank), full_(full) {}

  // Declares an attribute and returns its number; kRefused if there are too many, or if it was
  // declared with another kind.
  std::int64_t declare(const Attribute& attribute);
  std::size_t declared() const { return streams_.size(); }
  bool is_fixed(std::uint32_t attribute) const { return streams_[attribute].is_fixed; }
  // The number of a text; kRefused if texts take too much memory.
  std::int64_t text(const std::string& text);
  bool is_text(std::uint32_t attribute) const {
    return streams_[attribute].kind == AttributeKind::text;
  }
  bool has_text(std::int64_t number) const {
    return number >= 0 && static_cast<std::size_t>(number) < texts_.size();
  }

  // Sets an attribute of the next call to a value, or to one that becomes known later, which gets a
  // ticket and must not be of a fixed attribute.
  void set(std::uint32_t attribute, std::int64_t value);
  std::int64_t set_later(std::uint32_t attribute);
  // Sets the value of a ticket; returns false if there is no such ticket.
  bool set_ticket(std::int64_t ticket, std::int64_t value);

  // Whether the next call has attributes; take_next() appends values of fixed ones to `numbers`.
  bool has_next() const { return !next_.empty(); }
  void take_next(std::vector<std::uint32_t>& fixed, std::vector<std::uint32_t>& streamed,
                 std::vector<std::int64_t>& numbers);

  // Writes the known values to the log. At the end, unknown ones are written as missing.
  void write();
  void end();

  std::size_t memory() const;

 private:
  // Maximum number of values that wait for an unknown one.
  static constexpr std::size_t kMaxWaiting = 65536;

  struct PendingValue {
    bool is_known = false;
    std::uint64_t code = 0;
  };
  struct Stream {
    std::string name;
    AttributeKind kind;
    bool is_fixed;
    std::uint64_t first;  // index of the first pending value
    std::deque<PendingValue> pending;
  };
  struct Next {
    std::uint32_t attribute;
    bool is_known;
    std::int64_t value;
  };

  void put(const Next& next);
  void write_known(std::uint32_t attribute);
  Next& next_of(std::uint32_t attribute);

  PartLog& log_;
  std::uint32_t rank_;
  std::size_t full_;
  std::vector<Stream> streams_;  // of each attribute
  std::vector<Next> next_;       // of the next call, ascending
  Bytes values_;                 // not in the log yet
  std::unordered_map<std::string, std::uint32_t> texts_;
  std::size_t text_bytes_ = 0;
};

// Records the actions of one rank as they happen, in bounded memory.

// The calls of a segment of the program are stored as a grammar. A full grammar ends the segment:
// it is written to the log, and the next one starts empty. The end of a segment depends only on the
// calls before it, so the segments of a loop longer than one segment are equal in all iterations
// and are stored once. Numbers that rarely repeat are separated from their calls.
//
// Memory, apart from a log in memory, stays below the bound.
class RankRecorder {
 public:
  static constexpr std::size_t kMinMemory = std::size_t{64} << 10;

  // `path`: of the log; empty: kept in memory. `memory`: in bytes.
  RankRecorder(std::uint32_t rank, std::uint32_t ranks, std::size_t memory, std::string path);

  // Adds a line; kRecordedCompute is predefined.
  std::uint32_t shape(const RecordedShape& shape);
  std::size_t shapes() const { return declared_.size(); }
  std::uint32_t holes(std::uint32_t line) const {
    return static_cast<std::uint32_t>(declared_[line].line.holes());
  }

  // The attributes of the next call.
  AttributeRecorder& attributes() { return attributes_; }
  // Records a call, with a number for each hole of its line.
  void call(std::uint32_t line, const std::int64_t* numbers) {
    if (!log_.error().empty()) return;
    if (attributes_.has_next()) {
      make_with_attributes(line, numbers);
    } else {
      make_shape(declared_[line].shape, numbers);
    }
  }

  // Records a line without numbers and attributes, such as a comment.
  void remark(const RecordedShape& line) {
    if (log_.error().empty()) make_shape(add_shape(line), nullptr);
  }

  // Writes everything so far to the log.
  void flush();
  // The same, and marks the program as complete.
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
    std::uint64_t columns;  // holes whose numbers are separated from their calls
    std::uint64_t made;     // calls in the segment; `distinct`: distinct ones
    std::uint64_t distinct;
  };
  // A segment in the log.
  struct Known {
    std::uint64_t hash[2];
    std::uint32_t number;
  };

  // A line and the shapes of its calls: without attributes, and with any.
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
  void end_segment();
  void write_values();
  std::string encode_segment(Grammar grammar) const;
  std::size_t load() const;

  PartLog log_;
  std::vector<ShapeState> shapes_;
  std::vector<Declared> declared_;
  AttributeRecorder attributes_;
  // Scratch for a call with attributes.
  std::vector<std::uint32_t> fixed_, streamed_;
  std::vector<std::int64_t> numbers_;
  DistinctCalls calls_;  // of the segment
  SequenceEncoder encoder_;
  Bytes values_;                       // not in the log yet
  std::vector<std::int64_t> reduced_;  // scratch for the numbers of a call
  std::vector<Known> known_;
  std::uint32_t segments_ = 0;
  std::uint64_t recent_ = 0;  // hash of the last 64 calls
  std::uint64_t calls_made_ = 0;
  std::uint64_t flushed_calls_ = 0;
  std::size_t full_;         // bytes of grammar and calls at which a segment ends
  std::size_t most_values_;  // bytes of values
  std::size_t most_known_;
  std::uint64_t many_distinct_;  // distinct calls of a shape before columns are tried
};

}  // namespace tisim::tit
