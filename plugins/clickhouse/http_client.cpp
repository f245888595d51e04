#include "http_client.h"

#include <curl/curl.h>
#include <zlib.h>

#include <charconv>
#include <cstring>
#include <memory>
#include <stdexcept>

namespace sluice::clickhouse {
namespace {

constexpr size_t kMostBody = 64 * 1024 * 1024;
// ClickHouse's keep_alive_timeout has been 3 s for long: an older connection is not tried.
constexpr long kMostIdleSeconds = 2;

void init_curl() {
  static const CURLcode once = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (once != CURLE_OK) throw std::runtime_error("libcurl cannot be initialised");
}

size_t take_body(char* data, size_t size, size_t count, void* user) {
  auto* answer = static_cast<HttpAnswer*>(user);
  if (answer->body.size() + size * count > kMostBody) return 0;
  answer->body.append(data, size * count);
  return size * count;
}

size_t take_header(char* data, size_t size, size_t count, void* user) {
  constexpr std::string_view kName = "x-clickhouse-exception-code:";
  const std::string_view line(data, size * count);
  if (line.size() > kName.size() && strncasecmp(line.data(), kName.data(), kName.size()) == 0) {
    size_t at = kName.size();
    while (at < line.size() && line[at] == ' ') ++at;
    std::from_chars(line.data() + at, line.data() + line.size(), static_cast<HttpAnswer*>(user)->exception_code);
  }
  return size * count;
}

struct Watch {
  HttpClient::GiveUp* give_up;
  std::chrono::steady_clock::time_point since;
};
int watch(void* user, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  const auto* w = static_cast<Watch*>(user);
  const auto under_way = std::chrono::steady_clock::now() - w->since;
  return (*w->give_up)(std::chrono::duration_cast<std::chrono::milliseconds>(under_way)) ? 1 : 0;
}

// About what stays as it is until somebody changes it; null: it may pass by itself.
const char* what_to_do(CURLcode code, std::string_view text) {
  switch (code) {
    case CURLE_URL_MALFORMAT:
      return "write the address in `servers` like http://host:8123";
    case CURLE_UNSUPPORTED_PROTOCOL:  // also what is no HTTP: an answer in TLS, a port of another protocol
    case CURLE_WEIRD_SERVER_REPLY:
      return "nothing speaks HTTP there: check the port in `servers`, and whether it is one for https://";
    case CURLE_NOT_BUILT_IN:
      return "libcurl on this machine has no TLS, which https:// in `servers` needs";
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_ISSUER_ERROR:
      return "name the file with the authority of the server's certificate in `tls_ca`, give the server a certificate "
             "for the name in `servers`, or take any certificate with `tls_verify: false`";
    case CURLE_SSL_CACERT_BADFILE:
      return "`tls_ca` must be a file with certificates (PEM)";
    case CURLE_SSL_CERTPROBLEM:
      return "the server asks for a certificate of the client's own, which this sink has none of";
    case CURLE_SSL_CONNECT_ERROR:
      // Other failures of a handshake come while a server goes down. The words are OpenSSL's.
      if (text.find("wrong version number") == std::string_view::npos) return nullptr;
      return "no TLS is spoken there: write http:// in `servers`, or the port for https://";
    default:
      return nullptr;
  }
}

void append_escaped(std::string_view text, std::string* out) {
  constexpr char kHex[] = "0123456789ABCDEF";
  for (const char c : text) {
    const auto u = static_cast<unsigned char>(c);
    if ((u >= '0' && u <= '9') || (u >= 'a' && u <= 'z') || (u >= 'A' && u <= 'Z') ||
        std::strchr("-_.~", c) != nullptr) {
      if (c != '\0') {
        out->push_back(c);
        continue;
      }
    }
    out->push_back('%');
    out->push_back(kHex[u >> 4]);
    out->push_back(kHex[u & 15]);
  }
}

}  // namespace

std::string url_with(const std::string& server, const Parameters& parameters) {
  std::string url = server;
  url += url.find('/', url.find("://") + 3) == std::string::npos ? "/" : "";
  char separator = '?';
  for (const auto& [name, value] : parameters) {
    url += separator;
    append_escaped(name, &url);
    url += '=';
    append_escaped(value, &url);
    separator = '&';
  }
  return url;
}

std::string address_problem(const std::string& server) {
  const size_t host = server.find("://") + 3;
  if (host == server.size() || server[host] == ':' || server[host] == '/') return "has no host";
  const std::unique_ptr<CURLU, void (*)(CURLU*)> url(curl_url(), curl_url_cleanup);
  if (url == nullptr) throw std::bad_alloc();
  const CURLUcode code = curl_url_set(url.get(), CURLUPART_URL, server.c_str(), 0);
  return code == CURLUE_OK ? std::string() : std::string("is none: ") + curl_url_strerror(code);
}

std::string gzipped(std::string_view data) {
  z_stream z;
  std::memset(&z, 0, sizeof z);
  constexpr int kGzip = 15 + 16;
  if (deflateInit2(&z, 1, Z_DEFLATED, kGzip, 8, Z_DEFAULT_STRATEGY) != Z_OK) throw std::bad_alloc();
  std::string out(deflateBound(&z, static_cast<uLong>(data.size())), '\0');
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(data.data()));
  z.avail_in = static_cast<uInt>(data.size());
  z.next_out = reinterpret_cast<Bytef*>(out.data());
  z.avail_out = static_cast<uInt>(out.size());
  deflate(&z, Z_FINISH);
  out.resize(z.total_out);
  deflateEnd(&z);
  return out;
}

