#include "tumbling_window/tumbling_window.h"

SLUICE_MODULE("sluice-tumbling-window", SLUICE_PLUGIN_VERSION, sluice::tumbling_window::TumblingWindow)
