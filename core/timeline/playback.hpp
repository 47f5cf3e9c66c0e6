// Plays the events of a simulation to listeners, which write files or sum up.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "event_log/records.hpp"
#include "trace/vocabulary/op.hpp"

namespace tisim {

// An action that has begun, with what has become known of it since.
struct OpenAction {
  ActionStart start{};
  double end = 0.0;           // seconds, once it is over
  std::int64_t bytes = -1;    // of its message; of a collective those that the rank sends; -1: none
  std::int32_t peer = -1;     // the rank at the other end, the root of a collective; -1: none
  std::int32_t received = 0;  // messages that the rank has received in it
  bool open = false;

  Kind kind() const { return static_cast<Kind>(start.kind); }
  bool collective() const { return start.operation >= 0; }
};

// What events are played to, in the order in which they happened. An action ends before the next
// one of its rank and level begins.
class Listener {
 public:
  virtual ~Listener() = default;
  virtual void begin(const OpenAction&) {}
  virtual void end(const OpenAction&) {}
  // `wait`: the message that ended it, or null; `action`: of level 0, or null.
  virtual void state(const StateRecord&, const WaitRecord* /*wait*/, const OpenAction* /*action*/) {
  }
  // `action`: the innermost one, or null.
  virtual void sent(const SentRecord&, const OpenAction* /*action*/) {}
  virtual void received(const MessageRecord&, const OpenAction* /*action*/) {}
  virtual void lost(const MessageRecord&) {}                      // nobody received it
  virtual void finish(std::int32_t /*rank*/, double /*time*/) {}  // its trace is over
};

// Knows which actions are open and what belongs to them, so that listeners need not. Promises every
// listener the same events in the same order, however they are divided into batches.
class Playback {
 public:
  void add(std::shared_ptr<Listener> listener) { listeners_.push_back(std::move(listener)); }
  void play(const Records& records);

 private:
  void begin(const ActionStart& start);
  void close(OpenAction& action, double time);
  void sent(const SentRecord& record);
  void received(const MessageRecord& record);
  OpenAction* innermost(std::int32_t rank);
  OpenAction* outermost(std::int32_t rank);
  // The place of a rank, which is made if there is none yet.
  static OpenAction& slot(std::vector<OpenAction>& actions, std::int32_t rank);

  std::vector<std::shared_ptr<Listener>> listeners_;
  std::vector<OpenAction> outer_, inner_;  // of each rank, by level
};

}  // namespace tisim
