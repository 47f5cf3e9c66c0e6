#include "trace/tit/writer/trace_writer.hpp"

#include <algorithm>
#include <utility>

namespace tisim::tit {

namespace {

// Ranks with equal keys form a class. Negative ranks (any source and the like) are special values
// and are part of the key.
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

void HoleNumbers::add(std::int64_t number, std::int32_t rank,
                      const std::vector<std::int32_t>& ranks, std::size_t before) {
  if (!is_regular()) {
    all_.push_back(number);
    return;
  }
  const bool was_constant = constant_;
  const bool was_relative = relative_;
  constant_ = constant_ && number == first_;
  relative_ = relative_ && first_ >= 0 && number >= 0 && number - rank == first_ - rank_;
  exclusive_ = exclusive_ && first_ >= 0 && number >= 0 && (number ^ rank) == (first_ ^ rank_);
  if (is_regular()) return;
  for (std::size_t i = 0; i < before; ++i) {
    all_.push_back(was_constant   ? first_
                   : was_relative ? first_ - rank_ + ranks[i]
                                  : first_ ^ rank_ ^ ranks[i]);
  }
  all_.push_back(number);
}

Argument HoleNumbers::argument(bool alone) const {
  // A single rank shows no pattern; other classes probably do the same relative to their ranks.
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
    for (const std::int64_t number : call.numbers)
      (numbers++)->add(number, rank, members.ranks, members.ranks.size());
    for (const AttributeValue& attribute : call.attributes) {
      (fixed++)->add(attribute.second, rank, members.ranks, members.ranks.size());
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
      const HoleNumbers& numbers = members.numbers[at];
      const Argument argument = is_column(members.columns[i], hole)
                                    ? Argument{Mode::column, 0}
                                    : numbers.argument(members.ranks.size() == 1);
      if (argument.mode == Mode::by_rank) {
        made.vectors.push_back(RankVector::of(numbers.all(), members.ranks, shape.is_rank(hole)));
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

namespace {

// Approximate limits of a column's blocks, in bytes; readers of many ranks have small buffers.
constexpr std::uint64_t kAllBlocks = std::uint64_t{64} << 20;
constexpr std::uint64_t kMinBlock = 512;
constexpr std::uint64_t kMaxBlock = 32 << 10;

std::uint64_t block_values(std::uint32_t ranks) {
  return std::min(std::max(kAllBlocks / ranks, kMinBlock), kMaxBlock);
}

std::vector<std::int32_t> numbered(std::size_t count) {
  std::vector<std::int32_t> ranks(count);
  for (std::size_t i = 0; i < count; ++i) ranks[i] = static_cast<std::int32_t>(i);
  return ranks;
}

Section section_of(std::string_view name, std::string bytes, Coding coding = Coding::none) {
  Section section;
  section.name = std::string(name);
  section.coding = coding;
  section.bytes = std::move(bytes);
  return section;
}

}  // namespace

TraceWriter::TraceWriter(std::uint32_t ranks) : classes_(tables_.shapes) {
  tables_.ranks = ranks;
  shape(std::string("compute ") + static_cast<char>(kVolumeMark), 0);
  shape(std::string(1, static_cast<char>(kSilentMark)), 0);
}

std::uint32_t TraceWriter::shape(const std::string& text, std::uint64_t rank_holes) {
  const auto known =
      shape_numbers_.emplace(text, static_cast<std::uint32_t>(tables_.shapes.size()));
  if (known.second) tables_.shapes.push_back({text, rank_holes, holes_of(text)});
  return known.first->second;
}

std::uint32_t TraceWriter::attribute(const Attribute& attribute) {
  const auto known = std::find_if(
      attributes_.attributes.begin(), attributes_.attributes.end(), [&](const Attribute& other) {
        return other.name == attribute.name && other.kind == attribute.kind;
      });
  const auto number = static_cast<std::uint32_t>(known - attributes_.attributes.begin());
  if (known == attributes_.attributes.end()) attributes_.attributes.push_back(attribute);
  return number;
}

std::uint32_t TraceWriter::text(const std::string& text) {
  const auto known =
      text_numbers_.emplace(text, static_cast<std::uint32_t>(attributes_.texts.size()));
  if (known.second) attributes_.texts.push_back(text);
  return known.first->second;
}

void TraceWriter::add(RankProgram program, std::string_view name, bool has_last_newline) {
  // limit_depth() may leave 63 more levels, and read() refuses deeper grammars.
  program.grammar.limit_depth(kMaxGrammarDepth / 2);
  classes_.add(program);
  newlines_.push_back(has_last_newline ? 1 : 0);
  Line parts = name_of(name);
  const auto known = std::find(name_shapes_.begin(), name_shapes_.end(), parts.shape);
  name_of_.push_back(known - name_shapes_.begin());
  if (known == name_shapes_.end()) name_shapes_.push_back(std::move(parts.shape));
  name_numbers_.push_back(std::move(parts.numbers));
  if (!program.values.empty()) {
    values_.push_back({program.rank, program.volumes, std::move(program.values)});
  }
  if (program.attribute_values.empty()) return;
  // Coded once the attribute of each value is known.
  RankValues attributes{program.rank, 0, {}};
  for (const std::int64_t value : program.attribute_values) {
    attributes.values.push_back(static_cast<std::uint64_t>(value));
  }
  attribute_values_.push_back(std::move(attributes));
}

void TraceWriter::finish_names(FileLayout& layout) const {
  layout.name_of = RankVector::of(name_of_, numbered(name_of_.size()), false);
  std::vector<std::vector<std::int32_t>> ranks(name_shapes_.size());
  std::vector<std::vector<std::vector<std::int64_t>>> numbers(name_shapes_.size());
  for (std::size_t rank = 0; rank < name_of_.size(); ++rank) {
    const auto at = static_cast<std::size_t>(name_of_[rank]);
    ranks[at].push_back(static_cast<std::int32_t>(rank));
    numbers[at].resize(name_numbers_[rank].size());
    for (std::size_t i = 0; i < name_numbers_[rank].size(); ++i) {
      numbers[at][i].push_back(name_numbers_[rank][i]);
    }
  }
  for (std::size_t at = 0; at < name_shapes_.size(); ++at) {
    NameShape name;
    name.text = name_shapes_[at];
    for (const auto& hole : numbers[at]) {
      name.numbers.push_back(RankVector::of(hole, ranks[at], true));
    }
    layout.names.push_back(std::move(name));
  }
}

void TraceWriter::write_attributes(std::vector<Section>& sections) {
  std::string values = code_attributes(std::move(attribute_values_), block_values(tables_.ranks),
                                       tables_, attributes_);
  Bytes tables;
  attributes_.write(tables);
  sections.push_back(section_of(kAttributesSection, std::move(tables.data), Coding::copies));
  sections.back().required = false;
  if (values.empty()) return;
  sections.push_back(section_of(kAttributeValuesSection, std::move(values)));
  sections.back().required = false;
}

std::string TraceWriter::finish(FileLayout layout, std::vector<Section> others) {
  finish_names(layout);
  if (drawn_) layout.precision = "histogram";
  layout.has_last_newline = RankVector::of(newlines_, numbered(newlines_.size()), false);
  tables_.layout = std::move(layout);
  classes_.finish(tables_, attributes_);
  tables_.number_kinds();
  std::vector<Section> sections;
  Bytes trace;
  tables_.write_trace(trace);
  sections.push_back(section_of(kTraceSection, std::move(trace.data), Coding::copies));
  if (!values_.empty()) {
    const std::uint64_t block = block_values(tables_.ranks);
    std::string values = code_columns(std::move(values_), block, drawn_, tables_);
    Bytes columns;
    tables_.write_columns(columns);
    sections.push_back(section_of(kColumnsSection, std::move(columns.data), Coding::copies));
    if (!values.empty()) sections.push_back(section_of(kValuesSection, std::move(values)));
  }
  if (drawn_) {
    Bytes seed;
    seed.varint(drawn_->seed);
    sections.push_back(section_of(kDrawnSection, std::move(seed.data)));
  }
  if (!attributes_.attributes.empty()) write_attributes(sections);
  for (Section& other : others) sections.push_back(std::move(other));
  return write_container(std::move(sections));
}

}  // namespace tisim::tit
