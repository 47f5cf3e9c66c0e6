// MPI requests without a clock: which are pending, their order, and their keys and numbers.
//
// Used by the simulation and by everything that follows a trace without simulating it: checks, the
// search for deadlocks, message counts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <tuple>

#include "support/pool.hpp"
#include "support/stack.hpp"
#include "trace/vocabulary/op.hpp"

namespace tisim {

// The two ends of a message.
enum Side : std::uint8_t { kSender = 0, kReceiver = 1 };

// `round`: a message in a later round of a non-blocking collective.
enum class RequestType : std::uint8_t { message, persistent, collective, round, window };

// A pending request of a rank, or one of a collective's schedule. There may be many millions of
// them; those that were never listed take no more memory than this.
struct Request {
  // In a simulation a message; -1: nothing to wait for. In a check the line that created it; in the
  // search for deadlocks the sending rank.
  std::int32_t message = -1;
  std::uint32_t order = 0;
  // For a persistent request, its slot in the rank; for a simulated collective or a round, the
  // StartedCollective; for a window, the rank that waits for it, which may differ from its
  // receiver; otherwise its number in the trace, -1: none.
  std::int32_t origin = -1;
  std::uint16_t comm = 0;
  Side side = kSender;
  RequestType type : 3 = RequestType::message;
  bool complete : 1 = false;     // in a check: possibly, since a test named it
  bool awaited : 1 = false;      // by the waitall that the rank is in
  bool listed : 1 = false;       // among the rank's pending requests
  bool source_lost : 1 = false;  // a wait for it may name any source
  bool freed : 1 = false;        // no wait will follow; its message continues
};
static_assert(sizeof(Request) == 16);
static_assert(static_cast<unsigned>(RequestType::window) < 8, "fits its bit field");

// The key by which a trace names a pending request, in addition to the communicator.
struct RequestKey {
  std::int32_t source = 0, destination = 0, tag = 0;
};

// Position of a request among the pending ones.
struct Listing {
  RequestKey key;
  std::int32_t next = -1, previous = -1;  // in posting order
};

// A request that can be started repeatedly: its operation, with the key in the usual fields.
struct PersistentRequest {
  Op op;                     // of kind `end`: the slot is free
  bool active = false;       // or free
  std::int32_t number = -1;  // in the trace, -1: none; in a free slot, the next one

  // True if a start with the key `key` refers to it; `me` is the rank in the communicator.
  bool has_key(const Op& key, std::int32_t me) const {
    const bool receives = traits_of(op.kind).receives;
    return op.tag == key.tag && op.comm == key.comm && (receives ? op.peer : me) == key.peer &&
           (receives ? me : op.peer) == key.bytes;
  }
};

// The numbers by which a trace names the requests of its rank (`request=N`).
struct NumberedRequest {
  std::int32_t pending = -1;     // its request in the table; -1: not pending
  std::int32_t persistent = -1;  // the rank's persistent request of that number; -1: none
  bool given = false;            // to a request that no wait has named since
  bool may_be_complete = false;  // a test, waitany or waitsome has named it since
};

// Memory stays small if numbers do: a trace reuses free ones.
class RequestNumbers {
 public:
  // The request of a number, created on first use. References are valid until the next call.
  NumberedRequest& operator[](std::int32_t number) {
    const auto at = static_cast<std::size_t>(number);
    if (at >= kMaxDense) return large_[number];
    if (at >= small_.size()) {
      small_.make_room(at + 1 - small_.size());
      while (small_.size() <= at) small_.push_back({});
    }
    return small_[at];
  }
  // Returns nullptr if no request has ever had the number.
  const NumberedRequest* find(std::int32_t number) const {
    const auto at = static_cast<std::size_t>(number);
    if (at < kMaxDense) return at < small_.size() ? &small_[at] : nullptr;
    const auto entry = large_.find(number);
    return entry == large_.end() ? nullptr : &entry->second;
  }
  // The pending request of a number; -1: none.
  std::int32_t pending(std::int32_t number) const {
    const NumberedRequest* const entry = find(number);
    return entry == nullptr ? -1 : entry->pending;
  }
  // Calls `take` for each number ever given, in ascending order.
  template <class Take>
  void for_each(Take take) const {
    for (std::size_t at = 0; at < small_.size(); ++at) {
      take(static_cast<std::int32_t>(at), small_[at]);
    }
    for (const auto& [number, numbered] : large_) take(number, numbered);
  }

