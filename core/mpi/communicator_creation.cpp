#include "mpi/communicator_creation.hpp"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <string>

namespace tisim {

namespace {
std::size_t index_of(std::int32_t i) { return static_cast<std::size_t>(i); }

// Sequence number of the last collective that a rank of `parent` entered: during the creation of a
// communicator, the creating call.
std::uint64_t formation_number(const Communicator& parent, std::int32_t number) {
  return parent.entered[index_of(number)] - 1;
}
}  // namespace

const Formation::Member& CommunicatorCreation::member_of(const Rank& rank) const {
  const std::uint16_t parent = rank.collective.comm;
  const Communicator& communicator = communicators_[communicators_.index_of(rank, parent)];
  const std::int32_t number = communicators_.number_in(rank, parent);
  return communicator.formations.at(formation_number(communicator, number))
      .members[index_of(number)];
}

bool CommunicatorCreation::enter(Rank& rank, std::int32_t index) {
  if (rank.op.kind == Kind::comm_group) return enter_group(rank, index);
  const Call& call = runtime_.jobs.call_of(rank);
  const std::int32_t comm = communicators_.index_of(rank, rank.op.comm);
  const std::int32_t number = communicators_.number_in(rank, rank.op.comm);
  const bool split = rank.op.kind == Kind::comm_split;
  const auto id = static_cast<std::uint16_t>(call.arguments[1]);
  Formation::Member member;
  if (split) {
    member.color = static_cast<std::int32_t>(call.arguments[2]);
    member.key = static_cast<std::int64_t>(call.arguments[3]);
  }
  Communicator& parent = communicators_[comm];
  const std::uint64_t sequence = parent.entered.empty() ? 0 : parent.entered[index_of(number)];
  if (!communicators_.enter(rank, comm, number, call.operation, true)) return false;
  const auto [found, fresh] = parent.formations.try_emplace(sequence);
  Formation& formation = found->second;
  if (fresh) {
    formation.id = id;
    formation.first = index;
    formation.line = rank.op.line;
    formation.left = parent.size;
    formation.members.resize(index_of(parent.size));
    // A duplicate is fully known at once.
    if (!split) make_communicators(parent, formation);
  }
  // The ranks of a comm_idup cannot agree on an id without waiting.
  if (rank.op.kind != Kind::comm_idup) {
    check_same_id(rank, id, formation.id, formation.first, formation.line);
  }
  if (member.color >= 0) check_free_id(rank, id);
  if (split) formation.members[index_of(number)] = member;
  rank.collective = CollectiveOp(rank.op);
  if (rank.op.kind == Kind::comm_idup) {
    const Formation::Member& made = formation.members[index_of(number)];
    rank.optional_state().comms.push_back({id, made.comm, made.number});
    if (--formation.left == 0) parent.formations.erase(sequence);
    return true;
  }
  if (!split) return join_communicator(rank, index);
  rank.stage = number == 0 ? Stage::colors : Stage::groups;
  return collectives_.ask_schedule(rank, index, comm, number);
}

void CommunicatorCreation::check_same_id(const Rank& rank, std::uint16_t id,
                                         std::uint16_t id_of_first, std::int32_t first,
                                         std::uint32_t line) const {
  if (id_of_first == id) return;
  runtime_.jobs.fail(rank, "the new communicator is " + std::to_string(id) + " here, but " +
                               std::to_string(id_of_first) + " for rank " +
                               std::to_string(runtime_.ranks[first].number) + " (line " +
                               std::to_string(line) +
                               " of its trace); all ranks of the parent must use the same number");
}

void CommunicatorCreation::check_free_id(const Rank& rank, std::uint16_t id) const {
  if (id == 0)
    runtime_.jobs.fail(rank, "communicator 0 is the world; use another number for a new one");
  for (const Membership& membership : rank.comms()) {
    if (membership.id != id) continue;
    runtime_.jobs.fail(rank, "rank " + std::to_string(rank.number) + " is in a communicator " +
                                 std::to_string(id) +
                                 " already; comm_free it first or use another number");
  }
}

bool CommunicatorCreation::enter_group(Rank& rank, std::int32_t index) {
  const Call& call = runtime_.jobs.call_of(rank);
  const Communicator& world = communicators_[runtime_.jobs.of(rank).world];
  const auto id = static_cast<std::uint16_t>(call.arguments[1]);
  std::vector<std::int32_t> members;
  for (std::size_t i = 2; i < call.arguments.size(); ++i) {
    const double member = call.arguments[i];
    if (!(member >= 0 && member < world.size)) {
      runtime_.jobs.fail(rank, "the world has no rank " + std::to_string(member));
    }
    members.push_back(world.member(static_cast<std::int32_t>(member)));
  }
  const auto me = std::find(members.begin(), members.end(), rank.first + rank.number);
  if (me == members.end()) {
    runtime_.jobs.fail(rank, "the ranks of the new communicator do not include this one");
  }
  check_free_id(rank, id);
  const auto place = static_cast<std::size_t>(me - members.begin());
  ListedGroup& group = listed_group(rank, members, place);
  check_same_id(rank, id, group.id, group.first, group.line);
  const std::int32_t comm = group.comm;
  group.joined[place] = true;
  if (--group.left == 0) {
    const auto found = listed_.find(members);
    found->second.pop_front();
    if (found->second.empty()) listed_.erase(found);
  }
  rank.optional_state().comms.push_back({id, comm, static_cast<std::int32_t>(place)});
  rank.collective = CollectiveOp(rank.op);
  rank.stage = Stage::number;
  return collectives_.ask_schedule(rank, index, comm, static_cast<std::int32_t>(place));
}

// Returns the oldest such communicator that the rank has not joined: all ranks create them in the
// same order.
CommunicatorCreation::ListedGroup& CommunicatorCreation::listed_group(
    const Rank& rank, const std::vector<std::int32_t>& members, std::size_t place) {
  std::deque<ListedGroup>& groups = listed_[members];
  for (ListedGroup& group : groups) {
    if (!group.joined[place]) return group;
  }
  ListedGroup& fresh = groups.emplace_back();
  fresh.comm = communicators_.create();
  fresh.id = static_cast<std::uint16_t>(runtime_.jobs.call_of(rank).arguments[1]);
  fresh.first = rank.first + rank.number;
  fresh.line = rank.op.line;
  fresh.joined.resize(members.size());
  fresh.left = static_cast<std::int32_t>(members.size());
  Communicator& made = communicators_[fresh.comm];
  made.first = members.front();
  made.size = fresh.left;
  made.members = members;
  return fresh;
}

bool CommunicatorCreation::next_stage(Rank& rank, std::int32_t index) {
  if (rank.op.kind == Kind::comm_group) {
    rank.stage = Stage::none;
    return true;
  }
  const std::int32_t comm = communicators_.index_of(rank, rank.op.comm);
  const std::int32_t number = communicators_.number_in(rank, rank.op.comm);
  Communicator& parent = communicators_[comm];
  const std::uint64_t sequence = formation_number(parent, number);
  Formation& formation = parent.formations.at(sequence);
  switch (rank.stage) {
    case Stage::colors:
      make_communicators(parent, formation);
      rank.stage = Stage::groups;
      return collectives_.ask_schedule(rank, index, comm, number);
    case Stage::groups:
      if (joins(rank)) return join_communicator(rank, index);
      break;
    case Stage::number:
      break;
    case Stage::none:
    case Stage::parts:
    case Stage::transfer:
      throw std::logic_error("a rank that makes no communicator has ended a stage of that");
  }
  rank.stage = Stage::none;
  if (--formation.left == 0) parent.formations.erase(sequence);
  return true;
}

// The rank learns its new communicator and can use its id from here on.
bool CommunicatorCreation::join_communicator(Rank& rank, std::int32_t index) {
  const Formation::Member& member = member_of(rank);
  const Call& call = runtime_.jobs.collective_of(rank);
  rank.optional_state().comms.push_back(
      {static_cast<std::uint16_t>(call.arguments[1]), member.comm, member.number});
  rank.stage = Stage::number;
  return collectives_.ask_schedule(rank, index, member.comm, member.number);
}

// Makes one communicator per color, with ranks ordered by key, then by parent rank. In a duplicate
// all have the same color and key.
void CommunicatorCreation::make_communicators(const Communicator& parent, Formation& formation) {
  std::map<std::int32_t, std::vector<std::int32_t>> groups;  // by color
  for (std::int32_t i = 0; i < parent.size; ++i) {
    const std::int32_t color = formation.members[index_of(i)].color;
    if (color >= 0) groups[color].push_back(i);
  }
  for (auto& [color, group] : groups) {
    std::stable_sort(group.begin(), group.end(), [&](std::int32_t a, std::int32_t b) {
      return formation.members[index_of(a)].key < formation.members[index_of(b)].key;
    });
    const std::int32_t comm = communicators_.create();
    Communicator& made = communicators_[comm];
    made.size = static_cast<std::int32_t>(group.size());
    made.first = parent.member(group.front());
    bool consecutive = true;
    for (std::int32_t i = 0; i < made.size; ++i) {
      const std::int32_t place = group[index_of(i)];
      formation.members[index_of(place)].comm = comm;
      formation.members[index_of(place)].number = i;
      consecutive = consecutive && parent.member(place) == made.first + i;
    }
    if (consecutive) continue;
    for (const std::int32_t place : group) made.members.push_back(parent.member(place));
  }
}

// Lists the new communicators in order of their lowest parent ranks.
std::vector<std::vector<std::int32_t>> CommunicatorCreation::groups(const Question& asked) const {
  const Communicator& parent = communicators_[asked.comm];
  const std::vector<Formation::Member>& members =
      parent.formations.at(formation_number(parent, asked.number)).members;
  std::map<std::int32_t, std::size_t> places;  // index of each communicator in `groups`
  std::vector<std::vector<std::int32_t>> groups;
  for (std::int32_t i = 0; i < parent.size; ++i) {
    const Formation::Member& member = members[index_of(i)];
    if (member.comm < 0) continue;
    const auto [found, fresh] = places.try_emplace(member.comm, groups.size());
    if (fresh) groups.emplace_back(index_of(communicators_[member.comm].size));
    groups[found->second][index_of(member.number)] = i;
  }
  return groups;
}

}  // namespace tisim
