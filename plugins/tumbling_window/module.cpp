#include "tumbling_window/tumbling_window.h"

SLUICE_MODULE("tumbling_window", "1.0.0", sluice::tumbling_window::TumblingWindow)
