// The meaning of a call: its action, sizes and peers, and its context.
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

// How often a rank makes each of its calls, and after which other call, derived from its grammar.

// Effect of a call on the type of collectives that do not specify one.
enum class DefaultTypeEffect : std::uint8_t { kept, bytes, doubles };

// A call directly after another.
struct CallContext {
  std::uint32_t before = 0;     // the previous call plus 1; 0 at the beginning
  std::uint32_t call = 0;       // its number in the class
  bool double_default = false;  // whether double is the type of collectives that do not specify one
  std::uint64_t times = 0;
};

// All contexts of a grammar, ordered by `before` and `call`. The time is proportional to the items
// of the grammar, not to the length of its sequence. `effects`: one per call.
std::vector<CallContext> contexts_of(const tit::Grammar& grammar,
                                     const std::vector<DefaultTypeEffect>& effects);

// The last call of the sequence, plus 1; 0 if it is empty.
std::uint32_t last_call_of(const tit::Grammar& grammar);

// The meaning of a call of a packed trace: its action, its messages, its size.
struct CallMeaning {
  enum class Role : std::uint8_t {
    comment,  // no action
    action,
    computation,
    unreadable,  // an action of the user's own, or an error
  };

  Role role = Role::comment;
  std::string action = {};  // its name
  bool has_size = false;
  bool sends = false;     // sends a message of `size` to another rank; false for collectives
  std::int64_t size = 0;  // bytes sent, or size of the buffer; for a collective, a rank's part
  double amount = 0;      // flops computed by the line itself; seconds of a sleep
  DefaultTypeEffect effect = DefaultTypeEffect::kept;
};

// Determines the meaning by parsing the line of a call.
class CallReader {
 public:
  // Both must outlive it.
  CallReader(const PackedFile& file, const TraceGrammar& grammar)
      : file_(file), grammar_(grammar), calls_(std::make_unique<CallTable>()) {}

  // Meaning of a call with `signature` and `numbers` in its holes, on `rank`.
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

// True if a call of the class has the same meaning on all its ranks, apart from its peers.
bool is_same_on_all_ranks(const tit::TraceTables& tables, const tit::Signature& signature);
bool has_columns(const tit::Signature& signature);

}  // namespace tisim
