// All tolerances for comparing shares and dates: what each decides, and why it has its size. All
// are relative. One operation rounds by 2^-53, 1.1e-16.
#pragma once

namespace tisim::tolerance {

// The maximum demand of a link's variables is updated by additions and subtractions, 1e4 times and
// more between two instants at which the link is idle. Errors of 1e4 operations must not make a
// link that its variables just fill look like a bottleneck.
inline constexpr double kRunningSum = 1e-12;

// Flows of one pair of hosts with equal progress end together: their remainders result from some
// thirty operations, which round by up to 36 * 2^-53.
inline constexpr double kSameProgress = 4e-15;

// Flows end together if they differ only by the rounding of ten thousand changes of their shares.
// Distinct ends are a thousand times further apart in an all-to-all on a torus; SimGrid treats a
// whole nanosecond as one instant.
inline constexpr double kSameDate = 1e-12;

// Constraints saturate together if their levels, quotients of two sums of up to a thousand terms,
// differ by less than a thousand roundings.
inline constexpr double kSameSaturation = 1e-13;

// The bound that a fat pipe sets for a flow without another bound is so far above the pipe's level
// that the pipe saturates first (ADR 3): as far as levels can differ by rounding.
inline constexpr double kAboveSaturation = 1e-13;

// The solution of a bottleneck is kept while its level is at least this far from every level at
// which the solution would change its form. The sums behind both levels have been updated up to
// 1000 times (`Bottlenecks`), which rounds by 1e-13.
inline constexpr double kSameForm = 1e-12;

// Resumed filling keeps the shares below a level. Levels this close below it count as above: a
// level is a quotient of sums in which cancellation may cost three more digits than in `kSameForm`.
inline constexpr double kResumed = 1e-9;

// Levels of a constraint before and after a local solution that are this close count as equal. Kept
// shares are compared with their own level, so such differences do not accumulate.
inline constexpr double kSameLevel = 1e-12;

// A constraint whose variables used all but this fraction of it was saturated: shares from resumed
// filling may differ by `kResumed`.
inline constexpr double kUnused = 1e-9;

// `verify` accepts this deviation of shares: ten times that of resumed filling.
inline constexpr double kVerified = 1e-8;

}  // namespace tisim::tolerance
