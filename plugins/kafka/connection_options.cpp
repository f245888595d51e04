#include "kafka/connection_options.h"

#include <algorithm>

namespace sluice::kafka {
namespace {

// Reserved for every client. Passwords are, because `properties` is shown where secret options are not.
constexpr ReservedProperty kReserved[] = {
    {"bootstrap.servers", "use the option `brokers`"},
    {"metadata.broker.list", "use the option `brokers`"},
    {"security.protocol", "use the option `security_protocol`"},
    {"sasl.mechanism", "use the option `sasl_mechanism`"},
    {"sasl.mechanisms", "use the option `sasl_mechanism`"},
    {"sasl.username", "use the option `sasl_username`"},
    {"sasl.password", "use the option `sasl_password`, which is kept out of logs and listings"},
    {"ssl.ca.location", "use the option `ssl_ca_location`"},
    {"ssl.certificate.location", "use the option `ssl_certificate_location`"},
    {"ssl.key.location", "use the option `ssl_key_location`"},
    {"ssl.key.password", "use the option `ssl_key_password`, which is kept out of logs and listings"},
    {"plugin.library.paths", "it would load foreign code into this process"},
    {"opaque", "the operator needs it"},
    {"log.queue", "the operator reads the library's log itself"},
};

}  // namespace

ClientConf::ClientConf() : conf_(rd_kafka_conf_new()) {}

ClientConf::~ClientConf() {
  if (conf_ != nullptr) rd_kafka_conf_destroy(conf_);
}

void ClientConf::preset(const char* name, const std::string& value) { option("internal", name, value); }

void ClientConf::preset_if_known(const char* name, const std::string& value) {
  char error[512];
  if (rd_kafka_conf_set(conf_, name, value.c_str(), error, sizeof error) == RD_KAFKA_CONF_INVALID)
    problems_.emplace_back(error);
}

void ClientConf::option(const char* option, const char* name, const std::string& value) {
  char error[512];
  if (rd_kafka_conf_set(conf_, name, value.c_str(), error, sizeof error) != RD_KAFKA_CONF_OK)
    problems_.push_back(std::string("`").append(option).append("`: ").append(error));
}

void ClientConf::connection(const ConnectionOptions& o, const std::vector<ReservedProperty>& reserved) {
  if (o.brokers.find_first_not_of(" ,\t") == std::string::npos)
    problems_.emplace_back("`brokers` is empty: give host:port, several with commas");
  // Not shown: there can be a password in it.
  if (o.brokers.find('@') != std::string::npos)
    problems_.emplace_back("`brokers` has a user in it: use `sasl_username` and `sasl_password`");
  option("brokers", "bootstrap.servers", o.brokers);
  const auto given = [&](const char* option_name, const char* name, const std::optional<std::string>& value) {
    if (value) option(option_name, name, *value);
  };
  given("security_protocol", "security.protocol", o.security_protocol);
  given("sasl_mechanism", "sasl.mechanisms", o.sasl_mechanism);
  given("sasl_username", "sasl.username", o.sasl_username);
  given("sasl_password", "sasl.password", o.sasl_password);
  given("ssl_ca_location", "ssl.ca.location", o.ssl_ca_location);
  given("ssl_certificate_location", "ssl.certificate.location", o.ssl_certificate_location);
  given("ssl_key_location", "ssl.key.location", o.ssl_key_location);
  given("ssl_key_password", "ssl.key.password", o.ssl_key_password);

  // librdkafka takes these without a word and then does something else than was meant.
  const std::string protocol = o.security_protocol.value_or("plaintext");
  const bool sasl = protocol.rfind("sasl", 0) == 0 || protocol.rfind("SASL", 0) == 0;
  const std::string mechanism = o.sasl_mechanism.value_or("");
  if (!sasl && (o.sasl_mechanism || o.sasl_username || o.sasl_password))
    problems_.push_back("`sasl_…` is given, but `security_protocol` is " + protocol +
                        ", which does not log in: set it to sasl_ssl or sasl_plaintext");
  if (sasl && mechanism.empty())
    problems_.push_back("`security_protocol` " + protocol +
                        " needs `sasl_mechanism`, for example PLAIN or SCRAM-SHA-512");
  if (sasl && (mechanism == "PLAIN" || mechanism.rfind("SCRAM", 0) == 0) && (!o.sasl_username || !o.sasl_password))
    problems_.push_back("`sasl_mechanism` " + mechanism + " needs `sasl_username` and `sasl_password`");

  for (const auto& [name, value] : o.properties) {
    const auto is_it = [&](const ReservedProperty& r) { return name == r.name; };
    const ReservedProperty* found = std::find_if(std::begin(kReserved), std::end(kReserved), is_it);
    if (found == std::end(kReserved)) {
      const auto own = std::find_if(reserved.begin(), reserved.end(), is_it);
      found = own != reserved.end() ? &*own : nullptr;
    }
    if (found != nullptr) {
      problems_.push_back("`properties`: " + name + " cannot be set there: " + found->instead);
      continue;
    }
    char error[512];
    if (rd_kafka_conf_set(conf_, name.c_str(), value.c_str(), error, sizeof error) != RD_KAFKA_CONF_OK)
      problems_.push_back("`properties`: " + name + ": " + error);
  }
}

Status ClientConf::status() const {
  if (problems_.empty()) return Status::ok();
  std::string text;
  for (const std::string& p : problems_) text += (text.empty() ? "" : "\n") + p;
  return Status::fatal(text);
}

std::string builtin_features() {
  rd_kafka_conf_t* conf = rd_kafka_conf_new();
  char text[512] = "";
  size_t size = sizeof text;
  const bool known = rd_kafka_conf_get(conf, "builtin.features", text, &size) == RD_KAFKA_CONF_OK;
  rd_kafka_conf_destroy(conf);
  return known ? text : "unknown";
}

}  // namespace sluice::kafka
