#include "trace/tit/column/model_set.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <numeric>
#include <utility>

namespace tisim {
namespace tit {

namespace {

// Sites that share a model.
struct Cluster {
  Histogram values;
  SiteModel model;  // a draft
  double bits = 0;  // of the model and the values
};

double bits_of(const SiteModel& model, const Histogram& values) {
  return model.own_bits() + model.coded_bits(values);
}

// About how many bits the values take with a model that was made for others.
double misfit(const SiteModel& model, const Histogram& values, double most) {
  constexpr double kUnknown = 24;  // for a value that the model would have to learn
  return model.coded_bits(values, kUnknown, most);
}

// Finds a cluster for each site.
class Clustering {
 public:
  explicit Clustering(const std::vector<Histogram>& sites)
      : sites_(sites), cluster_of(sites.size(), 0) {
    // Large ones first: they get a model of their own, and small ones may join them.
    std::vector<std::size_t> order(sites.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return sites[a].total() > sites[b].total();
    });
    for (const std::size_t site : order) place(site);
  }

 private:
  // What naming a shared model takes.
  static constexpr double kNameBits = 5;
  // A site tries at most so many clusters, and joins them for a trial at most so often.
  static constexpr std::size_t kMostCandidates = 48;
  static constexpr std::size_t kMostTrials = 3;
  // A trial that cannot gain is left out where that is sure by so many bits: what it can gain is
  // estimated from ranges of values.
  static constexpr double kSureBits = 128;
  // A model is a small part of what more values than these take.
  static constexpr std::uint64_t kLarge = 20'000;
  static constexpr std::size_t kLargeHistogram = 4096;

  void place(std::size_t site) {
    const Histogram& values = sites_[site];
    Cluster own;
    own.values = values;
    own.model = SiteModel::draft(values);
    own.bits = bits_of(own.model, values);
    Cluster joined;
    const std::size_t best = values.total() < kLarge ? join(own, joined) : clusters.size();
    cluster_of[site] = static_cast<std::uint32_t>(best);
    if (best == clusters.size()) {
      clusters.push_back(std::move(own));
    } else {
      clusters[best] = std::move(joined);
    }
  }

  // The cluster that takes the fewest bits more when the site joins it, if these are fewer than its
  // own; `joined` is the cluster with it.
  std::size_t join(const Cluster& own, Cluster& joined) const {
    struct Candidate {
      double bits;
      std::size_t cluster;
    };
    std::vector<Candidate> candidates;  // that take the fewest bits, ascending
    const std::size_t first =
        clusters.size() > kMostCandidates ? clusters.size() - kMostCandidates : 0;
    for (std::size_t i = first; i < clusters.size(); ++i) {
      if (clusters[i].values.counts().size() > kLargeHistogram) continue;
      const double most = candidates.size() == kMostTrials
                              ? candidates.back().bits
                              : std::numeric_limits<double>::infinity();
      const double bits = misfit(clusters[i].model, own.values, most);
      if (bits >= most) continue;
      if (candidates.size() == kMostTrials) candidates.pop_back();
      const auto behind = std::upper_bound(
          candidates.begin(), candidates.end(), bits,
          [](double bound, const Candidate& candidate) { return bound < candidate.bits; });
      candidates.insert(behind, {bits, i});
    }
    const double coded_bits = own.bits - own.model.own_bits();
    double least = own.bits - kNameBits;
    std::size_t best = clusters.size();
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      const Cluster& cluster = clusters[candidates[i].cluster];
      const double sharing = cluster.model.sharing_bits(cluster.values.total(), own.values);
      if (coded_bits + sharing >= least + kSureBits) continue;
      Cluster trial;
      trial.values = Histogram::sum(cluster.values, own.values);
      trial.model = SiteModel::draft(trial.values);
      trial.bits = bits_of(trial.model, trial.values);
      if (trial.bits - cluster.bits >= least) continue;
      least = trial.bits - cluster.bits;
      best = candidates[i].cluster;
      joined = std::move(trial);
    }
    return best;
  }

  const std::vector<Histogram>& sites_;

 public:
  std::vector<Cluster> clusters;
  std::vector<std::uint32_t> cluster_of;  // of each site
};

}  // namespace

ModelSet ModelSet::fit(const std::vector<Histogram>& sites) {
  Clustering clustering(sites);
  constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
  std::vector<std::uint32_t> number(clustering.clusters.size(), kNone);
  ModelSet set;
  for (const std::uint32_t cluster : clustering.cluster_of) {
    if (number[cluster] == kNone) {
      number[cluster] = static_cast<std::uint32_t>(set.models.size());
      set.models.push_back(std::move(clustering.clusters[cluster].model));
      set.models.back().complete();
    }
    set.model_of.push_back(number[cluster]);
  }
  return set;
}

// The sites, each with 0 for the next new model or 1 plus the number of its model; then the models.
void ModelSet::write(Bytes& out) const {
  std::uint32_t next = 0;
  for (const std::uint32_t model : model_of) {
    out.varint(model == next ? 0 : model + 1U);
    if (model == next) ++next;
  }
  for (const SiteModel& model : models) model.write(out);
}

ModelSet ModelSet::read(ByteReader& in, std::size_t sites) {
  if (sites > in.left()) throw FormatError("there are more models of sites than bytes");
  ModelSet set;
  std::uint32_t count = 0;
  for (std::size_t i = 0; i < sites; ++i) {
    const auto code = static_cast<std::uint32_t>(in.at_most(count, "the number of a model"));
    set.model_of.push_back(code == 0 ? count++ : code - 1);
  }
  for (std::uint32_t i = 0; i < count; ++i) set.models.push_back(SiteModel::read(in));
  return set;
}

}  // namespace tit
}  // namespace tisim
