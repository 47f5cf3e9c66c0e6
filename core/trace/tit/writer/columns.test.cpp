// Values of columns, coded.
#include "trace/tit/writer/columns.hpp"

#include "core/test.hpp"
#include "trace/tit/column/column_coder.hpp"

namespace tisim::tit {

TEST("columns: a site whose values are all the largest number") {
  constexpr std::uint64_t kLargest = ~std::uint64_t{0};
  const std::vector<RankValues> values = {{0, 0, {kLargest, 7, kLargest}}};
  const std::uint32_t site_of[] = {0, 1, 0};
  CodedColumns coded;
  const std::string bytes =
      encode_columns({{kLargest, kLargest}, {7}}, {site_of}, values, 100, coded);
  Bytes out;
  coded.write_coded(out);
  CodedColumns read;
  ByteReader in(out.data);
  read.read_coded(in, 2, 1);
  CHECK(in.at_end());
  CHECK(!read.sites[1].varies && read.sites[1].value == 7);
  CHECK(read.sites[0].varies && read.columns.size() == 1 && read.columns[0].blocks.size() == 1);
  ColumnDecoder decoder;
  decoder.start(bytes.data(), bytes.data() + bytes.size());
  const DecodingTable table = read.models.models[read.models.model_of[0]].table();
  CHECK(decoder.next(table) == kLargest);
  CHECK(decoder.next(table) == kLargest);
  CHECK(decoder.finished());
}

}  // namespace tisim::tit
