// What is peculiar to packed traces of version 1.
#include "core/packed_testing.hpp"
#include "core/test.hpp"

namespace tisim {

using test::Scratch;

namespace {

std::shared_ptr<const TraceSet> open_packed(const std::string& bytes) {
  return TraceSet::open({test::file_of(bytes, "packed.tit")}, "packed.tit");
}

// Reads all of it and unpacks it; returns what went wrong.
std::string error_of(const std::string& bytes, const Scratch& scratch) {
  try {
    const auto set = open_packed(bytes);
    CallTable calls;
    for (std::int32_t rank = 0; rank < set->ranks(); ++rank) test::read_all(*set, rank, calls);
    std::filesystem::create_directory(scratch.file("out"));
    unpack(test::file_of(bytes, "packed.tit"), scratch.file("out"));
  } catch (const TraceError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST("packed: a newer version") {
  const Scratch scratch;
  std::string bytes = test::packed({"0 init\n"}, scratch);
  bytes[packed::kMagic.size()] = 3;
  CHECK(error_of(bytes, scratch) ==
        "packed.tit: is a packed trace of version 3, and this tisim reads versions 1 and 2; get a "
        "newer tisim");
}

TEST("packed: what has the right checksums and makes no sense is refused") {
  const Scratch scratch;
  const auto error = [&](std::string_view payload) {
    return error_of(test::with_payload(payload), scratch);
  };
  CHECK(error(std::string("\x02\x01\x02\x00\x20", 5)).empty());  // init, send, send again
  for (const std::string& payload :
       {std::string("\x20"), std::string("\x03\x00", 2), std::string("\x02\x02"),
        std::string("\x10\x01"), std::string("\x0f"), std::string("\x00\x09", 2),
        std::string("\x05\x01\x63"), std::string("\x04\xff"), std::string("\x01\x02\x01\x02", 4),
        std::string("\x06")}) {
    CHECK(error(payload).find("packed.tit: is damaged: ") == 0);
  }
  for (const std::string& index :
       {std::string(), std::string("\0\1\4\0\0\0\0\1\0\0\5\0\0\0\1a", 16),
        std::string("\0\1\4\0\0\0\0\2\2\0\0\0\0\0\1a", 16), std::string(40, '\xff')}) {
    CHECK(error_of(test::with_index(index), scratch).find("packed.tit: is damaged: ") == 0);
  }
}

}  // namespace tisim
