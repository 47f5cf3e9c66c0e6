// The calls of one rank of a packed trace, with the values of its columns.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/packed/attributes.hpp"
#include "trace/packed/column_stream.hpp"
#include "trace/packed/file.hpp"
#include "trace/tit/grammar/grammar.hpp"

namespace tisim {

// An attribute and its value: a number, a rank, or the number of a text.
struct PackedAttribute {
  std::uint32_t attribute = 0;
  std::int64_t value = 0;
};

// For copying, printing or annotating a trace; PackedReader is faster but provides operations only.
class PackedCalls {
 public:
  // `file` must outlive it. `with_attributes`: reads attributes, if the file has any.
  PackedCalls(const PackedFile& file, std::int32_t rank, bool with_attributes);

  // Advances to the next call; returns false after the last one. Throws TraceError.
  bool next();

  // The index of the call in its class.
  std::uint32_t call_index() const { return call_; }
  // 1 plus the number of the volume computed before it; 0: none.
  std::uint64_t volume() const { return volume_; }
  std::uint32_t shape() const { return states_[call_].shape; }
  // True if the call has no line.
  bool is_silent() const { return shape() == tit::kSilentShape; }
  // True if some of its numbers may vary over time.
  bool has_columns() const { return states_[call_].has_columns; }
  const std::vector<std::int64_t>& numbers() const { return states_[call_].numbers; }
  // Line numbers in the rank's file, as in RankReader: of the computation before the call, and of
  // the call.
  std::uint64_t line_before() const { return line_before_; }
  std::uint64_t line() const { return line_; }
  // Their attributes.
  const std::vector<PackedAttribute>& before() const { return before_values_; }
  const std::vector<PackedAttribute>& at() const { return at_values_; }

 private:
  // A call of the class.
  struct CallState {
    std::uint32_t shape = 0;
    std::uint32_t kind = 0;
    bool has_columns = false;
    std::uint64_t step = 1;             // line increment
    std::vector<std::int64_t> numbers;  // numbers in columns keep their last values
    const tit::CallAttributes* layout = nullptr;
    std::vector<std::uint32_t> before_sites, at_sites;
    std::vector<PackedAttribute> fixed;
  };

  void find_attributes();
  std::uint64_t value_at(std::uint32_t site);
  void take_numbers(CallState& state, std::uint32_t site);
  void take(const std::vector<std::uint32_t>& attributes, const std::vector<std::uint32_t>& sites,
            std::vector<PackedAttribute>& values);
  PackedAttribute checked(PackedAttribute value) const;

  const PackedFile* file_;
  const PackedAttributes* attributes_;  // nullptr: not read
  const tit::RankClass* class_;
  std::int32_t rank_;
  tit::Expansion expansion_;
  ColumnStream column_;
  ColumnStream attribute_column_;
  std::vector<CallState> states_;
  std::uint32_t call_ = 0;
  std::uint64_t volume_ = 0;
  std::uint64_t line_before_ = 0;
  std::uint64_t line_ = 0;
  std::vector<PackedAttribute> before_values_, at_values_;
  std::uint32_t before_ = 0;  // kind of the previous call plus 1
  std::uint64_t calls_ = 0;   // so far
};

// The lines of one rank that have attributes, in order.
class AttributeWalk {
 public:
  // `file`, which must have attributes, must outlive it.
  AttributeWalk(const PackedFile& file, std::int32_t rank) : calls_(file, rank, true) {}

  // Advances to the next such line; returns false after the last one. Throws TraceError.
  bool next();
  // The line's number in the rank's file, as in RankReader and PackedText.
  std::uint64_t line() const { return is_before_ ? calls_.line_before() : calls_.line(); }
  const std::vector<PackedAttribute>& values() const {
    return is_before_ ? calls_.before() : calls_.at();
  }

 private:
  PackedCalls calls_;
  bool is_before_ = false;  // at the computation before the call
};

// True if each call of the rank always has the same value of an attribute, or never has one.
bool repeats_attribute(const PackedFile& file, std::int32_t rank, std::uint32_t attribute);

}  // namespace tisim
