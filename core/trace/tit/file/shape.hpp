// A line of a trace, or the name of a file, without its numbers.
//
// A shape is a text with holes for numbers: bytes below kFirstPlain are marks that describe what is
// in their place. A line's numbers are those of the holes, in order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace tisim::tit {

enum Mark : char {
  kNumberMark = 1,   // a hole: a whole number
  kVolumeMark = 2,   // a hole: a volume, as its code
  kNoRankMark = 3,   // first: the line does not begin with its rank and a blank
  kStepMark = 4,     // a hole at the end, without text: distance to the rank's line before
  kSilentMark = 5,   // alone: no line at all
  kPaddedMark = 6,   // a hole: a whole number with leading zeros; its width is the next byte
  kLiteralMark = 7,  // the next byte is literal
};
constexpr char kFirstPlain = 8;

// The shape of a line and its numbers. Ranks are kept as written.
struct Line {
  std::string shape;
  std::vector<std::int64_t> numbers;
};

// `body` is a line without its rank and the blank after it.
Line line_of(std::string_view body);
// A line that does not begin with its rank and a blank.
Line raw_line_of(std::string_view text);
// The name of a file; numbers may have leading zeros.
Line name_of(std::string_view name);

// The type of a hole of a shape.
struct Hole {
  Mark mark = kNumberMark;
  std::size_t word = 0;      // index of its word in the line; 0 is the action
  bool is_argument = false;  // it starts its word, without a name or list before it
};
std::vector<Hole> holes_of(std::string_view shape);

// The reason why a shape is invalid; empty if it is valid.
std::string error_of_shape(std::string_view shape);

// Appends the text of a valid shape with its numbers.
void append_text(std::string_view shape, const std::int64_t* numbers, std::string& out);

}  // namespace tisim::tit
