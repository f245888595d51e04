#include "column_pruner/column_pruner.h"

SLUICE_MODULE("sluice-column-pruner", SLUICE_PLUGIN_VERSION, sluice::column_pruner::ColumnPruner)
