#!/usr/bin/env bash
# api.sh TOOL@VERSION: apidiff of this module's exported API against the last tag. What is
# incompatible is a failure from v1.0.0 on; before, it is printed, and has to stand in
# CHANGELOG.md.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

tool=$1
tag=$(git tag --list 'v*' --sort=-v:refname --merged HEAD | head -n 1)
if [ -z "$tag" ]; then
	echo "SKIPPED: there is no release yet to compare with"
	exit 0
fi
tmp=$(mktemp -d)
trap 'git worktree remove --force "$tmp/was" 2>/dev/null; rm -rf "$tmp"' EXIT
git worktree add --detach "$tmp/was" "$tag" >/dev/null
module=$(go list -m)
(cd "$tmp/was" && go run "$tool" -m -w "$tmp/was.export" "$module")
go run "$tool" -m -w "$tmp/is.export" "$module"
go run "$tool" -m -incompatible "$tmp/was.export" "$tmp/is.export" | tee "$tmp/changes"
case $tag in
v0.*) ;;
*) [ ! -s "$tmp/changes" ] ;;
esac
