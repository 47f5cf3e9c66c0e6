// All tolerances with which shares and dates are compared: what each decides, and why it is so
// large. All are relative. One operation rounds by 2^-53, 1.1e-16.
#pragma once

namespace tisim::tolerance {

// The largest demand of a link's variables is kept up to date by adding and subtracting, 1e4
// times and more between two instants at which the link is idle. Errors of up to 1e4 operations
// may not make a link that its variables just fill look like a bottleneck.
inline constexpr double kRunningSum = 1e-12;

// Flows of two hosts that have moved equally far end together: what each has left comes from some
// thirty operations, which round by up to 36 * 2^-53.
inline constexpr double kSameProgress = 4e-15;

// Flows end together that differ by the roundings of ten thousand changes of their shares. Ends
// that do differ lie a thousand times further apart in an all-to-all on a torus; SimGrid takes all
// within a nanosecond for one instant.
inline constexpr double kSameDate = 1e-12;

// Constraints saturate together when their levels, a quotient of two sums of up to a thousand
// terms, differ by less than a thousand roundings.
inline constexpr double kSameSaturation = 1e-13;

// The bound that a fat pipe sets for a flow without any other lies so far above the pipe's level
// that the pipe saturates first (ADR 3): as far as levels can differ by rounding.
inline constexpr double kAboveSaturation = 1e-13;

// The solution of a bottleneck is kept as long as its level is this far away from every level at
// which the solution would take another form. The sums behind both levels have been updated up to
// 1000 times (`Bottlenecks`), which rounds by 1e-13.
inline constexpr double kSameForm = 1e-12;

// Resumed filling keeps the shares below a level. Levels so close below count as above: a level is
// a quotient of sums in which cancellation may cost three digits more than in `kSameForm`.
inline constexpr double kResumed = 1e-9;

// Levels of a constraint, before and after a local solution, that are as close count as equal.
// Shares that are kept are compared with their own level, so that such differences do not add up.
inline constexpr double kSameLevel = 1e-12;

// A constraint whose variables used all but this part of it was saturated: shares that came from
// resumed filling may differ by `kResumed`.
inline constexpr double kUnused = 1e-9;

// `verify` accepts shares that are off by this much: ten times what resumed filling may leave.
inline constexpr double kVerified = 1e-8;

}  // namespace tisim::tolerance
