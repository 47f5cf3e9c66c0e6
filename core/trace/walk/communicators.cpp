#include "trace/walk/communicators.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

namespace tisim {

namespace {

constexpr std::size_t kOpsAtOnce = 4096;

// A line of one rank that creates a communicator.
struct CommunicatorCreation {
  std::size_t parent;  // 0: the world, else index of the rank's creation plus 1; kNone: none
  bool is_split;
  std::int64_t color;
  std::int64_t key;
  std::size_t next;  // next creation with the same parent, or kNone
};

constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

// A comm_group: its ranks of the world, and its index among the creations of its rank.
struct GroupCreation {
  std::vector<std::int32_t> members;
  std::size_t at;
};

// All creations of one rank, in order.
struct RankCreations {
  std::vector<CommunicatorCreation> all;
  std::vector<GroupCreation> of_groups;
  std::vector<std::size_t> first;  // of each parent, or kNone
};

// Links the creations of each parent.
RankCreations by_parent(std::vector<CommunicatorCreation> creations) {
  RankCreations result;
  result.first.assign(creations.size() + 1, kNone);
  for (std::size_t at = creations.size(); at-- > 0;) {
    if (creations[at].parent == kNone) continue;
    creations[at].next = std::exchange(result.first[creations[at].parent], at);
  }
  result.all = std::move(creations);
  return result;
}

// `progress` covers this rank only.
RankCreations creations_of(const TraceSet& set, std::int32_t rank, CallTable& calls,
                           std::vector<Op>& ops, const Progress& progress) {
  const auto reader = set.open(rank, calls);
  reader->stop_at_loops();
  std::vector<CommunicatorCreation> creations;
  std::vector<GroupCreation> of_groups;
  std::map<std::uint16_t, std::size_t> made = {{std::uint16_t{0}, 0}};  // by number in the trace
  int turns = 0;                                                        // of the current loop
  std::size_t made_at_turn = 0;
  for (;;) {
    while (const auto turn = reader->next_turn()) {
      // A repetition that creates no communicator has no effect here.
      if (turns > 1 && turn->remaining > 0 && creations.size() == made_at_turn) {
        reader->skip_repetitions(turn->remaining);
      }
      turns = turn->remaining > 0 ? turns + 1 : 0;
      made_at_turn = creations.size();
    }
    const std::size_t count = reader->read(ops.data(), ops.size());
    if (count == 0) break;
    for (std::size_t i = 0; i < count; ++i) {
      if (!makes_communicator(ops[i].kind)) continue;
      const Call& call = calls[static_cast<std::uint32_t>(ops[i].call)];
      const auto id = static_cast<std::uint16_t>(call.arguments[1]);
      if (ops[i].kind == Kind::comm_group) {
        // Such a communicator has no parent.
        GroupCreation& group = of_groups.emplace_back();
        group.at = creations.size();
        for (std::size_t place = 2; place < call.arguments.size(); ++place) {
          group.members.push_back(static_cast<std::int32_t>(call.arguments[place]));
        }
        creations.push_back({kNone, false, 0, 0, kNone});
        made[id] = creations.size();
        continue;
      }
      const bool is_split = ops[i].kind == Kind::comm_split;
      const auto parent = made.find(ops[i].comm);
      // With an unknown parent, nothing can be derived from it.
      const std::size_t from = parent == made.end() ? creations.size() + 1 : parent->second;
      creations.push_back({from, is_split,
                           is_split ? static_cast<std::int64_t>(call.arguments[2]) : 0,
                           is_split ? static_cast<std::int64_t>(call.arguments[3]) : 0, kNone});
      made[id] = creations.size();
    }
    report_progress(progress, 0.5);
  }
  RankCreations result = by_parent(std::move(creations));
  result.of_groups = std::move(of_groups);
  return result;
}

}  // namespace

// Follows the creations group by group: all ranks of a group make the next one together.
class CommunicatorBuilder {
 public:
  CommunicatorBuilder(const TraceSet& set, const Progress& progress) : result_(set.ranks()) {
    const double ranks = set.ranks();
    creations_.resize(static_cast<std::size_t>(set.ranks()));
    result_.made_.resize(creations_.size());
    std::vector<Op> ops(kOpsAtOnce);
    CallTable shared;
    for (std::int32_t rank = 0; rank < set.ranks(); ++rank) {
      const auto at = static_cast<std::size_t>(rank);
      CallTable own;
      CallTable& calls = set.shares_lines() ? shared : own;
      creations_[at] =
          creations_of(set, rank, calls, ops, part_of(progress, rank / ranks, (rank + 1) / ranks));
      result_.made_[at].assign(creations_[at].all.size(), CommunicatorView{kNoGroup, 0, 0});
    }
  }

  Communicators build() {
    std::vector<std::int32_t> world(creations_.size());
    for (std::size_t i = 0; i < world.size(); ++i) world[i] = static_cast<std::int32_t>(i);
    follow(world, std::vector<std::size_t>(world.size(), 0));
    make_listed_groups();
    for (std::size_t group = 0; group < result_.members_.size(); ++group) {
      // Copies, since following adds to both.
      const std::vector<std::int32_t> members = result_.members_[group];
      const std::vector<std::size_t> parents = made_at_[group];
      follow(members, parents);
    }
    return std::move(result_);
  }

