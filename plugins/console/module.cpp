#include "console_sink.h"

SLUICE_MODULE("sluice-console", SLUICE_PLUGIN_VERSION, sluice::console::ConsoleSink)
