// Exception of `verify()`: a class has an inconsistent state, which is a bug in tisim.
#pragma once

#include <stdexcept>

namespace tisim {

class BrokenInvariant : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

// `what` states the invariant.
inline void ensure(bool holds, const char* what) {
  if (!holds) throw BrokenInvariant(what);
}

}  // namespace tisim
