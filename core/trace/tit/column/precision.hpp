// Precision of the volumes of a packed trace.
//
// The volumes of a site are replaced by representatives: the sorted volumes are divided into bins
// as wide as the level allows, and each volume becomes approximately the mean of its bin. If the
// volumes of one rank are mostly above or below the means of their bins, some of them become a
// neighbouring representative instead (choose). The sum over the site is preserved to 1e-9.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tisim::tit {

struct Precision {
  enum class Level : std::uint8_t {
    exact,
    bounded,  // each volume within a relative error
    mean,     // all volumes of a site are their mean; missing ones count as 0
    drawn,    // volumes are drawn from the site's histogram
  };
  Level level = Level::exact;
  double error = 0;  // of `bounded`

  // The precision named "exact", "1e-3", "1e-2", "5e-2", "mean" or "histogram". Throws
  // std::invalid_argument for other names.
  static Precision of(std::string_view name);
  std::string name() const;
};

// digits / 10^places
struct Decimal {
  std::uint64_t digits = 0;
  unsigned places = 0;

  std::string text() const;  // "1234.5", without trailing zeros
  double value() const;
};

// The replacement of a volume: the representative of its bin, or one next to it.
enum class Choice : std::uint8_t { bin, above, below };

// The replacements of the volumes of one site.
class Representatives {
 public:
  // `volumes` are not negative and below 1e15, and there is at least one. The level is `bounded` or
  // `mean`.
  Representatives(std::vector<double> volumes, const Precision& precision);

  // Representative of one of the volumes; nullptr if it is kept because no other one is near.
  const Decimal* of(double volume, Choice choice = Choice::bin) const;
  // True if the representative is within the level of the volume.
  bool is_within_level(double volume, Choice choice) const;
  // Number of distinct volumes that remain if each uses the representative of its bin.
  std::size_t size() const { return bins_.size(); }

  // The index of a volume's bin, in ascending order, and the representatives of a bin.
  std::size_t bin_of(double volume) const;
  const Decimal& of_bin(std::size_t bin, Choice choice) const;
  bool is_kept(std::size_t bin) const { return bins_[bin].first == bins_[bin].last; }

  // Gives one of the volumes another representative than that of its bin.
  void move(double volume, Choice choice);
  // Restores the sum over the site after moves. Returns false if a volume would then exceed the
  // level: the representatives of bins are restored, and no volume may be moved.
  bool settle();

 private:
  struct Bin {
    double first;  // the smallest and the largest volume
    double last;
    long double sum;
    std::uint64_t count;
    Decimal representative;
    Decimal above;
    Decimal below;
    std::uint64_t moved;  // volumes with a representative next to that of the bin
  };

  void find_adjacent(unsigned significant);
  // Rounds all to `significant` digits except that of one bin, which compensates for the others;
  // returns the correction relative to that bin.
  double round_to(unsigned significant);
  bool are_within_level() const;

  double error_;
  unsigned digits_ = 0;
  std::vector<Bin> bins_;
  long double moved_sum_ = 0;  // sum of the representatives of moved volumes
};

// Chooses the representatives of the volumes of one rank at a site, in order. Each is that of the
// bin unless the sum of these is too large or too small by more than chance explains; then the sum
// stays within four steps of the level, or a fiftieth of it.
void choose(const Representatives& representatives, const Precision& precision,
            const double* volumes, std::size_t count, Choice* choices);

// A value drawn from a model: always the same for equal seed, rank, site and number.
class SiteModel;
std::uint64_t drawn_value(const SiteModel& model, std::uint64_t seed, std::uint64_t rank,
                          std::uint64_t site, std::uint64_t number);

}  // namespace tisim::tit
