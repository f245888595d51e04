#include "kafka/client.h"

#include <algorithm>
#include <charconv>

namespace sluice::kafka {
namespace {

// By then a login or certificate that is refused has mostly been refused.
constexpr int kFirstLookMs = 500;
// Older ones send a nonce that Kafka 4 does not take (confluentinc/librdkafka, pull request 4895).
constexpr int kScramMended = 0x020601ff;

// "127.0.0.1:9092/1: Connect to … failed": the 1. Bootstrap connections are "…:9092/bootstrap: …".
int32_t broker_id_of(std::string_view reason) {
  const size_t end = reason.find(": ");
  if (end == std::string_view::npos) return -1;
  const size_t slash = reason.rfind('/', end);
  if (slash == std::string_view::npos) return -1;
  int32_t id = -1;
  const std::string_view digits = reason.substr(slash + 1, end - slash - 1);
  const auto [last, error] = std::from_chars(digits.data(), digits.data() + digits.size(), id);
  return error == std::errc() && last == digits.data() + digits.size() ? id : -1;
}

bool logs_in_by_scram(rd_kafka_conf_t* conf) {
  char text[64] = "";
  size_t size = sizeof text;
  return rd_kafka_conf_get(conf, "sasl.mechanisms", text, &size) == RD_KAFKA_CONF_OK &&
         std::string_view(text).substr(0, 5) == "SCRAM";
}

// The library names its own properties.
std::string with_our_options(std::string reason) {
  const auto names = [&](const char* property) { return reason.find(property) != std::string::npos; };
  if (names("security.protocol")) return reason + ": check `security_protocol` against the brokers' listener";
  if (names("ssl.key.location")) return reason + ": check `ssl_key_location` and `ssl_key_password`";
  if (names("ssl.certificate.location")) return reason + ": check `ssl_certificate_location`";
  return reason;
}

// A broker that does not take the client's certificate says so after the handshake.
bool refuses_certificate(std::string_view reason) {
  const auto says = [&](const char* what) { return reason.find(what) != std::string_view::npos; };
  return says("SSL alert number") && (says("certificate") || says("unknown ca"));
}

// What also comes as an event or a result, and is said by the operator.
bool is_said_elsewhere(std::string_view facility) {
  return facility == "FAIL" || facility == "ERROR" || facility == "FATAL" || facility == "SSL";
}

constexpr int kDebugLevel = 7;  // of syslog

uint32_t host_level(int syslog_level) {
  if (syslog_level <= 3) return SLUICE_LOG_ERROR;
  if (syslog_level == 4) return SLUICE_LOG_WARNING;
  return syslog_level <= 6 ? SLUICE_LOG_INFO : SLUICE_LOG_DEBUG;
}

}  // namespace

bool is_connection_failure(rd_kafka_resp_err_t code) {
  return code == RD_KAFKA_RESP_ERR__TRANSPORT || code == RD_KAFKA_RESP_ERR__RESOLVE ||
         code == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN || code == RD_KAFKA_RESP_ERR__TIMED_OUT;
}

const char* way_out(rd_kafka_resp_err_t code) {
  switch (code) {
    case RD_KAFKA_RESP_ERR__AUTHENTICATION:
    case RD_KAFKA_RESP_ERR_SASL_AUTHENTICATION_FAILED:
    case RD_KAFKA_RESP_ERR_UNSUPPORTED_SASL_MECHANISM:
    case RD_KAFKA_RESP_ERR_ILLEGAL_SASL_STATE:
      return "check security_protocol, sasl_mechanism, sasl_username and sasl_password against the brokers' listener";
    case RD_KAFKA_RESP_ERR__SSL:
      return "check security_protocol, ssl_ca_location and the certificates against the brokers' listener";
    case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
      return "this login may not use the topic: grant it (kafka-acls), or use another";
    case RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED:
      return "this login may not use the group: grant it READ on the group, or choose another `group`";
    case RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_TRANSACTIONAL_ID_AUTHORIZATION_FAILED:
      return "this login lacks a permission: one that writes needs WRITE on its topics, and before Kafka 2.8 "
             "IDEMPOTENT_WRITE on the cluster (or `acks: 1`): grant it (kafka-acls), or use another";
    case RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION:
      return "a topic's name has at most 249 of a-z A-Z 0-9 . _ -";
    default:
      return nullptr;
  }
}

Client::~Client() {
  if (handle_ == nullptr) return;
  rd_kafka_destroy(handle_);
}

Status Client::start(rd_kafka_type_t type, ClientConf* conf) {
  rd_kafka_conf_set_opaque(conf->get(), this);
  rd_kafka_conf_set_log_cb(conf->get(), &Client::log_line);
  rd_kafka_conf_set_error_cb(conf->get(), &Client::error);
  if (on_commit)
    rd_kafka_conf_set_offset_commit_cb(
        conf->get(), [](rd_kafka_t*, rd_kafka_resp_err_t code, rd_kafka_topic_partition_list_t* list, void* opaque) {
          static_cast<Client*>(opaque)->on_commit(code, list);
        });
  if (on_delivery)
    rd_kafka_conf_set_dr_msg_cb(conf->get(), [](rd_kafka_t*, const rd_kafka_message_t* m, void* opaque) {
      static_cast<Client*>(opaque)->on_delivery(*m);
    });
  scram_ = logs_in_by_scram(conf->get());
  char text[512] = "";
  handle_ = rd_kafka_new(type, conf->get(), text, sizeof text);
  if (handle_ == nullptr)
    return Status::fatal(with_our_options(std::string("librdkafka refuses this configuration: ") + text));
  conf->release();
  return Status::ok();
}

Status Client::metadata(rd_kafka_topic_t* only, int timeout_ms, const rd_kafka_metadata_t** out) {
  // The library waits for a broker to the end, also when none will ever let it in.
  const int first_ms = std::min(timeout_ms, kFirstLookMs);
  rd_kafka_resp_err_t code = rd_kafka_metadata(handle_, 0, only, out, first_ms);
  if (code != RD_KAFKA_RESP_ERR_NO_ERROR) serve(0);
  if (code != RD_KAFKA_RESP_ERR_NO_ERROR && !hopeless_ && first_ms < timeout_ms)
    code = rd_kafka_metadata(handle_, 0, only, out, timeout_ms - first_ms);
  if (code != RD_KAFKA_RESP_ERR_NO_ERROR) return failure("the brokers give no metadata", code);
  hopeless_.reset();
  return Status::ok();
}

Status Client::failure(std::string_view what, rd_kafka_resp_err_t code) {
  serve(0);  // the reason is in the events
  if (hopeless_) return Status::fatal(hopeless_->text + ": " + way_out(hopeless_->code) + scram_hint());
  const std::string reason = std::string(what) + ": " + rd_kafka_err2str(code);
  if (const char* hint = way_out(code)) return Status::fatal(reason + ": " + hint);
  return Status::retry(
      is_connection_failure(code) && !last_failure_.empty() ? std::string(what) + ": " + last_failure_ : reason, 1000);
}

std::string Client::scram_hint() const {
  if (!scram_ || hopeless_->text.find("invalid credentials") == std::string::npos || rd_kafka_version() >= kScramMended)
    return {};
  return std::string("; a right password is refused as well where Kafka is 4.0 or newer: librdkafka ") +
         rd_kafka_version_str() +
         ", which runs here, cannot log in there by SCRAM. Then use PLAIN over sasl_ssl, or librdkafka 2.6.1 or newer";
}

void Client::log(uint32_t level, std::string_view text) const { context_->host->log(context_->host, level, str(text)); }

// On the library's threads.
void Client::log_line(const rd_kafka_t* rk, int level, const char* facility, const char* text) {
  auto& self = *static_cast<Client*>(rd_kafka_opaque(rk));
  const uint32_t to = host_level(is_said_elsewhere(facility) ? kDebugLevel : level);
  uint64_t held_back = 0;
  if (to != SLUICE_LOG_DEBUG && !self.limits_[to].allows(LogLimit::Clock::now(), &held_back)) return;
  try {
    const std::string who = std::string(view(self.context_->operator_id)) + ": librdkafka: ";
    if (held_back > 0) self.log(to, who + std::to_string(held_back) + " more lines were held back");
    self.log(to, who + facility + ": " + text);
  } catch (const std::exception&) {  // no memory for a log line: the library's thread must not see it
  }
}

// In serve().
void Client::error(rd_kafka_t* rk, int code_number, const char* reason, void* opaque) {
  auto& self = *static_cast<Client*>(opaque);
  ClientEvent e;
  e.code = static_cast<rd_kafka_resp_err_t>(code_number);
  e.text = with_our_options(reason != nullptr ? reason : rd_kafka_err2str(e.code));
  if (e.code == RD_KAFKA_RESP_ERR__FATAL) {
    char text[512] = "";
    const rd_kafka_resp_err_t cause = rd_kafka_fatal_error(rk, text, sizeof text);
    e.text = text;
    e.way_out = way_out(cause);
  }
  if (refuses_certificate(e.text)) e.code = RD_KAFKA_RESP_ERR__SSL;
  const bool refused = e.code == RD_KAFKA_RESP_ERR__AUTHENTICATION || e.code == RD_KAFKA_RESP_ERR__SSL;
  if (refused || (is_connection_failure(e.code) && e.code != RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN)) {
    e.broker_id = broker_id_of(e.text);
    self.last_failure_ = e.text;
  }
  if (refused) self.hopeless_ = e;
  self.events_.push_back(std::move(e));
}

}  // namespace sluice::kafka
