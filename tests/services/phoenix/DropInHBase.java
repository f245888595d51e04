import org.apache.hadoop.hbase.HBaseConfiguration;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.Admin;
import org.apache.hadoop.hbase.client.Connection;
import org.apache.hadoop.hbase.client.ConnectionFactory;

/** Disables and deletes tables in HBase: `phoenix.sh drop-in-hbase`. */
public class DropInHBase {
  public static void main(String[] tables) throws Exception {
    try (Connection connection = ConnectionFactory.createConnection(HBaseConfiguration.create()); Admin admin = connection.getAdmin()) {
      for (String table : tables) {
        admin.disableTable(TableName.valueOf(table));
        admin.deleteTable(TableName.valueOf(table));
      }
    }
  }
}
