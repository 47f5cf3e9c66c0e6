// Plays the events of a simulation to listeners, which write files or sum up.
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

// The words by which timelines call kinds of actions.

// The place of an action's word in `kind_names`.
std::uint8_t name_of(const ActionStart& action);

// As in a trace, where `nop` stands for those that do nothing: init, finalize, location, comm_size.
const std::vector<std::string>& kind_names();

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

// Events of a rank that a listener has no room for.
struct UnknownRank : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// In place of a number of ranks.
inline constexpr std::size_t kAnyRanks = std::numeric_limits<std::size_t>::max();

// Receiver of played-back events, in the order in which they happened. An action ends before the
// next one of its rank and level begins.
class Listener {
 public:
  virtual ~Listener() = default;
  // How many ranks it has room for. It is told nothing of others.
  virtual std::size_t ranks() const { return kAnyRanks; }
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
// listener the same events in the same order, however they are divided into batches, and no rank
// that it has no room for.
class Playback {
 public:
  void add(std::shared_ptr<Listener> listener) { listeners_.push_back(std::move(listener)); }
  // Throws UnknownRank, before anything is played, when the records name a rank for which some
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
  // The place of a rank, which is made if there is none yet.
  static OpenAction& slot(std::vector<OpenAction>& actions, std::int32_t rank);

  std::vector<std::shared_ptr<Listener>> listeners_;
  std::vector<OpenAction> outer_, inner_;  // of each rank, by level
};

}  // namespace tisim
