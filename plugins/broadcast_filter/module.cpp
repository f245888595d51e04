#include "broadcast_filter/broadcast_filter.h"

SLUICE_MODULE("broadcast_filter", "1.0.0", sluice::broadcast_filter::BroadcastFilter)
