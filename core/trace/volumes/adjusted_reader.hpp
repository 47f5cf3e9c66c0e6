// A reader whose computations have other volumes than the trace: noise, speedups, drawn volumes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "trace/reader.hpp"
#include "trace/volumes/compute_noise.hpp"
#include "trace/volumes/speedups.hpp"
#include "trace/volumes/volume_factors.hpp"

namespace tisim {

// Decorates any reader. Factors come first, for they go by what the trace says, and then speedups,
// so that the noise is that of the real computation. `factors` must outlive the reader.
class AdjustedReader final : public RankReader {
 public:
  AdjustedReader(std::unique_ptr<RankReader> reader, const ComputeNoiseStream& noise,
                 std::optional<SpeedupStream> speedups, const VolumeFactors& factors)
      : reader_(std::move(reader)),
        noise_(noise),
        speedups_(std::move(speedups)),
        factors_(factors) {}

  std::size_t read(Op* out, std::size_t capacity) override {
    const std::size_t count = reader_->read(out, capacity);
    if (!factors_.empty()) multiply_volumes(factors_, out, count);
    if (speedups_) speedups_->apply(out, count);
    if (noise_.is_on()) noise_.apply(out, count);
    return count;
  }
  std::uint64_t bytes_read() const override { return reader_->bytes_read(); }
  std::string file() const override { return reader_->file(); }
  bool uses_mistaken_null() const override { return reader_->uses_mistaken_null(); }
  bool uses_lost_type() const override { return reader_->uses_lost_type(); }

 private:
  std::unique_ptr<RankReader> reader_;
  ComputeNoiseStream noise_;
  std::optional<SpeedupStream> speedups_;
  const VolumeFactors& factors_;
};

}  // namespace tisim
