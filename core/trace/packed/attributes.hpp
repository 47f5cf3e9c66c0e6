// The attributes of calls in a packed trace: call sites, counters, matched sources and the like.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "trace/packed/column_stream.hpp"
#include "trace/packed/file.hpp"
#include "trace/tit/file/attributes.hpp"
#include "trace/tit/grammar/grammar.hpp"

namespace tisim {

// The name of the attribute that says where in the program a call was made.
constexpr std::string_view kCallSiteAttribute = "call_site";

// The section `attributes` of a file, opened. Immutable.
class PackedAttributes {
 public:
  // `values_offset`: where their values begin in the file. Throws TraceError and FormatError.
  PackedAttributes(tit::AttributeTables tables, std::uint64_t values_offset,
                   std::uint64_t values_size);

  const tit::AttributeTables& tables() const { return tables_; }
  const PackedFile::Site& site(std::uint32_t number) const { return sites_[number]; }
  ColumnPlace column_of(std::int32_t rank) const {
    return find_column(tables_.columns, offsets_, rank);
  }
  // The number of the attribute of a name.
  std::optional<std::uint32_t> number_of(std::string_view name) const;

 private:
  tit::AttributeTables tables_;
  std::vector<PackedFile::Site> sites_;
  std::vector<std::uint64_t> offsets_;  // of each of tables_.columns, in the file
};

// The lines of one rank that have attributes, in their order.
class AttributeWalk {
 public:
  struct Value {
    std::uint32_t attribute = 0;
    std::int64_t value = 0;  // a number, a rank, or the number of a text
  };

  // `file`, which must have attributes, must outlive it.
  AttributeWalk(const PackedFile& file, std::int32_t rank);

  // Goes to the next line that has some; false behind the last one. Throws TraceError.
  bool next();
  // True if each call of the rank has the same value of an attribute every time, or none every
  // time. Nothing may have been walked before, and nothing is left to walk after it.
  bool repeats(std::uint32_t attribute);
  // The number of the line in the rank's file, as RankReader and PackedText count.
  std::uint64_t line() const { return line_; }
  const std::vector<Value>& values() const { return values_; }

 private:
  // The needs of a call of the class.
  struct Place {
    std::uint32_t kind = 0;
    bool is_silent = false;
    std::uint64_t step = 1;  // lines on
    bool has_columns = false;
    std::vector<std::uint32_t> before_sites, at_sites;
    std::vector<Value> fixed;
  };

  Place make(std::uint32_t call, std::vector<tit::RankVector>::const_iterator& vector) const;
  Value checked(Value value) const;
  bool take(const std::vector<std::uint32_t>& attributes, const std::vector<std::uint32_t>& sites,
            std::vector<Value>& values);
  // Passes over the values of a call; whether a computation stands before it, and the lines on.
  bool pass(std::uint32_t call, const Place& place, std::uint64_t& step);

  const PackedFile* file_;
  const PackedAttributes* attributes_;
  const tit::RankClass* class_;
  std::int32_t rank_;
  std::uint32_t class_number_;
  tit::Expansion expansion_;
  ColumnStream column_;
  ColumnStream attribute_column_;
  std::vector<Place> places_;
  std::uint32_t before_ = 0;  // kind of the call before plus 1
  std::uint64_t number_ = 0;  // lines up to now
  std::uint64_t calls_ = 0;
  std::uint64_t line_ = 0;
  std::vector<Value> values_;
  std::uint64_t waiting_line_ = 0;  // of a call whose computation came last; 0: none
  std::vector<Value> waiting_;
};

}  // namespace tisim
