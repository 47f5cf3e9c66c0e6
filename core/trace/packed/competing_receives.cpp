#include "trace/packed/competing_receives.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "trace/error.hpp"
#include "trace/packed/call_plans.hpp"

namespace tisim {

namespace {

// The source and tag that a receive asks for. Either may vary over time.
struct ReceiveEnvelope {
  static constexpr std::int32_t kVaries = std::numeric_limits<std::int32_t>::min();

  std::uint16_t comm = 0;
  std::int32_t source = 0;
  std::int32_t tag = 0;

  friend bool operator==(const ReceiveEnvelope&, const ReceiveEnvelope&) = default;
};

bool is_open(std::int32_t number, std::int32_t any) {
  return number == any || number == ReceiveEnvelope::kVaries;
}

// True if a receive that may be from any source competes with another one or with itself.
bool compete(const ReceiveEnvelope& from_any, const ReceiveEnvelope& other) {
  if (!is_open(from_any.source, kAnySource) || from_any.comm != other.comm) return false;
  const bool same_tag =
      from_any.tag == other.tag || is_open(from_any.tag, kAnyTag) || is_open(other.tag, kAnyTag);
  const bool varies =
      from_any.source == ReceiveEnvelope::kVaries || from_any.tag == ReceiveEnvelope::kVaries;
  return same_tag && (varies || from_any != other);
}

bool is_receive(const tit::Shape& shape, const TraceGrammar& grammar) {
  const std::string_view text = shape.text;
  const Action* const action = grammar.vocabulary->find(text.substr(0, text.find_first_of(" \t")));
  return action != nullptr && action->form == Form::receive && shape.holes.size() >= 2;
}

bool may_be_from_any(const tit::Argument& source) {
  return source.mode == tit::Mode::by_rank || source.mode == tit::Mode::column ||
         (source.mode == tit::Mode::constant && source.value == kAnySource);
}

}  // namespace

bool receives_compete(const PackedFile& file, const TraceGrammar& grammar, std::int32_t rank) {
  const PackedProgram& program = file.program(file.class_of(rank));
  const tit::TraceTables& tables = file.tables();
  std::vector<std::uint32_t> receives;
  bool any = false;
  const std::vector<std::uint32_t>& signatures = program.rank_class().signatures;
  for (std::uint32_t call = 0; call < signatures.size(); ++call) {
    const tit::Signature& call_signature = tables.signatures[signatures[call]];
    if (!is_receive(tables.shapes[call_signature.shape], grammar)) continue;
    receives.push_back(call);
    any = any || may_be_from_any(call_signature.arguments[0]);
  }
  if (!any) return false;
  CallTable calls;
  LineParser parser(grammar, rank, file.file().name, calls);
  std::vector<std::int64_t> numbers;
  std::vector<ReceiveEnvelope> all;
  std::string line;
  for (const std::uint32_t call : receives) {
    const tit::Signature& call_signature = tables.signatures[signatures[call]];
    program.numbers(call, file.position_of(rank), numbers);
    line.clear();
    append_line(tables.shapes[call_signature.shape], numbers, rank, line);
    Op ops[LineParser::kMaxOps];
    try {
      if (parser.parse(line, 1, false, ops) == 0) continue;
    } catch (const TraceError&) {
      continue;  // the error is reported when the line is read
    }
    ReceiveEnvelope receive{ops[0].comm, ops[0].peer, ops[0].tag};
    if (call_signature.arguments[0].mode == tit::Mode::column)
      receive.source = ReceiveEnvelope::kVaries;
    if (call_signature.arguments[1].mode == tit::Mode::column)
      receive.tag = ReceiveEnvelope::kVaries;
    if (std::find(all.begin(), all.end(), receive) == all.end()) all.push_back(receive);
  }
  return std::any_of(all.begin(), all.end(), [&](const ReceiveEnvelope& receive) {
    return std::any_of(all.begin(), all.end(),
                       [&](const ReceiveEnvelope& other) { return compete(receive, other); });
  });
}

}  // namespace tisim
