// The messages and requests of one rank of a trace, without a clock.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "trace/requests/pending_requests.hpp"
#include "trace/walk/messages.hpp"
#include "trace/walk/rank_walk.hpp"

namespace tisim {

// Follows the operations of a rank in order. A tested request is possibly complete, and it is
// unknown which request a waitany completed.
class RankRequests {
 public:
  // The error of a call.
  enum class Fault : std::uint8_t {
    not_pending,      // a wait names a request by a key that is not pending
    none_pending,     // a wait for the last posted request, but none is pending
    free_of_unknown,  // a request_free names an unknown request by key
    still_pending,    // a number is assigned, but its request was neither waited for nor tested
    unknown_number,   // no request has the number
    not_persistent,   // a start names a request that is not persistent
    still_active,     // a start names a request that was neither waited for nor tested
    of_a_collective,  // a request of a collective is cancelled or freed
    not_active,       // a persistent request is cancelled that was not started
  };
  struct Problem {
    Fault fault;
    std::int32_t number = -1;
    std::uint32_t since = 0;  // the line that created the request
  };

  // Adds the current operation.
  void take(const RankWalk& walk);

  // Effects of the last operation taken: the messages it posts, its errors, and the message it
  // withdraws if that is unmatched.
  const std::vector<TraceMessage>& messages() const { return messages_; }
  const std::vector<Problem>& problems() const { return problems_; }
  const std::optional<TraceMessage>& cancelled() const { return cancelled_; }

  // Lines of the pending requests that were never tested.
  std::vector<std::uint32_t> pending_lines() const;
  // Number of requests that some waitany has completed; which ones is unknown.
  std::uint64_t unidentified_completions() const { return unidentified_completions_; }

  // Hash of the state that determines the future, at a turn of a loop.
  std::uint64_t signature(const LoopLines& lines) const;
  // Continues the pending requests after the skipped lines, in which `further_completions` further
  // waitany calls complete a request.
  void skip(const SkippedLines& skipped, std::uint64_t further_completions);

 private:
  struct Persistent {
    PersistentRequest request;
    CommunicatorView group;     // of its communicator
    std::int32_t pending = -1;  // created by its last start
  };

  std::int32_t post(const RankWalk& walk, const Request& like, const RequestKey& key,
                    std::uint16_t comm);
  void post_message(const RankWalk& walk);
  void describe_message(const RankWalk& walk, const Op& op, const CommunicatorView& group);
  void make_persistent(const RankWalk& walk);
  void free_persistent(std::int32_t place);
  void start(const RankWalk& walk, std::int32_t place);
  void start_named(const RankWalk& walk);
  void start_number(const RankWalk& walk, std::int32_t number);
  void complete(std::int32_t index);
  void complete_all();
  void complete_named(const RankWalk& walk, bool waits);
  void complete_collective(const RankWalk& walk);
  void complete_number(std::int32_t number, bool waits);
  void assign_number(std::int32_t number, std::int32_t pending, std::int32_t persistent);
  void cancel(const RankWalk& walk);
  void free(const RankWalk& walk);
  bool is_given(std::int32_t number);
  bool is_of_collective(std::int32_t number, std::int32_t pending);
  std::int32_t named_request(const RankWalk& walk);
  std::int32_t find_startable(const Op& key, std::int32_t me) const;
  bool may_be_complete(const Request& request) const;
  bool may_be_complete(const NumberedRequest& numbered) const;
  static std::uint32_t line_of(const Request& request) {
    return static_cast<std::uint32_t>(request.message);
  }
  template <class Take>
  void for_each_pending(Take take) const {
    for (std::int32_t at = list_.first; at >= 0; at = requests_.next(at)) take(requests_[at]);
  }

  PendingRequests requests_;
  PendingList list_;
  RequestNumbers numbers_;
  // In order of creation. A rank that sends to itself has two with the same key.
  std::vector<Persistent> persistent_;
  std::int32_t free_persistent_ = -1;  // the first free slot
  std::int32_t made_persistent_ = -1;
  bool has_persistent_ = false;                 // or had one
  std::uint32_t tested_ = 0;                    // requests below this order were tested together
  std::uint64_t unidentified_completions_ = 0;  // by a waitany; which ones is unknown
  std::vector<TraceMessage> messages_;
  std::vector<Problem> problems_;
  std::optional<TraceMessage> cancelled_;
};

}  // namespace tisim
