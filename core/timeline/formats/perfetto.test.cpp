#include "timeline/formats/perfetto.hpp"

#include <string>

#include "core/test.hpp"

namespace tisim {

TEST("protobuf: numbers take seven bits a byte, the lowest first") {
  ProtoMessage message;
  message.number(1, 150);
  CHECK(message.view() == std::string("\x08\x96\x01"));
  message.clear();
  message.number(16, 0);
  CHECK(message.view() == std::string("\x80\x01\x00", 3));
  message.clear();
  message.number(1, ~std::uint64_t{0});
  CHECK(message.view() == std::string("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"));
}

TEST("protobuf: a message contains what was written since") {
  ProtoMessage message;
  message.number(1, 1);
  const std::size_t before = message.size();
  message.text(2, "testing").number(3, 5).enclose(4, before);
  CHECK(message.view() == std::string("\x22\x0b\x18\x05\x12\x07testing\x08\x01"));
}

TEST("protobuf: fields of fixed size") {
  ProtoMessage message;
  message.fixed(1, 2).real(2, 1.0);
  const std::string real("\x11\x00\x00\x00\x00\x00\x00\xf0\x3f", 9);
  const std::string fixed("\x09\x02\x00\x00\x00\x00\x00\x00\x00", 9);
  CHECK(message.view() == real + fixed);
}

TEST("protobuf: it grows as needed and keeps what it has") {
  ProtoMessage message;
  std::string expected;
  for (int i = 0; i < 200; ++i) {
    const std::string text(static_cast<std::size_t>(i), 'x');
    message.text(1, text);
    expected = std::string(1, '\x0a') +
               (i < 128 ? std::string(1, static_cast<char>(i))
                        : std::string{static_cast<char>(i | 128), '\x01'}) +
               text + expected;
  }
  CHECK(message.view() == expected);
}

}  // namespace tisim
