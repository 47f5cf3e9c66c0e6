// Writes a packed trace class by class, for programs that are known as formulas over their ranks.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "trace/tit/file/tables.hpp"

namespace tisim::tit {

// A call of a class: its shape, and for each hole one number, or one for each rank of the class.
struct ClassCall {
  std::uint32_t shape = 0;
  std::vector<std::vector<std::int64_t>> numbers;
};

// No computation stands in a column. Throws std::invalid_argument for what cannot be.
class ClassWriter {
 public:
  explicit ClassWriter(std::uint32_t ranks);

  // The number of a shape. `rank_holes`: bit i is set when its hole i takes a rank.
  std::uint32_t shape(const std::string& text, std::uint64_t rank_holes);
  // A class of ranks, ascending, that are of no class yet. The terminals of the grammar are places
  // in `calls`.
  void add(const std::vector<std::int32_t>& ranks, const std::vector<ClassCall>& calls,
           Grammar grammar);
  // The whole file; every rank must have its class. `precision`: of volumes, empty when exact.
  std::string finish(bool legacy, const std::string& precision);

 private:
  Argument argument_of(const std::vector<std::int64_t>& numbers, bool is_rank, bool is_volume,
                       const std::vector<std::int32_t>& ranks, RankClass& made);

  TraceTables tables_;
  std::unordered_map<std::string, std::uint32_t> shape_numbers_;
  std::unordered_map<std::string, std::uint32_t> signature_numbers_;
  std::vector<std::int64_t> class_of_;  // of each rank; -1: none yet
};

}  // namespace tisim::tit
