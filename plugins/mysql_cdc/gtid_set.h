// Global transaction ids: which transactions a position has behind it.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice_mysql {

// MariaDB: the last transaction of each domain, "0-101-7,1-102-3".
// MySQL: intervals of each server, "3e11fa47-71ca-11e1-9e33-c80aa9429562:1-5:7,…".
// A plain value.
class GtidSet {
 public:
  explicit GtidSet(bool mariadb = false) : mariadb_(mariadb) {}

  // None: it is no such text. Blanks and line ends are passed over, as servers write them.
  static std::optional<GtidSet> parse(bool mariadb, std::string_view text);
  // One transaction: "0-101-7", "uuid:7". False: it is no such text.
  bool add(std::string_view gtid);
  // MariaDB: those of `later` in place of the ones that were the last.
  void add_all(const GtidSet& later);
  // Whether that transaction is behind. MariaDB: as far as its own server's numbers tell.
  bool contains(std::string_view gtid) const;

  bool empty() const noexcept { return domains_.empty() && servers_.empty(); }
  std::string text() const;
  // As COM_BINLOG_DUMP_GTID takes it (MySQL): u64 count, then for each server its 16 bytes, u64 count, pairs of u64
  // [begin, end). Source: MySQL documentation, "COM_BINLOG_DUMP_GTID".
  std::string encoded() const;
  // MariaDB.
  std::vector<uint32_t> domains() const;
  // MariaDB: whether a binlog that has `there` at a place can be the one that was read when this was what had been
  // read. At least one domain, that of the transaction before the place, is the same. Others of this set may be further
  // on or unknown there: they were read from another server.
  bool continues(const GtidSet& there) const;
  // MariaDB: whether the last transaction of each domain of `other` is the last one of that domain here.
  bool has_all_last(const GtidSet& other) const;

 private:
  using Intervals = std::vector<std::pair<uint64_t, uint64_t>>;  // [begin, end), sorted, apart from each other
  static void insert(Intervals* in, uint64_t begin, uint64_t end);

  bool mariadb_;
  std::map<uint32_t, std::string> domains_;
  std::map<std::string, Intervals> servers_;
};

}  // namespace sluice_mysql
