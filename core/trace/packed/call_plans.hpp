// The operations of the calls of a class, for any rank of the class.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "trace/grammar/line_parser.hpp"
#include "trace/packed/file.hpp"
#include "trace/vocabulary/op.hpp"

namespace tisim {

// How the operations of a call are produced.
enum class CallForm : std::uint8_t {
  unknown,  // its line has not been parsed yet
  plain,    // one operation; its peer and its bytes may depend on the rank
  patched,  // operations with fields that are written each time
  parsed,   // the line is printed and parsed
  silent,   // no operations
};

// Peers of a plan without per-rank peers.
inline constexpr std::int32_t kNoPeers[1] = {0};

// A call that each rank derives from the same operation: peer = (peer + rank & sum) ^ (rank & flip)
// + peers[position & by_position].
struct CallPlan {
  Op op;
  const std::int32_t* peers = kNoPeers;  // by position of the rank in its class, or a single 0
  std::uint32_t by_position = 0;         // a mask: 0 or all bits
  std::uint32_t peer_sum = 0;
  std::uint32_t peer_flip = 0;
  std::uint32_t bytes_sum = 0;
  std::uint32_t kind = 0;     // of the signature, for contexts
  std::uint32_t details = 0;  // of a plan that is not plain: its index in CallPlans::details
  CallForm form = CallForm::unknown;
  bool has_columns = false;

  // The operation of a plain call on a rank with this position in its class.
  void put(std::int32_t rank, std::uint32_t position, std::uint32_t line, Op& into) const {
    const auto number = static_cast<std::uint32_t>(rank);
    const auto by_rank = static_cast<std::uint32_t>(peers[position & by_position]);
    const std::uint32_t sum = static_cast<std::uint32_t>(op.peer) + (number & peer_sum);
    into = op;
    into.peer = static_cast<std::int32_t>((sum ^ (number & peer_flip)) + by_rank);
    into.bytes = op.bytes + (number & bytes_sum);
    into.line = line;
  }
};

// A field of an operation and the source of its value.
struct FieldPatch {
  enum class Field : std::uint8_t { peer, tag, bytes, amount, step };
  Field field = Field::peer;
  std::uint8_t op = 0;    // 0 or 1
  std::uint8_t hole = 0;  // of the line
  tit::Mode mode = tit::Mode::constant;
  std::int64_t scale = 1;  // of bytes
};

struct CallDetails {
  Op ops[LineParser::kMaxOps];
  std::size_t count = 0;   // of operations
  std::uint64_t step = 1;  // line increment
  std::vector<FieldPatch> patches;
};

// A call whose operations depend only on its signature and the rank, not on the class.
struct KnownCall {
  CallPlan plan;
  CallDetails details;
  bool uses_mistaken_null = false;
  bool uses_lost_type = false;
};
// Known facts about the lines of a trace after an `init` with an argument, or after one without.
struct KnownCalls {
  explicit KnownCalls(const tit::TraceTables& tables)
      : by_signature(tables.signatures.size()), actions(tables.shapes.size()) {}

  // nullptr: not a known call.
  std::vector<std::unique_ptr<const KnownCall>> by_signature;
  // Action of each shape's lines, once looked up; nullptr: unknown without parsing a line.
  std::vector<std::optional<const Action*>> actions;
};

// The plans of one class, for lines after an `init` with an argument, or after one without.
//
// A plan is created when its call is first reached. The words of a trace are not interpreted here:
// the line is parsed with two values of a number, and the fields of the operations that differ
// depend on that number. Results about a message apply to all classes.
class CallPlans {
 public:
  // All arguments must outlive the plans.
  CallPlans(const PackedFile& file, std::uint32_t rank_class, const TraceGrammar& grammar,
            bool double_default, CallTable& calls, KnownCalls& known);

