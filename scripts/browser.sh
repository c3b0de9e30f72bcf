#!/usr/bin/env bash
# browser.sh FLAGS...: run every test whose name starts with TestBrowser, in
# whichever module it is. A line that starts with "SKIPPED:" says that there is
# no browser, no such test, or that a test skipped itself.
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

dirs=$(grep -rlE --include='*_test.go' --exclude-dir=testdata --exclude-dir=.git '^func TestBrowser' . |
	sed 's|/[^/]*$||' | sort -u || true)
if [ -z "$dirs" ]; then
	echo "SKIPPED: there is no test named TestBrowser..."
	exit 0
fi
log=$(mktemp)
trap 'rm -f "$log"' EXIT
failed=0
for dir in $dirs; do
	echo "in $dir"
	(cd "$dir" && go test -count=1 -v -run '^TestBrowser' "$@" .) 2>&1 | tee -a "$log" || failed=1
done
if grep -qE '^\s*--- SKIP' "$log"; then
	echo "SKIPPED: a browser test skipped itself, see above"
fi
exit "$failed"
