#include "trace/packed/line_template.hpp"

#include "core/test.hpp"
#include "trace/packed/format.hpp"
#include "trace/packed/volume.hpp"

namespace tisim::packed {

namespace {

// Whether a line comes back from its template, and in how many bytes it went.
bool survives(std::string_view line, std::int64_t rank, std::size_t& bytes) {
  WordList words;
  const std::string made = make_template(line, rank, words);
  bytes = made.size();
  std::string back;
  return append_line(made, rank, words.words(), back) && back == line;
}

Volume::Form form_of(std::string_view text) {
  const Volume volume = volume_of(text);
  if (volume.form == Volume::text) return Volume::text;
  std::string bytes;
  put_volume(volume, bytes);
  const auto token = static_cast<std::uint8_t>(bytes.front());
  std::string_view rest = std::string_view(bytes).substr(1);
  Volume back;
  std::string printed;
  CHECK(take_volume(token, rest, back) && rest.empty());
  append_volume(back, printed);
  CHECK(printed == text);
  CHECK(value_of(back) == std::stod(std::string(text)));
  return volume.form;
}

}  // namespace

TEST("packed lines: numbers of every size come back") {
  std::string bytes;
  for (const std::int64_t value : {std::int64_t{0}, std::int64_t{-1}, INT64_MAX, INT64_MIN}) {
    put_varint(bytes, zigzag(value));
  }
  put_fixed(bytes, std::uint32_t{0x01020304});
  ByteCursor cursor(bytes);
  CHECK(unzigzag(cursor.varint()) == 0 && unzigzag(cursor.varint()) == -1);
  CHECK(unzigzag(cursor.varint()) == INT64_MAX && unzigzag(cursor.varint()) == INT64_MIN);
  CHECK(cursor.fixed<std::uint32_t>() == 0x01020304 && cursor.done() && !cursor.failed());
  CHECK(cursor.byte() == 0 && cursor.failed());
  ByteCursor endless({"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 11});
  endless.varint();
  CHECK(endless.failed());
}

TEST("packed lines: templates") {
  std::size_t bytes = 0;
  CHECK(survives("send 1 5 100 0", 0, bytes) && bytes == 7);
  CHECK(survives("barrier", 3, bytes) && bytes == 2);
  CHECK(survives("bcast 1 0 1 ", 3, bytes) && bytes == 5);
  CHECK(survives("wait -333 3 7", 3, bytes) && bytes < 8);
  for (const char* line : {"init ", "sendRecv 1 2 3 4 5 6", "x  y", "x 01", "x -0", "x +1", "x 1.5",
                           "x a", "send 1 5 100\r", "x 999999999999999999", "x 9999999999999999999",
                           "x -", "x ", "x  ", "checkpoint disk", "send 1\t2 3"}) {
    CHECK(survives(line, 7, bytes));
  }
  CHECK(survives("x " + std::string(5000, '1'), 7, bytes));
}

TEST("packed lines: named arguments") {
  std::size_t bytes = 0;
  CHECK(survives("isend 1 5 100 0 request=3", 0, bytes) && bytes == 12);
  CHECK(survives("wait request=3", 0, bytes) && bytes == 7);
  CHECK(survives("waitall requests=0,1,2,3 ", 3, bytes) && bytes == 10);
  CHECK(survives("send 7 5 100 request=3 comm=1", 7, bytes) && bytes == 14);
  for (const char* line : {"x request=", "x request=a", "x requests=1,", "x requests=,1",
                           "x request=1 5", "x request=01", "x comm=1 ", "x =1", "x y=1",
                           "x request=1  comm=2", "x request=-1", "x comm=1,2,3"}) {
    CHECK(survives(line, 7, bytes));
  }
  WordList words;
  CHECK(make_template("isend 6 1 100 request=3", 5, words) ==
        make_template("isend 9 1 100 request=3", 8, words));
}

TEST("packed lines: the same pattern has the same template on every rank") {
  WordList words;
  CHECK(make_template("send 6 1 100", 5, words) == make_template("send 9 1 100", 8, words));
  CHECK(make_template("wait 5 6 1", 6, words) == make_template("wait 8 9 1", 9, words));
  CHECK(make_template("sendRecv 1 5 1 3", 4, words) == make_template("sendRecv 1 6 1 4", 5, words));
  CHECK(make_template("send 0 1 100", 5, words) == make_template("send 0 1 100", 8, words));
  CHECK(make_template("Isend 6 100", 5, words) == make_template("Isend 9 100", 8, words));
}

TEST("packed lines: volumes") {
  CHECK(form_of("0") == Volume::whole && form_of("14571") == Volume::whole);
  CHECK(form_of("1048575") == Volume::whole && form_of("1048576") == Volume::whole);
  CHECK(form_of("9007199254740992") == Volume::whole);
  CHECK(form_of("956140.000000") == Volume::decimal && form_of("0.5") == Volume::decimal);
  CHECK(form_of("1.") == Volume::decimal && form_of("1.50e+06") == Volume::scientific);
  CHECK(form_of("1.59373e+06") == Volume::scientific && form_of("2e+11") == Volume::scientific);
  for (const char* text : {"", "1e6", "1e+6", "1e+05", "1e+12", "01",

                           ".5",

                           "10e+06", "-1", "+1", "1E+06", "nan", "9007199254740993", "1.5e+06\r",
                           "1.2.3", "1 ", "0.000000000000000001", "1e+06e+06"}) {
    CHECK(volume_of(text).form == Volume::text);
  }
}

TEST("packed lines: what is no template is refused") {
  const std::vector<std::string> words = {"send"};
  for (const std::string& bytes :
       {std::string(), std::string("\x02\x00", 2), std::string("\x01"),
        std::string("\x01\x04\x02", 3), std::string("\x01\x02\x02\x02", 4),
        std::string("\x80\x02", 2), std::string("\x80\x02\x00", 3),
        std::string("\x80\x02\x01\x00\x03\x00", 6), std::string("\x80\x02\x01\x00\x01\x02\x02", 7),
        std::string("\x80\x02\x80\x02\x01\x00", 6)}) {
    std::string out;
    CHECK(!append_line(bytes, 0, words, out));
  }
}

TEST("packed lines: init in any case") {
  CHECK(is_init("init") && is_init(" INIT 5") && is_init("init#x") && is_init("Init\r"));
  CHECK(!is_init("initx") && !is_init("") && !is_init("send init"));
  CHECK(behind_first_word(" 0  init") == "  init" && behind_first_word("0").empty());
}

}  // namespace tisim::packed
