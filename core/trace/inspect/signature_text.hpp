// Calls as people read them, without the numbers that differ.
#pragma once

#include <string>

#include "trace/tit/file/tables.hpp"

namespace tisim {

// A call as its class makes it: "send rank+1 0 8192"; "<by rank>" stands for a number of each
// rank's own, "*" for one that differs from time to time.
std::string signature_text(const tit::TraceTables& tables, std::uint32_t signature);

// A call without its peers: "send <peer> 0 8192". Signatures of one kind have one text.
std::string site_text(const tit::TraceTables& tables, std::uint32_t signature);

}  // namespace tisim
