// Clusters to train on: hosts on cables of their own, behind one backbone or with a limiter each.
#pragma once

#include <cstdint>
#include <memory>

#include "core/model_testing.hpp"
#include "platform/model.hpp"
#include "platform/routes.hpp"

namespace tisim::training {

struct Machine {
  std::shared_ptr<const PlatformData> platform;
  Model model;
};

// As configurations are by default, but for the factors.
inline Model default_model() {
  Model model = test::plain_model();
  model.weight_s = 8775;
  model.tcp_gamma = 4194304;
  model.crosstraffic = true;
  return model;
}

class ClusterBuilder {
 public:
  explicit ClusterBuilder(std::int32_t hosts) : hosts_(hosts) { data_.segment_offset = {0}; }

  // One cable a host for both directions; all share a backbone. SMPI's default factors.
  Machine with_backbone() {
    const std::int32_t backbone = link(2.25e9, 5e-4);
    const std::int32_t middle = segment({backbone});
    for (std::int32_t host = 0; host < hosts_; ++host) {
      const std::int32_t cable = segment({link(1.25e8, 5e-5)});
      add_host(1e9, cable, cable);
    }
    Model model = default_model();
    model.bandwidth_factor = {0.8, {256, 1425, 5775, 65471}, {0.34, 0.6, 1.08, 0.94}};
    model.latency_factor = {2.0, {256, 3483, 15423, 65471}, {1.95, 1.9, 3.5, 11.6}};
    return finish(middle, std::move(model));
  }

  // Each direction has a cable, and a limiter bounds what both move. Overheads of sends.
  Machine with_limiters() {
    const std::int32_t middle = segment({});
    for (std::int32_t host = 0; host < hosts_; ++host) {
      const std::int32_t limiter = link(1.875e8, 0);
      const std::int32_t up = segment({link(1.25e8, 1.5e-5), limiter});
      const std::int32_t down = segment({limiter, link(1.25e8, 1.5e-5)});
      add_host(3.68e9, up, down);
    }
    Model model = default_model();
    model.eager_threshold = 65536;
    model.detached_threshold = 327680;
    model.bandwidth_factor = {0.4, {1420, 32768}, {0.91, 1.07}};
    model.latency_factor = {1.35, {1420, 32768, 65536}, {3.4, 5.7, 12.0}};
    const OverheadTable table{{0, 1420, 65536}, {9e-6, 1.4e-5, 2e-4}, {7e-10, 3e-10, 0}};
    model.overheads = {Overheads{table, table, table}};
    return finish(middle, std::move(model));
  }

 private:
  std::int32_t link(double bandwidth, double latency) {
    data_.link_bandwidth.push_back(bandwidth);
    data_.link_latency.push_back(latency);
    data_.link_fatpipe.push_back(0);
    return static_cast<std::int32_t>(data_.link_bandwidth.size()) - 1;
  }

  std::int32_t segment(std::initializer_list<std::int32_t> links) {
    double latency = 0.0;
    for (const std::int32_t link : links) {
      data_.segment_links.push_back(link);
      latency += data_.link_latency[static_cast<std::size_t>(link)];
    }
    data_.segment_offset.push_back(static_cast<std::int64_t>(data_.segment_links.size()));
    data_.segment_latency.push_back(latency);
    return static_cast<std::int32_t>(data_.segment_latency.size()) - 1;
  }

  void add_host(double speed, std::int32_t up, std::int32_t down) {
    data_.host_speed.push_back(speed);
    data_.host_cores.push_back(1);
    data_.host_group.push_back(0);
    data_.host_up.push_back(up);
    data_.host_down.push_back(down);
    data_.host_loopback.push_back(-1);
  }

  Machine finish(std::int32_t middle, Model model) {
    data_.middle.emplace(PlatformData::key(0, 0), middle);
    return {std::make_shared<const PlatformData>(std::move(data_)), std::move(model)};
  }

  std::int32_t hosts_;
  PlatformData data_;
};

}  // namespace tisim::training
