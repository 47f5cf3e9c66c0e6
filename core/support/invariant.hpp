// Exception of `verify()`: the state of a class contradicts itself, which is a defect of tisim.
#pragma once

#include <stdexcept>

namespace tisim {

class BrokenInvariant : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

// `what` says what always holds.
inline void ensure(bool holds, const char* what) {
  if (!holds) throw BrokenInvariant(what);
}

}  // namespace tisim
