// Makes a timeline of Perfetto smaller, by leaving out its short slices.
#pragma once

#include <cstdint>
#include <string>

namespace tisim {

// Copies what `PerfettoWriter` has written so far, without the slices that are shorter than
// `shortest` ns. Slices that have not ended, and whatever is no slice, are kept; so is the order.
// Throws std::system_error when a file cannot be read or written, std::runtime_error when the first
// is no such timeline.
void thin_perfetto(const std::string& from, const std::string& to, std::uint64_t shortest);

// The length of slices, in ns, for which `thin_perfetto` leaves `size` bytes of slices or less.
std::uint64_t shortest_perfetto_slice(const std::string& path, std::uint64_t size);

}  // namespace tisim
