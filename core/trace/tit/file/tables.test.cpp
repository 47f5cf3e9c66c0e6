// Tables that say what cannot be are refused, by what is wrong with them.
#include "trace/tit/file/tables.hpp"

#include <string>

#include "core/test.hpp"

namespace tisim::tit {

namespace {

// Two ranks of one class: a send to the next rank, then a barrier whose number stands in a column.
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

// The error of the tables; empty if they are read. `change` takes the bytes of "trace".
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
    CHECK(contains(fault_of(tables), "a rank is in no class"));
  }
  tables = sound();
  tables.classes[0].signatures = {0, 2};
  CHECK(contains(fault_of(tables), "a class has a call that is not there"));
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
  CHECK(contains(fault_of(tables), "its first shapes are not what they must be"));
  tables = sound();
  tables.signatures.push_back({0, {{Mode::relative, 1}}});
  CHECK(contains(fault_of(tables), "a volume is none"));
  tables.signatures.back().arguments = {{Mode::constant, -1}};
  CHECK(contains(fault_of(tables), "a volume is none"));
  // A vector of volumes of which one is none.
  tables.signatures.back().arguments = {{Mode::by_rank, 0}};
  tables.classes[0].signatures = {0, 1, 2};
  tables.classes[0].vectors = {per_rank(5, -7)};
  CHECK(contains(fault_of(tables), "a volume is none"));
  tables = sound();
  tables.layout.names[0].text = std::string(1, static_cast<char>(kVolumeMark));
  tables.layout.names[0].numbers = {per_rank(0, 0)};
  CHECK(contains(fault_of(tables), "a name has a volume"));
}

TEST("tables: columns of no rank, no call or no volume are refused") {
  TraceTables tables = sound();
  tables.contexts[1].at = 2;
  CHECK(contains(fault_of(tables), "a context is of no call"));
  tables = sound();
  tables.contexts[1].before = 3;
  CHECK(contains(fault_of(tables), "a context is 3, but at most 2"));
  tables = sound();
  tables.columns[1].rank = 2;
  CHECK(contains(fault_of(tables), "a column is of no rank"));
  tables = sound();
  tables.columns[1].rank = 0;
  CHECK(contains(fault_of(tables), "a rank has two columns"));
  tables = sound();
  tables.volumes = {7, 7};
  CHECK(contains(fault_of(tables), "a volume is none"));
  tables.volumes = {~std::uint64_t{0}};
  CHECK(contains(fault_of(tables), "a volume is none"));
}

TEST("tables: numbers of what follows beyond the bytes are refused") {
  Bytes many;
  many.data = std::string("\x02\x00\x00\x00\x00", 5);  // two ranks, no flags, no texts
  many.varint(std::uint64_t{1} << 40);
  const std::string found = fault_of(sound(), [&](std::string& bytes) { bytes = many.data; });
  CHECK(contains(found, "the number of names is 1099511627776, but at most"));
}

TEST("tit tables: volumes in a bin that is wider than quick loops can read are special") {
  constexpr std::uint64_t kWide = (std::uint64_t{1} << 22) + 5;
  for (const std::uint64_t value : {std::uint64_t{5}, kWide}) {
    TraceTables tables = sound();
    tables.number_kinds();
    tables.sites[0] = {true, 0};
    // One bin, which is as wide as the value has bits.
    tables.models.models = {SiteModel::fit({value})};
    tables.models.model_of = {0};
    const VolumeSites sites(tables);
    const std::uint32_t number = sites.number(SiteTable(tables), 0, 0);
    CHECK((number == VolumeSites::kSpecial) == (value == kWide));
  }
}

}  // namespace tisim::tit
