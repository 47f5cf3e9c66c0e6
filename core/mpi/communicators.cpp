// Making and freeing communicators. SimGrid's MPI_Comm_split gathers colors and keys on rank 0,
// which tells each other rank its new communicator; the ranks of each new one, as those of a
// duplicate, then broadcast its number. So everybody has said what rank 0 needs before it needs it.

#include <algorithm>
#include <map>

#include "simulation/simulation.hpp"

namespace tisim {

const Membership& Simulation::membership(const Rank& rank, std::uint16_t id) const {
  for (const Membership& membership : rank.comms()) {
    if (membership.id == id) return membership;
  }
  fail(rank, "rank " + std::to_string(rank.number) + " is in no communicator " +
                 std::to_string(id) + " here; it is made by comm_split or comm_dup");
}

std::int32_t Simulation::comm_index(const Rank& rank, std::uint16_t id) const {
  return id == 0 ? jobs_[at(rank.job)].world : membership(rank, id).comm;
}

std::int32_t Simulation::number_in(const Rank& rank, std::uint16_t comm) const {
  return comm == 0 ? rank.number : membership(rank, comm).number;
}

std::int32_t Simulation::new_communicator() {
  auto index = static_cast<std::int32_t>(communicators_.size());
  if (free_.empty()) {
    communicators_.emplace_back();
  } else {
    index = free_.back();
    free_.pop_back();
  }
  communicators_[at(index)].context = 2 * contexts_++;
  return index;
}

// The number of the collective that a rank of `parent` has entered last: while a communicator is
// made, that one.
std::uint64_t Simulation::formation_of(const Communicator& parent, std::int32_t number) const {
  return parent.entered[at(number)] - 1;
}

const Formation::Member& Simulation::member_of(const Rank& rank) const {
  const std::uint16_t parent = rank.collective.comm;
  const Communicator& communicator = communicators_[at(comm_index(rank, parent))];
  const std::int32_t number = number_in(rank, parent);
  return communicator.formations.at(formation_of(communicator, number)).members[at(number)];
}

// A rank enters a comm_split or comm_dup.
bool Simulation::form_communicator(Rank& rank, std::int32_t index) {
  const Call& call = jobs_[at(rank.job)].calls[static_cast<std::uint32_t>(rank.op.call)];
  const std::int32_t comm = comm_index(rank, rank.op.comm);
  const std::int32_t number = number_in(rank, rank.op.comm);
  const bool split = rank.op.kind == Kind::comm_split;
  const auto id = static_cast<std::uint16_t>(call.arguments[1]);
  Formation::Member member;
  if (split) {
    member.color = static_cast<std::int32_t>(call.arguments[2]);
    member.key = static_cast<std::int64_t>(call.arguments[3]);
  }
  Communicator& parent = communicators_[at(comm)];
  const std::uint64_t sequence = parent.entered.empty() ? 0 : parent.entered[at(number)];
  if (!count_collective(rank, comm, number, call.operation, true)) return false;
  const auto [found, fresh] = parent.formations.try_emplace(sequence);
  Formation& formation = found->second;
  if (fresh) {
    formation.id = id;
    formation.first = index;
    formation.line = rank.op.line;
    formation.left = parent.size;
    formation.members.resize(at(parent.size));
    // Of a duplicate everything is known at once.
    if (!split) make_communicators(parent, formation);
  }
  check_formation(rank, formation, id, member.color >= 0);
  if (split) formation.members[at(number)] = member;
  rank.collective = CollectiveOp(rank.op);
  if (!split) return join_communicator(rank, index);
  rank.stage = number == 0 ? Stage::colors : Stage::groups;
  return ask_schedule(rank, index, comm, number);
}

void Simulation::check_formation(const Rank& rank, const Formation& formation, std::uint16_t id,
                                 bool joins) const {
  if (formation.id != id) {
    const Rank& first = ranks_[at(formation.first)];
    fail(rank, "the new communicator is " + std::to_string(id) + " here, but " +
                   std::to_string(formation.id) + " for rank " + std::to_string(first.number) +
                   " (line " + std::to_string(formation.line) +
                   " of its trace); all ranks of the parent give it the same number");
  }
  if (!joins) return;
  if (id == 0) fail(rank, "communicator 0 is the world, a new one needs another number");
  for (const Membership& membership : rank.comms()) {
    if (membership.id != id) continue;
    fail(rank, "rank " + std::to_string(rank.number) + " is in a communicator " +
                   std::to_string(id) + " already; comm_free it first or take another number");
  }
}

// The stage of a schedule that has ended is over.
bool Simulation::next_stage(Rank& rank, std::int32_t index) {
  const std::int32_t comm = comm_index(rank, rank.op.comm);
  const std::int32_t number = number_in(rank, rank.op.comm);
  Communicator& parent = communicators_[at(comm)];
  const std::uint64_t sequence = formation_of(parent, number);
  Formation& formation = parent.formations.at(sequence);
  switch (rank.stage) {
    case Stage::colors:
      make_communicators(parent, formation);
      rank.stage = Stage::groups;
      return ask_schedule(rank, index, comm, number);
    case Stage::groups:
      if (joins(rank)) return join_communicator(rank, index);
      break;
    default:
      break;
  }
  rank.stage = Stage::none;
  if (--formation.left == 0) parent.formations.erase(sequence);
  return true;
}

// The rank knows its new communicator: from now on it can name it.
bool Simulation::join_communicator(Rank& rank, std::int32_t index) {
  const Formation::Member& member = member_of(rank);
  const Call& call = call_of(rank);
  rank.its_own().comms.push_back(
      {static_cast<std::uint16_t>(call.arguments[1]), member.comm, member.number});
  rank.stage = Stage::number;
  return ask_schedule(rank, index, member.comm, member.number);
}

// One communicator for each color; ranks in the order of their keys, then of the parent. In a
// duplicate all have the same color and key.
void Simulation::make_communicators(const Communicator& parent, Formation& formation) {
  std::map<std::int32_t, std::vector<std::int32_t>> groups;  // by color
  for (std::int32_t i = 0; i < parent.size; ++i) {
    const std::int32_t color = formation.members[at(i)].color;
    if (color >= 0) groups[color].push_back(i);
  }
  for (auto& [color, group] : groups) {
    std::stable_sort(group.begin(), group.end(), [&](std::int32_t a, std::int32_t b) {
      return formation.members[at(a)].key < formation.members[at(b)].key;
    });
    const std::int32_t comm = new_communicator();
    Communicator& made = communicators_[at(comm)];
    made.size = static_cast<std::int32_t>(group.size());
    made.first = parent.member(group.front());
    bool consecutive = true;
    for (std::int32_t i = 0; i < made.size; ++i) {
      const std::int32_t place = group[at(i)];
      formation.members[at(place)].comm = comm;
      formation.members[at(place)].number = i;
      consecutive = consecutive && parent.member(place) == made.first + i;
    }
    if (consecutive) continue;
    for (const std::int32_t place : group) made.members.push_back(parent.member(place));
  }
}

// Ranks of the parent, in the order of the new ones; communicators by their lowest ranks.
std::vector<std::vector<std::int32_t>> Simulation::needed_groups() const {
  const Communicator& parent = communicators_[at(need_.comm)];
  const std::vector<Formation::Member>& members =
      parent.formations.at(formation_of(parent, need_.number)).members;
  std::map<std::int32_t, std::size_t> places;  // of the communicators
  std::vector<std::vector<std::int32_t>> groups;
  for (std::int32_t i = 0; i < parent.size; ++i) {
    const Formation::Member& member = members[at(i)];
    if (member.comm < 0) continue;
    const auto [found, fresh] = places.try_emplace(member.comm, groups.size());
    if (fresh) groups.emplace_back(at(communicators_[at(member.comm)].size));
    groups[found->second][at(member.number)] = i;
  }
  return groups;
}

// When its last member has freed a communicator, its place may be used again.
void Simulation::free_communicator(Rank& rank) {
  if (rank.op.comm == 0) fail(rank, "communicator 0 is the world, which cannot be freed");
  const std::int32_t comm = membership(rank, rank.op.comm).comm;
  Stack<Membership>& comms = rank.its_own().comms;
  const auto* const left = std::remove_if(comms.begin(), comms.end(),
                                          [comm](const Membership& m) { return m.comm == comm; });
  comms.resize(static_cast<std::size_t>(left - comms.begin()), {});
  Communicator& communicator = communicators_[at(comm)];
  if (++communicator.freed < communicator.size) return;
  communicator = Communicator{};
  free_.push_back(comm);
  released_.push_back(comm);
}

}  // namespace tisim