HttpClient::HttpClient(HttpRules rules, GiveUp give_up)
    : rules_(std::move(rules)), give_up_(std::move(give_up)), curl_(nullptr) {
  init_curl();
  curl_ = curl_easy_init();
  if (curl_ == nullptr) throw std::bad_alloc();
}

HttpClient::~HttpClient() { curl_easy_cleanup(curl_); }

bool HttpClient::post(const std::string& url, std::string_view body, bool is_gzipped, HttpAnswer* answer,
                      HttpFailure* failure) {
  bool stale = false;
  if (post_once(url, body, is_gzipped, answer, failure, &stale)) return true;
  return stale && post_once(url, body, is_gzipped, answer, failure, &stale);
}

bool HttpClient::post_once(const std::string& url, std::string_view body, bool is_gzipped, HttpAnswer* answer,
                           HttpFailure* failure, bool* stale) {
  *answer = HttpAnswer();
  *stale = false;
  char detail[CURL_ERROR_SIZE] = "";
  // Without `Expect` nothing waits for a go-ahead that older servers are slow to give.
  curl_slist* headers = curl_slist_append(nullptr, "Expect:");
  headers = curl_slist_append(headers, "Content-Type: application/octet-stream");
  if (!rules_.user.empty()) headers = curl_slist_append(headers, ("X-ClickHouse-User: " + rules_.user).c_str());
  if (!rules_.password.empty()) headers = curl_slist_append(headers, ("X-ClickHouse-Key: " + rules_.password).c_str());
  if (is_gzipped) headers = curl_slist_append(headers, "Content-Encoding: gzip");
  CURL* c = curl_;
  curl_easy_reset(c);
  curl_easy_setopt(c, CURLOPT_URL, url.c_str());
  curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(c, CURLOPT_PROXY, "");  // of the environment: it is for the internet, and would see the password
  curl_easy_setopt(c, CURLOPT_POST, 1L);
  curl_easy_setopt(c, CURLOPT_POSTFIELDS, body.data() == nullptr ? "" : body.data());
  curl_easy_setopt(c, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
  curl_easy_setopt(c, CURLOPT_HTTPHEADER, headers);
  curl_easy_setopt(c, CURLOPT_USERAGENT, "sluice");
  curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(c, CURLOPT_UPLOAD_BUFFERSIZE, 512L * 1024);
  curl_easy_setopt(c, CURLOPT_MAXAGE_CONN, kMostIdleSeconds);
  curl_easy_setopt(c, CURLOPT_TCP_KEEPALIVE, 1L);
  curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(rules_.connect_timeout.count()));
  curl_easy_setopt(c, CURLOPT_TIMEOUT_MS, static_cast<long>(rules_.request_timeout.count()));
  curl_easy_setopt(c, CURLOPT_SSL_VERIFYPEER, rules_.verify ? 1L : 0L);
  curl_easy_setopt(c, CURLOPT_SSL_VERIFYHOST, rules_.verify ? 2L : 0L);
  if (!rules_.ca_file.empty()) curl_easy_setopt(c, CURLOPT_CAINFO, rules_.ca_file.c_str());
  curl_easy_setopt(c, CURLOPT_ERRORBUFFER, detail);
  curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, take_body);
  curl_easy_setopt(c, CURLOPT_WRITEDATA, answer);
  curl_easy_setopt(c, CURLOPT_HEADERFUNCTION, take_header);
  curl_easy_setopt(c, CURLOPT_HEADERDATA, answer);
  curl_easy_setopt(c, CURLOPT_XFERINFOFUNCTION, watch);
  Watch watched{&give_up_, std::chrono::steady_clock::now()};
  curl_easy_setopt(c, CURLOPT_XFERINFODATA, &watched);
  curl_easy_setopt(c, CURLOPT_NOPROGRESS, 0L);
  const CURLcode code = curl_easy_perform(c);
  curl_easy_getinfo(c, CURLINFO_RESPONSE_CODE, &answer->status);
  long connects = 0;
  curl_easy_getinfo(c, CURLINFO_NUM_CONNECTS, &connects);
  curl_slist_free_all(headers);
  if (code == CURLE_OK) return true;
  *stale = connects == 0 && answer->status == 0 &&
           (code == CURLE_SEND_ERROR || code == CURLE_RECV_ERROR || code == CURLE_GOT_NOTHING);
  *failure = HttpFailure();
  failure->text = detail[0] != '\0' ? detail : curl_easy_strerror(code);
  if (const char* advice = what_to_do(code, failure->text)) {
    failure->text += std::string(": ") + advice;
    failure->needs_person = true;
  }
  return false;
}

}  // namespace sluice::clickhouse
