// Lines whose arguments do not fit an operation: collectives, communicators, custom actions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "trace/vocabulary/op.hpp"
#include "trace/vocabulary/table.hpp"

namespace tisim {

// The numbers of a collective are in the order of its line: counts, root, types. Only the flops of
// reduce, allreduce, scan and exscan, the second number of their lines, are left out: they are a
// separate operation. All numbers are whole, except for the flops of reducescatter.
struct Call {
  Operation operation = Operation::barrier;
  bool double_default = false;  // default type of a collective: double instead of byte
  std::uint16_t comm = 0;
  std::vector<double> arguments;
  std::vector<std::string> words;
  std::vector<double> listed;  // listed requests, of which `arguments` were completed

  friend bool operator==(const Call&, const Call&) = default;
};

// The calls of one simulation: equal calls have equal numbers. Not thread-safe.
class CallTable {
 public:
  std::uint32_t intern(const Call& call);
  const Call& operator[](std::uint32_t id) const { return calls_[id]; }
  std::size_t size() const { return calls_.size(); }

  // Scratch space for readers, which parse one line at a time.
  struct Scratch {
    std::string text;  // of a line being assembled
    std::string_view line;
    std::uint64_t number = 0;  // of the line
    bool cut = false;          // the file ends inside the line
    // Named arguments of the line: `comm=`, `request=` (-1: none), `requests=` and `completed=`
    // (null: none).
    std::uint16_t comm = 0;
    std::int32_t request = -1;
    std::string_view requests;
    std::string_view completed;
    std::vector<std::string_view> words;
    Call call;
  };
  Scratch& scratch() { return scratch_; }

  // Data shared by all readers of one trace, keyed by the trace's address; empty at first. It must
  // keep the trace alive: another one could have the same address.
  std::shared_ptr<void>& shared_by_readers(const void* trace) { return shared_[trace]; }

 private:
  void grow();

  std::deque<Call> calls_;             // references to calls stay valid
  std::vector<std::uint32_t> hashes_;  // of each call, so that growing need not hash again
  std::vector<std::uint32_t> slots_;   // open addressing: number of a call plus 1, or 0
  Scratch scratch_;
  std::unordered_map<const void*, std::shared_ptr<void>> shared_;
};

// The action of an operation whose kind several actions share; meaningless for other kinds.
inline Operation operation_of(const Op& op, const CallTable& calls) {
  if (op.kind == Kind::file) return file_call_of(op);
  if (op.kind == Kind::window) return window_call_of(op);
  if (!has_collective_call(op.kind)) return Operation::barrier;
  return calls[static_cast<std::uint32_t>(op.call)].operation;
}

}  // namespace tisim
