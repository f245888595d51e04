// Avatica's protobuf messages as bytes: what goes into the body of an HTTP request and what comes back.
#pragma once
#include <google/protobuf/message_lite.h>

#include <string>
#include <string_view>

#include "phoenix/failure.h"

namespace sluice::phoenix {

// `name`: of the request without its package, for example "CommitRequest".
std::string encode_request(std::string_view name, const google::protobuf::MessageLite& message);

// The answer `name` ("CommitResponse") out of the body of an HTTP answer. An ErrorResponse becomes the failure that it
// tells of; a body that is none of Avatica's, or another answer than was asked for, is kNoPhoenix. 401 and 403 are
// kLogin, 413 is kTooMuch.
Failure decode_answer(long http_status, std::string_view body, std::string_view name,
                      google::protobuf::MessageLite* out);

}  // namespace sluice::phoenix
