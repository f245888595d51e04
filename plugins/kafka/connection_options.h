// The options that kafka.source and kafka.sink share, and how they become a librdkafka configuration.
#pragma once
#include <librdkafka/rdkafka.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sluice/sdk.hpp"

namespace sluice::kafka {

struct ConnectionOptions {
  std::string brokers;
  std::optional<std::string> security_protocol, sasl_mechanism, sasl_username, sasl_password;
  std::optional<std::string> ssl_ca_location, ssl_certificate_location, ssl_key_location, ssl_key_password;
  StringMap properties;
};

// The one that comes first in the options of an operator.
template <class Config>
Option<Config> brokers_option() {
  return opt<Config, std::string>("brokers", &Config::brokers)
      .required()
      .doc("Brokers to ask first: host:port, several with commas.")
      .example("kafka1:9092,kafka2:9092");
}
// Appends the others to the options of an operator whose configuration derives from ConnectionOptions.
template <class Config>
void append_connection_options(Options<Config>* options) {
  using Text = std::optional<std::string>;
  auto add = [&](Option<Config>&& o) { options->push_back(std::move(o)); };
  add(opt<Config, Text>("security_protocol", &Config::security_protocol)
          .doc("How to talk to the brokers: plaintext, ssl, sasl_plaintext or sasl_ssl. Without it: plaintext."));
  add(opt<Config, Text>("sasl_mechanism", &Config::sasl_mechanism)
          .doc("How to log in: PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, GSSAPI or OAUTHBEARER."));
  add(opt<Config, Text>("sasl_username", &Config::sasl_username).doc("Name to log in with (PLAIN, SCRAM)."));
  add(opt<Config, Text>("sasl_password", &Config::sasl_password)
          .secret()
          .doc("Password to log in with (PLAIN, SCRAM)."));
  add(opt<Config, Text>("ssl_ca_location", &Config::ssl_ca_location)
          .doc("File or folder of the certificates that the brokers' are checked against. Without it: those of the "
               "system."));
  add(opt<Config, Text>("ssl_certificate_location", &Config::ssl_certificate_location)
          .doc("File of the client's own certificate (PEM)."));
  add(opt<Config, Text>("ssl_key_location", &Config::ssl_key_location).doc("File of the client's private key (PEM)."));
  add(opt<Config, Text>("ssl_key_password", &Config::ssl_key_password).secret().doc("Password of the private key."));
  add(opt<Config, StringMap>("properties", &Config::properties)
          .advanced()
          .doc("Any property of librdkafka, by its own name. Those that an option or the operator itself sets are "
               "refused.")
          .example("{ client.rack: eu-1a, fetch.wait.max.ms: 50 }"));
}

// A property that `properties` must not hold, and what to do instead.
struct ReservedProperty {
  const char* name;
  const char* instead;
};

// A librdkafka configuration under construction. Collects everything that is wrong instead of stopping at the first.
// A plain local; one thread.
class ClientConf {
 public:
  ClientConf();
  ~ClientConf();
  ClientConf(const ClientConf&) = delete;
  ClientConf& operator=(const ClientConf&) = delete;

  // What the operator itself decides; `properties` may change it afterwards.
  void preset(const char* name, const std::string& value);
  // As preset, but a library that does not know the property is no problem.
  void preset_if_known(const char* name, const std::string& value);
  // What the user said with an option of ours; the option is named in the message.
  void option(const char* option, const char* name, const std::string& value);
  // Brokers, security, and `properties` but for the reserved ones.
  void connection(const ConnectionOptions& options, const std::vector<ReservedProperty>& reserved);

  rd_kafka_conf_t* get() const { return conf_; }
  // For rd_kafka_new, which takes it over when it succeeds.
  rd_kafka_conf_t* release() { return std::exchange(conf_, nullptr); }
  // OK, or fatal with every problem in a line of its own.
  Status status() const;

 private:
  rd_kafka_conf_t* conf_;
  std::vector<std::string> problems_;
};

// The compression codecs and login mechanisms that this librdkafka was built with, as it lists them.
std::string builtin_features();

}  // namespace sluice::kafka
