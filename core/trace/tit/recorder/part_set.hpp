// The parts of some ranks, merged pairwise until they are those of all, and the trace they make.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "trace/tit/grammar/grammar.hpp"
#include "trace/tit/recorder/part_log.hpp"

namespace tisim::tit {

// A call of a recorded stretch.
struct PartCall {
  std::uint32_t shape;
  std::uint64_t columns;  // bit i: its number i stands in blocks of values
};

// The program of ranks with the same structure, but for the numbers of their calls.
struct PartStructure {
  struct Stretch {
    std::vector<PartCall> calls;
    Grammar grammar;  // its terminals are places in `calls`
  };

  std::vector<RecordedShape> shapes;  // the first is kRecordedCompute
  std::vector<Attribute> attributes;
  std::vector<Stretch> stretches;
  Grammar sequence;  // of stretches

  // Throws FormatError for bytes that are none.
  static PartStructure read(std::string_view bytes);
  // Kind of each number that is not in a column, in the order of the calls: those of its line, then
  // values of fixed attributes.
  enum class Number : std::uint8_t { plain, rank, text };
  std::vector<Number> numbers() const;
};

struct PartRank {
  std::int32_t rank = 0;
  bool is_complete = false;                   // the program ended as it should
  std::vector<std::int64_t> numbers;          // those of PartStructure::numbers
  std::vector<std::string> values;            // blocks
  std::vector<std::string> attribute_values;  // blocks; a site is the number of an attribute
};

// Ranks with the same structure.
struct PartGroup {
  std::string structure;  // as bytes
  std::vector<PartRank> ranks;
};

class PartSet {
 public:
  // The set of one rank. A truncated log gives what it has. Throws FormatError.
  static PartSet from_log(std::string_view log);
  // From what write() gave. Throws FormatError.
  static PartSet read(std::string_view bytes);
  std::string write() const;

  // Takes the ranks of another set. Throws FormatError when both have the same rank, or are of
  // programs with another number of ranks.
  void merge(PartSet other);

  std::uint32_t ranks_of_program() const { return ranks_of_program_; }
  const std::vector<PartGroup>& groups() const { return groups_; }
  // Texts that numbers name.
  const std::vector<std::string>& texts() const { return texts_; }

 private:
  std::uint32_t ranks_of_program_ = 0;
  std::vector<PartGroup> groups_;
  std::vector<std::string> texts_;
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
