// The requests of a rank between two repetitions of a loop.
#include "support/mixing.hpp"
#include "trace/check/requests/requests.hpp"

namespace tisim {

std::uint64_t Requests::signature(const LoopLines& lines) const {
  std::uint64_t hash = complete_somewhere_ > 0 ? 1 : 0;
  const auto with_pending = [&](std::uint64_t before, const Pending& request) {
    const std::uint64_t tests =
        (request.may_be_complete ? 2U : 0U) + (request.serial < tested_ ? 1U : 0U);
    return mixed(mixed(before, lines.relative(request.line)), tests);
  };
  // Tables have no order, so what they hold is summed up.
  for (const auto& [key, queue] : pending_) {
    std::uint64_t of_key = KeyHash()(key);
    for (std::uint32_t at = queue.first;; at = requests_[at].next) {
      of_key = with_pending(of_key, requests_[at]);
      if (at == queue.last) break;
    }
    hash += mixed(of_key, 3);
  }
  for (const auto& [number, numbered] : numbers_) {
    std::uint64_t of_number =
        mixed(mixed(static_cast<std::uint32_t>(number), 1),
              (numbered.given ? 2U : 0U) + (numbered.is_persistent ? 1U : 0U));
    if (numbered.is_persistent) of_number = mixed(of_number, KeyHash()(numbered.key));
    if (is_pending(numbered)) {
      of_number = mixed(of_number, lines.relative(numbered.line));
      of_number = mixed(
          of_number, (may_be_complete(numbered) ? 2U : 0U) + (numbered.serial == kNone ? 1U : 0U));
    }
    hash += mixed(of_number, 5);
  }
  for (const Pending& request : stack_) hash = with_pending(hash, request);
  for (const std::uint32_t line : collectives_) hash = mixed(hash, lines.relative(line));
  return hash;
}

void Requests::skip(const SkippedLines& skipped, std::uint64_t complete_more) {
  for (Pending& request : requests_) request.line = skipped.moved(request.line);
  for (Pending& request : stack_) request.line = skipped.moved(request.line);
  for (auto& [number, numbered] : numbers_) numbered.line = skipped.moved(numbered.line);
  for (std::uint32_t& line : collectives_) line = skipped.moved(line);
  complete_somewhere_ += complete_more;
}

}  // namespace tisim
