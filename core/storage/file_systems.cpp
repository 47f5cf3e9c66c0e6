#include "storage/file_systems.hpp"

#include <algorithm>
#include <utility>

#include "storage/striping.hpp"
#include "support/invariant.hpp"

namespace tisim {

FileSystems::FileSystems(const PlatformData& platform, Clock& clock, Network& network,
                         Activities& activities)
    : platform_(platform), clock_(clock), network_(network), activities_(activities) {
  for (const FileSystemData& data : platform.file_systems) {
    systems_.push_back({.data = &data,
                        .metadata = MetadataServer(data.metadata_service),
                        .sums = std::vector<ServerSums>(data.servers.size() + 1)});
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

// Calls f(server, bytes) for each server that a request is about.
template <class F>
void FileSystems::for_each_server(const FileRequest& request, F f) const {
  const FileSystemData& data = *systems_[static_cast<std::size_t>(request.file_system)].data;
  const auto servers = static_cast<std::int32_t>(data.servers.size());
  if (request.type == FileRequest::Type::metadata) return f(kNone, 0);
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
  bool found = true;
  for_each_server(request, [&](std::int32_t server, std::int64_t) {
    if (!found) return;
    const std::int32_t host = host_of(data, server);
    found = network_.pair(client, host) >= 0 && network_.pair(host, client) >= 0;
  });
  return found;
}

bool FileSystems::begin(const FileRequest& request, std::int32_t client, std::int32_t owner) {
  if (!has_routes(request, client)) return false;
  const std::int32_t call = calls_.acquire();
  calls_[call] = {.owner = owner,
                  .file_system = request.file_system,
                  .client = client,
                  .last_stream = kNone,
                  .streams = 1,  // so that no stream that ends at once ends the call
                  .type = request.type};
  for_each_server(
      request, [&](std::int32_t server, std::int64_t bytes) { add_stream(call, server, bytes); });
  --calls_[call].streams;
  if (owner >= 0) {
    const auto place = static_cast<std::size_t>(owner);
    if (call_of_.size() <= place) call_of_.resize(place + 1, kNone);
    call_of_[place] = call;
  }
  return true;
}

void FileSystems::add_stream(std::int32_t call, std::int32_t server, std::int64_t bytes) {
  const FileSystemData& data = *system(calls_[call].file_system).data;
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

// A request sets out to its server.
void FileSystems::send(std::int32_t stream, std::int64_t bytes) {
  Stream& sender = streams_[stream];
  const Call& call = calls_[sender.call];
  const std::int32_t request = requests_.acquire();
  requests_[request] = {.stream = stream, .bytes = bytes};
  ++sender.under_way;
  const bool writes = call.type == FileRequest::Type::write;
  const double carried =
      system(call.file_system).data->header + (writes ? static_cast<double>(bytes) : 0.0);
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
    go_on(request);
  }
  return true;
}

void FileSystems::go_on(std::int32_t request) {
  switch (requests_[request].step) {
    case Step::to_server:
      requests_[request].arrival = clock_.now();
      return serve(request);
    case Step::at_server:
      return reply(request);
    case Step::to_client:
      return end(request);
  }
}

void FileSystems::serve(std::int32_t number) {
  Request& request = requests_[number];
  const Stream& stream = streams_[request.stream];
  const Call& call = calls_[stream.call];
  System& served = system(call.file_system);
  request.step = Step::at_server;
  if (stream.server == kNone) {
    const double done = served.metadata.serve(clock_.now()) + served.data->metadata_latency;
    follow(activities_.wait_until(done), number);
  } else if (request.bytes > 0) {
    const auto kind = call.type == FileRequest::Type::write ? Access::write : Access::read;
    const std::int32_t disk = served.data->servers[static_cast<std::size_t>(stream.server)];
    follow(activities_.access(disk, kind, static_cast<double>(request.bytes)), number);
  } else {
    reply(number);
  }
}

void FileSystems::reply(std::int32_t number) {
  Request& request = requests_[number];
  const Stream& stream = streams_[request.stream];
  const Call& call = calls_[stream.call];
  System& served = system(call.file_system);
  const std::size_t place =
      stream.server == kNone ? served.sums.size() - 1 : static_cast<std::size_t>(stream.server);
  ServerSums& sums = served.sums[place];
  const bool reads = call.type == FileRequest::Type::read;
  ++sums.requests;
  (reads ? sums.bytes_read : sums.bytes_written) += request.bytes;
  sums.seconds += clock_.now() - request.arrival;
  request.step = Step::to_client;
  const double carried = served.data->header + (reads ? static_cast<double>(request.bytes) : 0.0);
  follow(activities_.transfer(stream.host, call.client, carried), number);
}

void FileSystems::end(std::int32_t number) {
  const std::int32_t index = requests_[number].stream;
  requests_.release(number);
  Stream& stream = streams_[index];
  --stream.under_way;
  if (stream.left > 0) {
    const std::int64_t part =
        std::min(stream.left, system(calls_[stream.call].file_system).data->request);
    stream.left -= part;
    return send(index, part);
  }
  if (stream.under_way == 0 && --calls_[stream.call].streams == 0) end_call(stream.call);
}

void FileSystems::end_call(std::int32_t number) {
  const Call call = calls_[number];
  for (std::int32_t stream = call.last_stream; stream != kNone;) {
    streams_.release(stream);
    stream = std::exchange(streams_[stream], Stream{}).previous;
  }
  calls_.release(number);
  if (call.owner == kNobody) return;
  if (call.owner >= 0) call_of_[static_cast<std::size_t>(call.owner)] = kNone;
  clock_.wake(call.owner);
}

// Its client, its server or a link has failed: a rank waits for ever, an activity fails.
void FileSystems::lose(std::int32_t number) {
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
  for (std::int32_t i = call.last_stream; i != kNone; i = streams_[i].previous) {
    streams_[i].left = 0;
  }
}

FileSystems::Wait FileSystems::wait_of(std::int32_t rank) const {
  Wait wait;
  const auto place = static_cast<std::size_t>(rank);
  if (place >= call_of_.size() || call_of_[place] == kNone) return wait;
  const Call& call = calls_[call_of_[place]];
  wait.file_system = call.file_system;
  for (std::int32_t i = call.last_stream; i != kNone; i = streams_[i].previous) {
    if (streams_[i].under_way > 0) wait.hosts.push_back(streams_[i].host);
  }
  return wait;
}

void FileSystems::verify() const {
  ensure(calls_.is_consistent() && streams_.is_consistent() && requests_.is_consistent(),
         "a call, stream or request is released once");
  std::vector<std::int32_t> under_way(streams_.capacity(), 0);
  std::size_t followed = 0;
  for (const std::int32_t request : request_of_) {
    if (request == kNone) continue;
    ++followed;
    ++under_way[static_cast<std::size_t>(requests_[request].stream)];
  }
  ensure(followed <= requests_.in_use(), "a request has one activity at most");
  for (std::size_t i = 0; i < streams_.capacity(); ++i) {
    const Stream& stream = streams_[static_cast<std::int32_t>(i)];
    if (stream.call == kNone) continue;
    const FileSystemData& data =
        *systems_[static_cast<std::size_t>(calls_[stream.call].file_system)].data;
    ensure(under_way[i] <= stream.under_way, "a stream knows its requests");
    ensure(stream.under_way <= data.window, "a stream has no more requests under way than it may");
    ensure(stream.left == 0 || stream.under_way == data.window, "a stream waits for nothing");
  }
}

}  // namespace tisim
