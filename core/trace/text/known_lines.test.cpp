// Lines that are known by what came before them.
#include "trace/text/known_lines.hpp"

#include <string>

#include "core/test.hpp"

namespace tisim {

TEST("known lines: a line has the number of its first use") {
  KnownLines lines;
  bool is_new = false;
  CHECK(lines.number("0 send 1 1 8", is_new) == 0 && is_new);
  is_new = false;
  CHECK(lines.number("", is_new) == 1 && is_new);
  is_new = false;
  CHECK(lines.number("0 send 1 1 8", is_new) == 0 && !is_new);
  CHECK(lines.text(0) == "0 send 1 1 8" && lines.text(1).empty());
}

TEST("known lines: only the line that came here the last time is passed at once") {
  const std::string first = "0 irecv 12345678 1 2\n";
  const std::string second = "0 wait 1 0 1\n";
  const std::string rest(64, 'x');
  KnownLines lines;
  bool is_new = false;
  for (int i = 0; i < 3; ++i) {
    lines.number(std::string_view(first).substr(0, first.size() - 1), is_new);
    lines.number(std::string_view(second).substr(0, second.size() - 1), is_new);
  }
  const auto is_passed = [&](const std::string& text) {
    KnownLines copy = lines;
    const char* p = text.data();
    std::uint32_t number = 7;
    const bool passed = copy.pass_next(p, text.data() + text.size(), number);
    CHECK(p == text.data() + (passed ? first.size() : 0));
    return passed && number == 0;
  };
  CHECK(is_passed(first + rest));
  CHECK(!is_passed(first));                             // its end cannot be told at once
  CHECK(!is_passed(second + rest));                     // known, but not here
  CHECK(!is_passed("0 irecv 12345678 1 3\n" + rest));   // another last byte
  CHECK(!is_passed("0 irecv 12345678 1 22\n" + rest));  // longer
  CHECK(!is_passed("0 irecv 12345678 1\n" + rest));     // shorter
}

TEST("known lines: many lines stay apart") {
  KnownLines lines;
  bool is_new = false;
  for (std::uint32_t round = 0; round < 2; ++round) {
    for (std::uint32_t i = 0; i < 5000; ++i) {
      CHECK(lines.number("0 send " + std::to_string(i) + " 1 8", is_new) == i);
    }
  }
}

}  // namespace tisim
