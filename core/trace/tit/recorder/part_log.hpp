// The log of a rank's part of a recorded trace, written while the program runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "trace/tit/codec/bytes.hpp"
#include "trace/tit/file/attributes.hpp"

namespace tisim::tit {

// Writes all bytes to the open file; returns false, with errno set, on failure. Exceeding the file
// size limit of the process is such a failure: the program does not receive the signal SIGXFSZ,
// which would end a process that does not expect it.
bool write_all(int descriptor, const char* bytes, std::size_t size);

// A line of a trace without its numbers, as declared by a recorder.

// The text of a line after its rank: "send {} {} {}". {} is a whole number, {volume} a volume. A
// comment begins with # and has no numbers.
struct RecordedShape {
  std::string text;
  std::uint64_t rank_holes = 0;      // bit i: number i is a rank
  std::vector<bool> is_volume = {};  // of each number in the text
  // Numbers of its calls' attributes: fixed ones, whose values follow the numbers of the text in
  // the call, and others, whose values are in separate streams.
  std::vector<std::uint32_t> fixed = {};
  std::vector<std::uint32_t> streamed = {};

  // The error of a text; empty if valid.
  static std::string error_of(std::string_view text);
  // The text must be valid.
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

// Numbers from this index on never leave their calls.
constexpr std::size_t kMaxColumnNumbers = 64;
inline bool is_in_column(std::uint64_t columns, std::size_t number) {
  return number < kMaxColumnNumbers && (columns >> number & 1) != 0;
}

// The recording of one rank as a log that is complete up to any moment.

// A sequence of records: kind, length, checksum, payload. A truncated log has all records before
// the cut.
enum class RecordKind : std::uint8_t {
  head = 1,              // rank, number of ranks
  shape = 2,             // the next shape
  segment = 3,           // a finished segment of the program: its calls and grammar
  again = 4,             // another repetition of the segment with this number
  snapshot = 5,          // like segment, for the unfinished segment; replaces the last such record
  values = 6,            // numbers separated from their calls, call by call
  end = 7,               // the program ended normally
  attribute = 8,         // the next attribute: name, kind
  text = 9,              // the next text
  attribute_values = 10  // of calls: pairs of an attribute and its value
};

struct Record {
  RecordKind kind;
  std::string_view payload;
};

// The records of a log. Throws FormatError if it does not begin like a log.
std::vector<Record> records_of(std::string_view log);

// Writes a log to a file, or keeps it in memory if there is no path. An error of the file (a full
// disk, a quota) preserves earlier records; later ones are dropped.
class PartLog {
 public:
  explicit PartLog(std::string path);
  ~PartLog();
  PartLog(const PartLog&) = delete;
  PartLog& operator=(const PartLog&) = delete;

  void append(RecordKind kind, std::string_view payload);
  // The error; empty if there was none.
  const std::string& error() const { return error_; }
  const std::string& path() const { return path_; }
  // All bytes, read back from the file.
  std::string contents();
  std::size_t memory() const { return buffer_.capacity(); }

 private:
  void write(std::string_view bytes);
  void fail(const char* what);
  void compact();
  std::string read(int descriptor, std::uint64_t at, std::uint64_t size);

  std::string path_;
  int descriptor_ = -1;
  std::string buffer_;               // the log if it is kept in memory
  std::uint64_t size_ = 0;           // bytes in the file
  std::size_t snapshot_offset_ = 0;  // of the valid snapshot record
  std::uint64_t snapshot_size_ = 0;  // 0: none
  std::uint64_t replaced_ = 0;       // bytes of replaced records
  std::string error_;
};

}  // namespace tisim::tit
