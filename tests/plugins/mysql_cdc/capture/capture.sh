#!/usr/bin/env bash
# Makes the files of tests/plugins/mysql_cdc/data anew, from a running server with log_bin=binlog and row metadata FULL.
# All of the server's binlogs are removed.
#
#   capture.sh NAME SOCKET DATADIR [CAPTURE_PROGRAM]      NAME: mariadb, mysql-8.0.31, mysql-8.0.15, mysql-8.0.31-plain
#
# mysql-8.0.31-plain: with gtid_mode=OFF, which is MySQL's default; transactions only.
# CAPTURE_PROGRAM is the build target mysql_cdc_capture. Afterwards run mysql_cdc_decode_test once with
# SLUICE_WRITE_EXPECTED=1 and read what changed in the expected files.
set -euo pipefail
name=$1 socket=$2 datadir=$3 capture=${4:-capture}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
data=$here/../data
case $name in mariadb) own=mariadb ;; *) own=mysql ;; esac

sql() { mariadb --no-defaults -S "$socket" -u root --init-command="set names utf8mb4, time_zone='+00:00', sql_mode=''" "$@"; }
begin() { sql -e "set global binlog_row_metadata=$1; create database if not exists cdc; reset master"; }
# The file that is open now, as NAME.WHAT.binlog.gz.
keep_binlog() {
  sql -e "flush binary logs"
  gzip -9 -n <"$datadir/binlog.000001" >"$data/$name.$1.binlog.gz"
}
keep_rows() {
  for table in $(sql -N -e "select table_name from information_schema.tables where table_schema='cdc' and table_type='BASE TABLE' and table_name not like '%large' order by 1"); do
    "$capture" rows "$socket" cdc "$table"
  done >"$data/$name.$1.rows"
  [ "$own" = mariadb ] || gzip -9 -n -f "$data/$name.$1.rows"
}

case $name in
  mariadb) least=NO_LOG ;;
  *) least=MINIMAL ;;
esac

if [[ $name != *-plain ]]; then
  begin FULL
  sql <"$here/types.sql"
  sql cdc <"$here/$own.sql"
  keep_binlog types
  keep_rows types
  if [ "$own" = mysql ]; then "$capture" rows "$socket" cdc t_json_large | gzip -9 -n >"$data/$name.large.rows.gz"; fi

  # The same tables; the table maps say as little as the server allows.
  if [ "$name" != mysql-8.0.15 ]; then
    [ "$own" = mysql ] || sql -e "set global log_bin_compress=ON, global log_bin_compress_min_len=10, global binlog_checksum=NONE"
    begin $least
    sql <"$here/types.sql"
    sql cdc <"$here/$own.sql"
    keep_binlog least
    [ "$own" = mysql ] || sql -e "set global log_bin_compress=OFF, global binlog_checksum=CRC32"
  fi
fi

begin FULL
sql -e "drop database cdc; create database cdc; reset master"
sql <"$here/transactions.sql"
gzip -9 -n <"$datadir/binlog.000001" >"$data/$name.transactions.binlog.gz"
"$capture" stream "$socket" binlog.000001 4 2 | gzip -9 -n >"$data/$name.stream.packets.gz"

if [ "$name" = mysql-8.0.31 ]; then
  sql -e "create table cdc.t_bad(id int primary key, a int, b int, j json); insert into cdc.t_bad values(1,1,1,'{\"a\":1,\"b\":\"xxxxxxxxxxxxxxxxxxxx\"}'); reset master"
  sql -e "set session binlog_row_image=MINIMAL; update cdc.t_bad set a=2 where id=1"
  keep_binlog minimal
  sql -e "reset master; set session binlog_row_value_options=PARTIAL_JSON; update cdc.t_bad set j=json_set(j,'\$.a',2)"
  keep_binlog partial_json
  sql -e "reset master; set session binlog_transaction_compression=ON; update cdc.t_bad set a=3"
  keep_binlog payload
fi
