// Whether the ledger is kept. It is off only in the library that a benchmark is compared with (benchmarks/ledger).
#pragma once

namespace tutti::detail {

#ifdef TUTTI_NO_LEDGER
inline constexpr bool keeps_ledger = false;
#else
inline constexpr bool keeps_ledger = true;
#endif

}  // namespace tutti::detail
