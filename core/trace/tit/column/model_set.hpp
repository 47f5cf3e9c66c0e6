// The models of all sites of a trace: sites that are much alike, or rare, share one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "trace/tit/codec/bytes.hpp"
#include "trace/tit/column/histogram.hpp"
#include "trace/tit/column/site_model.hpp"

namespace tisim {
namespace tit {

struct ModelSet {
  std::vector<SiteModel> models;
  std::vector<std::uint32_t> model_of;  // of each site; models are numbered by first use

  // Models with which the values of all sites and the models take few bits. Each site must have a
  // value.
  static ModelSet fit(const std::vector<Histogram>& sites);

  void write(Bytes& out) const;
  // Throws FormatError for what write() does not write for this many sites.
  static ModelSet read(ByteReader& in, std::size_t sites);
};

}  // namespace tit
}  // namespace tisim
