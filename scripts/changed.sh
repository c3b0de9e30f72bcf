#!/usr/bin/env bash
# changed.sh: print the packages of this module with a Go file that differs from the last commit.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

{
	git diff --name-only HEAD
	git ls-files --others --exclude-standard
} | { grep '\.go$' || true; } | xargs -r dirname | sort -u | sed "s,^,$PWD/," |
	comm -12 - <(go list -f '{{.Dir}}' ./... | sort)
