#include "solver/local_part.hpp"

#include <algorithm>

namespace tisim::max_min {

void LocalPart::clear() {
  links_.clear();
  members_.clear();
  uses_.clear();
}

void LocalPart::add_member(std::int32_t index, const Variable& variable, const VariableType& type) {
  Member member;
  member.limit = variable.limit;
  member.limit_level = variable.limit * type.penalty;
  member.penalty = type.penalty;
  member.priority = type.priority;
  member.variable = index;
  member.first_use = static_cast<std::int32_t>(uses_.size());
  members_.push_back(member);
}

void LocalPart::add_use(std::int32_t index, const Variable& variable, const VariableType& type,
                        double weight) {
  Link& link = links_[static_cast<std::size_t>(index)];
  link.remaining += weight * variable.share * variable.solved_count;
  link.usage += weight * type.priority * variable.count;
  ++link.crossings;
  uses_.push_back({index, static_cast<std::int32_t>(members_.size()) - 1, link.last_use,
                   weight * variable.count});
  link.last_use = static_cast<std::int32_t>(uses_.size()) - 1;
}

void LocalPart::fill() {
  open_links();
  sort_by_limits();
  unfixed_ = members_.size();
  while (unfixed_ > 0) {
    const double level = lowest_level();
    if (!fix_bounded(level)) saturate(level);
  }
  sum_up();
}

void LocalPart::open_links() {
  levels_.clear();
  open_.clear();
  for (Member& member : members_) {
    member.fixed = false;
    levels_.push_back(LevelTree::kNone);
  }
  for (std::size_t i = 0; i < links_.size(); ++i) {
    Link& link = links_[i];
    link.level = kNotSaturated;
    link.open = -1;
    if (link.slack) continue;
    if (link.held) {
      limit_members(link);
      continue;
    }
    if (!(link.usage > precision_ && link.remaining > link.negligible)) {
      link.level = kUnknownLevel;
      continue;
    }
    const double level = link.remaining / link.usage;
    if (link.crossings == 1) {
      const auto member =
          static_cast<std::size_t>(uses_[static_cast<std::size_t>(link.last_use)].variable);
      double& lowest = levels_.unsorted(member);
      lowest = std::min(lowest, level);
    } else {
      link.open = static_cast<std::int32_t>(open_.size());
      open_.push_back(
          {link.remaining, link.usage, link.crossings, static_cast<std::int32_t>(i), false});
      levels_.push_back(level);
    }
  }
  levels_.build();
}

// To the level of a link that is held.
void LocalPart::limit_members(const Link& link) {
  if (link.before == kNotSaturated) return;
  for (std::int32_t i = link.last_use; i >= 0; i = use(i).next) {
    double& lowest = levels_.unsorted(static_cast<std::size_t>(use(i).variable));
    lowest = std::min(lowest, link.before);
  }
}

void LocalPart::sort_by_limits() {
  next_limit_ = 0;
  by_limit_.clear();
  for (std::size_t i = 0; i < members_.size(); ++i) {
    by_limit_.push_back(static_cast<std::int32_t>(i));
  }
  std::sort(by_limit_.begin(), by_limit_.end(), [this](std::int32_t a, std::int32_t b) {
    const double first = members_[static_cast<std::size_t>(a)].limit_level;
    const double second = members_[static_cast<std::size_t>(b)].limit_level;
    return first < second || (first == second && a < b);
  });
}

// Levels only rise as shares are fixed, so that one is updated when it is the lowest.
double LocalPart::lowest_level() {
  for (;;) {
    const std::size_t place = levels_.number_of_lowest();
    if (place < members_.size() || !open_[place - members_.size()].outdated) {
      return levels_.lowest();
    }
    update(place - members_.size());
  }
}

// The level of an open link.
double LocalPart::update(std::size_t index) {
  Open& open = open_[index];
  open.outdated = false;
  double level = LevelTree::kNone;
  if (open.unfixed > 0) {
    Link& link = links_[static_cast<std::size_t>(open.link)];
    if (open.usage > precision_ && open.remaining > link.negligible) {
      level = open.remaining / open.usage;
    } else {
      link.level = kUnknownLevel;
    }
  }
  levels_.set(members_.size() + index, level);
  return level;
}

// Limits below a level, as `ProgressiveFilling::fix_bounded` takes them.
bool LocalPart::fix_bounded(double level) {
  while (next_limit_ < by_limit_.size() &&
         members_[static_cast<std::size_t>(by_limit_[next_limit_])].fixed) {
    ++next_limit_;
  }
  const double lowest = members_[static_cast<std::size_t>(by_limit_[next_limit_])].limit_level;
  if (lowest >= level) return false;
  const double most = lowest < level - precision_ ? level - precision_ : lowest + precision_;
  bool any = false;
  for (std::size_t i = next_limit_; i < by_limit_.size(); ++i) {
    const auto index = static_cast<std::size_t>(by_limit_[i]);
    if (!(members_[index].limit_level < most)) break;
    if (members_[index].fixed) continue;
    any = true;
    fix(index, members_[index].limit);
  }
  return any;
}

void LocalPart::saturate(double lowest) {
  const double level = lowest < LevelTree::kNone ? known_.find_or_add(lowest) : lowest;
  const double same = std::max(level, lowest) * (1 + tolerance::kSameSaturation);
  saturated_.clear();
  levels_.append_within(same, saturated_);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < saturated_.size(); ++i) {
    const auto index = static_cast<std::size_t>(saturated_[i]);
    if (index >= members_.size() && open_[index - members_.size()].outdated &&
        !(update(index - members_.size()) <= same)) {
      continue;
    }
    saturated_[kept++] = saturated_[i];
  }
  for (std::size_t i = 0; i < kept; ++i) {
    const auto index = static_cast<std::size_t>(saturated_[i]);
    if (index < members_.size()) {
      if (!members_[index].fixed) fix(index, level * members_[index].priority);
      continue;
    }
    const Open& open = open_[index - members_.size()];
    // Others that saturate at this level may have fixed all of its variables.
    Link& link = links_[static_cast<std::size_t>(open.link)];
    link.level = level;
    if (open.unfixed == 0) continue;
    for (std::int32_t use = link.last_use; use >= 0;
         use = uses_[static_cast<std::size_t>(use)].next) {
      const auto member = static_cast<std::size_t>(uses_[static_cast<std::size_t>(use)].variable);
      if (!members_[member].fixed) fix(member, level * members_[member].priority);
    }
  }
}

