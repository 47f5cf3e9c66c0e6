// How exactly the volumes of a compressed trace are kept.
//
// The volumes of a site are replaced by representatives: bins are laid over the sorted volumes, as
// wide as the level allows, and the volumes of a bin become about their mean. The sum over the site
// stays the same, to 1e-9 of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tisim {
namespace tit {

struct Precision {
  enum class Level : std::uint8_t {
    exact,
    bounded,  // each volume to a relative error
    mean,     // all volumes of a site are their mean, those that are missing count as 0
    drawn,    // volumes are drawn from the site's histogram
  };
  Level level = Level::exact;
  double error = 0;  // of `bounded`

  // Of "exact", "1e-3", "1e-2", "5e-2", "mean" or "histogram". Throws std::invalid_argument for
  // other names.
  static Precision of(std::string_view name);
  std::string name() const;
};

// digits / 10^places
struct Decimal {
  std::uint64_t digits = 0;
  unsigned places = 0;

  std::string text() const;  // "1234.5", without zeros at the end
  double value() const;
};

// What stands for the volumes of one site.
class Representatives {
 public:
  // `volumes` are not negative, below 1e15, and there is at least one. The level is `bounded` or
  // `mean`.
  Representatives(std::vector<double> volumes, const Precision& precision);

  // Of one of the volumes; nullptr when it is kept as it is, because no other one is near.
  const Decimal* of(double volume) const;
  // How many different volumes are left.
  std::size_t size() const { return bins_.size(); }

 private:
  struct Bin {
    double first;  // the smallest and the largest of its volumes
    double last;
    long double sum;
    std::uint64_t count;
    Decimal representative;
  };

  // What the rounding to so many digits takes from the bin that makes up for it, as a part of it.
  double round_to(unsigned significant);

  std::vector<Bin> bins_;
};

// A value drawn from a model: always the same for the same seed, rank, site and number.
class SiteModel;
std::uint64_t drawn_value(const SiteModel& model, std::uint64_t seed, std::uint64_t rank,
                          std::uint64_t site, std::uint64_t number);

}  // namespace tit
}  // namespace tisim
