// Helpers of the fuzz targets for packed traces of version 2.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trace/tit/codec/bytes.hpp"
#include "trace/tit/file/attributes.hpp"
#include "trace/tit/file/container.hpp"
#include "trace/tit/file/tables.hpp"
#include "trace/tit/writer/columns.hpp"
#include "trace/tit/writer/trace_writer.hpp"

namespace tisim::test {

// Sets the checksums of all blocks that are present.
inline void set_checksums(tit::CodedColumns& coded, std::string_view values) {
  std::size_t offset = 0;
  for (tit::RankColumn& column : coded.columns) {
    for (tit::Block& block : column.blocks) {
      if (block.bytes > values.size() - offset) return;
      const auto size = static_cast<std::size_t>(block.bytes);
      block.checksum = tit::crc32c(values.data() + offset, size);
      offset += size;
    }
  }
}

// Corrects the checksums of blocks of columns, so that their contents are read.
inline void set_checksums(std::vector<tit::Section>& sections) {
  constexpr std::uint32_t kMostRanks = 1000;
  const auto bytes_of = [&](std::string_view name) -> std::string* {
    for (tit::Section& section : sections) {
      if (section.name == name) return &section.bytes;
    }
    return nullptr;
  };
  std::string none;
  const auto values_of = [&](std::string_view name) {
    std::string* const values = bytes_of(name);
    return std::string_view(values != nullptr ? *values : none);
  };
  try {
    tit::ByteReader trace(*bytes_of(tit::kTraceSection));
    if (tit::ByteReader(trace).varint() > kMostRanks) return;
    tit::TraceTables tables;
    tables.read_trace(trace);
    if (std::string* const columns = bytes_of(tit::kColumnsSection)) {
      tit::ByteReader in(*columns);
      tables.read_columns(in);
      set_checksums(tables, values_of(tit::kValuesSection));
      tit::Bytes out;
      tables.write_columns(out);
      *columns = std::move(out.data);
    }
    if (std::string* const bytes = bytes_of(tit::kAttributesSection)) {
      tit::ByteReader in(*bytes);
      tit::AttributeTables attributes;
      attributes.read(in, tables);
      set_checksums(attributes, values_of(tit::kAttributeValuesSection));
      tit::Bytes out;
      attributes.write(out);
      *bytes = std::move(out.data);
    }
  } catch (const tit::FormatError&) {
    // Nothing after invalid tables is read.
  }
}

// Returns a file with these bytes as sections, with correct checksums. The first two bytes of each
// section are its size.
inline std::string file_of_sections(std::string_view bytes) {
  tit::ByteReader in(bytes);
  std::vector<tit::Section> sections;
  for (const std::string_view name :
       {tit::kTraceSection, tit::kColumnsSection, tit::kValuesSection, tit::kAttributesSection,
        tit::kAttributeValuesSection, tit::kDrawnSection}) {
    if (in.left() < 2) break;
    const std::size_t size = in.byte() + std::size_t{256} * (in.byte() % 8U);
    tit::Section section;
    section.name = std::string(name);
    section.bytes = std::string(in.bytes(std::min(size, in.left())));
    sections.push_back(std::move(section));
  }
  if (!sections.empty()) set_checksums(sections);
  return tit::write_container(std::move(sections));
}

}  // namespace tisim::test