void LocalPart::fix(std::size_t index, double share) {
  Member& member = members_[index];
  member.fixed = true;
  member.share = share;
  levels_.set(index, LevelTree::kNone);
  --unfixed_;
  const std::size_t end = uses_end(index);
  for (auto i = static_cast<std::size_t>(member.first_use); i < end; ++i) {
    const Use& use = uses_[i];
    const std::int32_t place = links_[static_cast<std::size_t>(use.link)].open;
    if (place < 0) continue;
    Open& open = open_[static_cast<std::size_t>(place)];
    open.remaining -= use.weight * share;
    open.usage -= use.weight * member.priority;
    --open.unfixed;
    open.outdated = true;
  }
}

double LocalPart::highest_level(const Link& link) const {
  double highest = 0.0;
  for (std::int32_t i = link.last_use; i >= 0; i = use(i).next) {
    const Member& crossing = member(use(i));
    highest = std::max(highest, crossing.share * crossing.penalty);
  }
  return highest;
}

// The rest of each link, and which of those with one variable saturated.
void LocalPart::sum_up() {
  for (Link& link : links_) {
    if (link.open >= 0) {
      link.left = open_[static_cast<std::size_t>(link.open)].remaining;
      continue;
    }
    link.left = link.remaining;
    for (std::int32_t i = link.last_use; i >= 0; i = uses_[static_cast<std::size_t>(i)].next) {
      const Use& use = uses_[static_cast<std::size_t>(i)];
      const Member& member = members_[static_cast<std::size_t>(use.variable)];
      link.left -= use.weight * member.share;
    }
    if (link.crossings != 1 || link.slack || link.held || link.level == kUnknownLevel) continue;
    const Use& use = uses_[static_cast<std::size_t>(link.last_use)];
    const Member& member = members_[static_cast<std::size_t>(use.variable)];
    const double level = member.share * member.penalty;
    if (link.remaining / link.usage <= level * (1 + tolerance::kSameLevel)) link.level = level;
  }
}

}  // namespace tisim::max_min
