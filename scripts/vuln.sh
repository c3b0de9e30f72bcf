#!/usr/bin/env bash
# vuln.sh TOOL@VERSION: govulncheck on this module and those within it. A line
# that starts with "SKIPPED:" says that the vulnerability database cannot be
# reached; everything else that goes wrong, and every finding, is a failure.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

tool=$1
log=$(mktemp)
trap 'rm -f "$log"' EXIT
failed=0
for mod in ./go.mod $(find . -name go.mod -not -path ./go.mod -not -path '*/testdata/*' -not -path './.git/*' | sort); do
	dir=$(dirname "$mod")
	echo "in $dir"
	if (cd "$dir" && go run "$tool" -test ./...) >"$log" 2>&1; then
		cat "$log"
	elif grep -q 'fetching vulnerabilities' "$log"; then
		cat "$log"
		echo "SKIPPED: the vulnerability database cannot be reached, so nothing was checked"
		exit "$failed"
	else
		cat "$log"
		failed=1
	fi
done
exit "$failed"
