// Packed traces as a whole: written, read, unpacked, damaged.
#include <random>

#include "core/damaged_lines.hpp"
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

const std::vector<std::string>& plain_texts() {
  static const std::vector<std::string> texts = {
      "# a comment\n\n0 init\n0 compute 5\n0 compute 1.59373e+06\n0 compute 956140.000000\n"
      "0 compute 1e3\n0  send 1 0 5\n0 send 1 0 5\n0 send 1 0 5\n0 allreduce 1 5\n0 allreduce 1 5\n"
      "0 sendRecv 1 1 1 1\n0 sendRecv 1 1 1 1\n0 init 1\n0 send 1 0 5\n0 send 1 0 5 #x\n0 finalize",
      "1 init \r\n\t1 recv 0 0 5\n1 recv 0 0 5\n1 Bcast 5 0 1 \n\n1 compute "
      "99999999999999999999\n"};
  return texts;
}

}  // namespace

TEST("pack: the text comes back byte for byte") {
  const Scratch scratch;
  for (const auto& texts :
       std::vector<std::vector<std::string>>{plain_texts(),
                                             {"0 init"},
                                             {"0 init\n", "1 init"},
                                             {"1 barrier\n\n", "0 x\n"},
                                             {"# c\n0 a\n1 b\n1 compute 5\n\n0 c\n2 d\n#e"}}) {
    const std::string bytes = test::packed(texts, scratch);
    CHECK(test::unpacked(bytes, texts.size(), scratch) == texts);
  }
}

TEST("pack: the operations are those of the text") {
  const Scratch scratch;
  const auto text = TraceSet::open(test::files_of(plain_texts()), "text");
  const auto packed = open_packed(test::packed(plain_texts(), scratch));
  CHECK(packed->ranks() == 2 && packed->dialect() == Dialect::modern);
  CHECK(packed->file(1) == "packed.tit/rank-1");
  CHECK(packed->actions() == 21 && !text->actions());
  for (const std::size_t batch : {1U, 2U, 5U, 100U}) {
    for (std::int32_t rank = 0; rank < 2; ++rank) {
      CHECK(test::outcome_of_reader(*packed, rank, batch) ==
            test::outcome_of_reader(*text, rank, batch));
    }
  }
  CallTable calls;
  const auto reader = packed->open(0, calls);
  Op ops[64];
  while (reader->read(ops, 64) > 0) continue;
  CHECK(reader->bytes_read() > 0 && reader->bytes_read() < packed->bytes());
}

TEST("pack: damaged lines are read, or refused, as in the text, and come back") {
  const Scratch scratch;
  std::mt19937 random(4);
  for (int round = 0; round < 400; ++round) {
    std::string text = test::plain_text(random, 1 + static_cast<int>(random() % 12));
    for (std::size_t i = 0; i <= random() % 3; ++i) test::mutate(text, random);
    const std::vector<std::string> texts = {"0 init\n" + text, "1 init\n"};
    const std::string bytes = test::packed(texts, scratch, Dialect::modern);
    CHECK(test::unpacked(bytes, 2, scratch) == texts);
    const auto plain = TraceSet::open(test::files_of(texts), "text", Dialect::modern);
    test::Outcome expected = test::outcome_of_reader(*plain, 0, 3);
    if (!expected.error.empty()) expected.error.insert(0, "packed.tit/");
    CHECK(test::outcome_of_reader(*open_packed(bytes), 0, 3) == expected);
  }
}

TEST("pack: lines of one file of several ranks keep their numbers") {
  const Scratch scratch;
  const std::string merged =
      "# c\n0 a 5\n1 send 0 0 1\n1 compute 5\n\n0 c\n2 d\n#e\n1 send 0 0 1\n1 x\n";
  const auto set = open_packed(test::packed({merged}, scratch));
  CallTable calls;
  CHECK_THROWS(test::read_all(*set, 0, calls), TraceError,
               "packed.tit/rank-0:2: there is no action 'a'");
  CHECK_THROWS(test::read_all(*set, 1, calls), TraceError,
               "packed.tit/rank-0:10: there is no action 'x'");
}

