#include "tit/writer/classes.hpp"

#include <algorithm>
#include <utility>

namespace tisim {
namespace tit {

namespace {

// Ranks with equal keys are of one class. Negative ranks (any source and the like) are words of
// their own: they are part of it.
std::string key_of(const RankProgram& program, const std::vector<Shape>& shapes) {
  Bytes key;
  key.byte(program.has_volumes ? 1 : 0);
  program.grammar.write(key);
  for (std::size_t i = 0; i < program.calls.size(); ++i) {
    const Call& call = program.calls[i];
    key.varint(call.shape);
    key.varint(program.columns[i].size());
    for (const std::uint32_t hole : program.columns[i]) key.varint(hole);
    for (std::size_t hole = 0; hole < call.numbers.size(); ++hole) {
      if (shapes[call.shape].is_rank(hole))
        key.zigzag(std::min<std::int64_t>(call.numbers[hole], 0));
    }
  }
  return std::move(key.data);
}

bool is_column(const std::vector<std::uint32_t>& columns, std::size_t hole) {
  return std::find(columns.begin(), columns.end(), hole) != columns.end();
}

}  // namespace

void ClassBuilder::add(const RankProgram& program) {
  const auto known =
      by_key_.emplace(key_of(program, shapes_), static_cast<std::uint32_t>(classes_.size()));
  class_of_.push_back(known.first->second);
  if (known.second) {
    Members members;
    members.grammar = program.grammar;
    members.calls = program.calls;
    members.columns = program.columns;
    members.has_volumes = program.has_volumes;
    classes_.push_back(std::move(members));
  }
  Members& members = classes_[known.first->second];
  members.ranks.push_back(static_cast<std::int32_t>(program.rank));
  std::size_t at = 0;
  for (const Call& call : program.calls) {
    for (const std::int64_t number : call.numbers) {
      if (at == members.numbers.size()) members.numbers.emplace_back();
      members.numbers[at++].push_back(number);
    }
  }
}

Argument ClassBuilder::argument_of(const Members& members, const Shape& shape, std::size_t hole,
                                   const std::vector<std::int64_t>& numbers) const {
  const std::int64_t first = numbers.front();
  const std::int64_t rank = members.ranks.front();
  bool constant = true;
  bool relative = shape.is_rank(hole);
  bool exclusive = shape.is_rank(hole);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const std::int64_t number = numbers[i];
    constant = constant && number == first;
    relative = relative && number >= 0 && number - members.ranks[i] == first - rank;
    exclusive = exclusive && number >= 0 && (number ^ members.ranks[i]) == (first ^ rank);
  }
  // What one rank alone does says nothing; other classes do the same relative to their ranks.
  if (members.ranks.size() == 1 && relative && first > 0) return {Mode::relative, first - rank};
  if (constant) return {Mode::constant, first};
  if (relative) return {Mode::relative, first - rank};
  if (exclusive) return {Mode::exclusive, first ^ rank};
  return {Mode::by_rank, 0};
}

RankClass ClassBuilder::finish_class(Members& members, TraceTables& tables) {
  RankClass made;
  made.grammar = std::move(members.grammar);
  made.has_volumes = members.has_volumes;
  std::size_t at = 0;
  for (std::size_t i = 0; i < members.calls.size(); ++i) {
    Signature signature;
    signature.shape = members.calls[i].shape;
    const Shape& shape = shapes_[signature.shape];
    Bytes key;
    key.varint(signature.shape);
    for (std::size_t hole = 0; hole < members.calls[i].numbers.size(); ++hole, ++at) {
      const std::vector<std::int64_t>& numbers = members.numbers[at];
      Argument argument;
      if (is_column(members.columns[i], hole)) {
        argument.mode = Mode::column;
      } else {
        argument = argument_of(members, shape, hole, numbers);
      }
      if (argument.mode == Mode::by_rank) {
        made.vectors.push_back(RankVector::of(numbers, members.ranks, shape.is_rank(hole)));
      }
      key.byte(static_cast<std::uint8_t>(argument.mode));
      key.zigzag(argument.value);
      signature.arguments.push_back(argument);
    }
    const auto known = signature_numbers_.emplace(
        std::move(key.data), static_cast<std::uint32_t>(tables.signatures.size()));
    if (known.second) tables.signatures.push_back(std::move(signature));
    made.signatures.push_back(known.first->second);
  }
  return made;
}

void ClassBuilder::finish(TraceTables& tables) {
  std::vector<std::int32_t> ranks(class_of_.size());
  for (std::size_t i = 0; i < ranks.size(); ++i) ranks[i] = static_cast<std::int32_t>(i);
  tables.class_of = RankVector::of(class_of_, ranks, false);
  for (Members& members : classes_) tables.classes.push_back(finish_class(members, tables));
}

}  // namespace tit
}  // namespace tisim
