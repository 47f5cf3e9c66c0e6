// The promises of `FileSystems`.
#include "io/storage/file_systems.hpp"
#include "support/invariant.hpp"

namespace tisim {

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
  ensure(followed <= requests_.in_use(), "a request has one activity at most");
  for (std::size_t i = 0; i < streams_.capacity(); ++i) {
    const Stream& stream = streams_[static_cast<std::int32_t>(i)];
    if (stream.call == kNone) continue;
    const FileSystemData& data =
        *systems_[static_cast<std::size_t>(calls_[stream.call].request.file_system)].data;
    ensure(under_way[i] <= stream.under_way, "a stream knows its requests");
    ensure(stream.under_way <= data.window, "a stream has no more requests under way than it may");
    ensure(stream.left == 0 || stream.under_way == data.window, "a stream waits for nothing");
  }
}

}  // namespace tisim
