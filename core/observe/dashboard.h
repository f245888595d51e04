// The page at / of the metrics endpoint: one HTML document that loads nothing but /progress.
#pragma once
#include <string_view>

namespace sluice::observe {

std::string_view dashboard_html();

}  // namespace sluice::observe
