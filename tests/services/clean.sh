#!/usr/bin/env bash
# clean.sh FOLDER: ends the servers whose data are in FOLDER, each in the folder of its own name, and removes the data.
set -uo pipefail
folder=$(realpath -m "$1")
cd "$(dirname "${BASH_SOURCE[0]}")"
export KAFKA_DATA=$folder/kafka CLICKHOUSE_HOME=$folder/clickhouse MARIADB_DATA=$folder/mariadb MYSQL8_DATA=$folder/mysql8

kafka/kafka.sh clean
clickhouse/clickhouse.sh clean
for name in phoenix phoenix-secured; do PHOENIX_DATA=$folder/$name phoenix/phoenix.sh clean; done
for flavor in mariadb mysql8; do mysql/mysql.sh $flavor clean; done
