#include "clickhouse_sink.h"

SLUICE_MODULE("sluice-clickhouse", "0.1.0", sluice::clickhouse::ClickHouseSink)
