// Reads and writes that share the disks of hosts (SimGrid's S19 model).
//
// A disk has a read bandwidth and a write bandwidth; reads and writes together get the larger of
// the two. Shares are max-min fair, so all reads of a disk have the same rate, and so do all its
// writes: a disk is two *channels*, each a resource with a virtual clock in bytes
// (resource/shared_resources.hpp). SimGrid 3.32 rounds the progress of each action to whole bytes
// at every event (disk_s19.cpp); nothing is rounded here (ADR 33).
//
// Invariant: after `settle`, the agenda contains the next end on every channel.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "clock/agenda.hpp"
#include "platform/routes.hpp"
#include "resource/shared_resources.hpp"
#include "support/stack.hpp"

namespace tisim {

enum class Access : std::uint8_t { read = 0, write = 1 };

// Rates of one read and one write of a disk, bytes/s, for given numbers of reads and writes.
struct DiskRates {
  double read = 0.0;
  double write = 0.0;

  static DiskRates of(double read_bandwidth, double write_bandwidth, std::size_t reads,
                      std::size_t writes) {
    const double both = std::max(read_bandwidth, write_bandwidth);
    const double readers = static_cast<double>(reads);
    const double writers = static_cast<double>(writes);
    const double fair = both / (readers + writers);
    DiskRates rates{read_bandwidth / readers, write_bandwidth / writers};  // infinite without users
    if (fair <= rates.read && fair <= rates.write) return {fair, fair};
    // The bottleneck of progressive filling comes first; the other side gets the rest.
    if (rates.read < rates.write) {
      rates.write = std::min(rates.write, (both - read_bandwidth) / writers);
    } else {
      rates.read = std::min(rates.read, (both - write_bandwidth) / readers);
    }
    return rates;
  }
};

class Disks {
 public:
  Disks(const PlatformData& platform, double precision, Agenda& agenda)
      : users_(2 * platform.disk_host.size()),
        channels_(
            bandwidths(platform), precision,
            {platform, agenda, users_, static_cast<std::int32_t>(platform.host_speed.size())}) {}
  Disks(const Disks&) = delete;
  Disks& operator=(const Disks&) = delete;

  // `owner` is notified of the end.
  void start(std::int32_t disk, Access kind, double bytes, std::int32_t owner, double now) {
    const std::int32_t index = 2 * disk + static_cast<std::int32_t>(kind);
    channels_.start(index, bytes, owner, now);
    ++users_[static_cast<std::size_t>(index)];
    channels_.disturb(other(index), now);
  }

  // Reschedules the ends, after all changes of an instant.
  void settle(double now) { channels_.settle(now); }
  bool is_settled() const { return channels_.is_settled(); }

  // Appends the owners of accesses ending at `now` (or within the precision) on the event's
  // channel.
  void collect_ended(std::int32_t event, double now, Stack<std::int32_t>& owners) {
    const std::int32_t index = event - hosts();
    const std::size_t before = owners.size();
    channels_.collect_ended(index, now, owners);
    leave(index, owners.size() - before, now);
  }

  // Removes an owner's accesses to a disk without notification. Returns false if it has none.
  bool drop(std::int32_t disk, std::int32_t owner, double now) {
    bool dropped = false;
    for (std::int32_t index = 2 * disk; index < 2 * disk + 2; ++index) {
      while (channels_.drop(index, owner, now)) {
        leave(index, 1, now);
        dropped = true;
      }
    }
    return dropped;
  }

  // Appends the owners of all accesses in progress on a disk.
  void list_owners(std::int32_t disk, std::vector<std::int32_t>& owners) const {
    channels_.list_owners(2 * disk, owners);
    channels_.list_owners(2 * disk + 1, owners);
  }

  // Throws BrokenInvariant if anything is out of order or overdue. Requires that everything is
  // settled.
  void verify(double now) const { channels_.verify(now); }

 private:
  struct Channels {
    const PlatformData& platform;
    Agenda& agenda;
    const std::vector<std::uint32_t>& users;  // number of users, by channel
    std::int32_t first_event;                 // events before it are those of hosts

    double rate(std::int32_t index, double, std::size_t) const {
      const auto disk = static_cast<std::size_t>(index / 2);
      const DiskRates rates =
          DiskRates::of(platform.disk_read_bandwidth[disk], platform.disk_write_bandwidth[disk],
                        users[2 * disk], users[2 * disk + 1]);
      return index % 2 == 0 ? rates.read : rates.write;
    }
    void set_end(std::int32_t index, double date) {
      agenda.update(date, EventType::disk, first_event + index);
    }
    void remove_end(std::int32_t index) { agenda.remove(EventType::disk, first_event + index); }
  };

  static std::vector<double> bandwidths(const PlatformData& platform) {
    std::vector<double> all;
    for (std::size_t i = 0; i < platform.disk_host.size(); ++i) {
      all.push_back(platform.disk_read_bandwidth[i]);
      all.push_back(platform.disk_write_bandwidth[i]);
    }
    return all;
  }
  static std::int32_t other(std::int32_t index) { return index ^ 1; }
  std::int32_t hosts() const { return channels_.policy().first_event; }

  // `count` users left a channel, so the other channel may get a larger share.
  void leave(std::int32_t index, std::size_t count, double now) {
    users_[static_cast<std::size_t>(index)] -= static_cast<std::uint32_t>(count);
    channels_.disturb(index, now);
    channels_.disturb(other(index), now);
  }

  std::vector<std::uint32_t> users_;
  SharedResources<Channels> channels_;
};

}  // namespace tisim
