#include "phoenix/phoenix_sink.h"

SLUICE_MODULE("sluice-phoenix", "0.1.0", sluice::phoenix::PhoenixSink)
