#include "phoenix/wire.h"

#include "avatica.pb.h"

namespace sluice::phoenix {
namespace {

constexpr std::string_view kRequests = "org.apache.calcite.avatica.proto.Requests$";
constexpr std::string_view kResponses = "org.apache.calcite.avatica.proto.Responses$";

std::string http(long status) { return "HTTP status " + std::to_string(status); }

}  // namespace

std::string encode_request(std::string_view name, const google::protobuf::MessageLite& message) {
  avatica::WireMessage wire;
  wire.set_name(std::string(kRequests) + std::string(name));
  message.SerializeToString(wire.mutable_wrapped_message());
  return wire.SerializeAsString();
}

Failure decode_answer(long http_status, std::string_view body, std::string_view name,
                      google::protobuf::MessageLite* out) {
  if (http_status == 401 || http_status == 403)
    return Failure::of(FailureKind::kLogin, http(http_status) + ": the server does not take this user and password");
  avatica::WireMessage wire;
  const bool parsed = wire.ParseFromArray(body.data(), static_cast<int>(body.size()));
  const std::string_view answer = wire.name();
  if (!parsed || answer.substr(0, kResponses.size()) != kResponses) {
    if (http_status == 413)
      return Failure::of(FailureKind::kTooMuch,
                         http(http_status) +
                             " from a gateway, which takes no request of this size: raise its limit (of nginx: "
                             "client_max_body_size)");
    // A gateway in front of the server speaks so while the server is away.
    if (http_status == 502 || http_status == 503 || http_status == 504)
      return Failure::of(FailureKind::kAway, http(http_status) + " from a gateway");
    return Failure::of(FailureKind::kNoPhoenix,
                       http(http_status) +
                           ", and the answer is not one of a Phoenix Query Server that speaks protobuf "
                           "(phoenix.queryserver.serialization=PROTOBUF)");
  }
  if (answer.substr(kResponses.size()) == "ErrorResponse") {
    avatica::ErrorResponse error;
    if (!error.ParseFromString(wire.wrapped_message()))
      return Failure::of(FailureKind::kNoPhoenix, "an ErrorResponse that cannot be read");
    return failure_of_answer(error.error_message(),
                             error.exceptions_size() > 0 ? std::string_view(error.exceptions(0)) : std::string_view(),
                             error.error_code());
  }
  if (answer.substr(kResponses.size()) != name || !out->ParseFromString(wire.wrapped_message()))
    return Failure::of(FailureKind::kNoPhoenix, "answered " + wire.name() + " instead of " + std::string(name));
  if (http_status != 200) return Failure::of(FailureKind::kBusy, http(http_status));
  return {};
}

}  // namespace sluice::phoenix
