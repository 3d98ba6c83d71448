// What every exchange must do, whatever carries it. Called by each member; a member that finds otherwise throws.
#pragma once

#include "tutti/mesh/engines/exchange.h"

namespace tutti::testing_engines {

// Every dtype and reduction, to the last bit what one process would work out.
void check_reductions(Exchange& exchange);
// Every collective that only moves bytes.
void check_movements(Exchange& exchange);
// One after the other without a pause: what one leaves behind must not be in the way of the next. The same seed on all.
void check_sequence(Exchange& exchange, int rounds, unsigned seed);
// A NaN wins, and of equal zeros the first.
void check_nans_and_zeros(Exchange& exchange);
// What the ops refuse is refused, and the exchange goes on.
void check_refusals(Exchange& exchange);

}  // namespace tutti::testing_engines
