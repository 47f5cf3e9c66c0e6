#include "trace/tit/writer/trace_writer.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace tisim {
namespace tit {

namespace {

// A block of a column is at most about so many bytes; readers of many ranks have small buffers.
constexpr std::uint64_t kAllBlocks = std::uint64_t{64} << 20;
constexpr std::uint64_t kLeastBlock = 512;
constexpr std::uint64_t kMostBlock = 32 << 10;

std::uint64_t block_values(std::uint32_t ranks) {
  return std::min(std::max(kAllBlocks / ranks, kLeastBlock), kMostBlock);
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
  const std::uint64_t calls = program.grammar.length();
  calls_ += std::min(calls, std::numeric_limits<std::uint64_t>::max() - calls_);
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
  // Coded when it is known of which attribute each is.
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
  sections.push_back(section_of(kAttributesSection, std::move(tables.data), Coding::thorough));
  sections.back().required = false;
  if (values.empty()) return;
  sections.push_back(section_of(kAttributeValuesSection, std::move(values)));
  sections.back().required = false;
}

// Tables are coded thoroughly where reading them takes a small part of a replay, but beside many
// values it saves less than a hundredth of the file; and where they are mostly calls that hardly
// come again, unless that would take seconds to read. `values`: the bytes of the columns.
void TraceWriter::code_tables(std::vector<Section>& tables, std::uint64_t values) const {
  constexpr std::uint64_t kCallsPerByte = 12;
  constexpr std::uint64_t kManyValues = 4;  // so many times as much as the tables
  std::uint64_t bytes = 0;
  for (const Section& section : tables) bytes += section.bytes.size();
  const bool is_read_quickly = bytes <= calls_ / kCallsPerByte && values <= kManyValues * bytes;
  constexpr std::uint64_t kManyCalls = 256;
  constexpr std::uint64_t kBytesPerCall = 64;      // of tables that are mostly calls, at most
  constexpr std::uint64_t kMostBytes = 1'000'000;  // read in half a second
  const std::uint64_t calls = tables_.signatures.size();
  const bool has_no_structure =
      calls >= kManyCalls && bytes <= kBytesPerCall * calls && bytes <= kMostBytes;
  const bool is_thorough = is_read_quickly || has_no_structure;
  const Coding coding = is_thorough ? Coding::thorough : Coding::quick;
  for (Section& section : tables) section.coding = coding;
}

std::string TraceWriter::finish(FileLayout layout, std::vector<Section> others) {
  finish_names(layout);
  if (draws_) layout.precision = "histogram";
  layout.has_last_newline = RankVector::of(newlines_, numbered(newlines_.size()), false);
  const Precision precision = Precision::of(layout.precision.empty() ? "exact" : layout.precision);
  tables_.layout = std::move(layout);
  classes_.finish(tables_, attributes_);
  tables_.number_kinds();
  std::vector<Section> sections;
  Bytes trace;
  tables_.write_trace(trace);
  sections.push_back(section_of(kTraceSection, std::move(trace.data)));
  if (!values_.empty()) {
    const std::uint64_t block = block_values(tables_.ranks);
    std::string values =
        draws_ ? code_drawn_columns(std::move(values_), block, histograms_, seed_, tables_)
               : code_columns(std::move(values_), block, precision, tables_);
    Bytes columns;
    tables_.write_columns(columns);
    sections.push_back(section_of(kColumnsSection, std::move(columns.data)));
    code_tables(sections, values.size());
    if (!values.empty()) sections.push_back(section_of(kValuesSection, std::move(values)));
  } else {
    code_tables(sections, 0);
  }
  sections.front().version = tables_.trace_version();
  if (draws_) {
    Bytes seed;
    seed.varint(seed_);
    sections.push_back(section_of(kDrawnSection, std::move(seed.data)));
  }
  if (!attributes_.attributes.empty()) write_attributes(sections);
  for (Section& other : others) sections.push_back(std::move(other));
  return write_container(std::move(sections));
}

}  // namespace tit
}  // namespace tisim
