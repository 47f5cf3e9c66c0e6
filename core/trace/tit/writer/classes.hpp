// Ranks that do the same become classes.
#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "trace/tit/file/attributes.hpp"
#include "trace/tit/file/tables.hpp"
#include "trace/tit/writer/rank_part.hpp"

namespace tisim {
namespace tit {

// Takes the programs of ranks, one after the other in ascending order, and makes the classes and
// signatures of a file.
class ClassBuilder {
 public:
  // `shapes` must outlive it; it may grow meanwhile.
  explicit ClassBuilder(const std::vector<Shape>& shapes) : shapes_(shapes) {}

  void add(const RankProgram& program);
  // Makes tables.signatures, tables.classes and tables.class_of, and attributes.layouts and
  // attributes.classes.
  void finish(TraceTables& tables, AttributeTables& attributes);

 private:
  // A hole's number on each rank of a class. As long as they follow a rule, only that is kept.
  class Numbers {
   public:
    // Of the first rank.
    Numbers(std::int64_t number, std::int32_t rank, bool is_rank)
        : first_(number), rank_(rank), relative_(is_rank), exclusive_(is_rank) {}
    // Of one more; `ranks` are those before it.
    void add(std::int64_t number, std::int32_t rank, const std::vector<std::int32_t>& ranks);
    Argument argument(bool alone) const;
    const std::vector<std::int64_t>& all() const { return all_; }

   private:
    bool follows_a_rule() const { return constant_ || relative_ || exclusive_; }
    std::int64_t by_rule(std::int32_t rank) const;

    std::int64_t first_;
    std::int32_t rank_;
    bool constant_ = true;
    bool relative_;
    bool exclusive_;
    std::vector<std::int64_t> all_;  // once they follow no rule
  };
  struct Members {
    Grammar grammar;
    std::vector<Call> calls;  // of the first rank
    std::vector<std::vector<std::uint32_t>> columns;
    bool has_volumes = false;
    std::vector<std::int32_t> ranks;
    std::vector<Numbers> numbers;  // of each hole of each call
    std::vector<RankProgram::Columns> attributes;
    std::vector<Numbers> fixed;  // of each attribute of each call
  };

  RankClass finish_class(Members& members, TraceTables& tables);
  ClassAttributes finish_attributes(const Members& members, AttributeTables& attributes);

  const std::vector<Shape>& shapes_;
  std::unordered_map<std::string, std::uint32_t> by_key_;
  std::vector<Members> classes_;
  std::vector<std::int64_t> class_of_;
  std::unordered_map<std::string, std::uint32_t> signature_numbers_;
  std::map<std::string, std::uint32_t> layout_numbers_;
};

}  // namespace tit
}  // namespace tisim
