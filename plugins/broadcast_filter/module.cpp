#include "broadcast_filter/broadcast_filter.h"

SLUICE_MODULE("sluice-broadcast-filter", SLUICE_PLUGIN_VERSION, sluice::broadcast_filter::BroadcastFilter)
