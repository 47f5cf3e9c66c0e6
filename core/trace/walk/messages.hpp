// The messages that operations send and receive.
#pragma once

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <vector>

#include "trace/walk/rank_walk.hpp"

namespace tisim {

// Messages of one channel match in order. The ranks are those of the group.
struct TraceChannel {
  std::uint32_t group = 0;
  std::int32_t destination = 0;
  std::int32_t source = 0;  // of a receive perhaps kAnySource
  std::int32_t tag = 0;     // of a receive perhaps kAnyTag

  friend auto operator<=>(const TraceChannel&, const TraceChannel&) = default;
};

struct ChannelHash {
  std::size_t operator()(const TraceChannel& channel) const;
};

struct TraceMessage {
  TraceChannel channel;
  bool is_receive = false;
  std::int64_t bytes = 0;  // of a receive: its buffer, -1 for one that takes what comes
  std::uint32_t line = 0;
};

// Finds the messages of a rank's operations, those of persistent requests too.
class MessageReader {
 public:
  // Appends the messages of the operation at hand.
  void read(const RankWalk& walk, std::vector<TraceMessage>& messages);

  // A hash of what decides about the messages to come.
  std::uint64_t signature() const;

 private:
  using Key = std::tuple<std::uint16_t, std::int32_t, std::int64_t, std::int32_t>;
  struct Persistent {
    Key key;
    CommunicatorView group;  // of its communicator
    bool is_receive = false;
    std::int64_t bytes = 0;
    bool active = false;
    std::uint64_t started = 0;  // how many starts there were up to its last one
    std::int64_t number = -1;   // `request=`, -1: none
  };

  // The request that a start names, and the one that a wait names; null: none.
  Persistent* to_start(const Key& key);
  Persistent* to_wait_for(const Key& key);
  Persistent* to_free(const Key& key);
  Persistent* numbered(std::int64_t number);
  void start(const RankWalk& walk, Persistent& request, std::vector<TraceMessage>& messages);

  // In the order in which they were made. A rank that sends to itself has two of one key.
  std::vector<Persistent> persistent_;
  std::uint64_t starts_ = 0;
};

}  // namespace tisim
