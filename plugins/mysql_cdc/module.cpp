#include "mysql_cdc_source.h"

SLUICE_MODULE("sluice-mysql-cdc", SLUICE_PLUGIN_VERSION, sluice_mysql::MysqlCdcSource)
