// Writes a packed trace from the programs of its ranks; ranks that do the same form classes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "trace/tit/file/attributes.hpp"
#include "trace/tit/file/container.hpp"
#include "trace/tit/file/tables.hpp"
#include "trace/tit/writer/columns.hpp"
#include "trace/tit/writer/rank_program.hpp"

namespace tisim::tit {

// The numbers of one hole of a call on the ranks of a class. While they follow a rule, only the
// rule is stored.
class HoleNumbers {
 public:
  // Takes the number of the first rank.
  HoleNumbers(std::int64_t number, std::int32_t rank, bool is_rank)
      : first_(number), rank_(rank), relative_(is_rank), exclusive_(is_rank) {}
  // Adds that of the next rank; `ranks` are those of the class, `before` of which precede it.
  void add(std::int64_t number, std::int32_t rank, const std::vector<std::int32_t>& ranks,
           std::size_t before);
  // `alone`: the class has no other rank.
  Argument argument(bool alone) const;
  const std::vector<std::int64_t>& all() const { return all_; }

 private:
  bool is_regular() const { return constant_ || relative_ || exclusive_; }

  std::int64_t first_;
  std::int32_t rank_;
  bool constant_ = true;
  bool relative_;
  bool exclusive_;
  std::vector<std::int64_t> all_;  // if they follow no rule
};

// Takes the programs of ranks in ascending order and creates the classes and signatures of a file.
class ClassBuilder {
 public:
  // `shapes` must outlive it; it may grow in the meantime.
  explicit ClassBuilder(const std::vector<Shape>& shapes) : shapes_(shapes) {}

  void add(const RankProgram& program);
  // Creates tables.signatures, tables.classes and tables.class_of, and attributes.layouts and
  // attributes.classes.
  void finish(TraceTables& tables, AttributeTables& attributes);

 private:
  struct Members {
    Grammar grammar;
    std::vector<Call> calls;  // of the first rank
    std::vector<std::vector<std::uint32_t>> columns;
    bool has_volumes = false;
    std::vector<std::int32_t> ranks;
    std::vector<HoleNumbers> numbers;  // by hole of each call
    std::vector<RankProgram::Columns> attributes;
    std::vector<HoleNumbers> fixed;  // by attribute of each call
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

// Creates a packed trace from the programs of its ranks.

// Names of the sections that every file has, and of those added on demand.
constexpr std::string_view kTraceSection = "trace";
constexpr std::string_view kColumnsSection = "columns";
constexpr std::string_view kValuesSection = "values";

class TraceWriter {
 public:
  explicit TraceWriter(std::uint32_t ranks);

  // The number of a shape. `rank_holes`: bit i is set if hole i takes a rank.
  std::uint32_t shape(const std::string& text, std::uint64_t rank_holes);

  // The numbers of an attribute and of a text that attributes refer to. There are at most
  // kMaxAttributes attributes.
  std::uint32_t attribute(const Attribute& attribute);
  std::uint32_t text(const std::string& text);

  // Makes volumes before calls numbers of histograms, from which readers draw with the seed. Call
  // it before the first rank.
  void draw_volumes(std::uint64_t seed) { drawn_ = DrawnVolumes{{}, seed}; }
  bool draws_volumes() const { return drawn_.has_value(); }
  VolumeHistograms& histograms() { return drawn_->histograms; }

  // Adds the next rank; ranks come in ascending order from 0. `name` is its file's.
  void add(RankProgram program, std::string_view name, bool has_last_newline);

  // Returns the whole file. `layout`: data not specific to one rank; `others`: further sections.
  std::string finish(FileLayout layout, std::vector<Section> others = {});

 private:
  void finish_names(FileLayout& layout) const;
  void write_attributes(std::vector<Section>& sections);

  TraceTables tables_;
  std::optional<DrawnVolumes> drawn_;
  std::unordered_map<std::string, std::uint32_t> shape_numbers_;
  ClassBuilder classes_;
  std::vector<RankValues> values_;
  AttributeTables attributes_;
  std::vector<RankValues> attribute_values_;
  std::unordered_map<std::string, std::uint32_t> text_numbers_;
  std::vector<std::int64_t> newlines_;
  // Names: shapes, the shape number of each rank, and the numbers in its holes.
  std::vector<std::string> name_shapes_;
  std::vector<std::int64_t> name_of_;
  std::vector<std::vector<std::int64_t>> name_numbers_;
};

}  // namespace tisim::tit
