// The logs of some ranks, merged until they are those of all, and the trace they make.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "trace/tit/grammar/grammar.hpp"
#include "trace/tit/recorder/part_log.hpp"

namespace tisim::tit {

// A call of a recorded stretch.
struct RecordedCall {
  std::uint32_t shape = 0;
  std::uint64_t columns = 0;  // bit i: its number i stands in RankLog::values, and is 0 here
  std::vector<std::int64_t> numbers = {};  // those of its line, then values of fixed attributes
};

// What the log of a rank says.
struct RankLog {
  struct Stretch {
    std::vector<RecordedCall> calls;
    Grammar grammar;  // its terminals are places in `calls`
  };

  std::int32_t rank = 0;
  std::uint32_t ranks = 0;            // of the program
  bool is_complete = false;           // the program ended as it should
  std::vector<RecordedShape> shapes;  // the first is kRecordedCompute
  std::vector<Attribute> attributes;
  std::vector<std::string> texts;
  std::vector<Stretch> stretches;
  Grammar sequence;    // of stretches
  std::string values;  // of numbers that have left their calls, call by call
  std::vector<std::vector<std::uint64_t>> attribute_values;  // of each attribute, call by call

  // A truncated log says what it has. Throws FormatError.
  static RankLog read(std::string_view log);
};

// The next of RankLog::values.
inline std::int64_t value_in_column(const RecordedShape& shape, std::size_t hole, ByteReader& in) {
  return shape.is_volume[hole] ? static_cast<std::int64_t>(in.varint()) : in.zigzag();
}

class PartSet {
 public:
  // The set of one rank. Throws FormatError.
  static PartSet from_log(std::string log);
  // From what write() gave. Throws FormatError.
  static PartSet read(std::string_view bytes);
  std::string write() const;

  // Takes the ranks of another set. Throws FormatError when both have the same rank, or are of
  // programs with another number of ranks.
  void merge(PartSet other);

  std::uint32_t ranks_of_program() const { return ranks_of_program_; }
  // By rank; nullptr: it is not in the set.
  const std::string* log(std::int32_t rank) const;
  bool is_complete(std::int32_t rank) const;

 private:
  struct Part {
    bool is_complete = false;  // the program ended as it should
    std::string log;
  };

  std::uint32_t ranks_of_program_ = 0;
  std::map<std::int32_t, Part> parts_;
};

// From what all ranks have recorded to a packed trace.

// A rank with more calls keeps the structure that its recorder found; for others it is searched
// again, with all calls in memory.
constexpr std::uint64_t kMostCallsAtHand = std::uint64_t{1} << 25;

// The whole file. Rank 0 begins with `first_lines`, which have no rank. A rank that is missing does
// nothing. Those that are missing or did not end as they should are `incomplete`; a comment in the
// first rank says so. Throws FormatError.
std::string trace_of(const PartSet& parts, const std::vector<std::string>& first_lines,
                     std::vector<std::uint32_t>& incomplete,
                     std::uint64_t most_calls_at_hand = kMostCallsAtHand);

}  // namespace tisim::tit
