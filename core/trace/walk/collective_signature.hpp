// What the calls of a collective on different ranks have to have in common.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "support/mixing.hpp"
#include "trace/vocabulary/collective_call.hpp"
#include "trace/walk/rank_walk.hpp"

namespace tisim {

// What of a call has to be the same on every rank.
struct CollectiveSignature {
  Kind kind = Kind::collective;
  Operation operation = Operation::barrier;
  std::int64_t root = 0;
  // Of collectives whose counts are vectors, a hash of them; -1: need not be the same.
  std::int64_t bytes = -1;

  friend bool operator==(const CollectiveSignature&, const CollectiveSignature&) = default;
};

// Of the collective at hand.
CollectiveSignature signature_of(const RankWalk& walk, const CollectiveCall& call);
std::uint64_t hash_of(const CollectiveSignature& signature);

// What this rank sends less what it expects, each transfer with a weight of its own: the sum over
// all ranks is 0 when every rank expects what it is sent. Of gatherv, scatterv and alltoallv.
std::uint64_t balance_of(const RankWalk& walk, const CollectiveCall& call);

// What is wrong when a rank does not expect from the others what it sends them, where all have to
// be alike.
std::optional<std::string> own_contradiction(const RankWalk& walk, const CollectiveCall& call);

// The action that a signature is of.
std::string name_of(const CollectiveSignature& signature);

// What is said of a rank whose call is not that of another; `whose` names the other.
std::string told_apart(const CollectiveSignature& mine, const CollectiveSignature& other,
                       const std::string& whose);

}  // namespace tisim
