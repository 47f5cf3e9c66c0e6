// The lines of one rank as calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "trace/text/known_lines.hpp"
#include "trace/tit/writer/rank_part.hpp"
#include "trace/tit/writer/trace_writer.hpp"
#include "trace/vocabulary/vocabulary.hpp"

namespace tisim {

// Keeps every byte of every line, right or wrong.
class LinePacker {
 public:
  // The writer and the vocabulary must outlive the packer. `merged`: the lines are among those of
  // other ranks in one file. `spare`: a part whose memory is used again.
  LinePacker(tit::TraceWriter& writer, const Vocabulary& vocabulary, std::int32_t rank, bool merged,
             tit::RankPart spare = tit::RankPart(0));

  // A line without its newline; `number` counts from 1 in its file and grows.
  void line(std::string_view text, std::uint64_t number);

  // The lines that `text` begins with, each with its newline, as long as they are such as are quick
  // to take, in a file of this rank alone; how many bytes they are. There may be none.
  std::size_t quick_lines(std::string_view text);

  // The number in the part of the call that a line is; a computation is a call here too.
  std::uint32_t number_of(std::string_view text);

  // The calls of all lines.
  tit::RankPart finish();

 private:
  static constexpr std::size_t kWord = sizeof(std::uint64_t);
  const char* pass_whole_number(const char* p);
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
  bool may_be_quick_ = false;
  std::uint64_t compute_start_ = 0;  // of the prefix: its first bytes and its last ones
  std::uint64_t compute_end_ = 0;
  KnownLines known_;
  std::vector<std::uint32_t> call_of_line_;  // the number in the part; not of a merged file
  // In a merged file: each line, and how far behind the one before it stands.
  std::vector<std::uint32_t> lines_;
  std::vector<std::uint64_t> steps_;
  std::uint64_t last_number_ = 0;
};

}  // namespace tisim
