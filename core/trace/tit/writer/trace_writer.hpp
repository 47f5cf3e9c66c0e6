// Makes a packed trace from the programs of its ranks.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "trace/tit/file/attributes.hpp"
#include "trace/tit/file/container.hpp"
#include "trace/tit/file/tables.hpp"
#include "trace/tit/writer/classes.hpp"
#include "trace/tit/writer/columns.hpp"
#include "trace/tit/writer/rank_part.hpp"

namespace tisim {
namespace tit {

// Names of the sections that every file has, and of those that it has when they are needed.
constexpr std::string_view kTraceSection = "trace";
constexpr std::string_view kColumnsSection = "columns";
constexpr std::string_view kValuesSection = "values";

class TraceWriter {
 public:
  explicit TraceWriter(std::uint32_t ranks);

  // The number of a shape. `rank_holes`: bit i is set when its hole i takes a rank.
  std::uint32_t shape(const std::string& text, std::uint64_t rank_holes);

  // The numbers of an attribute and of a text that attributes name. There are at most
  // kMostAttributes attributes.
  std::uint32_t attribute(const Attribute& attribute);
  std::uint32_t text(const std::string& text);

  // Volumes of computations before calls are numbers of histograms from now on, and drawn by the
  // seed where the trace is read. No rank must have come.
  void draw_volumes(std::uint64_t seed) {
    draws_ = true;
    seed_ = seed;
  }
  bool draws_volumes() const { return draws_; }
  VolumeHistograms& histograms() { return histograms_; }

  // The next rank; ranks come in ascending order from 0. `name` is its file's.
  void add(RankProgram program, std::string_view name, bool has_last_newline);

  // The whole file. `layout` says what is not of one rank; `others` are further sections.
  std::string finish(FileLayout layout, std::vector<Section> others = {});

 private:
  void finish_names(FileLayout& layout) const;
  void write_attributes(std::vector<Section>& sections);
  void code_tables(std::vector<Section>& tables, std::uint64_t values) const;

  TraceTables tables_;
  std::uint64_t calls_ = 0;  // of all ranks
  bool draws_ = false;
  std::uint64_t seed_ = 0;
  VolumeHistograms histograms_;
  std::unordered_map<std::string, std::uint32_t> shape_numbers_;
  ClassBuilder classes_;
  std::vector<RankValues> values_;
  AttributeTables attributes_;
  std::vector<RankValues> attribute_values_;
  std::unordered_map<std::string, std::uint32_t> text_numbers_;
  std::vector<std::int64_t> newlines_;
  // Names: shapes, the number of each rank's, and the numbers of its holes.
  std::vector<std::string> name_shapes_;
  std::vector<std::int64_t> name_of_;
  std::vector<std::vector<std::int64_t>> name_numbers_;
};

}  // namespace tit
}  // namespace tisim
