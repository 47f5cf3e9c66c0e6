// The requests of one rank: which are pending, and which are never completed.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "trace/check/finding.hpp"
#include "trace/walk/messages.hpp"
#include "trace/walk/rank_walk.hpp"

namespace tisim {

class Requests {
 public:
  // `legacy`: a wait is for the request that was posted last.
  Requests(std::int32_t rank, bool legacy) : rank_(rank), legacy_(legacy) {}

  // Takes the operation at hand into account.
  void take(const RankWalk& walk, Findings& findings);
  // What the operation at hand cancels. Asked before it is taken.
  std::optional<TraceMessage> cancelled(const RankWalk& walk) const;
  // A hash of what is pending, and of what decides about requests to come, at a turn of a loop.
  std::uint64_t signature(const LoopLines& lines) const;
  // Requests that some waitany has completed, nobody knows which.
  std::uint64_t complete_somewhere() const { return complete_somewhere_; }
  // What is pending goes on as after the lines that are skipped, in which so many waitany more
  // complete a request.
  void skip(const SkippedLines& skipped, std::uint64_t complete_more);

  // Reports what is still pending at the end of the rank.
  void finish(const RankWalk& walk, Findings& findings);

 private:
  struct Key {
    std::uint16_t comm;
    std::int32_t source;
    std::int64_t destination;
    std::int32_t tag;

    friend bool operator==(const Key&, const Key&) = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const;
  };
  // The requests of one key in the order in which they were posted: places in requests_.
  struct Queue {
    std::uint32_t first;
    std::uint32_t last;
  };
  using Queues = std::unordered_map<Key, Queue, KeyHash>;
  static constexpr std::uint32_t kNowhere = 0xffffffff;
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};
  struct Pending {
    std::uint32_t line;
    bool is_receive;
    bool may_be_complete;  // tested
    std::uint64_t serial;  // how many were posted before; kNone: the place is free
    // Places in requests_ of those of the same key that were posted before it and after it.
    std::uint32_t previous;
    std::uint32_t next;
    Queues::value_type* queue;
  };
  // What a number (`request=`) names.
  struct Numbered {
    std::uint32_t line = 0;  // that gave it
    bool given = false;      // no wait has named it since
    bool pending = false;
    bool may_be_complete = false;  // a test or a waitany has named it
    bool is_persistent = false;
    Key key = {};                  // of a persistent request
    bool receives = false;         // a persistent request does
    std::uint64_t serial = kNone;  // of its message's request
    std::uint32_t place = 0;       // in requests_; without meaning in the legacy dialect
  };

  void post(const Key& key, std::uint32_t line, bool is_receive);
  void wait(const RankWalk& walk, Findings& findings);
  void wait_last(const RankWalk& walk, Findings& findings);
  void free(const RankWalk& walk, Findings& findings);
  const Pending* find(const RankWalk& walk) const;
  void test(const Key& key);
  void test_all();
  void clear();
  void complete_at(std::uint32_t place);

  void take_numbered(const RankWalk& walk, Findings& findings);
  void give(const RankWalk& walk, std::int32_t number, Findings& findings);
  void name(const RankWalk& walk, std::int32_t number, Findings& findings);
  void start(const RankWalk& walk, std::int32_t number, Findings& findings);
  void cancel(const RankWalk& walk, std::int32_t number, Findings& findings);
  bool exists(const RankWalk& walk, const Numbered& numbered, std::int32_t number,
              Findings& findings) const;
  bool is_pending(const Numbered& numbered) const;
  bool may_be_complete(const Numbered& numbered) const;
  void complete(Numbered& numbered);
  void fail(const RankWalk& walk, std::int32_t number, const std::string& what,
            Findings& findings) const;

  std::int32_t rank_;
  bool legacy_;
  std::uint64_t posted_ = 0;
  std::uint64_t tested_ = 0;  // the first so many posted ones have been tested together
  Queues pending_;
  std::vector<Pending> requests_;
  std::vector<std::uint32_t> free_;        // places in requests_ of none that is pending
  std::vector<Pending> stack_;             // instead, in the legacy dialect
  std::deque<std::uint32_t> collectives_;  // lines of pending non-blocking ones without a number
  std::unordered_map<std::int32_t, Numbered> numbers_;
  Key last_made_ = {};  // of the last persistent request
  bool last_made_receives_ = false;
  bool has_persistent_ = false;
  std::uint32_t last_ = 0;                // the place of the request that was posted last
  std::uint64_t complete_somewhere_ = 0;  // by waitany: which is not known
};

}  // namespace tisim
