// The parameters of the network, CPU and protocol models.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tisim {

// A size-dependent factor: the value of the largest boundary below the size, or `first` for sizes
// up to the first boundary.
struct StepTable {
  double first{};
  std::vector<double> boundary;
  std::vector<double> value;

  double at(double size) const {
    double current = first;
    for (std::size_t i = 0; i < boundary.size() && size > boundary[i]; ++i) current = value[i];
    return current;
  }
};

// Overhead of a call in seconds: base + per_byte * size, for the segment that contains the size. Up
// to the first boundary the first segment applies (SimGrid 3.32, smpi_host.cpp).
struct OverheadTable {
  std::vector<double> boundary;
  std::vector<double> base;
  std::vector<double> per_byte;

  double at(double size) const {
    if (boundary.empty()) return 0.0;
    const std::size_t segment = segment_of(size);
    return base[segment] + per_byte[segment] * size;
  }
  // Without the per-byte part.
  double base_at(double size) const { return boundary.empty() ? 0.0 : base[segment_of(size)]; }
  std::size_t segment_of(double size) const {
    std::size_t segment = 0;
    for (std::size_t i = 1; i < boundary.size() && size > boundary[i]; ++i) segment = i;
    return segment;
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

// The parameters of a simulation. Values come from `tisim/config`, which defines the defaults:
// there are none here.
struct Model {
  // Network (SimGrid 3.32, network_cm02.cpp, network_smpi.cpp)
  StepTable latency_factor;
  StepTable bandwidth_factor;
  double weight_s{};           // bytes: weight of 1 / bandwidth of a link relative to latencies
  double tcp_gamma{};          // bytes of the largest TCP window; 0: latency does not bound rates
  bool crosstraffic{};         // a flow puts 5 % of its rate on the reverse route
  double envelope{};           // bytes added to every MPI message
  std::string ordering;        // of messages between two ranks: "fair" or "fifo"
  std::int64_t send_buffer{};  // bytes that a FIFO connection buffers for its sender
  double precision_timing{};   // seconds; closer dates are the same instant
  double precision_maxmin{};   // closer shares are equal
  double network_tolerance{};  // fraction of a bandwidth below which changes in use are ignored

  // MPI protocol (SimGrid 3.32, smpi_request.cpp)
  std::int64_t eager_threshold{};     // bytes; a smaller message moves when it is sent
  std::int64_t detached_threshold{};  // bytes; a smaller message does not block its sender
  std::vector<Overheads> overheads;   // by PlatformData::host_overheads; the first: other hosts
  std::string rendezvous;             // over FIFO connections: "put", "put-ack", "get" or "send"
  std::int64_t fragment_bytes{};      // size of the fragments of a body
  std::int64_t fragments_queued{};    // maximum number queued at once
  std::string rma;                    // windows: "simgrid", "rdma", "openmpi" or "mpich"
  double test_sleep{};                // seconds of a failed test
  double iprobe_sleep{};              // seconds of a failed probe
  double iprobe_cpu_usage{};          // fraction of a core used by a probe
  bool grow_injected_times{};         // failed tests and probes take increasingly long
  bool simulate_computation{};
  double init_sleep{};           // seconds, before a rank's first action
  bool barrier_finalization{};   // a barrier after a rank's last action
  std::uint32_t synchronised{};  // bit set of operations before which all ranks synchronise
  bool two_phase{};              // collective reads and writes of files are executed by algorithms
  bool overlaps_splits{};        // a split collective call starts each rank's own part
  // Data sieving for views with holes: buffer size in bytes; 0: none.
  std::int64_t sieve_reads{};
  std::int64_t sieve_writes{};

  // Jitter: maximum delay of a rank's start and barrier exit in seconds, and maximum relative
  // change of a message's size, drawn from a seed.
  double jitter_start{};
  double jitter_barrier{};
  double jitter_size{};
  std::uint64_t jitter_seed{};

  // Approximate limit of the cached schedules of collectives, in operations (24 bytes each).
  std::size_t kept_operations{};
};

// Calls visit(name, field) for every field. The bindings read a model through this, so a new field
// needs no code there; one missing here does not compile.
template <class AnyModel, class Visit>
void for_each_field(AnyModel& model, Visit&& visit) {
  auto& [latency_factor, bandwidth_factor, weight_s, tcp_gamma, crosstraffic, envelope, ordering,
         send_buffer, precision_timing, precision_maxmin, network_tolerance, eager_threshold,
         detached_threshold, overheads, rendezvous, fragment_bytes, fragments_queued, rma,
         test_sleep, iprobe_sleep, iprobe_cpu_usage, grow_injected_times, simulate_computation,
         init_sleep, barrier_finalization, synchronised, two_phase, overlaps_splits, sieve_reads,
         sieve_writes, jitter_start, jitter_barrier, jitter_size, jitter_seed, kept_operations] =
      model;
  visit("latency_factor", latency_factor);
  visit("bandwidth_factor", bandwidth_factor);
  visit("weight_s", weight_s);
  visit("tcp_gamma", tcp_gamma);
  visit("crosstraffic", crosstraffic);
  visit("envelope", envelope);
  visit("ordering", ordering);
  visit("send_buffer", send_buffer);
  visit("precision_timing", precision_timing);
  visit("precision_maxmin", precision_maxmin);
  visit("network_tolerance", network_tolerance);
  visit("eager_threshold", eager_threshold);
  visit("detached_threshold", detached_threshold);
  visit("overheads", overheads);
  visit("rendezvous", rendezvous);
  visit("fragment_bytes", fragment_bytes);
  visit("fragments_queued", fragments_queued);
  visit("rma", rma);
  visit("test_sleep", test_sleep);
  visit("iprobe_sleep", iprobe_sleep);
  visit("iprobe_cpu_usage", iprobe_cpu_usage);
  visit("grow_injected_times", grow_injected_times);
  visit("simulate_computation", simulate_computation);
  visit("init_sleep", init_sleep);
  visit("barrier_finalization", barrier_finalization);
  visit("synchronised", synchronised);
  visit("two_phase", two_phase);
  visit("overlaps_splits", overlaps_splits);
  visit("sieve_reads", sieve_reads);
  visit("sieve_writes", sieve_writes);
  visit("jitter_start", jitter_start);
  visit("jitter_barrier", jitter_barrier);
  visit("jitter_size", jitter_size);
  visit("jitter_seed", jitter_seed);
  visit("kept_operations", kept_operations);
}

// Throws std::invalid_argument, naming the field, if a value is out of range.
void check(const Model& model);

}  // namespace tisim
