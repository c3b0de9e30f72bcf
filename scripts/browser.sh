#!/usr/bin/env bash
# browser.sh FLAGS...: run the tests of every module named browsertest. A line that
# starts with "SKIPPED:" says that there is no browser.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

browser=
for name in chromium chromium-browser google-chrome google-chrome-stable; do
	browser=$(command -v "$name") && break
done
if [ -z "$browser" ]; then
	echo "SKIPPED: no chromium, chromium-browser or google-chrome is installed"
	exit 0
fi
echo "browser: $browser"

export MVCCMAP_BROWSER=required # a test that finds no browser fails
failed=0
for dir in $(find . -type d -name browsertest -not -path './.git/*'); do
	echo "in $dir"
	(cd "$dir" && go test -count=1 -v -parallel 4 -timeout 30m "$@" ./...) || failed=1
done
exit "$failed"