TEST("pack: thousands of different lines, more than there are slots") {
  const Scratch scratch;
  std::string text;
  std::mt19937 random(7);
  for (int i = 0; i < 30000; ++i) {
    text += "0 send 1 " + std::to_string(random() % 9000) + " 100\n";
    if (i % 100 == 0) text += "0 compute " + std::to_string(random()) + "\n";
    if (i == 20000) text += "0 init 1\n";
  }
  const std::vector<std::string> texts = {text, "1 init\n"};
  const std::string bytes = test::packed(texts, scratch);
  CHECK(test::unpacked(bytes, 2, scratch) == texts);
  const auto expected = TraceSet::open(test::files_of(texts), "text");
  CHECK(test::outcome_of_reader(*open_packed(bytes), 0, 256) ==
        test::outcome_of_reader(*expected, 0, 256));
}

TEST("pack: lines that are one more each time, rules in rules") {
  const Scratch scratch;
  std::string text = "0 init\n";
  for (int last = 1; last <= 200; ++last) {
    for (int line = 0; line < last; ++line) {
      text += std::string("# ") + static_cast<char>('a' + line / 20) +
              static_cast<char>('a' + line % 20) + "\n";
    }
  }
  CHECK(test::unpacked(test::packed({text}, scratch), 1, scratch) == std::vector{text});
}

TEST("pack: a line longer than a block") {
  const Scratch scratch;
  const std::vector<std::string> texts = {"0 init\n0 compute " + std::string(200000, ' ') +
                                              "5\n0 bcast 5\n# " + std::string(100000, 'x') +
                                              "\n0 init",
                                          "1 init\n"};
  const std::string bytes = test::packed(texts, scratch);
  CHECK(test::unpacked(bytes, 2, scratch) == texts);
  CHECK(error_of(bytes, scratch).empty());
}

TEST("pack: a damaged byte is noticed wherever it is") {
  const Scratch scratch;
  const std::string bytes =
      test::packed({"0 init\n0 compute 5\n0 send 1 0 5\n", "1 init\n1 recv 0 0 5\n"}, scratch,
                   Dialect::automatic);
  CHECK(error_of(bytes, scratch).empty());
  for (std::size_t at = tit::kMagic.size(); at < bytes.size(); ++at) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    const std::string error = error_of(damaged, scratch);
    const bool version = at >= tit::kMagic.size() && at < tit::kMagic.size() + 4;
    CHECK(error.find(version ? "packed.tit: is a packed trace of version"
                             : "packed.tit: is damaged: ") == 0);
  }
}

TEST("pack: files outside the directory are refused") {
  const Scratch scratch;
  for (const char* name : {"../x", "/tmp/x", "a/../../x"}) {
    PackInput input;
    input.files = test::files_of({"0 init\n"});
    input.names = {name};
    pack(input, scratch.file("packed.tit"));
    CHECK(error_of(test::content_of(scratch.file("packed.tit")), scratch)
              .find("leads out of the directory") != std::string::npos);
  }
}

TEST("pack: another version is refused, and what is not packed") {
  const Scratch scratch;
  std::string bytes = test::packed({"0 init\n"}, scratch);
  bytes[tit::kMagic.size()] = 3;
  CHECK(error_of(bytes, scratch) ==
        "packed.tit: is a packed trace of version 3, and this tisim reads version 2; get a newer "
        "tisim");
  bytes[tit::kMagic.size()] = 1;
  CHECK(error_of(bytes, scratch) ==
        "packed.tit: is a packed trace of version 1, and this tisim reads version 2; pack the "
        "trace again");
  CHECK_THROWS(unpack(test::file_of("0 init\n", "x.tit"), scratch.file("out")), TraceError,
               "x.tit: is not a packed trace");
}

}  // namespace tisim
