#include "trace/tit/file/container.hpp"

#include "trace/tit/codec/byte_coder.hpp"
#include "trace/tit/codec/bytes.hpp"
#include "trace/tit/codec/copy_coder.hpp"

namespace tisim::tit {

namespace {

// Magic, version, CRC-32C of the table; then the length of the table and the table.
constexpr std::size_t kFixedHeader = 8 + 4 + 4;
constexpr std::size_t kMaxVarintBytes = 10;  // bytes of a varint
constexpr std::uint8_t kRequired = 1;
constexpr std::uint8_t kCoded = 2;
constexpr std::uint8_t kByCopies = 4;
constexpr std::uint64_t kMaxLength = std::uint64_t{1} << 62;

std::uint8_t flags_of(const Section& section) {
  const std::uint8_t required = section.required ? kRequired : 0;
  switch (section.coding) {
    case Coding::arithmetic:
      return required | kCoded;
    case Coding::copies:
      return required | kByCopies;
    default:
      return required;
  }
}

Coding coding_of(std::uint8_t flags) {
  if ((flags & ~(kRequired | kCoded | kByCopies)) != 0 ||
      (flags & (kCoded | kByCopies)) == (kCoded | kByCopies)) {
    throw FormatError("a section has an unknown encoding");
  }
  return (flags & kCoded) != 0      ? Coding::arithmetic
         : (flags & kByCopies) != 0 ? Coding::copies
                                    : Coding::none;
}

void store(Section& section) {
  section.size = section.bytes.size();
  if (section.coding != Coding::none) {
    std::string coded = compress_by_copies(section.bytes);
    if (coded.size() < section.bytes.size() && may_expand(coded, section.bytes.size())) {
      section.bytes = std::move(coded);
    } else {
      section.coding = Coding::none;
    }
  }
  section.stored = section.bytes.size();
  section.checksum = crc32c(section.bytes.data(), section.bytes.size());
}

Section read_entry(ByteReader& in, std::uint64_t offset) {
  Section section;
  section.name = std::string(in.text());
  section.version = static_cast<std::uint32_t>(in.at_most(0xffffffffU, "a section's version"));
  const std::uint8_t flags = in.byte();
  section.required = (flags & kRequired) != 0;
  section.coding = coding_of(flags);
  section.offset = offset;
  section.stored = in.at_most(kMaxLength - offset, "a section's length");
  section.size = section.coding != Coding::none ? in.at_most(kMaxLength, "a section's length")
                                                : section.stored;
  section.checksum = in.fixed32();
  return section;
}

class TextSource final : public ByteSource {
 public:
  explicit TextSource(const std::string& text) : text_(text) {}
  std::uint64_t size() const override { return text_.size(); }
  std::string read(std::uint64_t offset, std::uint64_t size) const override {
    return offset < text_.size() ? text_.substr(offset, size) : std::string();
  }

 private:
  const std::string& text_;
};

// The file of sections whose bytes are in their stored form.
std::string file_of(const std::vector<Section>& sections) {
  Bytes table;
  for (const Section& section : sections) {
    table.text(section.name);
    table.varint(section.version);
    table.byte(flags_of(section));
    table.varint(section.stored);
    if (section.coding != Coding::none) table.varint(section.size);
    table.fixed32(section.checksum);
  }
  Bytes file;
  file.data.append(kMagic.data(), kMagic.size());
  file.fixed32(kVersion);
  file.fixed32(crc32c(table.data.data(), table.data.size()));
  file.text(table.data);
  for (const Section& section : sections) file.data += section.bytes;
  return std::move(file.data);
}

}  // namespace

std::string write_container(std::vector<Section> sections) {
  for (Section& section : sections) store(section);
  return file_of(sections);
}

std::string with_section(const std::string& file, Section section) {
  const TextSource source(file);
  std::vector<Section> sections = read_container(source);
  for (Section& other : sections) other.bytes = source.read(other.offset, other.stored);
  store(section);
  sections.push_back(std::move(section));
  return file_of(sections);
}

std::uint32_t container_version(const ByteSource& source) {
  const std::string head = source.read(0, kMagic.size() + 4);
  if (head.compare(0, kMagic.size(), kMagic) != 0) return 0;
  // A file truncated here is refused like one of this version.
  if (head.size() < kMagic.size() + 4) return kVersion;
  return ByteReader(std::string_view(head).substr(kMagic.size())).fixed32();
}

std::vector<Section> read_container(const ByteSource& source) {
  const std::string head = source.read(0, kFixedHeader + kMaxVarintBytes);
  ByteReader in(head);
  if (in.bytes(kMagic.size()) != kMagic) throw FormatError("it does not begin like a packed trace");
  in.fixed32();
  const std::uint32_t checksum = in.fixed32();
  const std::uint64_t all = source.size();
  const std::uint64_t length = in.at_most(all, "the length of the table of sections");
  const auto start = static_cast<std::uint64_t>(in.position() - head.data());
  const std::string table = source.read(start, length);
  if (table.size() < length || crc32c(table.data(), table.size()) != checksum) {
    throw FormatError("its table of sections has a wrong checksum");
  }
  std::vector<Section> sections;
  std::uint64_t offset = start + length;
  for (ByteReader entries(table); !entries.at_end();) {
    sections.push_back(read_entry(entries, offset));
    offset += sections.back().stored;
  }
  if (offset != all) {
    throw FormatError("it has " + std::to_string(all) + " bytes of " + std::to_string(offset));
  }
  return sections;
}

std::string read_section(const ByteSource& source, const Section& section) {
  std::string stored = source.read(section.offset, section.stored);
  if (stored.size() != section.stored || crc32c(stored.data(), stored.size()) != section.checksum) {
    throw FormatError("its section " + section.name + " has a wrong checksum");
  }
  const auto size = static_cast<std::size_t>(section.size);
  switch (section.coding) {
    case Coding::arithmetic:
      return expand_bytes(stored, size);
    case Coding::copies:
      return expand_copies(stored, size);
    default:
      return stored;
  }
}

}  // namespace tisim::tit
