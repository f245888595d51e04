package peer;

import com.alibaba.fastjson2.JSON;
import com.alibaba.fastjson2.JSONObject;
import com.alibaba.fastjson2.JSONReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.functions.ReduceFunction;
import org.apache.flink.api.common.serialization.SimpleStringSchema;
import org.apache.flink.api.common.state.StateTtlConfig;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.streaming.api.functions.windowing.AllWindowFunction;
import org.apache.flink.streaming.api.windowing.assigners.TumblingEventTimeWindows;
import org.apache.flink.streaming.api.windowing.windows.TimeWindow;
import org.apache.flink.util.Collector;

/**
 * Kafka dwd_trade_cart_add -> first cart-add of each user and date -> counts per 10 s of event time -> Kafka dws_out.
 * --mode course : String source, parse to JSONObject, which is what crosses the keyBy (Kryo)
 * --mode tuned  : byte[] source, typed parse of the three fields in use; a small POJO crosses the keyBy
 */
public class DwsJob {
  static final ZoneOffset ZONE = ZoneOffset.ofHours(8);
  static final DateTimeFormatter FMT = DateTimeFormatter.ofPattern("yyyy-MM-dd HH:mm:ss").withZone(ZONE);

  public static class Raw { public String user_id, create_time, operate_time; }
  public static class Add {
    public String user_id;
    public long ts;
    public Add() {}
  }

  static int d(String s, int i) {
    return s.charAt(i) - '0';
  }
  /** 'yyyy-MM-dd HH:mm:ss' -> epoch ms, by hand: DateTimeFormatter costs about 1 us a record */
  static long parse(String s) {
    int y = d(s, 0) * 1000 + d(s, 1) * 100 + d(s, 2) * 10 + d(s, 3), m = d(s, 5) * 10 + d(s, 6),
        day = d(s, 8) * 10 + d(s, 9);
    y -= m <= 2 ? 1 : 0;
    int era = y / 400, yoe = y - era * 400, doy = (153 * (m + (m > 2 ? -3 : 9)) + 2) / 5 + day - 1,
        doe = yoe * 365 + yoe / 4 - yoe / 100 + doy;
    long days = era * 146097L + doe - 719468;
    return (days * 86400 + (d(s, 11) * 10 + d(s, 12)) * 3600L + (d(s, 14) * 10 + d(s, 15)) * 60 + d(s, 17) * 10
               + d(s, 18) - 8 * 3600)
        * 1000;
  }
  static String format(long ms) {
    return FMT.format(Instant.ofEpochMilli(ms));
  }

  abstract static class FirstOfDay<T> extends KeyedProcessFunction<String, T, Long> {
    private transient ValueState<String> last;
    @Override
    public void open(OpenContext c) {
      ValueStateDescriptor<String> s = new ValueStateDescriptor<>("lastDate", Types.STRING);
      s.enableTimeToLive(StateTtlConfig.newBuilder(Duration.ofDays(1))
                             .setUpdateType(StateTtlConfig.UpdateType.OnCreateAndWrite)
                             .build());
      last = getRuntimeContext().getState(s);
    }
    abstract String date(T v);
    @Override
    public void processElement(T v, Context ctx, Collector<Long> out) throws Exception {
      String date = date(v);
      if (!date.equals(last.value())) {
        last.update(date);
        out.collect(1L);
      }
    }
  }

  static class CourseFirst extends FirstOfDay<JSONObject> {
    @Override
    String date(JSONObject o) {
      String t = o.getString("operate_time");
      return (t != null ? t : o.getString("create_time")).substring(0, 10);
    }
  }

  static class TunedFirst extends FirstOfDay<Add> {
    private transient long day;
    private transient String text; // event time hardly ever changes its date
    @Override
    String date(Add a) {
      long n = (a.ts + 8 * 3600_000L) / 86400_000L;
      if (text == null || n != day) {
        day = n;
        text = format(a.ts).substring(0, 10);
      }
      return text;
    }
  }

  public static void main(String[] a) throws Exception {
    Setting k = new Setting(a);
    var env = k.env();
    String topic = k.get("in", "dwd_trade_cart_add");
    DataStream<Long> ones;
    if (k.get("mode", "tuned").equals("course")) {
      // the watermark is made in the source, per partition, as Flink's documents advise; so the record is parsed twice
      // unless the source deserializes to JSONObject: do that
      var ws = WatermarkStrategy.<JSONObject>forBoundedOutOfOrderness(Duration.ofSeconds(2))
                   .withTimestampAssigner((o, t) -> {
                     String s = o.getString("operate_time");
                     return LocalDateTime.parse(s != null ? s : o.getString("create_time"), FMT)
                         .toInstant(ZONE)
                         .toEpochMilli();
                   });
      ones = env.fromSource(k.source(topic, new JsonSchema()), ws, "cart_add")
                 .keyBy(o -> o.getString("user_id"))
                 .process(new CourseFirst());
    } else {
      var ws =
          WatermarkStrategy.<Add>forBoundedOutOfOrderness(Duration.ofSeconds(2)).withTimestampAssigner((o, t) -> o.ts);
      ones = env.fromSource(k.source(topic, new AddSchema()), ws, "cart_add")
                 .keyBy(o -> o.user_id)
                 .process(new TunedFirst());
    }
    ones.windowAll(TumblingEventTimeWindows.of(Duration.ofSeconds(10)))
        .reduce((ReduceFunction<Long>) Long::sum,
            new AllWindowFunction<Long, byte[], TimeWindow>() {
              @Override
              public void apply(TimeWindow w, Iterable<Long> v, Collector<byte[]> out) {
                for (Long n : v)
                  out.collect(("{\"stt\":\"" + format(w.getStart()) + "\",\"edt\":\"" + format(w.getEnd())
                      + "\",\"cart_add_uu_ct\":" + n + ",\"ts\":" + System.currentTimeMillis() + "}")
                                  .getBytes(StandardCharsets.UTF_8));
              }
            })
        .returns(byte[].class)
        .sinkTo(k.sink(k.get("out", "dws_out")))
        .setParallelism(1);
    System.out.println("main after "
        + (System.currentTimeMillis() - java.lang.management.ManagementFactory.getRuntimeMXBean().getStartTime())
        + " ms");
    var r = env.execute("dws-" + k.get("mode", "tuned"));
    System.out.println("job runtime ms " + r.getNetRuntime());
  }

  static class JsonSchema implements org.apache.flink.api.common.serialization.DeserializationSchema<JSONObject> {
    @Override
    public JSONObject deserialize(byte[] m) {
      return JSON.parseObject(m);
    }
    @Override
    public boolean isEndOfStream(JSONObject o) {
      return false;
    }
    @Override
    public org.apache.flink.api.common.typeinfo.TypeInformation<JSONObject> getProducedType() {
      return org.apache.flink.api.common.typeinfo.TypeInformation.of(JSONObject.class);
    }
  }

  static class AddSchema implements org.apache.flink.api.common.serialization.DeserializationSchema<Add> {
    @Override
    public Add deserialize(byte[] m) {
      Raw r = JSON.parseObject(m, Raw.class, JSONReader.Feature.FieldBased);
      Add x = new Add();
      x.user_id = r.user_id;
      x.ts = parse(r.operate_time != null ? r.operate_time : r.create_time);
      return x;
    }
    @Override
    public boolean isEndOfStream(Add o) {
      return false;
    }
    @Override
    public org.apache.flink.api.common.typeinfo.TypeInformation<Add> getProducedType() {
      return org.apache.flink.api.common.typeinfo.TypeInformation.of(Add.class);
    }
  }
}
