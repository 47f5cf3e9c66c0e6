// Requests that are cancelled or freed.
#include "trace/check/requests/requests.hpp"

namespace tisim {

// The pending request of a message that the operation at hand names; null: none that is known.
const Requests::Pending* Requests::find(const RankWalk& walk) const {
  const Op& op = walk.op();
  if ((op.flags & kNumbered) == 0) {
    const auto found = pending_.find({op.comm, op.peer, op.bytes, op.tag});
    return found == pending_.end() ? nullptr : &requests_[found->second.first];
  }
  const auto found = numbers_.find(static_cast<std::int32_t>(op.bytes));
  if (legacy_ || found == numbers_.end() || found->second.serial == kNone) return nullptr;
  return is_pending(found->second) ? &requests_[found->second.place] : nullptr;
}

std::optional<TraceMessage> Requests::cancelled(const RankWalk& walk) const {
  const Pending* const request = find(walk);
  if (request == nullptr) return std::nullopt;
  const Key& key = request->queue->first;
  const std::uint32_t group = walk.group_of(key.comm).group;
  if (group == kNoGroup || key.source == kProcNull || key.destination == kProcNull) {
    return std::nullopt;
  }
  TraceMessage message;
  message.channel = {group, static_cast<std::int32_t>(key.destination), key.source, key.tag};
  message.is_receive = request->is_receive;
  message.line = walk.op().line;
  return message;
}

// The line cancels or frees the request of the number.
void Requests::cancel(const RankWalk& walk, std::int32_t number, Findings& findings) {
  Numbered& numbered = numbers_[number];
  if (!exists(walk, numbered, number, findings)) return;
  const bool pending = is_pending(numbered);
  if (pending && numbered.serial == kNone) {
    fail(walk, number, "is of a collective; MPI allows only to wait for it or to test it",
         findings);
  } else if (walk.op().kind == Kind::request_free) {
    complete(numbered);
    numbered = Numbered{};
  } else if (numbered.is_persistent && !pending) {
    fail(walk, number, "is not active; start it before it is cancelled", findings);
  }
}

// The request of a key is freed. Persistent ones, which are not known here, may have it too.
void Requests::free(const RankWalk& walk, Findings& findings) {
  const Op& op = walk.op();
  const auto found = pending_.find({op.comm, op.peer, op.bytes, op.tag});
  if (found != pending_.end()) {
    complete_at(found->second.first);
  } else if (complete_somewhere_ == 0 && !has_persistent_) {
    findings.add({Severity::warning, rank_, walk.reader().file(), op.line,
                  "frees a request that is not there: no isend, irecv or persistent request before "
                  "it has this source, destination and tag"});
  }
}

}  // namespace tisim
