// The logs of some ranks, merged until all ranks are present, and the trace they form.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "trace/tit/grammar/grammar.hpp"
#include "trace/tit/recorder/part_log.hpp"

namespace tisim::tit {

// A call of a recorded segment.
struct RecordedCall {
  std::uint32_t shape = 0;
  std::uint64_t columns = 0;               // bit i: number i is in RankLog::values, and 0 here
  std::vector<std::int64_t> numbers = {};  // of its line, then values of fixed attributes
};

// The contents of a rank's log.
struct RankLog {
  struct Segment {
    std::vector<RecordedCall> calls;
    Grammar grammar;  // its terminals are indices into `calls`
  };

  std::int32_t rank = 0;
  std::uint32_t ranks = 0;            // of the program
  bool is_complete = false;           // the program ended normally
  std::vector<RecordedShape> shapes;  // the first is kRecordedCompute
  std::vector<Attribute> attributes;
  std::vector<std::string> texts;
  std::vector<Segment> segments;
  Grammar sequence;    // of segments
  std::string values;  // of numbers separated from their calls, call by call
  std::vector<std::vector<std::uint64_t>> attribute_values;  // by attribute, call by call

  // Reads a log; a truncated one up to the cut. Throws FormatError.
  static RankLog read(std::string_view log);
};

// Takes the next of RankLog::values.
inline std::int64_t value_in_column(const RecordedShape& shape, std::size_t hole, ByteReader& in) {
  return shape.is_volume[hole] ? static_cast<std::int64_t>(in.varint()) : in.zigzag();
}

class PartSet {
 public:
  // The set of a single rank. Throws FormatError.
  static PartSet from_log(std::string log);
  // Reads the result of write(). Throws FormatError.
  static PartSet read(std::string_view bytes);
  std::string write() const;

  // Adds the ranks of another set. Throws FormatError if both contain the same rank or their
  // programs differ in the number of ranks.
  void merge(PartSet other);

  std::uint32_t ranks_of_program() const { return ranks_of_program_; }
  // The log of a rank; nullptr if it is not in the set.
  const std::string* log(std::int32_t rank) const;
  bool is_complete(std::int32_t rank) const;

 private:
  struct Part {
    bool is_complete = false;  // the program ended normally
    std::string log;
  };

  std::uint32_t ranks_of_program_ = 0;
  std::map<std::int32_t, Part> parts_;
};

// Converts the recordings of all ranks to a packed trace.

// Maximum number of calls of a rank that are kept in memory to search their structure again. Longer
// ranks keep the structure that the recorder found.
constexpr std::uint64_t kMaxCallsInMemory = std::uint64_t{1} << 25;

// Returns the whole file. Rank 0 begins with `first_lines`, which have no rank. Missing ranks have
// no calls. `incomplete` receives the ranks that are missing or did not end normally; a comment in
// the first rank lists them. Throws FormatError.
std::string trace_of(const PartSet& parts, const std::vector<std::string>& first_lines,
                     std::vector<std::uint32_t>& incomplete,
                     std::uint64_t max_calls_in_memory = kMaxCallsInMemory);

}  // namespace tisim::tit
