// The bytes of a rank's part of a recorded trace, written while the program runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "trace/tit/codec/bytes.hpp"
#include "trace/tit/file/attributes.hpp"

namespace tisim::tit {

// Writes all bytes to the open file; false, with errno set, if that fails. A file that would grow
// beyond the limit of the process is such an error: the signal SIGXFSZ, which ends a process that
// does not expect it, does not reach the program.
bool write_all(int descriptor, const char* bytes, std::size_t size);

// A line of a trace without its numbers, as a recorder declares it.

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

  // The error of a text, or an empty text.
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

// The recording of one rank, as a log that is complete up to any moment.

// Records follow one another: kind, length, checksum, payload. A log that was cut has all records
// before the cut.
enum class RecordKind : std::uint8_t {
  head = 1,       // rank, number of ranks
  shape = 2,      // the next shape
  segment = 3,    // a stretch of the program is done; its calls and grammar
  again = 4,      // the stretch with this number, once more
  so_far = 5,     // as segment, of the stretch that is not done; replaces the last such record
  values = 6,     // a block of values
  end = 7,        // the program ended as it should
  attribute = 8,  // the next attribute: name, kind
  text = 9,       // the next text
  attribute_values = 10  // a block of values of attributes
};

struct Record {
  RecordKind kind;
  std::string_view payload;
};

// The records of a log, and whether it ends with the record `end`. Throws FormatError when it does
// not begin as a log.
std::vector<Record> records_of(std::string_view log);

// Writes a log to a file, or keeps it in memory if there is no path. An error of the file (a full
// disk, a quota) leaves what was written before; later records are dropped.
class PartLog {
 public:
  explicit PartLog(std::string path);
  ~PartLog();
  PartLog(const PartLog&) = delete;
  PartLog& operator=(const PartLog&) = delete;

  void append(RecordKind kind, std::string_view payload);
  // The error; empty when there was none.
  const std::string& error() const { return error_; }
  const std::string& path() const { return path_; }
  // All bytes, read back from the file.
  std::string contents();
  std::size_t memory() const { return buffer_.capacity(); }

 private:
  void write(std::string_view bytes);
  void fail(const char* what);
  void drop_replaced();
  std::string read(int descriptor, std::uint64_t at, std::uint64_t size);

  std::string path_;
  int descriptor_ = -1;
  std::string buffer_;             // the log if it is in memory
  std::uint64_t size_ = 0;         // bytes of the file
  std::size_t so_far_offset_ = 0;  // of the record so_far that counts
  std::uint64_t so_far_size_ = 0;  // 0: there is none
  std::uint64_t replaced_ = 0;     // bytes of records that were replaced
  std::string error_;
};

// Numbers that hardly repeat, as a recorded program makes them: in blocks, by the place in a call.

// A shape and one of its holes, which must be below 256.
inline std::uint32_t value_site(std::uint32_t shape, std::size_t hole) {
  return shape << 8 | static_cast<std::uint32_t>(hole);
}

// Values since the last block. As bytes, each site has its least value and the bits beyond it, as
// many for each as the largest takes: fast, and small enough until the trace is written.
class ValueBuffer {
 public:
  // More values than this are not a block.
  static constexpr std::size_t kMost = std::size_t{1} << 20;

  void add(std::uint32_t site, std::uint64_t value) { values_.push_back({site, value}); }
  bool empty() const { return values_.empty(); }
  std::size_t size() const { return values_.size(); }
  std::size_t memory() const { return values_.capacity() * sizeof(Value); }
  // Writes a block of all values, and is empty then.
  void write(Bytes& out);

 private:
  struct Value {
    std::uint32_t site;
    std::uint64_t value;
  };

  std::vector<Value> values_;
};

// The values of all blocks by their sites. Throws FormatError.
std::unordered_map<std::uint32_t, std::vector<std::uint64_t>> values_by_site(
    const std::vector<std::string>& blocks);

// The values of blocks, in the order in which they were added.
class ValueStream {
 public:
  // The blocks must outlive the stream.
  explicit ValueStream(const std::vector<std::string>& blocks) : blocks_(&blocks) {}

  // The next value, which must be of this site. Throws FormatError.
  std::uint64_t next(std::uint32_t site);
  // True once all values have been taken.
  bool at_end() const { return left_ == 0 && next_block_ == blocks_->size(); }

 private:
  struct Values {
    std::vector<std::uint64_t> values;
    std::size_t next = 0;
  };

  void read_block(std::string_view bytes);

  const std::vector<std::string>* blocks_;
  std::size_t next_block_ = 0;
  std::size_t left_ = 0;  // of the block at hand
  std::unordered_map<std::uint32_t, Values> sites_;
};

}  // namespace tisim::tit
