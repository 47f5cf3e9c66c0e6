// The parameters of the network, CPU and protocol models, as Python hands them over.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tisim {

// A factor that changes with the size of a message: the value of the largest boundary below the
// size, `first` at or below the first boundary.
struct StepTable {
  double first = 1.0;
  std::vector<double> boundary;
  std::vector<double> value;

  double at(double size) const {
    double current = first;
    for (std::size_t i = 0; i < boundary.size() && size > boundary[i]; ++i) current = value[i];
    return current;
  }
};

// Seconds that a call injects: base + per_byte * size of the segment of the size. At or below the
// first boundary the first segment holds (SimGrid 3.32, smpi_host.cpp).
struct OverheadTable {
  std::vector<double> boundary;
  std::vector<double> base;
  std::vector<double> per_byte;

  double at(double size) const {
    if (boundary.empty()) return 0.0;
    std::size_t segment = 0;
    for (std::size_t i = 1; i < boundary.size() && size > boundary[i]; ++i) segment = i;
    return base[segment] + per_byte[segment] * size;
  }

  bool is_zero() const {
    for (std::size_t i = 0; i < base.size(); ++i) {
      if (base[i] != 0.0 || per_byte[i] != 0.0) return false;
    }
    return true;
  }
};

struct Overheads {
  OverheadTable send;     // smpi/os
  OverheadTable isend;    // smpi/ois
  OverheadTable receive;  // smpi/or
};

struct Model {
  // Network (network_cm02.cpp, network_smpi.cpp)
  StepTable latency_factor;
  StepTable bandwidth_factor;
  double weight_s = 8775.0;        // bytes, network/weight-S
  double tcp_gamma = 4194304.0;    // bytes, 0: no bound from the latency
  bool crosstraffic = true;        // the reverse route is loaded by 5 %
  double envelope = 16.0;          // bytes added to every MPI message
  double precision_timing = 1e-9;  // seconds; dates closer than this are one instant
  double precision_maxmin = 1e-5;

  // MPI protocol (smpi_request.cpp)
  std::int64_t eager_threshold = 0;
  std::int64_t detached_threshold = 65536;
  std::vector<Overheads> overheads = std::vector<Overheads>(1);  // the first: all other hosts
  double test_sleep = 1e-4;
  double iprobe_sleep = 1e-4;
  double iprobe_cpu_usage = 1.0;
  bool grow_injected_times = true;
  bool simulate_computation = true;
  double init_sleep = 0.0;            // seconds, before a rank's first action
  bool barrier_finalization = false;  // a barrier after a rank's last action
  std::uint32_t synchronised = 0;     // operations (bits) before which all ranks meet, for free

  // Schedules of collectives are kept up to about so many operations (of 24 bytes).
  std::size_t kept_operations = std::size_t{1} << 22;
};

}  // namespace tisim
