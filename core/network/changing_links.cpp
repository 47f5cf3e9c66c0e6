#include "network/changing_links.hpp"

#include <algorithm>
#include <utility>

#include "support/invariant.hpp"

namespace tisim {

using max_min::VariableType;

ChangingLinks::ChangingLinks(const PlatformData& platform, const FlowModel& model,
                             max_min::System& system, Flows& flows)
    : platform_(platform),
      model_(model),
      system_(system),
      flows_(flows),
      links_(platform.link_bandwidth.size()) {
  for (const ResourceProfile& profile : platform.profiles) {
    if (profile.is_link && profile.what != Quantity::state) at(profile.index).changes = true;
  }
}

bool ChangingLinks::any(const PlatformData& platform) {
  return std::any_of(platform.profiles.begin(), platform.profiles.end(),
                     [](const ResourceProfile& profile) {
                       return profile.is_link && profile.what != Quantity::state;
                     });
}

double ChangingLinks::delay(const Route& route) const {
  double delay = 0.0;
  for (const std::int32_t link : route.links) delay += links_[static_cast<std::size_t>(link)].delay;
  return delay;
}

void ChangingLinks::add_pair(std::int32_t pair, const FlowTerms& terms,
                             const std::vector<std::int32_t>& links) {
  register_pair(pair, {.terms = terms, .links = links, .old = {}});
}

void ChangingLinks::add_unpaid_pair(std::int32_t pair, std::int32_t of) {
  const RegisteredPair& paid = registered(of);
  register_pair(pair, {.terms = paid.terms, .links = paid.links, .pays_latency = false, .old = {}});
}

void ChangingLinks::register_pair(std::int32_t pair, RegisteredPair registered) {
  if (registered_.size() < system_.variables()) registered_.resize(system_.variables());
  this->registered(pair) = std::move(registered);
  for (const max_min::Element& element : system_.elements(system_.variable(pair))) {
    if (at(element.constraint).changes) at(element.constraint).pairs.push_back(pair);
  }
}

void ChangingLinks::set_bandwidth(std::int32_t link, double bandwidth) {
  const double before = system_.constraint(link).capacity;
  const double penalty = model_.penalty(bandwidth) - model_.penalty(before);
  system_.set_capacity(link, bandwidth);
  change_pairs(link, 0.0, penalty);
  if (system_.constraint(link).count > 0) system_.mark_dirty(link);
}

void ChangingLinks::set_latency(std::int32_t link, double latency) {
  const double platform = platform_.link_latency[static_cast<std::size_t>(link)];
  const double before = platform + at(link).delay;
  at(link).delay = latency - platform;
  change_pairs(link, latency - before, latency - before);
}

void ChangingLinks::change_pairs(std::int32_t link, double latency, double penalty) {
  std::vector<std::int32_t> moving;  // pairs whose flows started before this change
  std::vector<std::int32_t> fresh;
  for (const std::int32_t pair : at(link).pairs) {
    const bool is_old = registered(pair).is_old;
    if (!is_old) fresh.push_back(pair);
    if (is_old && system_.variable(pair).count > 0) moving.push_back(pair);
  }
  for (const std::int32_t pair : fresh) {
    if (system_.variable(pair).count > 0) moving.push_back(move_to_old_pair(pair));
    change_new_flows(pair, link, latency);
  }
  for (const std::int32_t pair : moving) change_active_flows(pair, latency, penalty);
}

// Moves the flows of a pair to an old pair and returns it.
std::int32_t ChangingLinks::move_to_old_pair(std::int32_t pair) {
  const std::int32_t old = old_pair(pair);
  registered(old).terms = registered(pair).terms;
  system_.take_over(pair, old);
  flows_.move_all(pair, old);
  return old;
}

// Returns a pair without flows that uses the same links.
std::int32_t ChangingLinks::old_pair(std::int32_t pair) {
  for (const std::int32_t old : registered(pair).old) {
    if (system_.variable(old).count == 0) return old;
  }
  system_.copy_elements(pair);
  const std::int32_t made = system_.add_variable({});
  flows_.add_pairs();
  register_pair(made, {.terms = {}, .links = {}, .is_old = true, .old = {}});
  registered(pair).old.push_back(made);
  return made;
}

void ChangingLinks::change_active_flows(std::int32_t pair, double latency, double penalty) {
  FlowTerms& terms = registered(pair).terms;
  terms.latency += latency;
  terms.penalty += penalty;
  const std::int32_t count = system_.variable(pair).count;
  system_.change_count(pair, -count);
  VariableType type = system_.type_of(system_.variable(pair));
  model_.change(terms, latency != 0, type);
  system_.set_type(pair, type);
  system_.change_count(pair, count);
}

void ChangingLinks::change_new_flows(std::int32_t pair, std::int32_t link, double latency) {
  RegisteredPair& registered = this->registered(pair);
  const auto times = std::count(registered.links.begin(), registered.links.end(), link);
  registered.terms = model_.terms(registered.links,
                                  registered.terms.latency + static_cast<double>(times) * latency);
  VariableType type = system_.type_of(system_.variable(pair));
  if (registered.pays_latency) type.latency = registered.terms.latency;
  model_.apply(registered.terms, type);
  system_.set_type(pair, type);
}

void ChangingLinks::verify() const {
  ensure(registered_.size() == system_.variables(),
         "every pair is registered with the changing links");
  std::vector<std::size_t> pairs(links_.size());
  for (std::size_t i = 0; i < registered_.size(); ++i) {
    const max_min::Variable& variable = system_.variable(static_cast<std::int32_t>(i));
    for (const max_min::Element& element : system_.elements(variable)) {
      ++pairs[static_cast<std::size_t>(element.constraint)];
    }
    for (const std::int32_t old : registered_[i].old) {
      ensure(registered_[static_cast<std::size_t>(old)].is_old,
             "the old pairs of a pair are marked as old");
    }
  }
  for (std::size_t i = 0; i < links_.size(); ++i) {
    const std::size_t known = links_[i].pairs.size();
    ensure(known == (links_[i].changes ? pairs[i] : 0), "a changing link lists all of its pairs");
  }
}

}  // namespace tisim
