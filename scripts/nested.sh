#!/usr/bin/env bash
# nested.sh COMMAND...: run a command in each module within this one, which
# "./..." leaves out. Modules under testdata are data, not part of the build.
# SKIP=NAME leaves out the modules in folders of that name.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

failed=0
while IFS= read -r mod; do
	dir=$(dirname "$mod")
	[ "$(basename "$dir")" != "${SKIP:-}" ] || continue
	echo "in $dir: $*"
	(cd "$dir" && "$@" </dev/null) || failed=1
done < <(find . -name go.mod -not -path ./go.mod -not -path '*/testdata/*' -not -path '*/.git/*' | sort)
exit "$failed"
