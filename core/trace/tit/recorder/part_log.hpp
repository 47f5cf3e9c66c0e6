// What one rank has recorded, as a log that is complete up to any moment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tisim {
namespace tit {

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
  // What went wrong; empty when nothing did.
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

}  // namespace tit
}  // namespace tisim
