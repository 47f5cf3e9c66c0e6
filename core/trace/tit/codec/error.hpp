// What is wrong with the bytes of a compressed trace.
#pragma once

#include <stdexcept>

namespace tisim {
namespace tit {

// what() says what is wrong, without the name of the file: the reader of the file adds it.
struct FormatError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace tit
}  // namespace tisim
