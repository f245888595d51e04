#include "daily_dedup/daily_dedup.h"

SLUICE_MODULE("daily_dedup", "1.0.0", sluice::daily_dedup::DailyDedup)
