#include "trace/inspect/started_messages.hpp"

#include <vector>

#include "trace/walk/messages.hpp"
#include "trace/walk/rank_walk.hpp"

namespace tisim {

void StartedMessages::count(std::int32_t rank, std::uint64_t times, Statistics& into) {
  if (!set_) {
    set_ = TraceSet::open({file_.file()}, file_.file().name);
    communicators_ = Communicators::of(*set_, {});
  }
  RankWalk walk(*set_, *communicators_, rank);
  MessageReader reader;
  std::vector<TraceMessage> messages;
  while (walk.next()) {
    const Kind kind = walk.op().kind;
    messages.clear();
    reader.read(walk, messages);
    if (kind != Kind::start && kind != Kind::startall) continue;
    for (const TraceMessage& message : messages) {
      if (!message.is_receive) into.take_message(traits_of(kind).name, message.bytes, times);
    }
  }
}

}  // namespace tisim
