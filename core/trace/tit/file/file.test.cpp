// Section files, lines and names without their numbers, tables, and codes of volumes.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>

#include "core/packed_testing.hpp"
#include "core/test.hpp"
#include "trace/tit/codec/bytes.hpp"
#include "trace/tit/file/container.hpp"
#include "trace/tit/file/shape.hpp"
#include "trace/tit/file/tables.hpp"
#include "trace/tit/file/volume_code.hpp"

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
  coded.coding = Coding::copies;
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
  section.coding = Coding::copies;
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
                 "has an unknown encoding");
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

namespace {

std::string text_of(const Line& line) {
  std::string text;
  append_text(line.shape, line.numbers.data(), text);
  return text;
}

void check_line(const std::string& text) {
  const Line line = line_of(text);
  CHECK(error_of_shape(line.shape).empty());
  CHECK(holes_of(line.shape).size() == line.numbers.size());
  CHECK(text_of(line) == text);
}

}  // namespace

TEST("shapes: lines come back byte for byte") {
  for (const char* text :
       {"", " ", "init", "init ", "send 1 0 5", "send 1  0 5 ", "\trecv -333 007 -0 5\r",
        "isend 1 2 3 request=5", "waitall requests=3,4,15", "bcast 8 1.5e+06 comm=3 # rank 5",
        "compute 5", "compute 1e6 ", "x\x01\x02\x07\x05", "a=5=6", "99999999999999999999 5",
        "compute 417022004.7025699019"}) {
    check_line(text);
  }
}

TEST("shapes: numbers are holes, and lines that differ in them have one shape") {
  CHECK(line_of("send 1 0 5").shape == line_of("send 31 7 999").shape);
  CHECK((line_of("send 1 0 5").numbers == std::vector<std::int64_t>{1, 0, 5}));
  CHECK((line_of("waitall requests=3,4").numbers == std::vector<std::int64_t>{3, 4}));
  const std::vector<Hole> holes = holes_of(line_of("isend 1 2 3 request=5").shape);
  CHECK(holes.size() == 4 && holes[0].word == 1 && holes[3].word == 4);
  CHECK(holes[2].is_argument && !holes[3].is_argument);
  CHECK(line_of("compute 5").shape == line_of("compute 1.5e+06").shape);
}

TEST("shapes: random bytes come back") {
  std::mt19937 random(3);
  const std::string bytes = "0123456789 \t\r#.-+e=,compute\x01\x02\x03\x04\x05\x06\x07\x08";
  for (int i = 0; i < 20000; ++i) {
    std::string text;
    for (std::size_t k = random() % 12; k > 0; --k) text += bytes[random() % bytes.size()];
    check_line(text);
    CHECK(text_of(raw_line_of(text)) == text);
    const Line name = name_of(text);
    CHECK(error_of_shape(name.shape).empty() && text_of(name) == text);
  }
}

TEST("shapes: names with zeros before their numbers") {
  CHECK(name_of("rank-0003.txt").shape == name_of("rank-0412.txt").shape);
  CHECK(text_of(name_of("rank-0003.txt")) == "rank-0003.txt");
  CHECK(name_of("rank-3.txt").shape == name_of("rank-412.txt").shape);
}

TEST("shapes: what cannot be one") {
  for (const std::string& text :
       {std::string("a\x03"), std::string("\x04 b"), std::string("a\x05"), std::string("\x07"),
        std::string("\x06"), std::string("\x06\x13"), std::string("\0", 1)}) {
    CHECK(!error_of_shape(text).empty());
  }
}

