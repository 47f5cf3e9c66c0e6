// Files of sections.
#include "trace/tit/file/container.hpp"

#include "core/test.hpp"
#include "core/text_source.hpp"
#include "trace/tit/codec/bytes.hpp"

namespace tisim::tit {

namespace {

std::string sample() {
  Section plain;
  plain.name = "plain";
  plain.required = false;
  plain.version = 7;
  plain.bytes = "abc";
  Section coded;
  coded.name = "coded";
  coded.coding = Coding::quick;
  coded.bytes = std::string(1000, 'x');
  return write_container({plain, coded});
}

}  // namespace

TEST("containers: sections come back with what is said of them") {
  const test::TextSource source(sample());
  CHECK(container_version(source) == kVersion);
  const std::vector<Section> sections = read_container(source);
  CHECK(sections.size() == 2);
  CHECK(sections[0].name == "plain" && !sections[0].required && sections[0].version == 7);
  CHECK(sections[1].name == "coded" && sections[1].required && sections[1].stored < 100);
  CHECK(read_section(source, sections[0]) == "abc");
  CHECK(read_section(source, sections[1]) == std::string(1000, 'x'));
}

TEST("containers: what copies would make too small is stored as it is") {
  Section section;
  section.name = "long";
  section.coding = Coding::quick;
  section.bytes = std::string(1 << 20, 'x');
  const test::TextSource source(write_container({section}));
  CHECK(read_container(source)[0].coding == Coding::none);
  CHECK(read_section(source, read_container(source)[0]) == section.bytes);
}

TEST("containers: flags that are not known are refused") {
  Section section;
  section.name = "a";
  std::string file = write_container({section});
  for (const char flags : {'\x07', '\x08'}) {
    Bytes table;
    table.text("a");
    table.varint(1);
    table.byte(static_cast<std::uint8_t>(flags));
    table.varint(0);
    table.varint(0);
    table.fixed32(0);
    Bytes other;
    other.data = file.substr(0, kMagic.size() + 4);
    other.fixed32(crc32c(table.data.data(), table.data.size()));
    other.text(table.data);
    CHECK_THROWS(read_container(test::TextSource(other.data)), FormatError,
                 "coded in no known way");
  }
}

TEST("containers: what is not a packed trace has no version") {
  CHECK(container_version(test::TextSource("")) == 0);
  CHECK(container_version(test::TextSource("0 init\n0 finalize\n")) == 0);
}

TEST("containers: damage is noticed wherever it is, and a cut") {
  const std::string whole = sample();
  const auto read_all = [](const std::string& bytes) {
    const test::TextSource source(bytes);
    for (const Section& section : read_container(source)) read_section(source, section);
  };
  for (std::size_t at = kMagic.size() + 4; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    CHECK_THROWS(read_all(damaged), FormatError, "");
    CHECK_THROWS(read_all(whole.substr(0, at)), FormatError, "");
  }
  CHECK_THROWS(read_all(whole + "x"), FormatError, " bytes of ");
}

}  // namespace tisim::tit
