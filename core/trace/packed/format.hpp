// The packed form of a trace (files named .tit): what its bytes mean.
//
// A file is a header, the streams of the ranks, and an index. Every number is a varint unless said
// otherwise.
//
// Header, kHeaderSize bytes, its numbers of fixed width in little endian:
//   8  magic           4  version          4  CRC-32C of the index
//   8  size of the file                    8  where the index begins
//   4  reserved, 0     4  CRC-32C of the header up to here
// Index:
//   form (0: a file a rank, 1: one file of all ranks), dialect, most slots
//   words: their number, then each as a text (its length and its bytes)
//   dictionary: the number of templates, then each as a text
//   name of the index file that listed the trace files, and its text; both empty without one
//   number of ranks; for each in the order of the files: its rank minus the one before (zigzag,
//   minus 1), actions, bytes of its stream, flags, and the name of its file: how many bytes its
//   beginning and its end have in common with the name before, then what is between as a text
// Stream: blocks, each its size, the CRC-32C of its payload (4 bytes) and its payload: tokens.
//
// A token stands for one line of the rank's text:
//   kRaw        text: the line, as it is
//   kNew        text: a template (see line_template.hpp), which gets the next slot
//   kImport     number of a template in the dictionary, which gets the next slot
//   kFar        slot minus kNearSlots
//   kWhole      "compute" with this whole number
//   kDecimal    "compute": digits, and (one byte) how many of them are decimals
//   kScientific + e: "compute" d.ddde+0e, e from 6 to 11: the digits
//   kText       "compute": the volume as a text
//   kShort + h  "compute": h * 65536 + the next two bytes, the low one first
//   kNear + s   slot s
// or for none:
//   kJump       the next line is this many lines on, not one (or the stride)
//   kStride     from now on, lines are so many lines apart
// A line whose action is `init` gets no slot: it may change the default type, so it empties all
// slots. When all slots are taken, the first is used again, and so on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tisim::packed {

inline constexpr std::string_view kMagic{"\x89TIT\r\n\x1a\n", 8};
inline constexpr std::uint32_t kVersion = 1;
inline constexpr std::size_t kHeaderSize = 40;

enum Token : std::uint8_t {
  kRaw = 0,
  kNew = 1,
  kImport = 2,
  kFar = 3,
  kWhole = 4,
  kDecimal = 5,
  kJump = 6,
  kStride = 7,
  kScientific = 8,
  kText = 14,
  kShort = 16,
  kNear = 32,
};

inline constexpr unsigned kLeastExponent = 6;
inline constexpr unsigned kMostExponent = 11;
inline constexpr unsigned kNearSlots = 256 - kNear;

// Flags of a rank's stream.
inline constexpr std::uint8_t kNoLastNewline = 1;

// Blocks are cut at this size, or sooner where so many ranks are read at once.
inline constexpr std::size_t kMostBlock = 32U << 10;
inline constexpr std::size_t kLeastBlock = 512;
inline constexpr std::size_t kAllBlocks = 64U << 20;

inline constexpr std::size_t kMostSlots = 4096;
inline constexpr std::size_t kMostWords = 255;
// Before a template with named arguments. It is the number of no word.
inline constexpr std::uint64_t kNamed = kMostWords + 1;
inline constexpr std::size_t kMostTemplates = 65536;

}  // namespace tisim::packed
