// The system that the solver of the network solves: pairs of hosts, its variables, and links, its
// constraints; see network.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "support/stack.hpp"

namespace tisim::max_min {

// A link on the way of a pair, forward or (with crosstraffic) backward.
struct Element {
  std::int32_t link;
  std::uint16_t weight;  // number in the network's list of weights
  bool listed = false;   // in the link's members
};

// What pairs with like routes have in common. Where links change, each pair has one of its own.
struct RouteType {
  double penalty = 1.0;     // seconds; 1 where there is no latency
  double priority = 1.0;    // the weight: the inverse of the penalty
  double bound = -1.0;      // bytes/s of one flow, negative: none
  double narrowest = -1.0;  // bytes/s of all flows of a pair together, negative: no link
  double latency = 0.0;     // seconds, without factor
  std::size_t elements = 0;
  bool operator==(const RouteType&) const = default;
};

// All flows from one host to another: what the solver looks at. There may be many millions.
struct Pair {
  double limit = 0.0;            // bytes/s that one of them can get at most, as many as there are
  double value = 0.0;            // bytes/s that one flow of factor 1 gets
  std::int32_t count = 0;        // flows
  std::int32_t counted = 0;      // flows when its share was found; that its bottleneck knows of
  std::int32_t elements = 0;     // first of its elements
  std::int32_t bottleneck = -1;  // whose clock it follows
  std::uint32_t mark = 0;        // of the last visit, one more when fixed there
  std::uint32_t type : 31 = 0;   // of its route
  std::uint32_t stale : 1 = false;  // its next end must be dated anew
};

// How far the flows of a pair are.
struct Progress {
  double clock = 0.0;            // bytes
  double updated = 0.0;          // seconds, or on the clock of its bottleneck, when that was right
  double end = 0.0;              // seconds, when its next flow ends; the heap may have it earlier
  std::int32_t first_flow = -1;  // that ends next; the root of a pairing heap on `finish`
  std::int32_t heap_position = -1;
};

// In place of the level at which a link is full: it has room, that is not kept, and it holds back
// nobody whatever others do.
inline constexpr double kHasRoom = std::numeric_limits<double>::infinity();
inline constexpr double kUnknown = -1.0;
inline constexpr double kNobody = -2.0;

// A pair whose way a link is on.
struct Member {
  std::int32_t pair;
  std::uint16_t place;   // among the elements of the pair
  std::uint16_t weight;  // as of that element
};

struct alignas(32) Link {
  double load = 0.0;       // shared: what its pairs can ask for at most
  double capacity = 0.0;   // bytes/s
  std::int32_t count = 0;  // pairs with flows
  std::uint32_t visit = 0;
  std::int32_t open = 0;  // scratch of the solver: pairs that are not fixed
  bool fatpipe = false;
  bool dirty = false;
  bool changed = false;    // something on it was fixed
  std::uint8_t large = 0;  // how many times more its component is taken for a large one

  // Scratch of the solver; where a bottleneck holds it: what other pairs leave of it, and the
  // weights of the pairs of the bottleneck.
  double remaining = 0.0, usage = 0.0;
  // The level at which it was full, infinite when it had room, kUnknown when that is not kept.
  double saturation = kNobody;
  std::int32_t slot = -1;     // among those that are open
  std::int32_t held_by = -1;  // the bottleneck of its component

  Stack<Member> members;
  std::int32_t own =
      -1;  // number of the fat pipe that it is; or of the bottleneck that it was last
};

static_assert(sizeof(Element) == 8 && sizeof(Member) == 8 && sizeof(Pair) == 40 &&
              sizeof(Progress) == 32 && sizeof(Link) == 96);
// What is known of a fat pipe besides.
struct FatPipe {
  double reach = 0.0;  // the largest bound / priority since it was idle
  double greed = 0.0;  // the largest weight * priority
};

// Of a link that a part of a component crosses: the level at which it was full before, and that
// of the pairs of it that are no part.
struct Surroundings {
  double before = 0.0, outside = 0.0;
};

}  // namespace tisim::max_min
