#include "kafka/kafka_sink.h"
#include "kafka/kafka_source.h"

SLUICE_MODULE("kafka", "1.0.0", sluice::kafka::KafkaSource, sluice::kafka::KafkaSink)
