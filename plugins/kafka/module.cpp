#include "kafka/kafka_sink.h"
#include "kafka/kafka_source.h"

SLUICE_MODULE("sluice-kafka", SLUICE_PLUGIN_VERSION, sluice::kafka::KafkaSource, sluice::kafka::KafkaSink)
