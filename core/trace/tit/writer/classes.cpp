#include "trace/tit/writer/classes.hpp"

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
    key.varint(call.attributes.size());
    for (const AttributeValue& attribute : call.attributes) key.varint(attribute.first);
  }
  for (const RankProgram::Columns& columns : program.attributes) {
    for (const std::vector<std::uint32_t>* numbers : {&columns.before, &columns.at}) {
      key.varint(numbers->size());
      for (const std::uint32_t number : *numbers) key.varint(number);
    }
  }
  return std::move(key.data);
}

bool is_column(const std::vector<std::uint32_t>& columns, std::size_t hole) {
  return std::find(columns.begin(), columns.end(), hole) != columns.end();
}

}  // namespace

void ClassBuilder::Numbers::add(std::int64_t number, std::int32_t rank,
                                const std::vector<std::int32_t>& ranks) {
  if (!follows_a_rule()) {
    all_.push_back(number);
    return;
  }
  const Numbers before = *this;
  constant_ = constant_ && number == first_;
  relative_ = relative_ && first_ >= 0 && number >= 0 && number - rank == first_ - rank_;
  exclusive_ = exclusive_ && first_ >= 0 && number >= 0 && (number ^ rank) == (first_ ^ rank_);
  if (follows_a_rule()) return;
  for (const std::int32_t other : ranks) all_.push_back(before.by_rule(other));
  all_.push_back(number);
}

std::int64_t ClassBuilder::Numbers::by_rule(std::int32_t rank) const {
  if (constant_) return first_;
  return relative_ ? first_ - rank_ + rank : first_ ^ rank_ ^ rank;
}

Argument ClassBuilder::Numbers::argument(bool alone) const {
  // What one rank alone does says nothing; other classes do the same relative to their ranks.
  if (alone && relative_ && first_ > 0) return {Mode::relative, first_ - rank_};
  if (constant_) return {Mode::constant, first_};
  if (relative_) return {Mode::relative, first_ - rank_};
  if (exclusive_) return {Mode::exclusive, first_ ^ rank_};
  return {Mode::by_rank, 0};
}

void ClassBuilder::add(const RankProgram& program) {
  const auto rank = static_cast<std::int32_t>(program.rank);
  const auto known =
      by_key_.emplace(key_of(program, shapes_), static_cast<std::uint32_t>(classes_.size()));
  class_of_.push_back(known.first->second);
  if (known.second) {
    Members members;
    members.grammar = program.grammar;
    members.calls = program.calls;
    members.columns = program.columns;
    members.has_volumes = program.has_volumes;
    for (const Call& call : program.calls) {
      const Shape& shape = shapes_[call.shape];
      for (std::size_t hole = 0; hole < call.numbers.size(); ++hole) {
        members.numbers.emplace_back(call.numbers[hole], rank, shape.is_rank(hole));
      }
      for (const AttributeValue& attribute : call.attributes) {
        members.fixed.emplace_back(attribute.second, rank, false);
      }
    }
    members.attributes = program.attributes;
    members.ranks.push_back(rank);
    classes_.push_back(std::move(members));
    return;
  }
  Members& members = classes_[known.first->second];
  auto numbers = members.numbers.begin();
  auto fixed = members.fixed.begin();
  for (const Call& call : program.calls) {
    for (const std::int64_t number : call.numbers) (numbers++)->add(number, rank, members.ranks);
    for (const AttributeValue& attribute : call.attributes) {
      (fixed++)->add(attribute.second, rank, members.ranks);
    }
  }
  members.ranks.push_back(rank);
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
      const Numbers& numbers = members.numbers[at];
      const Argument argument = is_column(members.columns[i], hole)
                                    ? Argument{Mode::column, 0}
                                    : numbers.argument(members.ranks.size() == 1);
      if (shape.holes[hole].mark == kVolumeMark) {
        tables.note_volume(static_cast<std::uint64_t>(argument.value));
        for (const std::int64_t number : numbers.all()) {
          tables.note_volume(static_cast<std::uint64_t>(number));
        }
      }
      if (argument.mode == Mode::by_rank) {
        made.vectors.push_back(shape.is_rank(hole)
                                   ? RankVector::of(numbers.all(), members.ranks, true)
                                   : RankVector::of(numbers.all(), members.ranks, made.vectors));
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

ClassAttributes ClassBuilder::finish_attributes(const Members& members,
                                                AttributeTables& attributes) {
  ClassAttributes made;
  auto numbers = members.fixed.begin();
  for (std::size_t i = 0; i < members.calls.size(); ++i) {
    CallAttributes layout;
    Bytes key;
    for (const AttributeValue& attribute : members.calls[i].attributes) {
      const Argument argument = numbers->argument(false);
      if (argument.mode == Mode::by_rank) {
        made.vectors.push_back(RankVector::of(numbers->all(), members.ranks, false));
      }
      layout.fixed.push_back({attribute.first, argument});
      key.varint(attribute.first);
      argument.write(key);
      ++numbers;
    }
    if (!members.attributes.empty()) {
      layout.before = members.attributes[i].before;
      layout.at = members.attributes[i].at;
    }
    for (const std::vector<std::uint32_t>* list : {&layout.before, &layout.at}) {
      key.varint(list->size());
      for (const std::uint32_t number : *list) key.varint(number);
    }
    const auto known = layout_numbers_.emplace(
        std::move(key.data), static_cast<std::uint32_t>(attributes.layouts.size()));
    if (known.second) attributes.layouts.push_back(std::move(layout));
    made.layout_of.push_back(known.first->second);
  }
  return made;
}

void ClassBuilder::finish(TraceTables& tables, AttributeTables& attributes) {
  std::vector<std::int32_t> ranks(class_of_.size());
  for (std::size_t i = 0; i < ranks.size(); ++i) ranks[i] = static_cast<std::int32_t>(i);
  tables.class_of = RankVector::of(class_of_, ranks, false);
  for (Members& members : classes_) {
    attributes.classes.push_back(finish_attributes(members, attributes));
    tables.classes.push_back(finish_class(members, tables));
  }
}

}  // namespace tit
}  // namespace tisim
