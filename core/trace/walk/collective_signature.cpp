#include "trace/walk/collective_signature.hpp"

#include <span>

namespace tisim {

namespace {

std::uint64_t mixed_three(std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  return mixed(mixed(a + 1, b + 1), c + 1);
}

// Of vectors that have to be the same everywhere.
std::int64_t hash_of_counts(std::span<const double> counts, std::int64_t width) {
  std::uint64_t hash = static_cast<std::uint64_t>(width);
  for (const double count : counts) hash = mixed(hash, static_cast<std::uint64_t>(count));
  return static_cast<std::int64_t>(hash >> 1);
}

}  // namespace

std::string name_of(const CollectiveSignature& signature) {
  return std::string(name_of(signature.kind, signature.operation));
}

CollectiveSignature signature_of(const RankWalk& walk, const CollectiveCall& call) {
  CollectiveSignature signature;
  signature.kind = walk.op().kind;
  signature.operation = walk.call().operation;
  if (is_rooted(signature.operation)) signature.root = call.root;
  const bool is_root = call.root == walk.group().rank;
  switch (signature.operation) {
    case Operation::bcast:
    case Operation::reduce:
    case Operation::allreduce:
    case Operation::scan:
    case Operation::exscan:
    case Operation::alltoall:
    case Operation::allgather:
      signature.bytes = call.send_bytes();
      break;
    case Operation::gather:
      signature.bytes = is_root ? call.receive_bytes() : call.send_bytes();
      break;
    case Operation::scatter:
      signature.bytes = is_root ? call.send_bytes() : call.receive_bytes();
      break;
    case Operation::reducescatter:
    case Operation::allgatherv:
      signature.bytes = hash_of_counts(call.receive_counts, call.receive_width);
      break;
    default:
      break;
  }
  return signature;
}

std::uint64_t hash_of(const CollectiveSignature& signature) {
  const auto what = static_cast<std::uint64_t>(signature.kind) * 64 +
                    static_cast<std::uint64_t>(signature.operation);
  return mixed_three(what, static_cast<std::uint64_t>(signature.root),
                     static_cast<std::uint64_t>(signature.bytes));
}

std::uint64_t balance_of(const RankWalk& walk, const CollectiveCall& call) {
  const auto me = static_cast<std::uint64_t>(walk.group().rank);
  const auto weight = [](std::uint64_t from, std::uint64_t to) { return mixed_three(from, to, 0); };
  const auto root = static_cast<std::uint64_t>(call.root);
  const auto sent = static_cast<std::uint64_t>(call.send_width);
  const auto expected = static_cast<std::uint64_t>(call.receive_width);
  std::uint64_t balance = 0;
  if (walk.call().operation == Operation::gatherv) {
    balance += weight(me, root) * static_cast<std::uint64_t>(call.send_bytes());
    if (me != root) return balance;
  } else if (walk.call().operation == Operation::scatterv) {
    balance -= weight(root, me) * static_cast<std::uint64_t>(call.receive_bytes());
    if (me != root) return balance;
  } else if (walk.call().operation != Operation::alltoallv) {
    return 0;
  }
  for (std::size_t i = 0; i < call.send_counts.size(); ++i) {
    balance += weight(me, i) * (static_cast<std::uint64_t>(call.send_counts[i]) * sent);
  }
  for (std::size_t i = 0; i < call.receive_counts.size(); ++i) {
    balance -= weight(i, me) * (static_cast<std::uint64_t>(call.receive_counts[i]) * expected);
  }
  return balance;
}

std::optional<std::string> own_contradiction(const RankWalk& walk, const CollectiveCall& call) {
  std::int64_t expected = call.receive_bytes();
  switch (walk.call().operation) {
    case Operation::alltoall:
    case Operation::allgather:
      break;
    case Operation::allgatherv: {
      const auto me = static_cast<std::size_t>(walk.group().rank);
      expected = static_cast<std::int64_t>(call.receive_counts[me]) * call.receive_width;
      break;
    }
    default:
      return std::nullopt;
  }
  if (call.send_bytes() == expected) return std::nullopt;
  return "sends " + std::to_string(call.send_bytes()) + " bytes and expects " +
         std::to_string(expected) + " from a rank that does the same";
}

std::string told_apart(const CollectiveSignature& mine, const CollectiveSignature& other,
                       const std::string& whose) {
  if (mine.operation != other.operation || mine.kind != other.kind) {
    return "calls " + name_of(mine) + " where " + whose + " calls " + name_of(other);
  }
  if (mine.root != other.root) {
    return name_of(mine) + " has the root " + std::to_string(mine.root) + ", and the root " +
           std::to_string(other.root) + " where " + whose + " calls it";
  }
  if (mine.operation == Operation::reducescatter || mine.operation == Operation::allgatherv) {
    return name_of(mine) + " has other counts than where " + whose + " calls it";
  }
  return name_of(mine) + " is of " + std::to_string(mine.bytes) + " bytes, and of " +
         std::to_string(other.bytes) + " where " + whose + " calls it";
}

}  // namespace tisim
