#include "trace/requests/completion_group.hpp"

#include <algorithm>
#include <utility>

namespace tisim {

namespace {

// True if the operation neither communicates nor concerns requests.
bool is_local(const Op& op) {
  const Role role = role_of(op.kind);
  return role == Role::nothing || role == Role::compute || role == Role::threads ||
         role == Role::sleep;
}

bool is_listed_waitall(const Op& op) {
  return op.kind == Kind::waitall && (op.flags & kNumbered) != 0;
}

}  // namespace

CompletionGroup::Effect CompletionGroup::take(const Op& op, const CallTable& calls) {
  const bool is_choice = is_recorded_choice(op.kind);
  Effect effect;
  if (is_open()) {
    if (is_local(op)) return effect;
    if (is_choice || is_listed_waitall(op)) {
      const Call& call = calls[static_cast<std::uint32_t>(op.call)];
      const std::vector<double>& listed = is_choice ? call.listed : call.arguments;
      if (std::is_permutation(listed.begin(), listed.end(), remaining_.begin(), remaining_.end())) {
        remove(call.arguments);
        effect.closes = remaining_.empty();
        calls_ = effect.closes ? 0 : calls_ + 1;
        return effect;
      }
    }
    effect.decided = std::exchange(calls_, 0);
  }
  if (!is_choice) return effect;
  const Call& call = calls[static_cast<std::uint32_t>(op.call)];
  if (call.listed.size() == call.arguments.size()) return effect;
  listed_ = call.listed;
  remaining_ = call.listed;
  remove(call.arguments);
  calls_ = 1;
  return effect;
}

void CompletionGroup::remove(const std::vector<double>& completed) {
  std::erase_if(remaining_, [&](double number) {
    return std::find(completed.begin(), completed.end(), number) != completed.end();
  });
}

}  // namespace tisim
