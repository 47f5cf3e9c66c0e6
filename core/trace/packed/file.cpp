#include "trace/packed/file.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "trace/error.hpp"
#include "trace/packed/attributes.hpp"
#include "trace/tit/codec/bytes.hpp"
#include "trace/tit/column/precision.hpp"
#include "trace/tit/file/volume_code.hpp"
#include "trace/tit/writer/trace_writer.hpp"

namespace tisim {

namespace {

class FileSource final : public tit::ByteSource {
 public:
  explicit FileSource(const TraceFile& file) : file_(file) {}

  std::uint64_t size() const override { return file_.size(); }
  std::string read(std::uint64_t offset, std::uint64_t size) const override {
    const std::uint64_t all = file_.size();
    if (offset >= all) return {};
    std::string bytes(static_cast<std::size_t>(std::min(size, all - offset)), '\0');
    bytes.resize(file_.read(offset, bytes.data(), bytes.size()));
    return bytes;
  }

 private:
  const TraceFile& file_;
};

[[noreturn]] void throw_damaged(const TraceFile& file, std::string_view what) {
  throw TraceError(
      file.name, 0,
      "is damaged: " + std::string(what) + "; download it again, or pack the trace again");
}

bool is_graph(const tit::Section& section) {
  return section.name == kGraphSection && section.version == 1;
}

bool is_known(const tit::Section& section) {
  constexpr std::string_view kNames[] = {tit::kTraceSection,           tit::kColumnsSection,
                                         tit::kValuesSection,          tit::kAttributesSection,
                                         tit::kAttributeValuesSection, tit::kDrawnSection};
  return section.version == 1 &&
         std::find(std::begin(kNames), std::end(kNames), section.name) != std::end(kNames);
}

bool is_comment(const tit::Shape& shape) {
  if (shape.text.empty() || shape.text.front() != tit::kNoRankMark) return false;
  const std::size_t start = shape.text.find_first_not_of(" \t\r", 1);
  return start == std::string::npos || shape.text[start] == '#' ||
         shape.text[start] == tit::kStepMark;
}

// Opens the file; returns its sections, of which no required one is unknown. Throws TraceError.
std::vector<tit::Section> open_sections(TraceFile& file) {
  file.descriptor = open_file(file);
  const FileSource source(file);
  const std::uint32_t version = tit::container_version(source);
  if (version == 0) throw TraceError(file.name, 0, "is not a packed trace");
  if (version != tit::kVersion) {
    throw TraceError(
        file.name, 0,
        "is a packed trace of version " + std::to_string(version) +
            ", but this tisim reads version " + std::to_string(tit::kVersion) +
            (version > tit::kVersion ? "; get a newer tisim" : "; pack the trace again"));
  }
  std::vector<tit::Section> sections;
  try {
    sections = tit::read_container(source);
  } catch (const tit::FormatError& error) {
    throw_damaged(file, error.what());
  }
  for (const tit::Section& section : sections) {
    if (is_known(section) || is_graph(section) || !section.required) continue;
    throw TraceError(file.name, 0,
                     "needs a newer tisim: this one does not know its section \"" + section.name +
                         "\" of version " + std::to_string(section.version) +
                         "; get a newer tisim");
  }
  return sections;
}

}  // namespace

std::string packed_graph(const std::string& text) {
  return tit::write_container(
      {{std::string(kGraphSection), 1, true, tit::Coding::copies, text, 0, 0, 0, 0}});
}

std::optional<std::string> graph_in(TraceFile file) {
  const std::vector<tit::Section> sections = open_sections(file);
  const auto section = std::find_if(sections.begin(), sections.end(), is_graph);
  if (section == sections.end()) return std::nullopt;
  try {
    return tit::read_section(FileSource(file), *section);
  } catch (const tit::FormatError& error) {
    throw_damaged(file, error.what());
  }
}

bool PackedFile::recognises(const TraceFile& file) {
  return tit::container_version(FileSource(file)) != 0;
}

PackedFile::PackedFile(TraceFile file) : file_(std::move(file)), container_(open_sections(file_)) {
  try {
    read();
  } catch (const tit::FormatError& error) {
    damaged(error.what());
  }
}

PackedFile::~PackedFile() = default;

void PackedFile::damaged(std::string_view what) const { throw_damaged(file_, what); }

void PackedFile::read() {
  const FileSource source(file_);
  std::uint64_t values_offset = 0;
  std::uint64_t values_size = 0;
  bool has_trace = false;
  bool has_columns = false;
  for (const tit::Section& section : container_) {
    if (is_graph(section) && section.required) {
      throw TraceError(file_.name, 0,
                       "is a graph of GPUs, not a trace; 'tisim step' predicts its time");
    }
    if (!is_known(section)) continue;
    if (section.name == tit::kTraceSection) {
      const std::string bytes = tit::read_section(source, section);
      tit::ByteReader in(bytes.data(), bytes.data() + bytes.size());
      if (has_trace) throw tit::FormatError("it has two sections of the same name");
      tables_.read_trace(in);
      has_trace = true;
    } else if (section.name == tit::kColumnsSection) {
      const std::string bytes = tit::read_section(source, section);
      tit::ByteReader in(bytes.data(), bytes.data() + bytes.size());
      if (!has_trace || has_columns) throw tit::FormatError("its sections are out of order");
      tables_.read_columns(in);
      has_columns = true;
    } else if (section.name == tit::kDrawnSection) {
      const std::string bytes = tit::read_section(source, section);
      tit::ByteReader in(bytes);
      seed_ = in.varint();
    } else if (section.name == tit::kValuesSection) {
      values_offset = section.offset;
      values_size = section.stored;
    }
  }
  if (!has_trace) throw tit::FormatError("it lacks its section \"trace\"");
  column_offsets_ = column_offsets(tables_.columns, values_offset, values_size);
  sites_ = sites_of(tables_);
  volume_sites_ = tit::VolumeSites(tables_);
  site_table_ = tit::SiteTable(tables_);
  rank_positions_ = tit::positions_of(tables_.class_of, tables_.ranks,
                                      static_cast<std::uint32_t>(tables_.classes.size()));
  programs_.resize(tables_.classes.size());
  count();
}

std::vector<tit::Section> PackedFile::unknown_sections() const {
  const FileSource source(file_);
  std::vector<tit::Section> sections;
  for (const tit::Section& section : container_) {
    if (is_known(section)) continue;
    sections.push_back(section);
    try {
      sections.back().bytes = tit::read_section(source, section);
    } catch (const tit::FormatError& error) {
      damaged(error.what());
    }
  }
  return sections;
}

std::optional<std::string> PackedFile::unknown_section(const std::string& name) const {
  for (const tit::Section& section : container_) {
    if (is_known(section) || section.name != name) continue;
    try {
      return tit::read_section(FileSource(file_), section);
    } catch (const tit::FormatError& error) {
      damaged(error.what());
    }
  }
  return std::nullopt;
}

std::string PackedFile::bytes() const {
  const FileSource source(file_);
  return source.read(0, source.size());
}

void PackedFile::count() {
  for (std::size_t i = 0; i < tables_.classes.size(); ++i) {
    const tit::RankClass& made = tables_.classes[i];
    const std::vector<std::uint64_t> uses = uses_of_rules(made.grammar);
    std::uint64_t calls = 0;
    std::uint64_t actions = 0;
    for (std::size_t rule = 0; rule < made.grammar.rules.size(); ++rule) {
      for (const tit::Item& item : made.grammar.rules[rule]) {
        if (item.is_rule()) continue;
        const std::uint64_t times = uses[rule] * item.exponent;
        const std::uint32_t shape = tables_.signatures[made.signatures[item.number()]].shape;
        calls += times;
        if (shape != tit::kSilentShape && !is_comment(tables_.shapes[shape])) actions += times;
      }
    }
    class_calls_.push_back(calls);
    calls_ += calls * rank_positions_.ranks[i].size();
    actions_ += actions * rank_positions_.ranks[i].size();
  }
  for (const tit::RankColumn& column : tables_.columns) actions_ += column.volumes;
}

const PackedProgram& PackedFile::program(std::uint32_t rank_class) const {
  const std::lock_guard<std::mutex> lock(making_);
  auto& program = programs_[rank_class];
  if (!program) {
    program = std::make_unique<const PackedProgram>(tables_, tables_.classes[rank_class],
                                                    rank_positions_.ranks[rank_class], site_table_,
                                                    volume_sites_);
  }
  return *program;
}

std::string PackedFile::name(std::int32_t rank) const {
  const std::int64_t number = tables_.layout.name_of.at(at(rank), rank);
  const tit::NameShape& name = tables_.layout.names[static_cast<std::size_t>(number)];
  // Position among the ranks whose names have this shape.
  std::size_t position = at(rank);
  if (tables_.layout.names.size() > 1) {
    position = 0;
    for (std::int32_t other = 0; other < rank; ++other) {
      if (tables_.layout.name_of.at(at(other), other) == number) ++position;
    }
  }
  std::vector<std::int64_t> numbers;
  for (const tit::RankVector& hole : name.numbers) numbers.push_back(hole.at(position, rank));
  std::string text;
  tit::append_text(name.text, numbers.data(), text);
  return text;
}

std::uint64_t PackedFile::calls_of(std::int32_t rank) const { return class_calls_[class_of(rank)]; }

std::uint64_t PackedFile::volume_of(std::uint64_t number) const {
  if (!tables_.volumes.empty()) {
    if (number < tables_.volumes.size()) return tables_.volumes[static_cast<std::size_t>(number)];
  } else if (tit::is_volume_code(number)) {
    return number;
  }
  damaged("a volume is invalid");
}

double PackedFile::other_amount(std::uint64_t value) const {
  return tit::volume_value(volume_of(value - 1));
}

std::int64_t PackedFile::argument_of(const tit::Hole& hole, std::uint64_t value) const {
  if (hole.mark == tit::kVolumeMark) return static_cast<std::int64_t>(volume_of(value));
  return tit::unzigzag(value);
}

std::uint64_t PackedFile::drawn_volume(std::uint32_t site, std::int32_t rank,
                                       std::uint64_t call) const {
  const tit::Site& value_site = tables_.sites[site];
  if (!value_site.varies) return value_site.value;
  const std::uint32_t model = tables_.models.model_of[static_cast<std::size_t>(value_site.value)];
  return tit::drawn_value(tables_.models.models[model], *seed_, static_cast<std::uint64_t>(rank),
                          site, call);
}

ColumnLocation PackedFile::column_of(std::int32_t rank) const {
  return find_column(tables_.columns, column_offsets_, rank);
}

const PackedAttributes* PackedFile::attributes() const {
  const std::lock_guard<std::mutex> lock(making_);
  if (attributes_) return attributes_.get();
  const FileSource source(file_);
  const tit::Section* declarations = nullptr;
  const tit::Section* values = nullptr;
  for (const tit::Section& section : container_) {
    if (!is_known(section)) continue;
    if (section.name == tit::kAttributesSection) declarations = &section;
    if (section.name == tit::kAttributeValuesSection) values = &section;
  }
  if (declarations == nullptr) return nullptr;
  try {
    const std::string bytes = tit::read_section(source, *declarations);
    tit::ByteReader in(bytes);
    tit::AttributeTables tables;
    tables.read(in, tables_);
    attributes_ = std::make_unique<const PackedAttributes>(std::move(tables),
                                                           values == nullptr ? 0 : values->offset,
                                                           values == nullptr ? 0 : values->stored);
  } catch (const tit::FormatError& error) {
    damaged(error.what());
  }
  return attributes_.get();
}

std::vector<PackedFile::Site> sites_of(const tit::CodedColumns& columns) {
  std::vector<PackedFile::Site> sites;
  for (const tit::Site& site : columns.sites) {
    if (site.varies) {
      const tit::ModelSet& models = columns.models;
      const std::uint32_t model = models.model_of[static_cast<std::size_t>(site.value)];
      sites.push_back({models.models[model].table(), 0, true});
    } else {
      sites.push_back({{}, site.value, false});
    }
  }
  return sites;
}

std::vector<std::uint64_t> column_offsets(const std::vector<tit::RankColumn>& columns,
                                          std::uint64_t begin, std::uint64_t size) {
  std::vector<std::uint64_t> offsets;
  std::uint64_t used = 0;
  for (const tit::RankColumn& column : columns) {
    offsets.push_back(begin + used);
    for (const tit::Block& block : column.blocks) {
      if (block.bytes > size - used) throw tit::FormatError("a block is outside the file");
      used += block.bytes;
    }
  }
  if (used != size) throw tit::FormatError("it has values that no rank has");
  return offsets;
}

ColumnLocation find_column(const std::vector<tit::RankColumn>& columns,
                           const std::vector<std::uint64_t>& offsets, std::int32_t rank) {
  const auto match = std::lower_bound(
      columns.begin(), columns.end(), static_cast<std::uint32_t>(rank),
      [](const tit::RankColumn& column, std::uint32_t at) { return column.rank < at; });
  if (match == columns.end() || match->rank != static_cast<std::uint32_t>(rank)) return {};
  return {&*match, offsets[static_cast<std::size_t>(match - columns.begin())]};
}

}  // namespace tisim
