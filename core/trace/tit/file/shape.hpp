// A line of a trace, or the name of a file, without its numbers.
//
// A shape is a text with holes for numbers: bytes below kFirstPlain are marks, which say what
// stands there. A line's numbers are those of the holes in their order.
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
  kStepMark = 4,     // a hole at the end, which prints nothing: so many lines on in a merged file
  kSilentMark = 5,   // alone: no line at all
  kPaddedMark = 6,   // a hole: a whole number with zeros before it; its width is the next byte
  kLiteralMark = 7,  // the next byte stands for itself
};
constexpr char kFirstPlain = 8;

// The numbers of a line that its shape leaves open. A rank stands as it is written.
struct Line {
  std::string shape;
  std::vector<std::int64_t> numbers;
};

// `body` is a line without its rank and the blank behind that.
Line line_of(std::string_view body);
// A line that does not begin with its rank and a blank.
Line raw_line_of(std::string_view text);
// The name of a file: numbers with zeros before them count too.
Line name_of(std::string_view name);

// The type of a hole of a shape.
struct Hole {
  Mark mark = kNumberMark;
  std::size_t word = 0;      // number of its word in the line, from 0, the action
  bool is_argument = false;  // it begins its word: no name and no list stands before it
};
std::vector<Hole> holes_of(std::string_view shape);

// Why a shape cannot be one; empty when it can.
std::string fault_of_shape(std::string_view shape);

// Appends the text of a shape, which must be one, with its numbers.
void append_text(std::string_view shape, const std::int64_t* numbers, std::string& out);

}  // namespace tisim::tit
