// Ranks that do the same become classes.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "tit/file/tables.hpp"
#include "tit/writer/rank_part.hpp"

namespace tisim {
namespace tit {

// Takes the programs of ranks, one after the other in ascending order, and makes the classes and
// signatures of a file.
class ClassBuilder {
 public:
  // `shapes` must outlive it; it may grow meanwhile.
  explicit ClassBuilder(const std::vector<Shape>& shapes) : shapes_(shapes) {}

  void add(const RankProgram& program);
  // Makes tables.signatures, tables.classes and tables.class_of.
  void finish(TraceTables& tables);

 private:
  struct Members {
    Grammar grammar;
    std::vector<Call> calls;  // of the first rank
    std::vector<std::vector<std::uint32_t>> columns;
    bool has_volumes = false;
    std::vector<std::int32_t> ranks;
    std::vector<std::vector<std::int64_t>> numbers;  // of each hole of each call, by rank
  };

  RankClass finish_class(Members& members, TraceTables& tables);
  Argument argument_of(const Members& members, const Shape& shape, std::size_t hole,
                       const std::vector<std::int64_t>& numbers) const;

  const std::vector<Shape>& shapes_;
  std::unordered_map<std::string, std::uint32_t> by_key_;
  std::vector<Members> classes_;
  std::vector<std::int64_t> class_of_;
  std::unordered_map<std::string, std::uint32_t> signature_numbers_;
};

}  // namespace tit
}  // namespace tisim
