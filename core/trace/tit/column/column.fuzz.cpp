// Reads arbitrary bytes as models and a stream: the result is values, or the bytes are refused; and
// values are restored from their coding with their own models.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "trace/tit/column/column_coder.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tisim::tit;
  ByteReader in(std::string_view(reinterpret_cast<const char*>(data), size));
  try {
    const std::size_t count = in.at_most(200, "the number of values");
    std::vector<SiteModel> models{SiteModel::read(in), SiteModel::read(in)};
    ColumnDecoder decoder;
    decoder.start(in.position(), in.position() + in.left());
    std::vector<std::uint64_t> values[2];
    for (std::size_t i = 0; i < count; ++i) {
      const SiteModel& model = models[(i / 3) & 1];
      values[(i / 3) & 1].push_back(decoder.next(model));
      if (values[(i / 3) & 1].back() > model.largest()) std::abort();
    }
    for (std::size_t i = 0; i < 2; ++i) {
      if (values[i].empty()) continue;
      const SiteModel own = SiteModel::fit(values[i]);
      for (const SiteModel& model : {own, models[i]}) {
        ColumnEncoder encoder({model});
        for (const std::uint64_t value : values[i]) encoder.add(0, value);
        const std::string stream = encoder.finish();
        ColumnDecoder again;
        again.start(stream.data(), stream.data() + stream.size());
        for (const std::uint64_t value : values[i]) {
          if (again.next(model) != value) std::abort();
        }
        if (!again.finished()) std::abort();
      }
    }
  } catch (const FormatError&) {
    // Refused.
  }
  return 0;
}
