#include <catch2/catch.hpp>

#include <stdexcept>

#include <sluice/sdk.hpp>

using sluice::Status;

namespace {

sluice_error fresh() {
  sluice_error e{};
  e.struct_size = sizeof e;
  return e;
}
std::string text(const sluice_error& e) { return std::string(e.message, e.message_size); }

}  // namespace

TEST_CASE("a status goes over the boundary and comes back") {
  sluice_error e = fresh();
  CHECK(Status::retry("busy", 250).write(&e) == SLUICE_RETRY);
  const Status back = Status::from(e.code, e);
  CHECK(back.code() == SLUICE_RETRY);
  CHECK(back.message() == "busy");
  CHECK(back.retry_after_ms() == 250);
  CHECK(Status::ok().write(nullptr) == SLUICE_OK);
  CHECK(Status::fatal("no buffer").write(nullptr) == SLUICE_FATAL);
}

TEST_CASE("a message that is too long is cut where a character ends") {
  constexpr size_t kRoom = sizeof(sluice_error::message);
  sluice_error e = fresh();
  SECTION("it fits exactly") {
    CHECK(Status::fatal(std::string(kRoom, 'x')).write(&e) == SLUICE_FATAL);
    CHECK(text(e) == std::string(kRoom, 'x'));
  }
  SECTION("one byte too many") {
    CHECK(Status::fatal(std::string(kRoom + 1, 'x')).write(&e) == SLUICE_FATAL);
    CHECK(text(e) == std::string(kRoom, 'x'));
  }
  SECTION("the end would be inside of a character of three bytes") {
    for (size_t before : {kRoom - 1, kRoom - 2}) {
      CHECK(Status::fatal(std::string(before, 'x') + "中文").write(&e) == SLUICE_FATAL);
      CHECK(text(e) == std::string(before, 'x'));
    }
  }
  SECTION("the last character just fits") {
    CHECK(Status::fatal(std::string(kRoom - 3, 'x') + "中文").write(&e) == SLUICE_FATAL);
    CHECK(text(e) == std::string(kRoom - 3, 'x') + "中");
  }
  SECTION("four bytes") {
    CHECK(Status::fatal(std::string(kRoom - 3, 'x') + "\U0001F600 and more").write(&e) == SLUICE_FATAL);
    CHECK(text(e) == std::string(kRoom - 3, 'x'));
  }
}

TEST_CASE("no exception gets through the barrier") {
  sluice_error e = fresh();
  CHECK(sluice::detail::guard(&e, []() -> Status { throw std::runtime_error("oops"); }) == SLUICE_BUG);
  CHECK(text(e) == "uncaught exception: oops");
  CHECK(sluice::detail::guard(&e, []() -> Status { throw 7; }) == SLUICE_BUG);
  CHECK(text(e) == "uncaught exception of unknown type");
  CHECK(sluice::detail::guard(&e, [] { return Status::bad_record("bad"); }) == SLUICE_BAD_RECORD);
  CHECK(text(e) == "bad");
}

TEST_CASE("SLUICE_CHECK_OK returns early") {
  int reached = 0;
  const auto f = [&](Status s) -> Status {
    SLUICE_CHECK_OK(s);
    ++reached;
    return Status::ok();
  };
  CHECK(f(Status::ok()).is_ok());
  CHECK(f(Status::fatal("x")).message() == "x");
  CHECK(reached == 1);
}
