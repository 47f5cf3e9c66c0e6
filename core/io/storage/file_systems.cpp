#include "io/storage/file_systems.hpp"

#include <algorithm>
#include <utility>

#include "io/storage/storage_servers.hpp"
#include "support/invariant.hpp"

namespace tisim {

FileSystems::FileSystems(const PlatformData& platform, Clock& clock, Network& network,
                         Activities& activities)
    : platform_(platform), clock_(clock), network_(network), activities_(activities) {
  for (const FileSystemData& data : platform.file_systems) {
    systems_.push_back({.data = &data,
                        .metadata = MetadataServer(data.metadata_service),
                        .statistics = std::vector<ServerStatistics>(data.servers.size() + 1),
                        .servers = {},
                        .clients = {},
                        .first_series = moved_.size(),
                        .waits = {}});
    for (std::size_t i = 0; i < 2 * (data.servers.size() + 1); ++i) moved_.add_series();
    if (data.server_cache > 0) {
      systems_.back().servers.resize(data.servers.size(), WriteBehind(data.server_cache));
    }
  }
}

std::int32_t FileSystems::place_file(std::int32_t file_system) {
  System& placed = system(file_system);
  const auto servers = static_cast<std::int64_t>(placed.data->servers.size());
  return static_cast<std::int32_t>(placed.files++ * placed.data->count % servers);
}

std::int32_t FileSystems::host_of(const FileSystemData& data, std::int32_t server) const {
  if (server == kNone) return data.metadata_host;
  const std::int32_t disk = data.servers[static_cast<std::size_t>(server)];
  return platform_.disk_host[static_cast<std::size_t>(disk)];
}

// Calls f(server, bytes) for each server that a request involves.
template <class F>
void FileSystems::for_each_server(const FileRequest& request, F f) const {
  const FileSystemData& data = *systems_[static_cast<std::size_t>(request.file_system)].data;
  const auto servers = static_cast<std::int32_t>(data.servers.size());
  if (request.type <= FileRequest::Type::close) return f(kNone, 0);
  if (request.type == FileRequest::Type::sync) {
    for (std::int32_t i = 0; i < data.count; ++i) f((request.first_server + i) % servers, 0);
    return;
  }
  for_each_part(data.stripe, data.count, request.offset, request.bytes,
                [&](std::int32_t place, std::int64_t bytes) {
                  f((request.first_server + place) % servers, bytes);
                });
}

bool FileSystems::has_routes(const FileRequest& request, std::int32_t client) {
  const FileSystemData& data = *system(request.file_system).data;
  bool connected = true;
  for_each_server(request, [&](std::int32_t server, std::int64_t) {
    if (!connected) return;
    const std::int32_t host = host_of(data, server);
    connected = network_.pair(client, host) >= 0 && network_.pair(host, client) >= 0;
  });
  return connected;
}

// Returns the client cache that a request involves, or null.
WriteBehind* FileSystems::client_cache(const FileRequest& request, std::int32_t client) {
  System& asked = system(request.file_system);
  if (asked.data->client_cache == 0) return nullptr;
  const bool flushes = request.type == FileRequest::Type::sync ||
                       (request.type == FileRequest::Type::close && asked.data->flushes_on_close);
  if (request.type != FileRequest::Type::write && !flushes) return nullptr;
  return &asked.clients.try_emplace(client, asked.data->client_cache).first->second;
}

bool FileSystems::begin(const FileRequest& request, std::int32_t client, std::int32_t owner) {
  if (!has_routes(request, client)) return false;
  const std::int32_t call = calls_.acquire();
  calls_[call] = {.owner = owner, .request = request, .client = client, .since = clock_.now()};
  if (owner >= 0) {
    const auto place = static_cast<std::size_t>(owner);
    if (call_of_.size() <= place) call_of_.resize(place + 1, kNone);
    call_of_[place] = call;
  }
  WriteBehind* const cache = client_cache(request, client);
  if (cache == nullptr) {
    add_streams(call);
    return true;
  }
  if (request.type == FileRequest::Type::write) {
    calls_[call].write = cache->begin(request.bytes, call);
    calls_[call].is_accepted = false;
    add_streams(call);
  } else {
    cache->flush(~call);
  }
  collect_of_client(*cache);
  return true;
}

void FileSystems::add_streams(std::int32_t call) {
  const FileRequest request = calls_[call].request;
  calls_[call].streams = 1;  // keeps the call alive if a stream ends at once
  for_each_server(
      request, [&](std::int32_t server, std::int64_t bytes) { add_stream(call, server, bytes); });
  if (--calls_[call].streams == 0) end_call(call);  // it has no streams
}

// Handles writes accepted by a cache, and syncs or closes whose earlier writes are complete.
void FileSystems::collect_of_client(WriteBehind& cache) {
  const std::size_t before = tickets_.size();
  cache.collect(tickets_);
  for (std::size_t i = before; i < tickets_.size(); ++i) {
    const std::int32_t ticket = tickets_[i];
    if (ticket < 0) {
      add_streams(~ticket);
      continue;
    }
    calls_[ticket].is_accepted = true;
    wake_owner(ticket);
    if (calls_[ticket].streams == 0) calls_.release(ticket);
  }
  tickets_.resize(before, {});
}

void FileSystems::wake_owner(std::int32_t call) {
  const std::int32_t owner = std::exchange(calls_[call].owner, kNobody);
  if (owner == kNobody) return;
  if (owner >= 0) {
    call_of_[static_cast<std::size_t>(owner)] = kNone;
    const Call& ended = calls_[call];
    system(ended.request.file_system).waits.add(owner, last_, clock_.now() - ended.since);
  }
  clock_.wake(owner);
}

// Index of a stream's server in the statistics.
std::int32_t FileSystems::place_of(const Stream& stream) const {
  if (stream.server != kNone) return stream.server;
  const Call& call = calls_[stream.call];
  const System& asked = systems_[static_cast<std::size_t>(call.request.file_system)];
  return static_cast<std::int32_t>(asked.data->servers.size());
}

void FileSystems::add_stream(std::int32_t call, std::int32_t server, std::int64_t bytes) {
  const FileSystemData& data = *system(calls_[call].request.file_system).data;
  const std::int32_t stream = streams_.acquire();
  Call& owner = calls_[call];
  streams_[stream] = {.call = call,
                      .previous = std::exchange(owner.last_stream, stream),
                      .server = server,
                      .host = host_of(data, server),
                      .left = bytes};
  ++owner.streams;
  do {
    const std::int64_t part = std::min(streams_[stream].left, data.request);
    streams_[stream].left -= part;
    send(stream, part);
  } while (streams_[stream].left > 0 && streams_[stream].under_way < data.window);
}

// Sends a request to its server.
void FileSystems::send(std::int32_t stream, std::int64_t bytes) {
  Stream& sender = streams_[stream];
  const Call& call = calls_[sender.call];
  const std::int32_t request = requests_.acquire();
  requests_[request] = {.stream = stream, .bytes = bytes};
  ++sender.under_way;
  const bool writes = call.request.type == FileRequest::Type::write;
  const double carried =
      system(call.request.file_system).data->header + (writes ? static_cast<double>(bytes) : 0.0);
  follow(activities_.transfer(call.client, sender.host, carried), request);
}

void FileSystems::follow(std::int32_t activity, std::int32_t request) {
  const auto place = static_cast<std::size_t>(activity);
  if (request_of_.size() <= place) request_of_.resize(place + 1, kNone);
  request_of_[place] = request;
}

bool FileSystems::advance(std::int32_t activity, bool failed) {
  const auto place = static_cast<std::size_t>(activity);
  if (place >= request_of_.size() || request_of_[place] == kNone) return false;
  const std::int32_t request = std::exchange(request_of_[place], kNone);
  if (failed) {
    lose(request);
  } else {
    take_next_step(request);
  }
  return true;
}

void FileSystems::take_next_step(std::int32_t request) {
  switch (requests_[request].step) {
    case Step::to_server:
      requests_[request].arrival = clock_.now();
      return serve(request);
    case Step::to_cache:
      return take_into_cache(request);
    case Step::at_server:
      return reply(request);
    case Step::to_client:
      return end(request);
    case Step::to_disk:
      return end_on_disk(request);
  }
}

void FileSystems::serve(std::int32_t number) {
  Request& request = requests_[number];
  const Stream& stream = streams_[request.stream];
  const Call& call = calls_[stream.call];
  System& served = system(call.request.file_system);
  request.step = Step::at_server;
  if (stream.server == kNone) {
    const double done = served.metadata.serve(clock_.now()) + served.data->metadata_latency;
    return follow(activities_.wait_until(done), number);
  }
  const auto place = static_cast<std::size_t>(stream.server);
  if (!served.servers.empty() && call.request.type == FileRequest::Type::sync) {
    served.servers[place].flush(number);
    return collect_of_server(served.servers[place]);
  }
  if (request.bytes == 0) return reply(number);
  if (served.servers.empty() || call.request.type == FileRequest::Type::read) {
    return access_disk(number);
  }
  if (served.data->buffers.empty()) return take_into_cache(number);
  request.step = Step::to_cache;
  follow(activities_.access(served.data->buffers[place], Access::write,
                            static_cast<double>(request.bytes)),
         number);
}

void FileSystems::access_disk(std::int32_t number) {
  const Request& request = requests_[number];
  const Stream& stream = streams_[request.stream];
  const Call& call = calls_[stream.call];
  const auto kind = call.request.type == FileRequest::Type::write ? Access::write : Access::read;
  const FileSystemData& data = *system(call.request.file_system).data;
  const std::int32_t disk = data.servers[static_cast<std::size_t>(stream.server)];
  follow(activities_.access(disk, kind, static_cast<double>(request.bytes)), number);
}

// The data of a request are in its server's cache. Draining them to the disk is a separate request.
void FileSystems::take_into_cache(std::int32_t number) {
  const std::int32_t drain = requests_.acquire();
  const Stream& stream = streams_[requests_[number].stream];
  const std::int32_t file_system = calls_[stream.call].request.file_system;
  System& served = system(file_system);
  const auto place = static_cast<std::size_t>(stream.server);
  WriteBehind& cache = served.servers[place];
  const std::int64_t bytes = requests_[number].bytes;
  requests_[number].step = Step::at_server;
  requests_[drain] = {.step = Step::to_disk,
                      .bytes = bytes,
                      .file_system = file_system,
                      .server = stream.server,
                      .write = cache.begin(bytes, number)};
  follow(activities_.access(served.data->servers[place], Access::write, static_cast<double>(bytes)),
         drain);
  collect_of_server(cache);
}

void FileSystems::end_on_disk(std::int32_t number) {
  const Request drained = requests_[number];
  requests_.release(number);
  WriteBehind& cache =
      system(drained.file_system).servers[static_cast<std::size_t>(drained.server)];
  cache.progress(drained.write, drained.bytes);
  cache.end(drained.write);
  collect_of_server(cache);
}

// Replies to requests whose data the cache has accepted, or whose sync has reached the disk.
void FileSystems::collect_of_server(WriteBehind& cache) {
  const std::size_t before = tickets_.size();
  cache.collect(tickets_);
  for (std::size_t i = before; i < tickets_.size(); ++i) reply(tickets_[i]);
  tickets_.resize(before, {});
}

void FileSystems::reply(std::int32_t number) {
  Request& request = requests_[number];
  const Stream& stream = streams_[request.stream];
  const Call& call = calls_[stream.call];
  System& served = system(call.request.file_system);
  const std::size_t place = stream.server == kNone ? served.statistics.size() - 1
                                                   : static_cast<std::size_t>(stream.server);
  ServerStatistics& statistics = served.statistics[place];
  const bool reads = call.request.type == FileRequest::Type::read;
  ++statistics.requests;
  (reads ? statistics.bytes_read : statistics.bytes_written) += request.bytes;
  statistics.seconds += clock_.now() - request.arrival;
  if (request.bytes > 0) {
    moved_.spread(served.first_series + 2 * place + (reads ? 0 : 1), request.arrival, clock_.now(),
                  static_cast<double>(request.bytes));
  }
  request.step = Step::to_client;
  const double carried = served.data->header + (reads ? static_cast<double>(request.bytes) : 0.0);
  follow(activities_.transfer(stream.host, call.client, carried), number);
}

void FileSystems::end(std::int32_t number) {
  const std::int32_t index = requests_[number].stream;
  const std::int64_t bytes = requests_[number].bytes;
  requests_.release(number);
  Stream& stream = streams_[index];
  const std::int32_t server = place_of(stream);
  const Call& call = calls_[stream.call];
  --stream.under_way;
  WriteBehind* const cache =
      call.write == kNone ? nullptr : client_cache(call.request, call.client);
  if (cache != nullptr) cache->progress(call.write, bytes);
  if (stream.left > 0) {
    const std::int64_t part = std::min(stream.left, system(call.request.file_system).data->request);
    stream.left -= part;
    send(index, part);
  } else if (stream.under_way == 0) {
    stream.ended = clock_.now();
    if (--calls_[stream.call].streams == 0) end_call(stream.call);
  }
  if (cache == nullptr) return;
  last_.assign(1, server);
  collect_of_client(*cache);
  last_.clear();
}

void FileSystems::end_call(std::int32_t number) {
  last_.clear();
  for (std::int32_t stream = calls_[number].last_stream; stream != kNone;) {
    if (streams_[stream].ended == clock_.now()) last_.push_back(place_of(streams_[stream]));
    streams_.release(stream);
    stream = std::exchange(streams_[stream], Stream{}).previous;
  }
  const Call& call = calls_[number];
  if (call.write != kNone) client_cache(call.request, call.client)->end(call.write);
  calls_[number].last_stream = kNone;
  if (!calls_[number].is_accepted) return;  // its cache reports it later
  wake_owner(number);
  last_.clear();
  calls_.release(number);
}

// The client, the server or a link failed: a rank waits forever, an activity fails.
void FileSystems::lose(std::int32_t number) {
  if (requests_[number].step == Step::to_disk) return;
  const Stream& stream = streams_[requests_[number].stream];
  Call& call = calls_[stream.call];
  if (call.owner == kNobody || call.owner >= 0) return;
  activities_.fail(~std::exchange(call.owner, kNobody));
}

void FileSystems::abandon(std::int32_t rank) {
  const auto place = static_cast<std::size_t>(rank);
  if (place >= call_of_.size() || call_of_[place] == kNone) return;
  Call& call = calls_[std::exchange(call_of_[place], kNone)];
  call.owner = kNobody;
  if (call.write != kNone) return;  // the cache of the host keeps writing
  for (std::int32_t i = call.last_stream; i != kNone; i = streams_[i].previous) {
    streams_[i].left = 0;
  }
}

FileSystems::Wait FileSystems::wait_of(std::int32_t rank) const {
  Wait wait;
  const auto place = static_cast<std::size_t>(rank);
  if (place >= call_of_.size() || call_of_[place] == kNone) return wait;
  const Call& call = calls_[call_of_[place]];
  wait.file_system = call.request.file_system;
  for (std::int32_t i = call.last_stream; i != kNone; i = streams_[i].previous) {
    if (streams_[i].under_way > 0) wait.hosts.push_back(streams_[i].host);
  }
  return wait;
}

// The invariants of `FileSystems`.

void FileSystems::verify() const {
  ensure(calls_.is_consistent() && streams_.is_consistent() && requests_.is_consistent(),
         "a call, stream or request is released once");
  std::vector<std::int32_t> under_way(streams_.capacity(), 0);
  std::size_t followed = 0;
  for (const std::int32_t request : request_of_) {
    if (request == kNone) continue;
    ++followed;
    if (requests_[request].stream == kNone) continue;  // from a cache to a disk
    ++under_way[static_cast<std::size_t>(requests_[request].stream)];
  }
  ensure(followed <= requests_.in_use(), "a request has at most one activity");
  for (std::size_t i = 0; i < streams_.capacity(); ++i) {
    const Stream& stream = streams_[static_cast<std::int32_t>(i)];
    if (stream.call == kNone) continue;
    const FileSystemData& data =
        *systems_[static_cast<std::size_t>(calls_[stream.call].request.file_system)].data;
    ensure(under_way[i] <= stream.under_way, "a stream counts its requests in flight");
    ensure(stream.under_way <= data.window, "a stream has at most `window` requests in flight");
    ensure(stream.left == 0 || stream.under_way == data.window,
           "a stream with bytes left has its window full");
  }
}

}  // namespace tisim
