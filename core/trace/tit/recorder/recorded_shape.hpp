// A line of a trace without its numbers, as a recorder declares it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "trace/tit/codec/bytes.hpp"
#include "trace/tit/file/attributes.hpp"

namespace tisim {
namespace tit {

// The text of a line behind its rank: "send {} {} {}". {} is a whole number, {volume} a volume. A
// comment begins with # and has no numbers.
struct RecordedShape {
  std::string text;
  std::uint64_t rank_holes = 0;      // bit i: number i is a rank
  std::vector<bool> is_volume = {};  // of each number in the text
  // Numbers of the attributes that its calls have: fixed ones, whose values are numbers of the
  // call behind those in the text; and others, whose values stand in a stream of their own.
  std::vector<std::uint32_t> fixed = {};
  std::vector<std::uint32_t> streamed = {};

  // What is wrong with a text, or an empty text.
  static std::string fault_of(std::string_view text);
  // The text must have no fault.
  static RecordedShape of(std::string_view text, std::uint64_t rank_holes);
  // The same line with attributes.
  RecordedShape with(std::vector<std::uint32_t> fixed_attributes,
                     std::vector<std::uint32_t> streamed_attributes) const;
  void write(Bytes& out) const;
  // Throws FormatError.
  static RecordedShape read(ByteReader& in);

  std::size_t holes() const { return is_volume.size(); }
  std::size_t numbers() const { return holes() + fixed.size(); }
  bool is_rank(std::size_t number) const {
    return number < holes() && number < 64 && (rank_holes >> number & 1) != 0;
  }
  bool is_comment() const { return text.front() == '#'; }
};

constexpr std::string_view kNumberHole = "{}";
constexpr std::string_view kVolumeHole = "{volume}";

// The first shape of every recorder.
constexpr std::uint32_t kRecordedCompute = 0;
constexpr std::string_view kRecordedComputeText = "compute {volume}";

// Numbers from this on never leave their calls.
constexpr std::size_t kMostColumnNumbers = 64;
inline bool is_in_column(std::uint64_t columns, std::size_t number) {
  return number < kMostColumnNumbers && (columns >> number & 1) != 0;
}

}  // namespace tit
}  // namespace tisim
