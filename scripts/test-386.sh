#!/usr/bin/env bash
# test-386.sh ARGUMENTS...: go test as a 32-bit program. A line that starts
# with "SKIPPED:" says that the machine cannot run such programs.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export GOARCH=386 CGO_ENABLED=0

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
printf 'package main\n\nfunc main() {}\n' >"$tmp/probe.go"
go build -o "$tmp/probe" "$tmp/probe.go"
if ! "$tmp/probe"; then
	echo "SKIPPED: this machine does not run GOARCH=386 programs"
	exit 0
fi
go test -count=1 -tags mvcccheck "$@"
