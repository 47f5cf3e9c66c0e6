#include "trace/tit/writer/class_writer.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "trace/tit/file/container.hpp"
#include "trace/tit/file/volume_code.hpp"
#include "trace/tit/writer/trace_writer.hpp"

namespace tisim::tit {

namespace {

std::vector<std::int32_t> all_ranks(std::uint32_t count) {
  std::vector<std::int32_t> ranks(count);
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

void require(bool holds, const char* what) {
  if (!holds) throw std::invalid_argument(what);
}

}  // namespace

ClassWriter::ClassWriter(std::uint32_t ranks) : class_of_(ranks, -1) {
  require(ranks > 0, "a trace has a rank or more");
  tables_.ranks = ranks;
  shape(std::string("compute ") + static_cast<char>(kVolumeMark), 0);
  shape(std::string(1, static_cast<char>(kSilentMark)), 0);
}

std::uint32_t ClassWriter::shape(const std::string& text, std::uint64_t rank_holes) {
  const std::string error = error_of_shape(text);
  if (!error.empty()) throw std::invalid_argument(error);
  const auto known =
      shape_numbers_.emplace(text, static_cast<std::uint32_t>(tables_.shapes.size()));
  if (known.second) tables_.shapes.push_back({text, rank_holes, holes_of(text)});
  return known.first->second;
}

Argument ClassWriter::argument_of(const std::vector<std::int64_t>& numbers, bool is_rank,
                                  bool is_volume, const std::vector<std::int32_t>& ranks,
                                  RankClass& made) {
  require(numbers.size() == 1 || numbers.size() == ranks.size(),
          "a call has a number for each rank of its class, or one");
  HoleNumbers all(numbers.front(), ranks.front(), is_rank);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    require(!is_volume || is_volume_code(static_cast<std::uint64_t>(numbers[i])),
            "a volume has a code");
    if (i > 0) all.add(numbers[i], ranks[i], ranks, i);
  }
  const Argument argument = all.argument(ranks.size() == 1);
  if (argument.mode != Mode::by_rank) return argument;
  made.vectors.push_back(RankVector::of(numbers, ranks, is_rank));
  return {Mode::by_rank, 0};
}

void ClassWriter::add(const std::vector<std::int32_t>& ranks, const std::vector<ClassCall>& calls,
                      Grammar grammar) {
  require(!ranks.empty(), "a class has a rank or more");
  const auto number = static_cast<std::int64_t>(tables_.classes.size());
  std::int32_t before = -1;
  for (const std::int32_t rank : ranks) {
    require(rank > before && static_cast<std::size_t>(rank) < class_of_.size() &&
                class_of_[static_cast<std::size_t>(rank)] < 0,
            "the ranks of a class ascend, and are of no other class");
    class_of_[static_cast<std::size_t>(rank)] = number;
    before = rank;
  }
  grammar.require_sound(calls.size());
  RankClass made;
  made.grammar = std::move(grammar);
  made.grammar.renumber();
  for (const ClassCall& call : calls) {
    require(call.shape < tables_.shapes.size(), "a call has a shape");
    const Shape& shape = tables_.shapes[call.shape];
    require(call.numbers.size() == shape.holes.size(), "a call has a number for each hole");
    Signature signature;
    signature.shape = call.shape;
    Bytes key;
    key.varint(call.shape);
    for (std::size_t hole = 0; hole < call.numbers.size(); ++hole) {
      const Argument argument = argument_of(call.numbers[hole], shape.is_rank(hole),
                                            shape.holes[hole].mark == kVolumeMark, ranks, made);
      argument.write(key);
      signature.arguments.push_back(argument);
    }
    const auto known = signature_numbers_.emplace(
        std::move(key.data), static_cast<std::uint32_t>(tables_.signatures.size()));
    if (known.second) tables_.signatures.push_back(std::move(signature));
    made.signatures.push_back(known.first->second);
  }
  tables_.classes.push_back(std::move(made));
}

std::string ClassWriter::finish(bool legacy, const std::string& precision) {
  require(std::find(class_of_.begin(), class_of_.end(), -1) == class_of_.end(),
          "every rank has a class");
  const std::vector<std::int32_t> ranks = all_ranks(tables_.ranks);
  const auto same = [&](std::int64_t number) { return RankVector::of({number}, {0}, false); };
  NameShape name;
  name.text = std::string("rank-") + static_cast<char>(kNumberMark) + ".txt";
  const std::vector<std::int64_t> numbers(ranks.begin(), ranks.end());
  name.numbers.push_back(RankVector::of(numbers, ranks, true));
  tables_.layout.legacy = legacy;
  tables_.layout.precision = precision;
  tables_.layout.name_of = same(0);
  tables_.layout.names.push_back(std::move(name));
  tables_.layout.has_last_newline = same(1);
  tables_.class_of = RankVector::of(class_of_, ranks, false);
  Bytes trace;
  tables_.write_trace(trace);
  Section section;
  section.name = std::string(kTraceSection);
  section.coding = Coding::copies;
  section.bytes = std::move(trace.data);
  return write_container({std::move(section)});
}

}  // namespace tisim::tit
