package peer;

import java.util.HashMap;
import java.util.Map;
import org.apache.flink.api.common.serialization.DeserializationSchema;
import org.apache.flink.api.common.serialization.SerializationSchema;
import org.apache.flink.api.common.typeinfo.PrimitiveArrayTypeInfo;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.connector.base.DeliveryGuarantee;
import org.apache.flink.connector.kafka.sink.KafkaRecordSerializationSchema;
import org.apache.flink.connector.kafka.sink.KafkaSink;
import org.apache.flink.connector.kafka.source.KafkaSource;
import org.apache.flink.connector.kafka.source.enumerator.initializer.OffsetsInitializer;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;

/** What both jobs share: arguments (--name value), environment, Kafka source and sink. */
final class Setting {
  final Map<String, String> args = new HashMap<>();

  Setting(String[] a) {
    for (int i = 0; i + 1 < a.length; i += 2) args.put(a[i].substring(2), a[i + 1]);
  }

  String get(String k, String dflt) {
    return args.getOrDefault(k, dflt);
  }

  /** One MiniCluster in this JVM. */
  StreamExecutionEnvironment env() {
    int parallelism = Integer.parseInt(get("parallelism", "1"));
    Configuration c = new Configuration();
    c.setString("parallelism.default", "" + parallelism);
    c.setString("state.backend.type", get("backend", "rocksdb"));
    c.setString("execution.checkpointing.incremental", "true");
    c.setString("execution.checkpointing.interval", get("ckpt-ms", "10000") + " ms");
    c.setString("execution.checkpointing.dir", args.get("ckpt-dir"));
    c.setString("execution.checkpointing.num-retained", "2");
    c.setString("execution.checkpointing.mode", "EXACTLY_ONCE");
    c.setString("pipeline.object-reuse", get("object-reuse", "false"));
    c.setString("restart-strategy.type", "none");
    c.setString("taskmanager.memory.managed.size", get("managed", "512m"));
    c.setString("taskmanager.numberOfTaskSlots", "" + parallelism);
    c.setString("io.tmp.dirs", get("tmp", "/tmp"));
    c.setString("rest.port", "0");
    c.setString("rest.bind-port", "0");
    return StreamExecutionEnvironment.createLocalEnvironment(parallelism, c);
  }

  /** Bounded: from the first message to the last one there is at the start. */
  <T> KafkaSource<T> source(String topic, DeserializationSchema<T> format) {
    return KafkaSource.<T>builder()
        .setBootstrapServers(args.get("brokers"))
        .setTopics(topic)
        .setGroupId(get("group", "flink-" + topic))
        .setStartingOffsets(OffsetsInitializer.earliest())
        .setBounded(OffsetsInitializer.latest())
        .setValueOnlyDeserializer(format)
        .setProperty("fetch.max.bytes", "52428800")
        .setProperty("max.partition.fetch.bytes", get("fetch", "1048576"))
        .setProperty("max.poll.records", get("poll", "500"))
        .build();
  }

  KafkaSink<byte[]> sink(String topic) {
    return KafkaSink.<byte[]>builder()
        .setBootstrapServers(args.get("brokers"))
        .setRecordSerializer(
            KafkaRecordSerializationSchema.<byte[]>builder()
                .setTopic(topic)
                .setValueSerializationSchema(new Out())
                .build())
        .setDeliveryGuarantee(DeliveryGuarantee.AT_LEAST_ONCE)
        .setProperty("linger.ms", "5")
        .setProperty("batch.size", "65536")
        .build();
  }

  static final class Out implements SerializationSchema<byte[]> {
    @Override
    public byte[] serialize(byte[] x) {
      return x;
    }
  }

  /** The record's value untouched, so that JSON is parsed straight from UTF-8. */
  static final class Bytes implements DeserializationSchema<byte[]> {
    @Override
    public byte[] deserialize(byte[] m) {
      return m;
    }
    @Override
    public boolean isEndOfStream(byte[] e) {
      return false;
    }
    @Override
    public TypeInformation<byte[]> getProducedType() {
      return PrimitiveArrayTypeInfo.BYTE_PRIMITIVE_ARRAY_TYPE_INFO;
    }
  }
}
