// The event log of a simulation, for those who ask: actions, states and messages as they happen.
//
// A simulation whose log is closed pays one test of a flag for each of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "event_log/records.hpp"

namespace tisim {

class EventLog {
 public:
  EventLog() = default;
  EventLog(const EventLog&) = delete;
  EventLog& operator=(const EventLog&) = delete;

  // From now on events are logged, of that many ranks. `room`: entries before they should be taken.
  void open(std::size_t room, std::size_t ranks, double now);
  bool is_open() const { return is_open_; }
  bool is_full() const { return is_open_ && records_.order.size() >= room_; }
  // `spare`: what was taken before, whose memory is used again.
  Records take(Records spare = {});

  // More ranks.
  void add_ranks(std::size_t count, double now);

  void begin_action(const ActionStart& action) {
    records_.order.push_back(Entry::action);
    records_.actions.push_back(action);
  }

  void stop_rank(std::int32_t rank, double now) { stopped_[at(rank)].since = now; }
  // `message` is what the rank waits for, and wakes it.
  void note_waker(std::int32_t rank, std::int32_t message) { stopped_[at(rank)].waker = message; }
  // What has woken the rank, if that was this message, is no message but the access of a file.
  void mark_access(std::int32_t rank, std::int32_t message) {
    if (stopped_[at(rank)].waker == message) stopped_[at(rank)].waker = kAccess;
  }
  bool was_woken_by_access(std::int32_t rank) const { return stopped_[at(rank)].waker == kAccess; }
  // The rank goes on; until now it was in `phase` (Phase).
  void continue_rank(std::int32_t rank, std::uint8_t phase, double now);

  // Messages by their index in the matcher.
  struct SentMessage {
    std::int64_t bytes;
    std::int32_t source, destination, tag;
    bool collective, detached;
  };
  void post_send(std::int32_t index, const SentMessage& message, double now);
  void post_receive(std::int32_t index, double now) { under_way(index).received = now; }
  void start_transfer(std::int32_t index, double now) { under_way(index).started = now; }
  void arrive(std::int32_t index, double now) { under_way(index).arrived = now; }
  void complete_receive(std::int32_t index);     // its receiver goes on
  void complete_unattended(std::int32_t index);  // nobody waits for it
  void withdraw_send(std::int32_t index);        // it is never received
  void release(std::int32_t index) { under_way(index) = MessageRecord{}; }
  // Nothing happens any more: what was sent and never received is lost.
  void close_messages();

 private:
  static constexpr std::int32_t kAccess = -2;

  struct Stopped {
    double since = 0.0;  // when the rank stopped going on
    std::int32_t waker = -1;
  };
  static std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }
  MessageRecord& under_way(std::int32_t index) {
    if (at(index) >= under_way_.size()) under_way_.resize(2 * at(index) + 64);
    return under_way_[at(index)];
  }

  bool is_open_ = false;
  std::size_t room_ = 0;
  Records records_;
  std::vector<Stopped> stopped_;          // each rank
  std::vector<MessageRecord> under_way_;  // each message
  std::int64_t numbers_ = 0;
};

}  // namespace tisim
