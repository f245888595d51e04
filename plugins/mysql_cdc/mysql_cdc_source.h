// Operator `mysql.cdc`: the rows of MariaDB and MySQL tables and every change of them.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cdc_options.h"
#include "change_reader.h"
#include "saved_tables.h"
#include "source_page.h"
#include "table_filter.h"

namespace sluice_mysql {

// One split, "binlog". A ChangeReader fills a queue from a thread of its own; poll() empties it.
class MysqlCdcSource final : public sluice::Source<CdcConfig> {
 public:
  static constexpr const char* kType = "mysql.cdc";
  static constexpr const char* kVersion = "1.0.0";
  static constexpr const char* kSummary =
      "Reads tables of MariaDB or MySQL and every change of them: a snapshot, then the binlog.";
  static constexpr const char* kDoc = kSourcePage;
  static constexpr const char* kSplit = "binlog";
  static sluice::Options<CdcConfig> options();

  ~MysqlCdcSource() override;
  sluice::Status configure(sluice::Needs& needs) override;
  sluice::Status open() override;
  sluice::Status check(sluice::Problems& problems) override;
  sluice::Status close() override;
  sluice::Status discover(std::vector<sluice::Split>* splits) override;
  sluice::Status assign(const std::vector<sluice::AssignedSplit>& splits) override;
  sluice::Status poll(uint32_t max_rows) override;
  std::string describe_position(std::string_view split, std::string_view position) override;

 private:
  ClientName own_name() const;
  // Rows of the item at hand, at most `max_rows`. `before`: how many this poll has emitted already.
  sluice::Status emit_rows_of_item(uint32_t before, uint32_t max_rows, uint32_t* emitted);
  sluice::Status read_saved(SavedTables* out);
  sluice::Status take(const Item& item);
  void set_flags(uint32_t flags);

  sluice::OperatorState<std::string> tables_{this, "tables"};  // SavedTables
  TableFilter filter_;
  ClientName client_;
  std::unique_ptr<ChangeReader> reader_;
  bool started_ = false;
  uint32_t split_ = 0;
  uint32_t flags_ = 0;
  sluice::Status failed_;

  std::optional<Item> item_;
  size_t next_row_ = 0;
  std::vector<sluice_str> raw_, key_, position_;
  std::vector<int64_t> time_;
  std::vector<uint8_t> change_;
};

}  // namespace sluice_mysql
