// File systems on servers: requests travel over the network to a server and are served there;
// replies travel back (ADR 33).
//
// A *call* of a client is one operation of the metadata server, or a read or write of bytes stored
// on some servers of the file. The part of a call at one server is a *stream*: requests of limited
// size, of which a limited number is in flight at a time. A write carries its data to the server, a
// read carries them back; at the server they are an access of its disk. A call ends when all its
// streams have ended.
//
// Caches store written data up to a limit (storage/storage_servers.hpp). With host caches, a write
// ends as soon as the cache of its host accepts it, and its streams continue; a sync first waits
// for all streams of earlier writes. With server caches, a server replies as soon as its cache
// accepts the data, and the access of its disk continues.
//
// Everything that takes time is an activity: a network flow, a disk access, or a timer.
//
// Invariants: each request in flight has one activity; each stream has as many requests in flight
// as its limit allows.
#pragma once

#include <cstdint>
#include <limits>
#include <unordered_map>
#include <vector>

#include "clock/clock.hpp"
#include "host/disks.hpp"
#include "io/storage/storage_servers.hpp"
#include "network/network.hpp"
#include "platform/routes.hpp"
#include "support/pool.hpp"
#include "support/time_bins.hpp"
#include "transfer/activities.hpp"

namespace tisim {

// A client's request to a file system.
struct FileRequest {
  enum class Type : std::uint8_t { metadata, close, sync, read, write };
  std::int32_t file_system = -1;
  Type type = Type::metadata;
  std::int32_t first_server = 0;  // server with the file's first stripe
  std::int64_t offset = 0;        // offset of a read or write
  std::int64_t bytes = 0;
};

// Statistics of one server.
struct ServerStatistics {
  std::int64_t requests = 0;
  std::int64_t bytes_read = 0;
  std::int64_t bytes_written = 0;
  double seconds = 0.0;  // total time from each request's arrival at the server to its reply
};

class FileSystems {
 public:
  FileSystems(const PlatformData& platform, Clock& clock, Network& network, Activities& activities);
  FileSystems(const FileSystems&) = delete;
  FileSystems& operator=(const FileSystems&) = delete;

  // Returns the first server of the next new file: round-robin, as in Lustre.
  std::int32_t place_file(std::int32_t file_system);

  // Begins a call of a client on a host; its owner, a rank or ~ an activity, is woken at its end.
  // Returns false if a route is missing (`Network::missing_source`); then nothing has begun.
  bool begin(const FileRequest& request, std::int32_t client, std::int32_t owner);
  // The rank gets no more notifications and makes no more requests.
  void abandon(std::int32_t rank);

  // Handles the end of an activity. Returns false if it does not belong to a request.
  bool advance(std::int32_t activity, bool failed);

  // The file system and the server hosts that a rank waits for, for reports.
  struct Wait {
    std::int32_t file_system = -1;
    std::vector<std::int32_t> hosts;
  };
  Wait wait_of(std::int32_t rank) const;

  // Statistics of a file system: each server in order, then the metadata server.
  const std::vector<ServerStatistics>& statistics(std::int32_t file_system) const {
    return systems_[static_cast<std::size_t>(file_system)].statistics;
  }

  const ServerWaits& waits(std::int32_t file_system) const {
    return systems_[static_cast<std::size_t>(file_system)].waits;
  }

  // Bytes over time: for the servers of each file system, in the order of `statistics`, a series of
  // bytes read and one of bytes written; users may add further series.
  TimeBins& moved() { return moved_; }
  const TimeBins& moved() const { return moved_; }
  // The series of the bytes read from a server.
  std::size_t series_of(std::int32_t file_system, std::size_t server) const {
    return systems_[static_cast<std::size_t>(file_system)].first_series + 2 * server;
  }
  std::int64_t stripe(std::int32_t file_system) const {
    return systems_[static_cast<std::size_t>(file_system)].data->stripe;
  }

  // Throws BrokenInvariant.
  void verify() const;

 private:
  static constexpr std::int32_t kNone = -1;
  static constexpr std::size_t kBins = 128;  // time bins
  static constexpr std::int32_t kNobody = std::numeric_limits<std::int32_t>::min();

  struct System {
    const FileSystemData* data;
    MetadataServer metadata;
    std::vector<ServerStatistics> statistics;
    std::vector<WriteBehind> servers;                       // server caches; empty without them
    std::unordered_map<std::int32_t, WriteBehind> clients;  // host caches
    std::int64_t files = 0;                                 // number of files placed
    std::size_t first_series = 0;                           // index of its first series in `moved_`
    ServerWaits waits;
  };
  struct Call {
    std::int32_t owner = kNobody;
    FileRequest request;
    std::int32_t client = 0;  // host
    std::int32_t last_stream = kNone;
    std::int32_t streams = 0;    // number of streams in progress
    std::int64_t write = kNone;  // number in the client cache
    bool is_accepted = true;     // by that cache
    double since = 0.0;          // seconds
  };
  struct Stream {
    std::int32_t call = kNone;
    std::int32_t previous = kNone;  // previous stream of the same call
    std::int32_t server = kNone;    // index in the file system; kNone: its metadata server
    std::int32_t host = 0;          // host of the server
    std::int32_t under_way = 0;     // requests in flight
    std::int64_t left = 0;          // bytes not yet requested
    double ended = 0.0;             // date of the last reply, seconds
  };
  enum class Step : std::uint8_t { to_server, to_cache, at_server, to_client, to_disk };
  struct Request {
    std::int32_t stream = kNone;
    Step step = Step::to_server;
    std::int64_t bytes = 0;
    double arrival = 0.0;  // date at the server, seconds
    // For data in transit from a server's cache to its disk:
    std::int32_t file_system = kNone;
    std::int32_t server = kNone;
    std::int64_t write = kNone;
  };

  System& system(std::int32_t i) { return systems_[static_cast<std::size_t>(i)]; }
  bool has_routes(const FileRequest& request, std::int32_t client);
  template <class F>
  void for_each_server(const FileRequest& request, F f) const;
  WriteBehind* client_cache(const FileRequest& request, std::int32_t client);
  void add_streams(std::int32_t call);
  void add_stream(std::int32_t call, std::int32_t server, std::int64_t bytes);
  void send(std::int32_t stream, std::int64_t bytes);
  void take_next_step(std::int32_t request);
  void serve(std::int32_t request);
  void access_disk(std::int32_t request);
  void take_into_cache(std::int32_t request);
  void end_on_disk(std::int32_t request);
  void wake_owner(std::int32_t call);
  std::int32_t place_of(const Stream& stream) const;
  void collect_of_client(WriteBehind& cache);
  void collect_of_server(WriteBehind& cache);
  void reply(std::int32_t request);
  void end(std::int32_t request);
  void end_call(std::int32_t call);
  void lose(std::int32_t request);
  std::int32_t host_of(const FileSystemData& data, std::int32_t server) const;
  void follow(std::int32_t activity, std::int32_t request);

  const PlatformData& platform_;
  Clock& clock_;
  Network& network_;
  Activities& activities_;
  std::vector<System> systems_;
  Pool<Call> calls_;
  Pool<Stream> streams_;
  Pool<Request> requests_;
  std::vector<std::int32_t>
      request_of_;                     // by activity; trailing ones without a request are omitted
  std::vector<std::int32_t> call_of_;  // by rank, likewise
  Stack<std::int32_t> tickets_;        // scratch
  TimeBins moved_{0, kBins};
  std::vector<std::int32_t> last_;  // servers whose replies end the call, indexed as `statistics`
};

}  // namespace tisim
