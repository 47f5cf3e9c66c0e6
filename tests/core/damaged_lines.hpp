// Test helpers: trace lines, and random damage to them.
#pragma once

#include <iterator>
#include <random>
#include <string>

namespace tisim::test {

inline constexpr const char* kPlain[] = {"init",
                                         "compute 1000",
                                         "send 1 5 100",
                                         "recv 1 5 100 1",
                                         "isend 3 0 7 0",
                                         "irecv 2 0 7",
                                         "wait 2 0 0",
                                         "test 0 3 0",
                                         "compute 1.59373e+06",
                                         "compute 0",
                                         "bcast 5 1 0",
                                         "barrier",
                                         "allreduce 1 10",
                                         "sendRecv 1 1 1 1",
                                         "recv -333 1 9999999",
                                         "compute 1e-3",
                                         "compute 1.5",
                                         "send 0 0 0",
                                         "irecv 1 1234567 12345678",
                                         "wait 0 1 2",
                                         "isend 1 2 3 4",
                                         "isend 1 2 3 request=4",
                                         "isend 1 2 3 4 request=5",
                                         "irecv 1 2 1234567 request=1234567",
                                         "isend 1 2 3 6 request=1 comm=0",
                                         "wait request=12",
                                         "wait 0 1 2 request=3",
                                         "test request=0",
                                         "waitall requests=1,2,33",
                                         "waitany 2 requests=1,2",
                                         "send_init 1 2 3 request=4",
                                         "ibcast 5 1 0 request=4",
                                         "finalize",
                                         "compute 123456789012345678"};

constexpr const char kRubbish[] = "0123456789 \t\r\n#.-+eE_xsendrecvcomputwaq=,\0\x01\x7f\xff";

// Lines of rank 0.
inline std::string plain_text(std::mt19937& random, int lines) {
  std::string text;
  for (int i = 0; i < lines; ++i) {
    text.append("0 ").append(kPlain[random() % std::size(kPlain)]).append("\n");
  }
  return text;
}

inline void mutate(std::string& text, std::mt19937& random) {
  const std::size_t at = random() % text.size();
  const char other = kRubbish[random() % (sizeof kRubbish - 1)];
  switch (random() % 5) {
    case 0:
      text[at] = other;
      break;
    case 1:
      text.insert(at, 1, other);
      break;
    case 2:
      text.erase(at, 1 + random() % 3);
      break;
    case 3:
      text.insert(at, text.substr(random() % text.size(), random() % 20));
      break;
    default:
      text.resize(at);
  }
  if (text.empty()) text = "0";
}

}  // namespace tisim::test
