// What some ranks of a program have recorded; merged pairwise until it is what all have.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tit/grammar/grammar.hpp"
#include "tit/recorder/recorded_shape.hpp"

namespace tisim {
namespace tit {

// A call of a recorded stretch.
struct PartCall {
  std::uint32_t shape;
  std::uint64_t columns;  // bit i: its number i stands in blocks of values
};

// What ranks with the same structure did, but for the numbers of their calls.
struct PartStructure {
  struct Stretch {
    std::vector<PartCall> calls;
    Grammar grammar;  // its terminals are places in `calls`
  };

  std::vector<RecordedShape> shapes;  // the first is kRecordedCompute
  std::vector<Stretch> stretches;
  Grammar sequence;  // of stretches

  // Throws FormatError for bytes that are none.
  static PartStructure read(std::string_view bytes);
  // Of each number that is not in a column, in the order of the calls: whether it is a rank.
  std::vector<bool> number_is_rank() const;
};

struct PartRank {
  std::int32_t rank = 0;
  bool is_complete = false;           // the program ended as it should
  std::vector<std::int64_t> numbers;  // those of PartStructure::number_is_rank
  std::vector<std::string> values;    // blocks
};

// Ranks with the same structure.
struct PartGroup {
  std::string structure;  // as bytes
  std::vector<PartRank> ranks;
};

class PartSet {
 public:
  // Of one rank. A log that was cut gives what it has. Throws FormatError.
  static PartSet from_log(std::string_view log);
  // From what write() gave. Throws FormatError.
  static PartSet read(std::string_view bytes);
  std::string write() const;

  // Takes the ranks of another set. Throws FormatError when both have the same rank, or are of
  // programs with another number of ranks.
  void merge(PartSet other);

  std::uint32_t ranks_of_program() const { return ranks_of_program_; }
  const std::vector<PartGroup>& groups() const { return groups_; }

 private:
  std::uint32_t ranks_of_program_ = 0;
  std::vector<PartGroup> groups_;
};

}  // namespace tit
}  // namespace tisim
