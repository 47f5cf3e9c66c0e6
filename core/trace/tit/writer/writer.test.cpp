// Packed traces written class by class, and coded column values.
#include <stdexcept>

#include "core/packed_testing.hpp"
#include "core/test.hpp"
#include "trace/tit/column/column_coder.hpp"
#include "trace/tit/writer/class_writer.hpp"
#include "trace/tit/writer/columns.hpp"
#include "trace/tit/writer/trace_writer.hpp"

namespace tisim::tit {

namespace {

const std::string kSend = std::string("send ") + static_cast<char>(kNumberMark);

template <class Action>
bool is_refused(Action action) {
  try {
    action();
  } catch (const std::invalid_argument&) {
    return true;
  }
  return false;
}

}  // namespace

TEST("class writer: numbers become arguments, and all classes are read again") {
  ClassWriter writer(6);
  const std::uint32_t send = writer.shape(kSend, 1);
  Grammar loop;
  loop.rules = {{Item::rule(1, 7)}, {Item::terminal(0), Item::terminal(1)}};
  writer.add({0, 2, 4}, {{send, {{1, 3, 5}}}, {send, {{9, 8, 9}}}}, loop);
  Grammar once;
  once.rules = {{Item::terminal(0)}};
  writer.add({1, 3, 5}, {{send, {{4}}}}, once);
  const test::TextSource file(writer.finish(false, ""));
  const std::vector<Section> sections = read_container(file);
  CHECK(sections.size() == 1);
  const std::string trace = read_section(file, sections[0]);
  TraceTables tables;
  ByteReader in(trace);
  tables.read_trace(in);
  CHECK(tables.ranks == 6 && tables.classes.size() == 2);
  CHECK(tables.classes[0].grammar == loop);
  CHECK(tables.signatures[0].arguments[0].mode == Mode::relative);
  CHECK(tables.signatures[1].arguments[0].mode == Mode::by_rank);
  CHECK(tables.signatures[2].arguments[0].mode == Mode::constant);
  CHECK(tables.classes[0].vectors[0].at(1, 2) == 8);
}

TEST("class writer: what cannot be is refused") {
  Grammar once;
  once.rules = {{Item::terminal(0)}};
  Grammar circle;
  circle.rules = {{Item::rule(0)}};
  ClassWriter writer(3);
  const std::uint32_t send = writer.shape(kSend, 1);
  const std::vector<ClassCall> calls = {{send, {{4}}}};
  CHECK(is_refused([&] { writer.add({2, 1}, calls, once); }));
  CHECK(is_refused([&] { writer.add({3}, calls, once); }));
  CHECK(is_refused([&] { writer.add({0}, calls, circle); }));
  CHECK(is_refused([&] { writer.add({0}, {}, once); }));
  CHECK(is_refused([&] { writer.add({0, 1}, {{send, {{1, 2, 3}}}}, once); }));
  CHECK(is_refused([&] { writer.add({0}, {{send, {}}}, once); }));
  CHECK(is_refused([&] { writer.add({0}, {{7, {{4}}}}, once); }));
  CHECK(is_refused([&] { writer.finish(false, ""); }));
}

TEST("columns: a site whose values are all the largest number") {
  constexpr std::uint64_t kLargest = ~std::uint64_t{0};
  const std::vector<RankValues> values = {{0, 0, {kLargest, 7, kLargest}}};
  const std::uint32_t site_of[] = {0, 1, 0};
  CodedColumns coded;
  const std::string bytes =
      encode_columns({{kLargest, kLargest}, {7}}, {site_of}, values, 100, coded);
  Bytes out;
  coded.write_coded(out);
  CodedColumns read;
  ByteReader in(out.data);
  read.read_coded(in, 2, 1);
  CHECK(in.at_end());
  CHECK(!read.sites[1].varies && read.sites[1].value == 7);
  CHECK(read.sites[0].varies && read.columns.size() == 1 && read.columns[0].blocks.size() == 1);
  ColumnDecoder decoder;
  decoder.start(bytes.data(), bytes.data() + bytes.size());
  const DecodingTable table = read.models.models[read.models.model_of[0]].table();
  CHECK(decoder.next(table) == kLargest);
  CHECK(decoder.next(table) == kLargest);
  CHECK(decoder.finished());
}

}  // namespace tisim::tit
