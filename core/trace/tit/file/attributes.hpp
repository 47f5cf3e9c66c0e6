// Attributes of calls: data that a trace's text cannot express. docs/tit.md describes the bytes.
//
// They are in separate sections, which readers may skip.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "trace/tit/file/tables.hpp"

namespace tisim::tit {

constexpr std::string_view kAttributesSection = "attributes";
constexpr std::string_view kAttributeValuesSection = "attribute values";

enum class AttributeKind : std::uint8_t {
  number,    // identifies a call
  text,      // the same: the number of a text
  measured,  // varies between calls
  rank,      // a rank that varies between calls
};
constexpr std::uint8_t kAttributeKinds = 4;
constexpr std::size_t kMaxAttributes = 64;

struct Attribute {
  std::string name;
  AttributeKind kind = AttributeKind::number;
  // True if it is the same each time the call is made.
  bool is_fixed() const { return kind == AttributeKind::number || kind == AttributeKind::text; }

  // The error of a name, or of a text that is a value; empty if valid.
  static std::string error_of_name(std::string_view name);
  static std::string error_of_text(std::string_view text);
};

// Exclusive bound on the magnitude of values.
constexpr std::int64_t kAttributeLimit = std::int64_t{1} << 62;

// A value as stored in a column: 0 is none. Ranks are relative to the own rank.
std::uint64_t attribute_code(AttributeKind kind, std::int64_t value, std::uint32_t rank);
std::int64_t attribute_value(AttributeKind kind, std::uint64_t code, std::uint32_t rank);

// The attributes of a call of a class, each at most once, in ascending order of their numbers.
struct CallAttributes {
  struct Fixed {
    std::uint32_t attribute = 0;
    Argument argument;  // constant, or by rank: then in a vector of the class
  };
  std::vector<Fixed> fixed;
  // Attributes in the column: those of the computation before the call, and those of the call.
  std::vector<std::uint32_t> before;
  std::vector<std::uint32_t> at;
};

struct ClassAttributes {
  std::vector<std::uint32_t> layout_of;  // by index in the class
  std::vector<RankVector> vectors;       // of the fixed ones by rank, in order
};

struct AttributeTables : CodedColumns {
  std::vector<Attribute> attributes;
  std::vector<std::string> texts;
  std::vector<CallAttributes> layouts;  // of calls, each once
  std::vector<ClassAttributes> classes;

  const CallAttributes& of_call(std::uint32_t rank_class, std::uint32_t call) const {
    return layouts[classes[rank_class].layout_of[call]];
  }
  // Numbers the sites of all values; requires the classes.
  void number_sites(const TraceTables& tables);
  // The site of an attribute of a call of a kind, or of the computation before such a call.
  std::uint32_t site_of(std::uint32_t attribute, std::uint32_t kind, bool is_before) const;
  std::size_t sites_count() const { return site_numbers_.size(); }

  void write(Bytes& out) const;
  // Checks all assumptions of the reader. Throws FormatError.
  void read(ByteReader& in, const TraceTables& tables);

 private:
  std::unordered_map<std::uint64_t, std::uint32_t> site_numbers_;
};

}  // namespace tisim::tit
