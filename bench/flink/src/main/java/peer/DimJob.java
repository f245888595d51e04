package peer;

import com.alibaba.fastjson2.JSON;
import com.alibaba.fastjson2.JSONObject;
import com.alibaba.fastjson2.JSONPath;
import com.alibaba.fastjson2.JSONReader;
import com.alibaba.fastjson2.JSONWriter;
import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.serialization.SimpleStringSchema;
import org.apache.flink.api.common.state.MapStateDescriptor;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.streaming.api.datastream.BroadcastStream;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.functions.co.BroadcastProcessFunction;
import org.apache.flink.util.Collector;

/**
 * Kafka topic_db (Maxwell JSON) connected with a broadcast stream of config rows -> Kafka dim_out.
 * --mode course : String source, map to fastjson2 JSONObject, filter, connect (the object crosses the wire by Kryo),
 * process
 * --mode tuned  : byte[] source, connect, parse inside the process function (typed: database/table/type/data; `old` is
 * skipped)
 * --mode peek   : as tuned, but reads only $.table and $.type first and parses the whole record when the table is
 * configured
 */
public class DimJob {
  public static class Conf {
    public String sink_table;
    public Set<String> columns;
    public String pk, extend;
    public Conf() {}
  }
  public static class Change {
    public String table, type;
    public JSONObject data;
  }

  static final MapStateDescriptor<String, Conf> CONFIG =
      new MapStateDescriptor<>("config", Types.STRING, TypeInformation.of(Conf.class));
  static boolean kept(String type) {
    return "insert".equals(type) || "update".equals(type) || "bootstrap-insert".equals(type);
  }

  static byte[] row(JSONObject data, Conf c) {
    JSONObject out = new JSONObject(c.columns.size() * 2);
    for (Map.Entry<String, Object> e : data.entrySet())
      if (c.columns.contains(e.getKey()))
        out.put(e.getKey(), e.getValue());
    out.put("sink_table", c.sink_table);
    return JSON.toJSONBytes(out, JSONWriter.Feature.WriteMapNullValue);
  }

  abstract static class Base<T> extends BroadcastProcessFunction<T, String, byte[]> {
    // A broadcast stream and the main stream start together: until the first config row has come, records are held back
    // here so that the count is exact. (The rows are re-read at every start, so nothing of this needs to be state.)
    private final int expected;
    private transient Map<String, Conf> cache; // heap copy of the broadcast state, as a Flink user would keep
    private transient List<T> early;
    Base(int expected) {
      this.expected = expected;
    }
    abstract void handle(T v, Map<String, Conf> conf, Collector<byte[]> out);

    @Override
    public void open(org.apache.flink.api.common.functions.OpenContext c) {
      cache = new HashMap<>();
      early = new java.util.ArrayList<>();
    }

    @Override
    public void processElement(T v, ReadOnlyContext ctx, Collector<byte[]> out) throws Exception {
      if (early != null) {
        if (cache.size() < expected)
          for (var e : ctx.getBroadcastState(CONFIG).immutableEntries()) cache.put(e.getKey(), e.getValue());
        if (cache.size() < expected) {
          early.add(v);
          return;
        }
        for (T w : early) handle(w, cache, out);
        early = null;
      }
      handle(v, cache, out);
    }

    @Override
    public void processBroadcastElement(String row, Context ctx, Collector<byte[]> out) throws Exception {
      JSONObject o = JSON.parseObject(row);
      Conf c = new Conf();
      c.sink_table = o.getString("sink_table");
      c.columns = new HashSet<>(Arrays.asList(o.getString("sink_columns").split(",")));
      c.pk = o.getString("sink_pk");
      c.extend = o.getString("sink_extend");
      ctx.getBroadcastState(CONFIG).put(o.getString("source_table"), c);
      cache.put(o.getString("source_table"), c);
    }
  }

  static class Course extends Base<JSONObject> {
    Course(int n) {
      super(n);
    }
    @Override
    void handle(JSONObject o, Map<String, Conf> conf, Collector<byte[]> out) {
      Conf c = conf.get(o.getString("table"));
      if (c != null && kept(o.getString("type")))
        out.collect(row(o.getJSONObject("data"), c));
    }
  }

  static class Tuned extends Base<byte[]> {
    Tuned(int n) {
      super(n);
    }
    @Override
    void handle(byte[] v, Map<String, Conf> conf, Collector<byte[]> out) {
      Change o = JSON.parseObject(v, Change.class, JSONReader.Feature.FieldBased);
      Conf c = conf.get(o.table);
      if (c != null && kept(o.type))
        out.collect(row(o.data, c));
    }
  }

  static class Peek extends Base<byte[]> {
    private transient JSONPath table;
    Peek(int n) {
      super(n);
    }
    @Override
    void handle(byte[] v, Map<String, Conf> conf, Collector<byte[]> out) {
      if (table == null)
        table = JSONPath.of("$.table");
      Conf c = conf.get((String) table.extract(JSONReader.of(v)));
      if (c == null)
        return;
      Change o = JSON.parseObject(v, Change.class, JSONReader.Feature.FieldBased);
      if (kept(o.type))
        out.collect(row(o.data, c));
    }
  }

  public static void main(String[] a) throws Exception {
    Setting k = new Setting(a);
    var env = k.env();
    List<String> rows = Files.readAllLines(Path.of(k.args.get("config")));
    BroadcastStream<String> config = env.fromData(rows).setParallelism(1).broadcast(CONFIG);
    String mode = k.get("mode", "tuned"), topic = k.get("in", "topic_db");
    DataStream<byte[]> out;
    if (mode.equals("course")) {
      out = env.fromSource(k.source(topic, new SimpleStringSchema()), WatermarkStrategy.noWatermarks(), "topic_db")
                .map(s -> JSON.parseObject(s))
                .returns(JSONObject.class)
                .filter(o
                    -> !"bootstrap-start".equals(o.getString("type"))
                        && !"bootstrap-complete".equals(o.getString("type")))
                .connect(config)
                .process(new Course(rows.size()))
                .returns(byte[].class);
    } else {
      Base<byte[]> f = mode.equals("peek") ? new Peek(rows.size()) : new Tuned(rows.size());
      out = env.fromSource(k.source(topic, new Setting.Bytes()), WatermarkStrategy.noWatermarks(), "topic_db")
                .connect(config)
                .process(f)
                .returns(byte[].class);
    }
    out.sinkTo(k.sink(k.get("out", "dim_out")));
    System.out.println("main after "
        + (System.currentTimeMillis() - java.lang.management.ManagementFactory.getRuntimeMXBean().getStartTime())
        + " ms");
    var r = env.execute("dim-" + mode);
    System.out.println("job runtime ms " + r.getNetRuntime());
  }
}
