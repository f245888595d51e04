#include "console_sink.h"

SLUICE_MODULE("sluice-console", "0.1.0", sluice::console::ConsoleSink)
