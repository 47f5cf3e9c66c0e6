// A packed trace back to text: the lines of one rank, and the files.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "support/progress.hpp"
#include "trace/packed/column_stream.hpp"
#include "trace/packed/file.hpp"
#include "trace/tit/grammar/grammar.hpp"
#include "trace/trace_file.hpp"

namespace tisim {

// The calls of one rank with the values of its column; texts are made from them.
class PackedText {
 public:
  // `file` must outlive it.
  PackedText(const PackedFile& file, std::int32_t rank);

  // Appends the next line, without a newline, to `out`; false at the end. Throws TraceError.
  bool next(std::string& out);
  // Instead of lines: the place in its class of the next call, and 1 plus the number of the volume
  // before it, or 0; false at the end. Throws TraceError.
  bool next_call(std::uint32_t& call, std::uint64_t& volume);
  // The number in its file of the line that came last.
  std::uint64_t number() const { return number_; }

 private:
  // The text of a call of the class on this rank, made when it is made first.
  struct Template {
    bool is_made = false;
    bool is_silent = false;
    bool has_columns = false;
    std::uint32_t kind = 0;
    std::uint64_t step = 1;
    std::string text;
    std::vector<std::int64_t> numbers;
  };

  void make(std::uint32_t call, Template& made) const;
  bool begin_call(std::uint32_t& call, std::uint64_t& volume);
  std::uint64_t value_at(std::uint32_t site);
  void append_call(Template& call, std::string& out);

  const PackedFile* file_;
  const PackedProgram* program_;
  std::int32_t rank_;
  std::uint32_t position_;
  std::string prefix_;
  tit::Expansion expansion_;
  ColumnStream column_;
  std::vector<Template> templates_;
  bool has_columns_;
  Template* waiting_ = nullptr;  // a call whose volume has just been a line of its own
  std::uint32_t site_ = 0;       // the first site of the call at hand
  std::uint32_t before_ = 0;     // kind of the call before plus 1
  std::uint64_t number_ = 0;
  std::uint64_t calls_ = 0;  // up to now
};

// Writes the files of a packed trace into `directory`, which has to be there. Throws TraceError.
void unpack(TraceFile packed, const std::string& directory, const Progress& progress = {});

}  // namespace tisim
