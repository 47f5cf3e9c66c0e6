#include <cstdint>
#include <random>

#include "core/test.hpp"
#include "trace/tit/codec/byte_coder.hpp"
#include "trace/tit/codec/bytes.hpp"
#include "trace/tit/codec/copy_coder.hpp"

namespace tisim::tit {

namespace {

bool survives(const std::string& bytes) {
  return expand_copies(compress_by_copies(bytes), bytes.size()) == bytes;
}

std::string random_bytes(std::mt19937_64& random, std::size_t size, unsigned alphabet) {
  std::string bytes;
  for (std::size_t i = 0; i < size; ++i) bytes += static_cast<char>(random() % alphabet);
  return bytes;
}

}  // namespace

TEST("tit codec: the checksum is CRC-32C") {
  CHECK(crc32c("123456789", 9) == 0xe3069283U);
  CHECK(crc32c("", 0) == 0);
  CHECK(crc32c(std::string(32, '\0').data(), 32) == 0x8a9136aaU);
}

TEST("tit codec: numbers and texts come back") {
  Bytes bytes;
  for (const std::uint64_t value : {std::uint64_t{0}, std::uint64_t{127}, UINT64_MAX}) {
    bytes.varint(value);
  }
  for (const std::int64_t value : {std::int64_t{-1}, INT64_MAX, INT64_MIN}) bytes.zigzag(value);
  bytes.text("allreduce");
  bytes.fixed32(0x01020304);
  bytes.byte(255);
  ByteReader reader(bytes.data);
  CHECK(reader.varint() == 0 && reader.varint() == 127 && reader.varint() == UINT64_MAX);
  CHECK(reader.zigzag() == -1 && reader.zigzag() == INT64_MAX && reader.zigzag() == INT64_MIN);
  CHECK(reader.text() == "allreduce" && reader.fixed32() == 0x01020304 && reader.byte() == 255);
  CHECK(reader.at_end());
  CHECK_THROWS(reader.byte(), FormatError, "end too early");
}

TEST("tit codec: a number that is not in its shortest form is refused") {
  using namespace std::string_view_literals;
  for (const std::string_view bytes : {"\x80\x00"sv, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"sv,
                                       "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"sv}) {
    ByteReader reader(bytes);
    CHECK_THROWS(reader.varint(), FormatError, "encoded incorrectly");
  }
  ByteReader cut("\x80"sv);
  CHECK_THROWS(cut.varint(), FormatError, "end too early");
}

TEST("tit codec: lengths and counts beyond the bytes are refused") {
  Bytes bytes;
  bytes.varint(100);
  bytes.byte(0);
  ByteReader text(bytes.data);
  CHECK_THROWS(text.text(), FormatError, "end too early");
  ByteReader count(bytes.data);
  CHECK_THROWS(count.count("the number of rules"), FormatError,
               "the number of rules is 100, but at most 1 is possible");
}

TEST("tit codec: coded bytes come back") {
  std::mt19937_64 random(1);
  CHECK(survives(""));
  for (int i = 0; i < 256; ++i) CHECK(survives(std::string(1, static_cast<char>(i))));
  for (const unsigned alphabet : {1U, 2U, 5U, 256U}) {
    for (const std::size_t size : {2U, 3U, 17U, 300U, 5000U}) {
      CHECK(survives(random_bytes(random, size, alphabet)));
    }
  }
}

TEST("tit codec: what repeats takes few bytes, and noise hardly more than itself") {
  std::string text;
  for (int i = 0; i < 200; ++i) text += "send " + std::to_string(i % 7) + " 1024;";
  CHECK(compress_by_copies(text).size() < 130);
  std::mt19937_64 random(2);
  CHECK(compress_by_copies(random_bytes(random, 4096, 256)).size() < 4096 + 250);
}

TEST("tit codec: damaged copies give other bytes or an error, never a crash") {
  std::mt19937_64 random(4);
  std::string bytes = random_bytes(random, 300, 9);
  bytes += bytes + std::string(40, 'a') + bytes;
  const std::string coded = compress_by_copies(bytes);
  for (int i = 0; i < 600; ++i) {
    std::string damaged = coded;
    damaged[random() % damaged.size()] = static_cast<char>(random());
    if (i % 3 == 0) damaged.resize(random() % damaged.size());
    try {
      CHECK(expand_copies(damaged, bytes.size()).size() == bytes.size());
    } catch (const FormatError&) {
      // Refused.
    }
  }
  CHECK_THROWS(expand_copies(coded, std::size_t{1} << 40), FormatError, "too short for");
  CHECK_THROWS(expand_copies(coded + "12345", bytes.size()), FormatError, "not match its content");
}

// The form of sections before writers coded them by copies only.
TEST("tit codec: sections that were coded bit by bit are read, and damaged ones refused") {
  std::string bytes;
  for (int i = 0; i < 40; ++i) {
    bytes += "send " + std::to_string(i % 7) + " " + std::to_string(1024 * (i % 3)) + ";";
  }
  const std::string coded =
      "\x8c\x9f\x75\xfb\x0f\x6c\x70\x71\xed\x7f\x7f\x0d\xbe\x8c\x08\x2a\x88\xdf\x7b\xcf"
      "\x9a\x58\xe5\x44\x68\x68\x84\x82\x20\x09\x5d\x71\xce\x2c\xd2\x3c\x82\xa8\xbc\x5b"
      "\xc7\x9e\xe8\xde\x60\xa6\x89\x9a\xc7\xf8\x30\x78\x85\xfa\xcf\xc4\x2d\x48\x17\x27"
      "\x2d\x0f\x09";
  CHECK(expand_bytes(coded, bytes.size()) == bytes);
  std::mt19937_64 random(3);
  for (int i = 0; i < 300; ++i) {
    std::string damaged = coded;
    damaged[random() % damaged.size()] = static_cast<char>(random());
    if (i % 3 == 0) damaged.resize(random() % damaged.size());
    try {
      CHECK(expand_bytes(damaged, bytes.size()).size() == bytes.size());
    } catch (const FormatError&) {
      // Refused.
    }
  }
  CHECK_THROWS(expand_bytes(coded, std::size_t{1} << 40), FormatError, "too short for");
  CHECK_THROWS(expand_bytes(coded + "12345", bytes.size()), FormatError, "not match its content");
}

}  // namespace tisim::tit
