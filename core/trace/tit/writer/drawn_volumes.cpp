#include "trace/tit/writer/drawn_volumes.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <utility>

#include "trace/tit/file/volume_code.hpp"

namespace tisim {
namespace tit {

namespace {

constexpr double kTooLarge = 1e15;
constexpr std::uint64_t kMostSamples = 4096;  // of a site; a model tells no more apart

// The code of a volume with six digits at most.
std::uint64_t code_of_drawn(double volume) {
  constexpr double kWhole = 1e6;
  constexpr int kLongest = 32;
  char text[kLongest];
  if (volume < kWhole - 1) {
    std::snprintf(text, sizeof text, "%.0f", volume);
  } else {
    std::snprintf(text, sizeof text, "%.6g", std::max(volume, kWhole));
  }
  return volume_code(text);
}

std::uint64_t volumes_in(const std::vector<VolumeBin>& bins) {
  std::uint64_t all = 0;
  for (const VolumeBin& bin : bins) all += bin.count;
  return all;
}

// `count` volumes spread over a histogram as its own are.
void take_quantiles(const std::vector<VolumeBin>& bins, std::uint64_t count,
                    std::vector<std::uint64_t>& samples) {
  const auto all = static_cast<double>(volumes_in(bins));
  auto bin = bins.begin();
  double before = 0;  // volumes in the bins before
  for (std::uint64_t i = 0; i < count; ++i) {
    const double place = all * (static_cast<double>(i) + 0.5) / static_cast<double>(count);
    while (bin + 1 != bins.end() && place >= before + static_cast<double>(bin->count)) {
      before += static_cast<double>((bin++)->count);
    }
    const double part = std::min((place - before) / static_cast<double>(bin->count), 1.0);
    samples.push_back(1 + code_of_drawn(bin->least + part * (bin->most - bin->least)));
  }
}

}  // namespace

std::uint32_t VolumeHistograms::add(std::vector<VolumeBin> bins) {
  bins.erase(
      std::remove_if(bins.begin(), bins.end(), [](const VolumeBin& bin) { return bin.count == 0; }),
      bins.end());
  double least = 0;
  for (const VolumeBin& bin : bins) {
    if (!(bin.least >= least && bin.most >= bin.least && bin.most < kTooLarge)) {
      throw std::invalid_argument("the bins of a histogram of volumes are out of order or range");
    }
    least = bin.most;
  }
  if (bins.empty()) throw std::invalid_argument("a histogram of volumes has none");
  histograms_.push_back(std::move(bins));
  return static_cast<std::uint32_t>(histograms_.size()) - 1;
}

std::uint32_t VolumeHistograms::add(std::uint64_t code) {
  const auto known = constants_.find(code);
  if (known != constants_.end()) return known->second;
  const double volume = volume_value(code);
  const std::uint32_t number = add({{volume, volume, 1}});
  constants_.emplace(code, number);
  return number;
}

std::vector<std::uint64_t> VolumeHistograms::samples(
    const std::map<std::uint64_t, std::uint64_t>& uses) const {
  std::uint64_t all = 0;
  for (const auto& use : uses) all += use.second;
  std::vector<std::uint64_t> samples;
  for (const auto& use : uses) {
    const double share = static_cast<double>(use.second) / static_cast<double>(all);
    const auto count = static_cast<std::uint64_t>(
        std::max(std::round(share * static_cast<double>(kMostSamples)), 1.0));
    if (use.first == 0) {
      samples.insert(samples.end(), static_cast<std::size_t>(count), 0);
    } else {
      take_quantiles(histograms_[static_cast<std::size_t>(use.first - 1)], count, samples);
    }
  }
  return samples;
}

}  // namespace tit
}  // namespace tisim
