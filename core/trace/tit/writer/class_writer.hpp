// Writes a packed trace class by class, for programs given as formulas over their ranks.
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

// No computations are in columns. Throws std::invalid_argument for invalid arguments.
class ClassWriter {
 public:
  explicit ClassWriter(std::uint32_t ranks);

  // The number of a shape. `rank_holes`: bit i is set if hole i takes a rank.
  std::uint32_t shape(const std::string& text, std::uint64_t rank_holes);
  // Adds a class of ranks, ascending, that have no class yet. The terminals of the grammar are
  // indices into `calls`.
  void add(const std::vector<std::int32_t>& ranks, const std::vector<ClassCall>& calls,
           Grammar grammar);
  // Returns the whole file; every rank must have a class. `precision`: of volumes; empty if exact.
  std::string finish(bool legacy, const std::string& precision);

 private:
  Argument argument_of(const std::vector<std::int64_t>& numbers, bool is_rank, bool is_volume,
                       const std::vector<std::int32_t>& ranks, RankClass& made);

  TraceTables tables_;
  std::unordered_map<std::string, std::uint32_t> shape_numbers_;
  std::unordered_map<std::string, std::uint32_t> signature_numbers_;
  std::vector<std::int64_t> class_of_;  // by rank; -1: none yet
};

}  // namespace tisim::tit
