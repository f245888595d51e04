#include "daily_dedup/daily_dedup.h"

SLUICE_MODULE("sluice-daily-dedup", SLUICE_PLUGIN_VERSION, sluice::daily_dedup::DailyDedup)
