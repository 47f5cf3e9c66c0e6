// How exactly the volumes of a compressed trace are kept.
//
// The volumes of a site are replaced by representatives: bins are laid over the sorted volumes, as
// wide as the level allows, and the volumes of a bin become about their mean. Where the volumes of
// one rank are mostly above or below the means of their bins, some of them become a representative
// beside that (choose). The sum over the site stays the same, to 1e-9 of it.
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
    bounded,  // each volume to a relative error
    mean,     // all volumes of a site are their mean, those that are missing count as 0
    drawn,    // volumes are drawn from the site's histogram
  };
  Level level = Level::exact;
  double error = 0;  // of `bounded`

  // Precision named "exact", "1e-3", "1e-2", "5e-2", "mean" or "histogram". Throws
  // std::invalid_argument for other names.
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

// The replacement of a volume: the representative of its bin, or one beside it.
enum class Choice : std::uint8_t { bin, above, below };

// The replacements of the volumes of one site.
class Representatives {
 public:
  // `volumes` are not negative, below 1e15, and there is at least one. The level is `bounded` or
  // `mean`.
  Representatives(std::vector<double> volumes, const Precision& precision);

  // Representative of one of the volumes; nullptr when it is kept because no other one is near.
  const Decimal* of(double volume, Choice choice = Choice::bin) const;
  // True if a volume may have this representative: it is within the level of it.
  bool may_be(double volume, Choice choice) const;
  // How many different volumes are left when each has that of its bin.
  std::size_t size() const { return bins_.size(); }

  // The numbers of bins, ascending, and their representatives.
  std::size_t bin_of(double volume) const;
  const Decimal& of_bin(std::size_t bin, Choice choice) const;
  bool is_kept(std::size_t bin) const { return bins_[bin].first == bins_[bin].last; }

  // One of the volumes will have another representative than that of its bin.
  void move(double volume, Choice choice);
  // Makes the sum over the site right again after that. False if one of the volumes would not be
  // within the level then: the representatives of bins are as they were, and none may be moved.
  bool settle();

 private:
  struct Bin {
    double first;  // the smallest and the largest of its volumes
    double last;
    long double sum;
    std::uint64_t count;
    Decimal representative;
    Decimal above;
    Decimal below;
    std::uint64_t moved;  // volumes that have one beside it
  };

  void find_beside(unsigned significant);
  // Rounds all to so many digits but that of one bin, which makes up for it; what that is, as a
  // part of the bin.
  double round_to(unsigned significant);
  bool keep_to_the_level() const;

  double error_;
  unsigned digits_ = 0;
  std::vector<Bin> bins_;
  long double moved_to_ = 0;  // the sum of what stands for volumes that were moved
};

// Representatives of the volumes of one rank at a site, in their order. Each is that of the bin
// unless these are too large or too small in sum by more than chance explains; then the sum stays
// within four steps of the level, or a fiftieth of it.
void choose(const Representatives& representatives, const Precision& precision,
            const double* volumes, std::size_t count, Choice* choices);

// A value drawn from a model: always the same for the same seed, rank, site and number.
class SiteModel;
std::uint64_t drawn_value(const SiteModel& model, std::uint64_t seed, std::uint64_t rank,
                          std::uint64_t site, std::uint64_t number);

}  // namespace tisim::tit
