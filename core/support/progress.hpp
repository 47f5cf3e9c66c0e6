// Progress of long work.
#pragma once

#include <functional>

namespace tisim {

// Called often with the part that is done, 0 to 1; throws to stop the work. May be empty.
using Progress = std::function<void(double)>;

inline void report_progress(const Progress& progress, double fraction) {
  if (progress) progress(fraction);
}

// For a part of the work: what is 0 to 1 of that is `from` to `to` of all.
inline Progress part_of(const Progress& progress, double from, double to) {
  if (!progress) return {};
  return [&progress, from, to](double fraction) { progress(from + (to - from) * fraction); };
}

}  // namespace tisim
