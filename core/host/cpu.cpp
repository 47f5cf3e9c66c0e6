#include "host/cpu.hpp"

#include <algorithm>

namespace tisim {

Cpu::Cpu(const PlatformData& platform, double precision, Agenda& agenda)
    : platform_(platform),
      hosts_(platform.host_speed.size()),
      is_stale_(platform.host_speed.size()),
      precision_(precision),
      agenda_(agenda) {
  for (std::size_t i = 0; i < hosts_.size(); ++i) hosts_[i].speed = platform.host_speed[i];
}

void Cpu::advance_clock(Host& host, double now) {
  host.clock += host.rate * (now - host.updated);
  host.updated = now;
}

void Cpu::touch(std::int32_t index) {
  const auto at = static_cast<std::size_t>(index);
  if (is_stale_[at]) return;
  is_stale_[at] = true;
  stale_.push_back(index);
}

void Cpu::settle(double now) {
  for (const std::int32_t index : stale_) date_end(index, now);
  stale_.clear();
}

void Cpu::date_end(std::int32_t index, double now) {
  Host& host = hosts_[static_cast<std::size_t>(index)];
  is_stale_[static_cast<std::size_t>(index)] = false;
  if (host.running.empty()) {
    agenda_.remove_cpu(index);
    return;
  }
  const double all = host.speed * platform_.host_cores[static_cast<std::size_t>(index)];
  host.rate = std::min(host.speed, all / static_cast<double>(host.running.size()));
  const double left = host.running.front().finish - host.clock;
  agenda_.update_cpu(left > 0 ? now + left / host.rate : now, index);
}

void Cpu::start(std::int32_t index, double flops, std::int32_t owner, double now) {
  Host& host = hosts_[static_cast<std::size_t>(index)];
  if (host.running.empty()) {
    host.clock = 0.0;
    host.updated = now;
    host.running.push_back({flops, order_++, owner});
  } else {
    advance_clock(host, now);
    host.running.push_back({host.clock + flops, order_++, owner});
    std::push_heap(host.running.begin(), host.running.end(), later);
  }
  touch(index);
}

void Cpu::collect_ended(std::int32_t index, double now, Stack<std::int32_t>& owners) {
  Host& host = hosts_[static_cast<std::size_t>(index)];
  advance_clock(host, now);
  // The first has been dated to this instant; others that are as close as the precision go with it.
  const double done = host.clock + precision_ * host.rate;
  do {
    owners.push_back(host.running.front().owner);
    std::pop_heap(host.running.begin(), host.running.end(), later);
    host.running.pop_back();
  } while (!host.running.empty() && host.running.front().finish < done);
  if (!host.running.empty()) touch(index);
}

void Cpu::set_fraction(std::int32_t index, double fraction, double now) {
  Host& host = hosts_[static_cast<std::size_t>(index)];
  advance_clock(host, now);
  host.speed = fraction * platform_.host_speed[static_cast<std::size_t>(index)];
  touch(index);
}

bool Cpu::drop(std::int32_t index, std::int32_t owner, double now) {
  Host& host = hosts_[static_cast<std::size_t>(index)];
  const auto found =
      std::find_if(host.running.begin(), host.running.end(),
                   [owner](const Running& running) { return running.owner == owner; });
  if (found == host.running.end()) return false;
  advance_clock(host, now);
  host.running.erase(found);
  std::make_heap(host.running.begin(), host.running.end(), later);
  date_end(index, now);  // at once: the end that was dated may be of this instant
  return true;
}

void Cpu::list_owners(std::int32_t index, std::vector<std::int32_t>& owners) const {
  for (const Running& running : hosts_[static_cast<std::size_t>(index)].running) {
    owners.push_back(running.owner);
  }
}

void Cpu::list_starving(std::vector<std::int32_t>& hosts) const {
  for (std::size_t i = 0; i < hosts_.size(); ++i) {
    if (hosts_[i].speed <= 0 && !hosts_[i].running.empty()) {
      hosts.push_back(static_cast<std::int32_t>(i));
    }
  }
}

}  // namespace tisim
