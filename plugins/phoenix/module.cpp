#include "phoenix/phoenix_sink.h"

SLUICE_MODULE("sluice-phoenix", SLUICE_PLUGIN_VERSION, sluice::phoenix::PhoenixSink)
