#include "clickhouse_sink.h"

SLUICE_MODULE("sluice-clickhouse", SLUICE_PLUGIN_VERSION, sluice::clickhouse::ClickHouseSink)