 private:
  // Numbers below this are in an array: at most 64 KiB for a rank with one large number.
  static constexpr std::size_t kMaxDense = 4096;

  Stack<NumberedRequest> small_;
  std::map<std::int32_t, NumberedRequest> large_;
};

// The pending requests of one rank, in posting order.
struct PendingList {
  std::int32_t first = -1, last = -1;
  std::uint32_t order = 0;             // of the next request
  std::uint32_t collectives : 31 = 0;  // number of non-blocking collectives
  bool indexed : 1 = false;            // whether they are indexed
};
static_assert(sizeof(PendingList) == 16);

// Requests of several ranks. `rank`: the rank's number in this table.
class PendingRequests : public Pool<Request> {
 public:
  // The list entry of a request that is or was pending.
  Listing& listing(std::int32_t index) { return listings_[static_cast<std::size_t>(index)]; }
  const Listing& listing(std::int32_t index) const {
    return listings_[static_cast<std::size_t>(index)];
  }
  const RequestKey& key(std::int32_t index) const { return listing(index).key; }
  // The request that became pending after or before it; -1: none.
  std::int32_t next(std::int32_t index) const { return listing(index).next; }
  std::int32_t previous(std::int32_t index) const { return listing(index).previous; }

  // Appends a request on a communicator to the pending ones.
  void list(PendingList& list, std::int32_t rank, std::int32_t index, const RequestKey& key,
            std::uint16_t comm) {
    listings_.grow_to(static_cast<std::size_t>(index) + 1);
    Request& request = (*this)[index];
    request.comm = comm;
    request.listed = true;
    listing(index) = {key, -1, list.last};
    (list.last >= 0 ? listing(list.last).next : list.first) = index;
    list.last = index;
    if (request.type == RequestType::collective) ++list.collectives;
    if (list.indexed && request.type != RequestType::collective) add_to_index(list, rank, index);
  }
  // Removes a request from the pending ones.
  void unlist(PendingList& list, std::int32_t rank, std::int32_t index) {
    Request& request = (*this)[index];
    const Listing& place = listing(index);
    (place.previous >= 0 ? listing(place.previous).next : list.first) = place.next;
    (place.next >= 0 ? listing(place.next).previous : list.last) = place.previous;
    if (request.type == RequestType::collective) --list.collectives;
    if (list.indexed) {
      places_.erase(place_of(rank, index));
      list.indexed = list.first >= 0;
    }
    request.listed = false;
  }

  // The oldest pending request with the key that an operation names; -1: none.
  std::int32_t find(PendingList& list, std::int32_t rank, const Op& key);
  // The oldest pending non-blocking collective with SimGrid's tag for its kind; -1: none.
  std::int32_t find_collective(const PendingList& list, const Op& key) const;
  // The pending request that a wait or test of a trace refers to; -1: none. `numbers`: null if the
  // rank has none.
  std::int32_t named(PendingList& list, std::int32_t rank, const RequestNumbers* numbers,
                     const Op& op) {
    if ((op.flags & kNumbered) != 0) {
      return numbers == nullptr ? -1 : numbers->pending(static_cast<std::int32_t>(op.bytes));
    }
    if (role_of(op.kind) == Role::complete_last) return list.last;
    // No message has a negative tag.
    return op.tag < 0 && op.tag != kAnyTag ? find_collective(list, op) : find(list, rank, op);
  }

 private:
  // Maximum number of requests of a rank that are searched linearly, without an index.
  static constexpr std::int32_t kMaxUnindexed = 16;

  using Place = std::tuple<std::int32_t, std::uint16_t, std::int32_t, std::int32_t, std::int32_t,
                           std::uint32_t>;
  Place place_of(std::int32_t rank, std::int32_t index) const {
    const Request& request = (*this)[index];
    const RequestKey& named = key(index);
    return {rank, request.comm, named.tag, named.source, named.destination, request.order};
  }
  void add_to_index(PendingList& list, std::int32_t rank, std::int32_t index);
  void make_index(PendingList& list, std::int32_t rank);

  Stack<Listing> listings_;               // up to the largest request that was ever pending
  std::map<Place, std::int32_t> places_;  // of indexed lists
};

}  // namespace tisim
