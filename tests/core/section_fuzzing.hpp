// What the fuzz targets of packed traces of version 2 share.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "tit/codec/bytes.hpp"
#include "tit/file/attributes.hpp"
#include "tit/file/container.hpp"
#include "tit/writer/trace_writer.hpp"

namespace tisim::test {

// A file whose sections are these bytes, under checksums that are right. The first two bytes of
// each say where it ends.
inline std::string file_of_sections(std::string_view bytes) {
  tit::ByteReader in(bytes);
  std::vector<tit::Section> sections;
  for (const std::string_view name : {tit::kTraceSection, tit::kColumnsSection, tit::kValuesSection,
                                      tit::kAttributesSection, tit::kAttributeValuesSection}) {
    if (in.left() < 2) break;
    const std::size_t size = in.byte() + std::size_t{256} * (in.byte() % 8U);
    tit::Section section;
    section.name = std::string(name);
    section.bytes = std::string(in.bytes(std::min(size, in.left())));
    sections.push_back(std::move(section));
  }
  return tit::write_container(std::move(sections));
}

}  // namespace tisim::test