 private:
  // A member of a new group: color, key, rank in the parent, rank in the world, and the index of
  // its creation.
  using Candidate = std::tuple<std::int64_t, std::int64_t, std::size_t, std::int32_t, std::size_t>;

  // Creates all children of a group; `parents`: the group's number among the creations of each
  // rank.
  void follow(const std::vector<std::int32_t>& members, const std::vector<std::size_t>& parents) {
    std::vector<std::size_t> next(members.size());
    for (std::size_t i = 0; i < members.size(); ++i) {
      next[i] = creations_[static_cast<std::size_t>(members[i])].first[parents[i]];
    }
    for (;;) {
      std::vector<Candidate> candidates;
      bool is_split = false;
      for (std::size_t i = 0; i < members.size(); ++i) {
        const std::vector<CommunicatorCreation>& creations =
            creations_[static_cast<std::size_t>(members[i])].all;
        std::size_t& at = next[i];
        if (at == kNone) return;  // not made by all of them
        if (i > 0 && creations[at].is_split != is_split) return;
        is_split = creations[at].is_split;
        candidates.emplace_back(creations[at].color, creations[at].key, i, members[i], at);
        at = creations[at].next;
      }
      if (is_split) std::sort(candidates.begin(), candidates.end());
      make_groups(candidates);
    }
  }

  // Communicators of comm_group: the n-th one that a rank makes from a list of ranks is the n-th on
  // every rank in the list.
  void make_listed_groups() {
    struct Listed {
      std::size_t joined = 0;
      std::vector<std::size_t> at;  // the creation of each member
    };
    std::map<std::pair<std::vector<std::int32_t>, std::size_t>, Listed> groups;
    for (std::size_t rank = 0; rank < creations_.size(); ++rank) {
      std::map<std::vector<std::int32_t>, std::size_t> turns;
      for (const GroupCreation& creation : creations_[rank].of_groups) {
        Listed& listed = groups[{creation.members, turns[creation.members]++}];
        listed.at.resize(creation.members.size(), kNone);
        for (std::size_t i = 0; i < creation.members.size(); ++i) {
          if (creation.members[i] != static_cast<std::int32_t>(rank)) continue;
          listed.joined += listed.at[i] == kNone ? 1 : 0;
          listed.at[i] = creation.at;
        }
      }
    }
    for (const auto& [key, listed] : groups) {
      if (listed.joined != key.first.size()) continue;  // not made by all of them
      std::vector<Candidate> candidates;
      for (std::size_t i = 0; i < listed.at.size(); ++i) {
        candidates.emplace_back(0, 0, i, key.first[i], listed.at[i]);
      }
      make_group(candidates);
    }
  }

  void make_groups(const std::vector<Candidate>& candidates) {
    for (std::size_t first = 0; first < candidates.size();) {
      std::size_t last = first;
      const std::int64_t color = std::get<0>(candidates[first]);
      while (last < candidates.size() && std::get<0>(candidates[last]) == color) ++last;
      if (color >= 0)
        make_group({candidates.begin() + static_cast<std::ptrdiff_t>(first),
                    candidates.begin() + static_cast<std::ptrdiff_t>(last)});
      first = last;
    }
  }

  void make_group(const std::vector<Candidate>& candidates) {
    std::vector<std::int32_t> members;
    std::vector<std::size_t> made_at;
    const auto group = static_cast<std::uint32_t>(result_.members_.size() + 1);
    const auto size = static_cast<std::int32_t>(candidates.size());
    for (const auto& [color, key, number, rank, at] : candidates) {
      result_.made_[static_cast<std::size_t>(rank)][at] = {
          group, static_cast<std::int32_t>(members.size()), size};
      members.push_back(rank);
      made_at.push_back(at + 1);
    }
    result_.members_.push_back(std::move(members));
    made_at_.push_back(std::move(made_at));
  }

  Communicators result_;
  std::vector<RankCreations> creations_;           // by rank
  std::vector<std::vector<std::size_t>> made_at_;  // by group: its creation on each rank
};

Communicators Communicators::of(const TraceSet& set, const Progress& progress) {
  return CommunicatorBuilder(set, progress).build();
}

CommunicatorView Communicators::made(std::int32_t rank, std::size_t index) const {
  const auto at = static_cast<std::size_t>(rank);
  if (at >= made_.size() || index >= made_[at].size()) return {kNoGroup, 0, 0};
  return made_[at][index];
}

std::int32_t Communicators::world_rank(std::uint32_t group, std::int32_t rank) const {
  if (group == 0 || rank < 0) return rank;
  const std::vector<std::int32_t>& members = members_[group - 1];
  return static_cast<std::size_t>(rank) < members.size() ? members[static_cast<std::size_t>(rank)]
                                                         : -1;
}

std::int32_t Communicators::size(std::uint32_t group) const {
  return group == 0 ? ranks_ : static_cast<std::int32_t>(members_[group - 1].size());
}

}  // namespace tisim
