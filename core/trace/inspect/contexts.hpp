// How often a rank makes each of its calls, and behind which other one, from its grammar.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/tit/grammar/grammar.hpp"

namespace tisim {

// What a call does to the type of collectives that name none.
enum class TypeDefault : std::uint8_t { kept, bytes, doubles };

// A call directly behind another.
struct CallContext {
  std::uint32_t before = 0;     // the call before it plus 1; 0 at the beginning
  std::uint32_t call = 0;       // its number in the class
  bool double_default = false;  // whether double is the type of collectives that name none
  std::uint64_t times = 0;
};

// All contexts of a grammar, in the order of `before` and `call`. Takes time in proportion to the
// items of the grammar, however long its sequence is. `effects`: one a call.
std::vector<CallContext> contexts_of(const tit::Grammar& grammar,
                                     const std::vector<TypeDefault>& effects);

// The call that ends the sequence, plus 1; 0 when it is empty.
std::uint32_t last_call_of(const tit::Grammar& grammar);

}  // namespace tisim
