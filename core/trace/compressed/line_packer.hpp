// The lines of one rank as calls.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tit/writer/rank_part.hpp"
#include "tit/writer/trace_writer.hpp"
#include "trace/vocabulary/vocabulary.hpp"

namespace tisim {

// Keeps every byte of every line, right or wrong.
class LinePacker {
 public:
  // The writer and the vocabulary must outlive the packer. `merged`: the lines are among those of
  // other ranks in one file.
  LinePacker(tit::TraceWriter& writer, const Vocabulary& vocabulary, std::int32_t rank,
             bool merged);

  // A line without its newline; `number` counts from 1 in its file and grows.
  void line(std::string_view text, std::uint64_t number);

  // The number in the part of the call that a line is; a computation is a call here too.
  std::uint32_t number_of(std::string_view text);

  // The calls of all lines.
  tit::RankPart finish();

 private:
  struct Text {
    std::size_t offset;
    std::uint32_t size;
    std::uint32_t call;  // its number in the part
    std::uint32_t next;  // the text that came after it the last time, if one did
  };

  std::uint32_t text_number(std::string_view text, bool& is_new);
  std::uint32_t find_text(std::string_view text, bool& is_new);
  bool has_text(std::uint32_t number, std::string_view text) const;
  void grow();
  bool take_volume(std::string_view text);
  bool take_drawn_volume(std::string_view text);
  // `step`: how far behind its rank's line before it stands, 0: it does not say so.
  tit::Call call_of(std::string_view text, std::uint64_t step);
  void finish_merged();

  tit::TraceWriter& writer_;
  const Vocabulary& vocabulary_;
  std::string prefix_;          // of the rank's lines
  std::string compute_prefix_;  // of its computations
  bool merged_;
  tit::RankPart part_;
  // The different lines, in a hash table.
  std::string characters_;
  std::vector<Text> texts_;
  std::uint32_t last_ = ~std::uint32_t{0};  // the text before, none at first
  std::vector<std::uint64_t> hashes_;
  std::vector<std::uint32_t> slots_;  // number of a text plus 1, or 0
  // In a merged file: each line, and how far behind the one before it stands.
  std::vector<std::uint32_t> lines_;
  std::vector<std::uint64_t> steps_;
  std::uint64_t last_number_ = 0;
};

}  // namespace tisim
