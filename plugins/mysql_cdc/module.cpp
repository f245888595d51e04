#include "mysql_cdc_source.h"

SLUICE_MODULE("mysql-cdc", "1.0.0", sluice_mysql::MysqlCdcSource)
