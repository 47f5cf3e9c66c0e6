#include "solver/local_part.hpp"

#include <algorithm>

namespace tisim::max_min {

void LocalPart::clear() {
  links_.clear();
  members_.clear();
  uses_.clear();
  limits_.clear();
  next_levels_.clear();
  restart_requested_ = false;
}

void LocalPart::clear_and_release() {
  clear();
  members_.clear_and_release();
  uses_.clear_and_release();
  limits_.clear_and_release();
}

std::int32_t LocalPart::add_link(const Link& link) {
  links_.push_back(link);
  next_levels_.add(next_level(link));
  return static_cast<std::int32_t>(links_.size()) - 1;
}

void LocalPart::add_member(std::int32_t index, const Variable& variable, const VariableType& type) {
  Member member;
  member.limit = variable.limit;
  member.limit_level = variable.limit * type.penalty;
  member.penalty = type.penalty;
  member.priority = type.priority;
  member.before = variable.share;
  if (variable.solved_count != variable.count) {
    member.before *= static_cast<double>(variable.solved_count) / variable.count;
  }
  member.variable = index;
  member.first_use = static_cast<std::int32_t>(uses_.size());
  members_.push_back(member);
  limits_.push_back({member.limit_level, static_cast<std::int32_t>(members_.size()) - 1});
  std::push_heap(limits_.begin(), limits_.end());
}

// Adds a use of a link by a member without a share.
void LocalPart::attach(std::int32_t number, const Member& member) {
  Use& use = uses_[static_cast<std::size_t>(number)];
  const auto place = static_cast<std::size_t>(use.link);
  Link& link = links_[place];
  link.remaining += use.weight * member.before;
  link.usage += use.weight * member.priority;
  --link.outside;
  ++link.unfixed;
  use.next = link.last_use;
  link.last_use = number;
  // An outdated level remains a lower bound unless the new level is lower.
  const double next = next_level(link);
  if (!link.outdated || next < next_levels_[place]) {
    link.outdated = false;
    next_levels_.set(place, next);
  }
}

bool LocalPart::rise(Stack<std::int32_t>& due) {
  due.clear();
  if (restart_requested_) reset_shares();
  double lowest = lowest_level();
  while (fix_limited(lowest)) lowest = lowest_level();
  if (lowest == LevelTree::kNone) return false;
  level_ = known_.find_or_add(lowest);
  const double same = std::max(level_, lowest) * (1 + tolerance::kSameSaturation);
  next_levels_.append_within(same, due);
  std::size_t kept = 0;
  for (const std::int32_t number : due) {
    const auto place = static_cast<std::size_t>(number);
    if (links_[place].outdated) update(links_[place]);
    if (next_levels_[place] <= same) due[kept++] = number;
  }
  due.resize(kept, -1);
  return true;
}

void LocalPart::reset_shares() {
  restart_requested_ = false;
  limits_.clear();
  for (std::size_t i = 0; i < members_.size(); ++i) {
    Member& member = members_[i];
    limits_.push_back({member.limit_level, static_cast<std::int32_t>(i)});
    if (!member.fixed) continue;
    member.fixed = false;
    const std::size_t end = uses_end(i);
    for (auto j = static_cast<std::size_t>(member.first_use); j < end; ++j) {
      const Use& use = uses_[j];
      if (use.link < 0) continue;
      Link& link = links_[static_cast<std::size_t>(use.link)];
      link.remaining += use.weight * member.share;
      link.usage += use.weight * member.priority;
      ++link.unfixed;
    }
  }
  std::make_heap(limits_.begin(), limits_.end());
  for (Link& link : links_) {
    link.level = kNotSaturated;
    update(link);
  }
}

void LocalPart::update(Link& link) {
  link.outdated = false;
  if (link.unfixed > 0 && link.usage <= precision_) link.level = kUnknownLevel;
  reschedule(link);
}

// Levels only rise as shares are fixed, so a level is updated only when it is the lowest.
double LocalPart::lowest_level() {
  for (;;) {
    const std::size_t place = next_levels_.number_of_lowest();
    const double lowest = next_levels_[place];
    if (lowest == LevelTree::kNone || !links_[place].outdated) return lowest;
    update(links_[place]);
  }
}

// Fixes limits below a level, like `ProgressiveFilling::fix_bounded`.
bool LocalPart::fix_limited(double level) {
  const auto drop_lowest = [this] {
    std::pop_heap(limits_.begin(), limits_.end());
    limits_.pop_back();
  };
  const auto is_fixed = [this](const Limit& limit) {
    return members_[static_cast<std::size_t>(limit.member)].fixed;
  };
  while (!limits_.empty() && is_fixed(limits_[0])) drop_lowest();
  if (limits_.empty() || limits_[0].level >= level) return false;
  const double lowest = limits_[0].level;
  const double most = lowest < level - precision_ ? level - precision_ : lowest + precision_;
  bool any = false;
  for (; !limits_.empty() && limits_[0].level < most; drop_lowest()) {
    const auto member = static_cast<std::size_t>(limits_[0].member);
    if (members_[member].fixed) continue;
    any = true;
    fix(member, members_[member].limit);
  }
  return any;
}

void LocalPart::saturate(const Stack<std::int32_t>& due) {
  for (const std::int32_t index : due) {
    Link& link = links_[static_cast<std::size_t>(index)];
    if (link.unfixed > 0 && !(link.remaining > link.negligible)) {
      link.level = kUnknownLevel;
    } else {
      link.level = level_;
      // Other links that saturate at this level may have fixed all its variables.
      for (std::int32_t i = link.unfixed > 0 ? link.last_use : -1; i >= 0; i = use(i).next) {
        const auto member = static_cast<std::size_t>(use(i).variable);
        if (!members_[member].fixed) fix(member, level_ * members_[member].priority);
      }
    }
    link.outdated = false;
    next_levels_.set(static_cast<std::size_t>(index), LevelTree::kNone);
  }
}

void LocalPart::fix(std::size_t index, double share) {
  Member& member = members_[index];
  member.fixed = true;
  member.share = share;
  const std::size_t end = uses_end(index);
  for (auto i = static_cast<std::size_t>(member.first_use); i < end; ++i) {
    const Use& use = uses_[i];
    if (use.link < 0) continue;
    Link& link = links_[static_cast<std::size_t>(use.link)];
    link.remaining -= use.weight * share;
    link.usage -= use.weight * member.priority;
    --link.unfixed;
    link.outdated = true;
  }
}

}  // namespace tisim::max_min
