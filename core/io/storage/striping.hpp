// Which bytes of a file lie on which of its servers.
#pragma once

#include <algorithm>
#include <cstdint>

namespace tisim {

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

}  // namespace tisim
