// Writes a packed trace, a rank after the other.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "trace/packed/line_template.hpp"
#include "trace/storage/trace_file.hpp"
#include "trace/vocabulary/dialect.hpp"

namespace tisim {

// What a packed trace keeps of its files, beside their lines.
struct PackedLayout {
  bool merged = false;                // one file of all ranks
  Dialect dialect = Dialect::modern;  // never automatic
  std::string index_name = {};        // of the file that listed the others, if there was one
  std::string index_text = {};
};

// The header of a packed trace whose index begins at `index_offset` and ends the file.
std::string packed_header(std::string_view index, std::uint64_t index_offset);

class PackedWriter {
 public:
  // `ranks`: about how many there will be. Throws TraceError when the file cannot be written, here
  // and in what follows.
  PackedWriter(const std::string& path, std::int32_t ranks);
  ~PackedWriter();
  PackedWriter(const PackedWriter&) = delete;
  PackedWriter& operator=(const PackedWriter&) = delete;

  // The lines of `rank` follow; `name` is its file's.
  void begin_rank(std::int32_t rank, std::string_view name);
  // A line without its newline. `number` counts from 1 in its file and grows.
  void line(std::string_view text, std::uint64_t number);
  // The next lines, each with its newline.
  void lines(std::string_view text);
  // `newline`: whether the last line had one.
  void end_rank(bool newline);

  // Until then the file is not whole.
  void finish(const PackedLayout& layout);

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>{}(text);
    }
  };
  using Numbers = std::unordered_map<std::string, std::uint32_t, Hash, std::equal_to<>>;

  void step_to(std::uint64_t number);
  void compute(std::string_view volume);
  void repeatable(std::string_view body);
  void refer_to(std::uint32_t slot);
  void take_slot(std::string_view body);
  void clear_slots();
  void raw(std::string_view line);
  void end_block();
  void flush();

  std::string path_;
  std::shared_ptr<const Descriptor> file_;
  std::size_t block_size_;
  std::size_t slots_limit_;
  std::string waiting_;     // written blocks that are not yet in the file
  std::uint64_t position_;  // in the file, of what is waiting
  std::string block_;

  packed::WordList words_;
  Numbers dictionary_;
  std::vector<const std::string*> templates_;  // of the dictionary, by number
  std::size_t dictionary_bytes_ = 0;

  // Of the rank at hand.
  std::int32_t rank_ = 0;
  std::string prefix_;
  std::string name_;
  Numbers slots_;
  std::vector<const std::string*> bodies_;  // by slot
  std::size_t next_slot_ = 0;
  std::uint64_t number_ = 0;
  std::uint64_t stride_ = 1;
  std::uint64_t last_gap_ = 1;
  std::uint64_t actions_ = 0;
  std::uint64_t stream_start_ = 0;

  // Of all ranks so far, as they stand in the index.
  std::string streams_;
  std::uint64_t streams_count_ = 0;
  std::int64_t rank_before_ = -1;
  std::string name_before_;
};

}  // namespace tisim
