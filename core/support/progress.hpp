// Progress of long operations.
#pragma once

#include <functional>

namespace tisim {

// Called often with the completed fraction, 0 to 1; throws to abort. May be empty.
using Progress = std::function<void(double)>;

inline void report_progress(const Progress& progress, double fraction) {
  if (progress) progress(fraction);
}

// Progress of a part of the work: maps 0..1 of the part to `from`..`to` of the whole.
inline Progress part_of(const Progress& progress, double from, double to) {
  if (!progress) return {};
  return [&progress, from, to](double fraction) { progress(from + (to - from) * fraction); };
}

}  // namespace tisim
