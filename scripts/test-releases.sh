#!/usr/bin/env bash
# test-releases.sh "RELEASE..." ARGUMENTS...: build the commands and go test with
# other Go releases, fetched as toolchains. A line that starts with "SKIPPED:"
# says which could not be had.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

releases=$1
shift
failed=0
for release in $releases; do
	export GOTOOLCHAIN=$release
	if ! version=$(go version 2>&1); then
		echo "SKIPPED: $release cannot be had: $version"
		continue
	fi
	echo "$version"
	go build -o /dev/null ./cmd/... || failed=1
	go test -count=1 -tags mvcccheck "$@" || failed=1
done
exit "$failed"
