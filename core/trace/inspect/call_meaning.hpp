// Meaning of a call: its action, sizes and peers, and the context it is in.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "trace/grammar/line_parser.hpp"
#include "trace/packed/file.hpp"
#include "trace/tit/grammar/grammar.hpp"
#include "trace/vocabulary/call.hpp"
#include "trace/vocabulary/op.hpp"

namespace tisim {

// How often a rank makes each of its calls, and behind which other one, from its grammar.

// The effect of a call on the type of collectives that name none.
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

// The meaning of a call of a packed trace: its action, its messages, its size.
struct CallMeaning {
  enum class Role : std::uint8_t {
    comment,  // no action
    action,
    computation,
    unreadable,  // an action of the user's own, or a mistake
  };

  Role role = Role::comment;
  std::string action = {};  // its name
  bool has_size = false;
  bool sends = false;     // a message of `size` to another rank; not of collectives
  std::int64_t size = 0;  // bytes that it sends, or of its buffer; of a collective, a rank's part
  double amount = 0;      // flops that the line itself computes; seconds of a sleep
  TypeDefault effect = TypeDefault::kept;
};

// Finds out by parsing the line of a call.
class CallReader {
 public:
  // Both must outlive it.
  CallReader(const PackedFile& file, const TraceGrammar& grammar)
      : file_(file), grammar_(grammar), calls_(std::make_unique<CallTable>()) {}

  // Meaning of the call of `signature` with `numbers` in its holes, on `rank`.
  CallMeaning read(std::uint32_t signature, const std::vector<std::int64_t>& numbers,
                   std::int32_t rank, bool double_default);

 private:
  void name(const Op& op, CallMeaning& meaning) const;
  void measure(const Op& op, CallMeaning& meaning) const;
  void measure_collective(const Call& call, CallMeaning& meaning) const;
  std::string action_word() const;

  const PackedFile& file_;
  const TraceGrammar& grammar_;
  std::unique_ptr<CallTable> calls_;
};

// True if a call of the class means the same on all its ranks, except for its peers.
bool is_same_on_all_ranks(const tit::TraceTables& tables, const tit::Signature& signature);
bool has_columns(const tit::Signature& signature);

}  // namespace tisim
