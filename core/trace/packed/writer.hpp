// Writes a packed trace, one rank after the other.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trace/tit/grammar/grammar.hpp"
#include "trace/tit/writer/rank_program.hpp"
#include "trace/tit/writer/trace_writer.hpp"
#include "trace/vocabulary/vocabulary.hpp"

namespace tisim {

class LinePacker;

// Throws std::logic_error if functions are called out of order.
class PackedWriter {
 public:
  // Ranks come in ascending order, from 0 to `ranks` - 1. `merged`: their lines are in one file.
  // `volumes_in_column`: no grammar contains volumes of ranks that are added line by line.
  explicit PackedWriter(std::int32_t ranks, bool merged = false, bool volumes_in_column = false);
  ~PackedWriter();

  // Draws volumes from histograms with this seed, for traces that record only these. Lines may then
  // be "3 compute histogram=N". Call it before the first rank.
  void draw_volumes(std::uint64_t seed);
  // The number of a histogram, after draw_volumes(). Throws std::invalid_argument.
  std::uint32_t histogram(std::vector<tit::VolumeBin> bins) {
    if (!writer_.draws_volumes()) throw std::logic_error("no volumes are drawn");
    return writer_.histograms().add(std::move(bins));
  }

  // Begins the lines of the next rank; `name` is its file's.
  void begin_rank(std::string_view name);
  // Adds a line without its newline. `number` counts from 1 in its file and increases.
  void line(std::string_view text, std::uint64_t number);
  // Adds the next lines, each with its newline.
  void lines(std::string_view text);
  // `newline`: whether the last line had one.
  void end_rank(bool newline);

  // Lines, each with its newline, and their number of repetitions.
  struct Piece {
    std::string_view lines;
    std::uint64_t times;
  };
  // Adds all of the next rank. The time is that of the pieces, independent of their repetitions, if
  // an earlier rank had the same structure.
  void add_rank(std::string_view name, const std::vector<Piece>& pieces);

  // Adds all of the next rank from its known structure: `lines`, without newlines, are the
  // terminals of `grammar`. `volumes`: for each line of the sequence the volume computed before it
  // (or, if volumes are drawn, the number of its histogram), negative: none; empty if the rank
  // computes nothing. Throws std::invalid_argument.
  void add_program(std::string_view name, const std::vector<std::string_view>& lines,
                   tit::Grammar grammar, const std::vector<std::int64_t>& volumes);

  // Adds all of the next rank as calls that each stand for several lines: those of call c are the
  // `places` in `lines` from offsets[c] to offsets[c + 1]. `volumes`: for each call the volume
  // computed before its first line, as in add_program; a call without lines has none. Throws
  // std::invalid_argument.
  struct Calls {
    std::vector<std::string_view> lines;
    std::vector<std::uint32_t> offsets;
    std::vector<std::uint32_t> places;
    std::vector<std::uint32_t> calls;
    std::vector<std::int64_t> volumes;
    // Call paths, and the index of each line's path, negative: none. Empty: no line has one.
    std::vector<std::string> paths;
    std::vector<std::int32_t> path_of;
  };
  void add_calls(std::string_view name, const Calls& made);

  // Returns the bytes of the file.
  std::string finish(tit::FileLayout layout);

 private:
  // The packer of the current rank.
  LinePacker& packer();

  std::uint64_t volume_code_of(std::int64_t volume);
  tit::RankPart with_call_sites(const tit::RankPart& plain, const Calls& made,
                                std::vector<std::uint32_t>& numbers);

  const Vocabulary vocabulary_;
  tit::TraceWriter writer_;
  std::int32_t ranks_;
  bool merged_;
  bool volumes_in_column_;
  std::int32_t next_rank_ = 0;
  std::string name_;
  std::uint64_t number_ = 0;
  std::unique_ptr<LinePacker> packer_;
  tit::RankPart spare_{0};    // of an earlier rank
  tit::KnownGrammars known_;  // of earlier ranks that were added line by line
  // The grammars of the pieces of earlier ranks, by their calls and times.
  std::map<std::vector<std::uint64_t>, tit::Grammar> grammars_;
};

}  // namespace tisim
