// Whether the ledger is kept. It is off in one build alone: the one that tells what the ledger costs (benchmarks/ledger).
#pragma once

namespace tutti::detail {

#ifdef TUTTI_NO_LEDGER
inline constexpr bool keeps_ledger = false;
#else
inline constexpr bool keeps_ledger = true;
#endif

}  // namespace tutti::detail
