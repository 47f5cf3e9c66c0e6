#include "simulation/failures.hpp"

#include <algorithm>

#include "support/invariant.hpp"

namespace tisim {

void Failures::turn_link(std::int32_t link, bool on) {
  transfers_.turn_link(link, on);
  if (on) return;
  lose(transfers_.over_link(link), {Loss::Cause::link, link, runtime_.clock.now()});
}

void Failures::turn_host(std::int32_t host, bool on) {
  if (transfers_.is_host_off(host) == !on) return;
  transfers_.turn_host(host, on);
  if (on) return;
  const double now = runtime_.clock.now();
  for (std::size_t i = 0; i < runtime_.ranks.size(); ++i) {
    const auto index = static_cast<std::int32_t>(i);
    const Rank& rank = runtime_.ranks[index];
    if (rank.host == host && rank.phase != Phase::not_started) kill(index, host);
  }
  std::vector<std::int32_t> owners;
  runtime_.cpu.list_owners(host, owners);
  std::sort(owners.begin(), owners.end());
  for (const std::int32_t owner : owners) {
    runtime_.cpu.drop(host, owner, now);
    activities_.fail(~owner);
  }
  activities_.turn_disks_off(host);
  lose(transfers_.at_host(host), {Loss::Cause::host, host, now});
}

void Failures::kill(std::int32_t index, std::int32_t host) {
  Rank& rank = runtime_.ranks[index];
  const double now = runtime_.clock.now();
  if (rank.phase == Phase::finished || is_dead(rank)) return;
  if (runtime_.log.is_open()) {
    runtime_.log.continue_rank(index, static_cast<std::uint8_t>(rank.phase), now);
    runtime_.log.stop_rank(index, now);
  }
  if (rank.phase == Phase::computing) rank.compute += now - rank.since;
  runtime_.cpu.drop(rank.host, index, now);
  files_.abandon(index);
  rank.phase = Phase::dying;
  rank.finish = now;
  deaths_.push_back({index, now, host});
  std::vector<std::int32_t> owners = transfers_.of_messages();
  std::erase_if(owners, [&](std::int32_t owner) {
    const Message& message = matcher_.message(transfers_.message_of(owner));
    return message.source != index && message.destination != index;
  });
  lose(owners, {Loss::Cause::rank, index, now});
  runtime_.clock.wake(index);
}

void Failures::lose(const std::vector<std::int32_t>& owners, const Loss& loss) {
  for (const std::int32_t owner : owners) {
    const std::int32_t message = owner < 0 ? -1 : transfers_.message_of(owner);
    transfers_.stop(owner);
    if (owner < 0) {
      activities_.fail(~owner);
    } else {
      transfers_.note_loss(message, loss);
    }
  }
}

void Failures::verify() const {
  for (const Death& death : deaths_) {
    ensure(is_dead(runtime_.ranks[death.rank]), "a rank that was killed stays dead");
    ensure(death.date <= runtime_.clock.now(), "no rank dies in the future");
  }
}

}  // namespace tisim
