// CRC-32C (Castagnoli), the checksum of packed traces.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tisim {
namespace tit {

std::uint32_t crc32c(const char* data, std::size_t size);

}  // namespace tit
}  // namespace tisim