namespace {

// Two ranks of one class: a send to the next rank, then a barrier with a number in a column.
TraceTables sound() {
  TraceTables tables;
  tables.ranks = 2;
  tables.layout.names.push_back({"0", {}});
  const auto shape = [&](const std::string& text) {
    tables.shapes.push_back({text, 0, holes_of(text)});
  };
  shape(std::string("compute ") + static_cast<char>(kVolumeMark));
  shape(std::string(1, static_cast<char>(kSilentMark)));
  shape(std::string("send ") + static_cast<char>(kNumberMark));
  tables.signatures = {{2, {{Mode::relative, 1}}}, {2, {{Mode::column, 0}}}};
  RankClass made;
  made.signatures = {0, 1};
  made.has_volumes = true;
  made.grammar.rules = {{Item::terminal(0), Item::terminal(1)}};
  tables.classes.push_back(made);
  tables.contexts = {{0, 0, 0}, {1, 1, 1}};
  tables.sites = {{false, 0}, {false, 1}, {false, 2}};
  tables.columns = {{0, 0, {{3, 0, 0}}}, {1, 0, {}}};
  return tables;
}

// The error of the tables; empty if they can be read. `change` receives the bytes of "trace".
template <class Change>
std::string fault_of(const TraceTables& tables, const Change& change) {
  Bytes trace;
  Bytes columns;
  tables.write_trace(trace);
  tables.write_columns(columns);
  change(trace.data);
  try {
    TraceTables read;
    ByteReader in(trace.data);
    read.read_trace(in);
    ByteReader more(columns.data);
    read.read_columns(more);
  } catch (const FormatError& error) {
    return error.what();
  }
  return {};
}

std::string fault_of(const TraceTables& tables) {
  return fault_of(tables, [](std::string&) {});
}

bool contains(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

RankVector per_rank(std::int64_t first, std::int64_t second) {
  return RankVector::of({first, second}, {0, 1}, false);
}

}  // namespace

TEST("tables: sound ones are read, and bytes behind or before their end are noticed") {
  CHECK(fault_of(sound()).empty());
  CHECK(contains(fault_of(sound(), [](std::string& bytes) { bytes += '\0'; }), "longer than"));
  CHECK(contains(fault_of(sound(), [](std::string& bytes) { bytes.pop_back(); }), "end too early"));
}

TEST("tables: ranks, classes and calls that are not there are refused") {
  TraceTables tables = sound();
  tables.ranks = 0;
  CHECK(contains(fault_of(tables), "it has no rank"));
  tables.ranks = 0xffffffffU;
  CHECK(contains(fault_of(tables), "the number of ranks is 4294967295, but at most"));
  for (const std::int64_t number : {std::int64_t{1}, std::int64_t{-1}, INT64_MAX}) {
    tables = sound();
    tables.class_of = per_rank(0, number);
    CHECK(contains(fault_of(tables), "a rank has no class"));
  }
  tables = sound();
  tables.classes[0].signatures = {0, 2};
  CHECK(contains(fault_of(tables), "a class has a missing call"));
  tables = sound();
  tables.signatures[0].shape = 3;
  CHECK(contains(fault_of(tables), "a call has no shape"));
  tables = sound();
  tables.classes[0].grammar.rules = {{Item::terminal(2)}};
  CHECK(!fault_of(tables).empty());
}

TEST("tables: shapes, volumes and names that are none are refused") {
  TraceTables tables = sound();
  std::swap(tables.shapes[0], tables.shapes[2]);
  CHECK(contains(fault_of(tables), "its first shapes are wrong"));
  tables = sound();
  tables.signatures.push_back({0, {{Mode::relative, 1}}});
  CHECK(contains(fault_of(tables), "a volume is invalid"));
  tables.signatures.back().arguments = {{Mode::constant, -1}};
  CHECK(contains(fault_of(tables), "a volume is invalid"));
  // A vector of volumes with an invalid one.
  tables.signatures.back().arguments = {{Mode::by_rank, 0}};
  tables.classes[0].signatures = {0, 1, 2};
  tables.classes[0].vectors = {per_rank(5, -7)};
  CHECK(contains(fault_of(tables), "a volume is invalid"));
  tables = sound();
  tables.layout.names[0].text = std::string(1, static_cast<char>(kVolumeMark));
  tables.layout.names[0].numbers = {per_rank(0, 0)};
  CHECK(contains(fault_of(tables), "a name has a volume"));
}

TEST("tables: columns of no rank, no call or no volume are refused") {
  TraceTables tables = sound();
  tables.contexts[1].at = 2;
  CHECK(contains(fault_of(tables), "a context has no call"));
  tables = sound();
  tables.contexts[1].before = 3;
  CHECK(contains(fault_of(tables), "a context is 3, but at most 2"));
  tables = sound();
  tables.columns[1].rank = 2;
  CHECK(contains(fault_of(tables), "a column has no rank"));
  tables = sound();
  tables.columns[1].rank = 0;
  CHECK(contains(fault_of(tables), "a rank has two columns"));
  tables = sound();
  tables.volumes = {7, 7};
  CHECK(contains(fault_of(tables), "a volume is invalid"));
  tables.volumes = {~std::uint64_t{0}};
  CHECK(contains(fault_of(tables), "a volume is invalid"));
}

TEST("tables: numbers of what follows beyond the bytes are refused") {
  Bytes many;
  many.data = std::string("\x02\x00\x00\x00\x00", 5);  // two ranks, no flags, no texts
  many.varint(std::uint64_t{1} << 40);
  const std::string fault = fault_of(sound(), [&](std::string& bytes) { bytes = many.data; });
  CHECK(contains(fault, "the number of names is 1099511627776, but at most"));
}

TEST("tit tables: volumes in a bin that is wider than quick loops can read are special") {
  constexpr std::uint64_t kWide = (std::uint64_t{1} << 22) + 5;
  for (const std::uint64_t value : {std::uint64_t{5}, kWide}) {
    TraceTables tables = sound();
    tables.number_kinds();
    tables.sites[0] = {true, 0};
    // One bin, as wide as the number of bits of the value.
    tables.models.models = {SiteModel::fit({value})};
    tables.models.model_of = {0};
    const VolumeSites sites(tables);
    const std::uint32_t number = sites.number(SiteTable(tables), 0, 0);
    CHECK((number == VolumeSites::kSpecial) == (value == kWide));
  }
}

namespace {

std::string text_of(std::uint64_t code) {
  std::string text;
  append_volume(code, text);
  return text;
}

void check_exact(const std::string& text) {
  const std::uint64_t code = volume_code(text);
  CHECK(code != kNoVolumeCode && is_volume_code(code));
  CHECK(text_of(code) == text);
  CHECK(volume_value(code) == std::strtod(text.c_str(), nullptr));
}

}  // namespace

TEST("volume codes: usual volumes come back with their text and value") {
  for (const char* text : {"0", "7", "999999", "1000000", "123456789012345", "956140.000000", "0.5",
                           "1.50", "1.59373e+06", "1e+06", "1.5e+15", "9.99999e+15", "1.5e-07",
                           "1.000000e+06", "2.50e+10", "1.23456789e+12", "1e+16", "0e+00"}) {
    check_exact(text);
  }
}

TEST("volume codes: what has no code is told apart") {
  for (const char* text : {"",
                           "1e6",
                           "01",
                           "-1",
                           "+1",
                           ".5",
                           "5.",
                           "1.5E+06",
                           "1e+6",
                           "1e+006",
                           "nan",
                           "1.5.5",
                           "123456789012345678",
                           "1e+99",
                           "1e-99",
                           "1e",
                           "1e+",
                           "1 ",
                           "0x10",
                           "100000000000000000",
                           "0.000000000000000000001",
                           "1.12345678901234567e+08",
                           "0.1234567890123456e+08",
                           "1.1234567890123456e+24",
                           "1.1234567890123456e-01",
                           "1125899906842624",
                           "417022004.70256990123"}) {
    CHECK(volume_code(text) == kNoVolumeCode);
  }
}

TEST("volume codes: random texts, as printf prints them") {
  std::mt19937 random(1);
  for (int i = 0; i < 20000; ++i) {
    const double volume =
        std::ldexp(static_cast<double>(random()), static_cast<int>(random() % 24));
    char text[64];
    const char* const formats[] = {"%g", "%.0f", "%f", "%.3e", "%.8g"};
    std::snprintf(text, sizeof text, formats[random() % 5], volume);
    if (volume_code(text) != kNoVolumeCode) check_exact(text);
  }
}

TEST("volume codes: larger volumes of the usual forms have larger codes") {
  CHECK(volume_code("999999") < volume_code("1e+06"));
  CHECK(volume_code("1.59373e+06") < volume_code("1.59374e+06"));
  CHECK(volume_code("9.99999e+06") < volume_code("1e+07"));
}

TEST("volume codes: any number is a code or is refused") {
  std::mt19937_64 random(2);
  for (int i = 0; i < 20000; ++i) {
    const std::uint64_t code = random() >> (random() % 64);
    if (is_volume_code(code)) CHECK(volume_code(text_of(code)) == code);
  }
}

}  // namespace tisim::tit
