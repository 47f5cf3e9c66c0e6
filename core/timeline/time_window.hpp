// Forwards the events of a time window: whole actions that overlap it.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_set>
#include <variant>
#include <vector>

#include "timeline/states.hpp"

namespace tisim {

// A filter between the events and a listener for part of the time. Guarantees every action of a
// trace line that overlaps the window, with all that belongs to it, and no arrival of a message
// whose send was not forwarded.
class TimeWindow : public Listener, public StateSink {
 public:
  // `begin`, `end`: seconds.
  TimeWindow(std::shared_ptr<Listener> listener, std::shared_ptr<StateSink> states, double begin,
             double end)
      : listener_(std::move(listener)), states_(std::move(states)), begin_(begin), end_(end) {}

  std::size_t ranks() const override { return listener_->ranks(); }
  void begin(const OpenAction& action) override;
  void end(const OpenAction& action) override;
  void sent(const SentRecord& record, const OpenAction* action) override;
  void received(const MessageRecord& message, const OpenAction* action) override;
  void finish(std::int32_t rank, double time) override { listener_->finish(rank, time); }
  void row(const StateRow& row) override;

 private:
  struct Begin {
    OpenAction action;
  };
  struct End {
    OpenAction action;
  };
  struct Sent {
    SentRecord record;
    OpenAction action;
  };
  struct Received {
    MessageRecord message;
    OpenAction action;
  };
  using Event = std::variant<Begin, End, Sent, Received, StateRow>;
  // What is known about the action that a rank is in.
  enum class Fate : std::uint8_t { hidden, unknown, shown };
  struct Rank {
    Fate fate = Fate::hidden;
    std::vector<Event> waiting;  // of an action that may not overlap the window
  };

  Rank& of(std::int32_t rank);
  void take(Rank& rank, const Event& event);
  // The rank's action overlaps the window.
  void show(Rank& rank);
  void pass(const Event& event);

  std::shared_ptr<Listener> listener_;
  std::shared_ptr<StateSink> states_;
  double begin_, end_;
  std::vector<Rank> ranks_;
  std::unordered_set<std::int64_t> sent_;  // messages in flight whose send was forwarded
};

}  // namespace tisim