  // The plan of a call, created on first use.
  const CallPlan& at(std::uint32_t call) {
    if (plans_[call].form == CallForm::unknown) make(call);
    return plans_[call];
  }
  // All plans, including those not yet created.
  const CallPlan* data() const { return plans_.data(); }
  const CallDetails& details(const CallPlan& plan) const { return details_[plan.details]; }
  const PackedProgram& program() const { return program_; }
  bool uses_mistaken_null() const { return uses_mistaken_null_; }
  bool uses_lost_type() const { return uses_lost_type_; }

  // Writes the fields that depend on the rank and its column into the call's operations. Returns
  // false if a value is out of range: then the line must be parsed.
  bool apply(const CallDetails& details, const std::vector<std::int64_t>& numbers, Op* ops,
             std::uint64_t& step) const;

 private:
  struct Probe;

  void make(std::uint32_t call);
  bool find(std::uint32_t call, CallDetails& details);
  bool reuse_known_call(std::uint32_t call, const KnownCall& known);
  bool is_class_independent(std::uint32_t call, const CallDetails& details) const;
  void add_details(CallDetails details, CallPlan& plan);
  void first_numbers(std::uint32_t call, std::vector<std::int64_t>& numbers) const;
  bool find_patches(std::uint32_t call, CallDetails& details, CallTable& tried);
  const Action* action_of(std::uint32_t call) const;
  bool find_patch(Probe& probe, std::size_t hole, std::int64_t other, FieldPatch& patch);
  bool values_fit(std::uint32_t call, const FieldPatch& patch, std::size_t hole);
  bool in_range(const FieldPatch& patch, std::int64_t value) const;
  bool equals_parsed(std::uint32_t call, const CallDetails& details, CallTable& tried);
  bool make_plain(std::uint32_t call, const CallDetails& details, CallPlan& plan);
  const std::int32_t* peers_of(std::uint32_t call, std::size_t hole);
  std::size_t parse(std::uint32_t call, const std::vector<std::int64_t>& numbers, std::int32_t rank,
                    CallTable& calls, Op* ops);
  const tit::Signature& signature(std::uint32_t call) const;

  const PackedFile& file_;
  const PackedProgram& program_;
  const TraceGrammar& grammar_;
  CallTable& calls_;
  KnownCalls& known_;
  CallTable tried_;                    // for trial lines only
  std::vector<std::int64_t> numbers_;  // scratch for the numbers of a line
  bool double_default_;
  std::vector<CallPlan> plans_;
  std::vector<CallDetails> details_;
  std::vector<std::vector<std::int32_t>> peers_;  // of plans, by position of the rank
  bool uses_mistaken_null_ = false;
  bool uses_lost_type_ = false;
};

// Appends the line of a call with its numbers, as in the file of `rank`.
void append_line(const tit::Shape& shape, const std::vector<std::int64_t>& numbers,
                 std::int32_t rank, std::string& out);

// All plans of a trace for one call table. Not thread-safe.
class SharedCallPlans {
 public:
  // `owner` keeps `file` and `grammar` alive.
  static SharedCallPlans& of(const std::shared_ptr<const void>& owner, const PackedFile& file,
                             const TraceGrammar& grammar, CallTable& calls);

  SharedCallPlans(std::shared_ptr<const void> owner, const PackedFile& file,
                  const TraceGrammar& grammar, CallTable& calls)
      : owner_(std::move(owner)),
        file_(file),
        grammar_(grammar),
        calls_(calls),
        plans_(2 * file.tables().classes.size()),
        known_(file.tables()),
        known_of_doubles_(file.tables()) {}

  const PackedFile& file() const { return file_; }
  const TraceGrammar& grammar() const { return grammar_; }
  CallTable& calls() const { return calls_; }
  CallPlans& plans(std::uint32_t rank_class, bool double_default);

  // Scratch for the numbers of a line.
  std::vector<std::int64_t> numbers;

 private:
  std::shared_ptr<const void> owner_;
  const PackedFile& file_;
  const TraceGrammar& grammar_;
  CallTable& calls_;
  std::vector<std::unique_ptr<CallPlans>> plans_;
  KnownCalls known_;
  KnownCalls known_of_doubles_;  // after an `init` with an argument
};

}  // namespace tisim
