// Clusters for the training run: hosts with their own cables, behind one backbone or with limiters.
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
  explicit ClusterBuilder(std::int32_t hosts) : hosts_(hosts) {}

  // One cable a host for both directions; all share a backbone. SMPI's default factors.
  Machine with_backbone() {
    add_link(2.25e9, 5e-4);
    for (std::int32_t host = 0; host < hosts_; ++host) {
      add_link(1.25e8, 5e-5);
      add_host(1e9);
    }
    data_.zones = test::one_cluster({}, hosts_, true);
    Model model = default_model();
    model.bandwidth_factor = {0.8, {256, 1425, 5775, 65471}, {0.34, 0.6, 1.08, 0.94}};
    model.latency_factor = {2.0, {256, 3483, 15423, 65471}, {1.95, 1.9, 3.5, 11.6}};
    return finish(std::move(model));
  }

  // Each direction has a cable, and a limiter bounds what both move. Overheads of sends.
  Machine with_limiters() {
    for (std::int32_t host = 0; host < hosts_; ++host) {
      add_link(1.875e8, 0);
      add_link(1.25e8, 1.5e-5);
      add_link(1.25e8, 1.5e-5);
      add_host(3.68e9);
    }
    data_.zones = test::one_cluster({.limiter = true, .is_split = true}, hosts_, false);
    Model model = default_model();
    model.eager_threshold = 65536;
    model.detached_threshold = 327680;
    model.bandwidth_factor = {0.4, {1420, 32768}, {0.91, 1.07}};
    model.latency_factor = {1.35, {1420, 32768, 65536}, {3.4, 5.7, 12.0}};
    const OverheadTable table{{0, 1420, 65536}, {9e-6, 1.4e-5, 2e-4}, {7e-10, 3e-10, 0}};
    model.overheads = {Overheads{table, table, table}};
    return finish(std::move(model));
  }

 private:
  void add_link(double bandwidth, double latency) {
    data_.link_bandwidth.push_back(bandwidth);
    data_.link_latency.push_back(latency);
    data_.link_fatpipe.push_back(0);
  }

  void add_host(double speed) {
    data_.host_speed.push_back(speed);
    data_.host_cores.push_back(1);
  }

  Machine finish(Model model) {
    return {std::make_shared<const PlatformData>(std::move(data_)), std::move(model)};
  }

  std::int32_t hosts_;
  PlatformData data_;
};

}  // namespace tisim::training
