#include "sqlite_sink.h"

SLUICE_MODULE("sluice-sqlite", "0.1.0", sluice::sqlite::SqliteSink)
