#include "sqlite_sink.h"

SLUICE_MODULE("sluice-sqlite", SLUICE_PLUGIN_VERSION, sluice::sqlite::SqliteSink)
