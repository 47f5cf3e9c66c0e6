// Servers of file systems: stripes, metadata, waits for replies, and write-behind.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "support/stack.hpp"

namespace tisim {

// Which bytes of a file lie on which of its servers.

// Calls f(server, bytes) for each server of a file that holds some of the bytes from an offset on,
// in the order of the file; `server` counts from that of the file's first stripe. The stripes of a
// server are one part, so that this costs no more than the file has servers (RAID 0; Lustre's
// lov_stripe_size counts them likewise).
template <class F>
void for_each_part(std::int64_t stripe, std::int32_t count, std::int64_t offset, std::int64_t bytes,
                   F f) {
  if (bytes <= 0) return;
  offset %= stripe * count;  // the layout repeats
  const std::int64_t end = offset + bytes;
  const std::int64_t first = offset / stripe;
  const std::int64_t last = (end - 1) / stripe;
  const std::int64_t used = std::min<std::int64_t>(last - first + 1, count);
  for (std::int64_t stripes_before = 0; stripes_before < used; ++stripes_before) {
    const std::int64_t begin = first + stripes_before;
    const std::int64_t further = (last - begin) / count;  // stripes of the same server
    std::int64_t part = (further + 1) * stripe;
    if (begin == first) part -= offset - first * stripe;
    if (begin + further * count == last) part -= (last + 1) * stripe - end;
    f(static_cast<std::int32_t>(begin % count), part);
  }
}

// A server that carries out one operation after the other, in the order in which they arrive.
class MetadataServer {
 public:
  // `service`: seconds for which an operation occupies the server.
  explicit MetadataServer(double service) : service_(service) {}

  // The date at which an operation that arrives now has been carried out. As nobody overtakes, a
  // queue is the date at which it will be empty.
  double serve(double now) {
    free_ = std::max(free_, now) + service_;
    return free_;
  }

 private:
  double service_;
  double free_ = 0.0;  // seconds
};

// Which ranks have waited for which servers of a file system, and how long.
//
// A rank waits for the server that replies last to its call. Those that reply last at one instant
// share the seconds.

// The time that a rank has waited for a server.
struct ServerWait {
  std::int32_t rank = 0;
  std::int32_t server = 0;  // that of metadata behind all others
  std::int64_t calls = 0;
  double seconds = 0.0;
};

class ServerWaits {
 public:
  // A call of a rank has taken so long; the servers replied last.
  void add(std::int32_t rank, std::span<const std::int32_t> servers, double seconds);

  // So many at most, the longest first.
  std::vector<ServerWait> longest(std::size_t most) const;
  // Waits of all ranks together, for each of so many servers.
  std::vector<ServerWait> by_server(std::size_t servers) const;

 private:
  std::unordered_map<std::uint64_t, ServerWait> waits_;  // by rank and server
};

// Data that a writer has handed over and that are still to be written: by a client whose cache they
// are in until the servers have them, or by a server until its disk has them.
//
// A write is *accepted* as soon as no more than `limit` bytes of the writes before it and of itself
// are still to be written; the bytes of later ones do not count. A flush is over as soon as all
// writes before it have been written.
class WriteBehind {
 public:
  // `limit`: bytes.
  explicit WriteBehind(std::int64_t limit) : limit_(limit) {}

  // A write begins; its number. `ticket` is handed back once it is accepted.
  std::int64_t begin(std::int64_t bytes, std::int32_t ticket) {
    unwritten_ += bytes;
    queued_ += bytes;
    accepting_.emplace_back(bytes, ticket);
    written_.push_back(false);
    return next() - 1;
  }
  // Some of the bytes of a write have been written.
  void progress(std::int64_t write, std::int64_t bytes) {
    unwritten_ -= bytes;
    const std::int64_t place = write - next() + static_cast<std::int64_t>(accepting_.size());
    if (place < 0) return;  // it has been accepted
    accepting_[static_cast<std::size_t>(place)].first -= bytes;
    queued_ -= bytes;
  }
  // All of them have.
  void end(std::int64_t write) {
    written_[static_cast<std::size_t>(write - first_)] = true;
    while (!written_.empty() && written_.front()) {
      written_.pop_front();
      ++first_;
    }
  }
  // `ticket` is handed back once all writes that have begun have been written.
  void flush(std::int32_t ticket) { flushes_.emplace_back(next(), ticket); }

  // Appends the tickets of the writes that are accepted now and of the flushes that are over.
  void collect(Stack<std::int32_t>& tickets) {
    while (!accepting_.empty()) {
      const auto [bytes, ticket] = accepting_.front();
      if (unwritten_ - (queued_ - bytes) > limit_) break;
      queued_ -= bytes;
      tickets.push_back(ticket);
      accepting_.pop_front();
    }
    while (!flushes_.empty() && flushes_.front().first <= first_) {
      tickets.push_back(flushes_.front().second);
      flushes_.pop_front();
    }
  }

 private:
  // The number of the next write.
  std::int64_t next() const { return first_ + static_cast<std::int64_t>(written_.size()); }

  std::int64_t limit_;
  std::int64_t unwritten_ = 0;  // bytes of all writes
  std::int64_t queued_ = 0;     // of them, those of writes that are not accepted
  std::deque<std::pair<std::int64_t, std::int32_t>> accepting_;  // such bytes, ticket
  std::int64_t first_ = 0;  // number of the first write that `written_` tells of
  std::deque<bool> written_;
  std::deque<std::pair<std::int64_t, std::int32_t>> flushes_;  // the first write after it, ticket
};

}  // namespace tisim
