// Plays the events of a simulation back to listeners, which write files or compute sums.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "event_log/event_log.hpp"
#include "trace/vocabulary/op.hpp"

namespace tisim {

// The names of action kinds in timelines.

// The index of an action's name in `kind_names`.
std::uint8_t name_of(const ActionStart& action);

// As in a trace, where `nop` represents those without effect: init, finalize, location, comm_size.
const std::vector<std::string>& kind_names();

// An action that has begun, with the facts known so far.
struct OpenAction {
  ActionStart start{};
  double end = 0.0;           // seconds, once it has ended
  std::int64_t bytes = -1;    // of its message; bytes that the rank sends in a collective; -1: none
  std::int32_t peer = -1;     // the rank at the other end, the root of a collective; -1: none
  std::int32_t received = 0;  // messages that the rank has received in it
  bool open = false;

  Kind kind() const { return static_cast<Kind>(start.kind); }
  bool collective() const { return start.operation >= 0; }
};

// Reports events of a rank for which a listener has no room.
struct UnknownRank : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Stands for any number of ranks.
inline constexpr std::size_t kAnyRanks = std::numeric_limits<std::size_t>::max();

// Receives played-back events in chronological order. An action ends before the next one of its
// rank and level begins.
class Listener {
 public:
  virtual ~Listener() = default;
  // Number of ranks it has room for. It is not notified of other ranks.
  virtual std::size_t ranks() const { return kAnyRanks; }
  virtual void begin(const OpenAction&) {}
  virtual void end(const OpenAction&) {}
  // `wait`: the message that ended it, or null; `action`: of level 0, or null.
  virtual void state(const StateRecord&, const WaitRecord* /*wait*/, const OpenAction* /*action*/) {
  }
  // `action`: the innermost one, or null.
  virtual void sent(const SentRecord&, const OpenAction* /*action*/) {}
  virtual void received(const MessageRecord&, const OpenAction* /*action*/) {}
  virtual void lost(const MessageRecord&) {}                      // never received
  virtual void finish(std::int32_t /*rank*/, double /*time*/) {}  // its trace has ended
};

// Tracks the open actions and the events that belong to them on behalf of listeners. Guarantees
// every listener the same events in the same order, independent of batch boundaries, and only for
// ranks that it has room for.
class Playback {
 public:
  void add(std::shared_ptr<Listener> listener) { listeners_.push_back(std::move(listener)); }
  // Throws UnknownRank, before anything is played, if the records contain a rank for which some
  // listener has no room.
  void play(const Records& records);

 private:
  void check(const Records& records) const;
  void begin(const ActionStart& start);
  void close(OpenAction& action, double time);
  void sent(const SentRecord& record);
  void received(const MessageRecord& record);
  OpenAction* innermost(std::int32_t rank);
  OpenAction* outermost(std::int32_t rank);
  // The slot of a rank, created on demand.
  static OpenAction& slot(std::vector<OpenAction>& actions, std::int32_t rank);

  std::vector<std::shared_ptr<Listener>> listeners_;
  std::vector<OpenAction> outer_, inner_;  // by rank, for each level
};

}  // namespace tisim
