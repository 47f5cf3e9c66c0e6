#include "trace/compressed/writer.hpp"

#include <algorithm>
#include <limits>

#include "tit/grammar/sequence_encoder.hpp"

namespace tisim {

namespace {

// Calls `take(line)` for each line of a text.
template <class Take>
void for_each_line_in(std::string_view text, Take take) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size() - 1);
    take(text.substr(0, text[end] == '\n' ? end : end + 1));
    text.remove_prefix(end + 1);
  }
}

}  // namespace

CompressedWriter::CompressedWriter(std::int32_t ranks, bool merged, bool volumes_in_column)
    : vocabulary_({}),
      writer_(static_cast<std::uint32_t>(ranks)),
      ranks_(ranks),
      merged_(merged),
      volumes_in_column_(volumes_in_column) {}

void CompressedWriter::draw_volumes(std::uint64_t seed) {
  if (next_rank_ > 0 || merged_) throw std::logic_error("ranks have been written already");
  writer_.draw_volumes(seed);
  volumes_in_column_ = true;
}

void CompressedWriter::begin_rank(std::string_view name) {
  name_ = name;
  number_ = 0;
  packer_ = std::make_unique<LinePacker>(writer_, vocabulary_, next_rank_++, merged_);
}

void CompressedWriter::lines(std::string_view text) {
  LinePacker& into = packer();
  for_each_line_in(text, [&](std::string_view one) { into.line(one, ++number_); });
}

void CompressedWriter::end_rank(bool newline) {
  writer_.add(tit::program_of(packer().finish(), volumes_in_column_), name_, newline);
  packer_.reset();
}

std::string CompressedWriter::finish(tit::FileLayout layout) {
  if (next_rank_ != ranks_) throw std::logic_error("not all ranks have been written");
  return writer_.finish(std::move(layout));
}

void CompressedWriter::add_rank(std::string_view name, const std::vector<Piece>& pieces) {
  constexpr std::uint64_t kEndOfPiece = std::numeric_limits<std::uint64_t>::max();
  if (writer_.draws_volumes()) throw std::logic_error("drawn volumes come line by line");
  LinePacker packer(writer_, vocabulary_, next_rank_, false);
  std::vector<std::uint64_t> key;
  for (const Piece& piece : pieces) {
    if (piece.times == 0) continue;
    for_each_line_in(piece.lines,
                     [&](std::string_view line) { key.push_back(packer.number_of(line)); });
    key.push_back(kEndOfPiece);
    key.push_back(piece.times);
  }
  tit::RankProgram program;
  program.rank = static_cast<std::uint32_t>(next_rank_++);
  program.calls = packer.finish().calls();
  program.columns.resize(program.calls.size());
  const auto known = grammars_.emplace(std::move(key), tit::Grammar{});
  if (known.second) {
    tit::SequenceEncoder encoder;
    const std::vector<std::uint64_t>& calls = known.first->first;
    for (auto from = calls.begin(); from != calls.end();) {
      const auto to = std::find(from, calls.end(), kEndOfPiece);
      for (std::uint64_t i = 0; i < to[1]; ++i) {
        for (auto call = from; call != to; ++call) encoder.add(static_cast<std::uint32_t>(*call));
      }
      from = to + 2;
    }
    known.first->second = encoder.take();
  }
  program.grammar = known.first->second;
  writer_.add(std::move(program), name, true);
}

}  // namespace tisim
