// Lines and names without their numbers, and back.
#include "trace/tit/file/shape.hpp"

#include <random>

#include "core/test.hpp"

namespace tisim::tit {

namespace {

std::string text_of(const Line& line) {
  std::string text;
  append_text(line.shape, line.numbers.data(), text);
  return text;
}

void check_line(const std::string& text) {
  const Line line = line_of(text);
  CHECK(fault_of_shape(line.shape).empty());
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
    CHECK(fault_of_shape(name.shape).empty() && text_of(name) == text);
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
    CHECK(!fault_of_shape(text).empty());
  }
}

}  // namespace tisim::tit
