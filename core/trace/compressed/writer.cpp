#include "trace/compressed/writer.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <string>

#include "trace/compressed/attributes.hpp"
#include "trace/tit/file/volume_code.hpp"
#include "trace/tit/grammar/sequence_encoder.hpp"

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
  packer_ =
      std::make_unique<LinePacker>(writer_, vocabulary_, next_rank_++, merged_, std::move(spare_));
}

void CompressedWriter::lines(std::string_view text) {
  LinePacker& into = packer();
  while (!text.empty()) {
    text.remove_prefix(into.quick_lines(text));
    if (text.empty()) break;
    const std::size_t end = std::min(text.find('\n'), text.size() - 1);
    into.line(text.substr(0, text[end] == '\n' ? end : end + 1), ++number_);
    text.remove_prefix(end + 1);
  }
}

void CompressedWriter::end_rank(bool newline) {
  spare_ = packer().finish();
  writer_.add(tit::program_of(spare_, volumes_in_column_, memory_), name_, newline);
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

void CompressedWriter::add_program(std::string_view name,
                                   const std::vector<std::string_view>& lines, tit::Grammar grammar,
                                   const std::vector<std::int64_t>& volumes) {
  grammar.require_sound(lines.size());
  if (!volumes.empty() && volumes.size() != grammar.length()) {
    throw std::invalid_argument("a program has a volume before each line");
  }
  LinePacker packer(writer_, vocabulary_, next_rank_, false);
  std::vector<std::uint32_t> numbers;
  numbers.reserve(lines.size());
  for (const std::string_view line : lines) numbers.push_back(packer.number_of(line));
  for (std::vector<tit::Item>& rule : grammar.rules) {
    for (tit::Item& item : rule) {
      if (!item.is_rule()) item = tit::Item::terminal(numbers[item.number()], item.exponent);
    }
  }
  grammar.limit_depth(tit::kDeepestGrammar);
  grammar.renumber();
  tit::RankProgram program;
  program.rank = static_cast<std::uint32_t>(next_rank_++);
  program.calls = packer.finish().calls();
  program.columns.resize(program.calls.size());
  program.grammar = std::move(grammar);
  program.has_volumes = !volumes.empty();
  program.values.reserve(volumes.size());
  for (const std::int64_t volume : volumes) {
    program.values.push_back(volume < 0 ? 0 : volume_code_of(volume) + 1);
    program.volumes += volume < 0 ? 0 : 1;
  }
  writer_.add(std::move(program), name, true);
}

void CompressedWriter::add_calls(std::string_view name, const Calls& made) {
  const auto require = [](bool holds) {
    if (!holds) throw std::invalid_argument("calls have lines that are not there");
  };
  require(!made.offsets.empty() && made.calls.size() == made.volumes.size());
  LinePacker packer(writer_, vocabulary_, next_rank_, false);
  std::vector<std::uint32_t> numbers;
  numbers.reserve(made.lines.size());
  for (const std::string_view line : made.lines) numbers.push_back(packer.number_of(line));
  tit::RankPart part = with_call_sites(packer.finish(), made, numbers);
  for (std::size_t i = 0; i < made.calls.size(); ++i) {
    const std::size_t call = made.calls[i];
    require(call + 1 < made.offsets.size() && made.offsets[call + 1] <= made.places.size());
    if (made.volumes[i] >= 0) part.compute(volume_code_of(made.volumes[i]));
    for (std::size_t place = made.offsets[call]; place < made.offsets[call + 1]; ++place) {
      require(made.places[place] < numbers.size());
      part.make(numbers[made.places[place]]);
    }
  }
  ++next_rank_;
  writer_.add(tit::program_of(part, volumes_in_column_, memory_), name, true);
}

// The same calls, those with a call path once for each; `numbers`: those of the lines' calls.
tit::RankPart CompressedWriter::with_call_sites(const tit::RankPart& plain, const Calls& made,
                                                std::vector<std::uint32_t>& numbers) {
  if (made.paths.empty()) return plain;
  if (made.path_of.size() != numbers.size()) {
    throw std::invalid_argument("each line has a call path, or none has");
  }
  const std::uint32_t attribute =
      writer_.attribute({std::string(kCallSiteAttribute), tit::AttributeKind::text});
  std::vector<std::int64_t> texts;
  for (const std::string& path : made.paths) {
    const std::string fault = tit::Attribute::fault_of_text(path);
    if (!fault.empty()) throw std::invalid_argument(fault);
    texts.push_back(writer_.text(path));
  }
  tit::RankPart part(plain.rank());
  std::map<std::pair<std::uint32_t, std::int32_t>, std::uint32_t> known;
  for (std::size_t line = 0; line < numbers.size(); ++line) {
    const std::int32_t path = std::max(made.path_of[line], -1);
    if (path >= static_cast<std::int32_t>(texts.size())) {
      throw std::invalid_argument("a line has a call path that is not there");
    }
    const auto [number, is_new] = known.emplace(std::make_pair(numbers[line], path), 0U);
    if (is_new) {
      tit::Call call = plain.calls()[numbers[line]];
      if (path >= 0) call.attributes = {{attribute, texts[static_cast<std::size_t>(path)]}};
      number->second = part.define(std::move(call));
    }
    numbers[line] = number->second;
  }
  return part;
}

// What stands in a column for a volume that is a whole number, or for a histogram.
std::uint64_t CompressedWriter::volume_code_of(std::int64_t volume) {
  if (writer_.draws_volumes()) {
    if (static_cast<std::uint64_t>(volume) >= writer_.histograms().size()) {
      throw std::invalid_argument("there is no histogram of volumes " + std::to_string(volume));
    }
    return static_cast<std::uint64_t>(volume);
  }
  const std::uint64_t code = tit::volume_code(std::to_string(volume));
  if (code == tit::kNoVolumeCode) {
    throw std::invalid_argument("a volume is too large: " + std::to_string(volume));
  }
  return code;
}

}  // namespace tisim
