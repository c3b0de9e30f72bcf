#!/usr/bin/env bash
# api.sh TOOL@VERSION: apidiff of this module's exported API against the last tag. What is
# incompatible is a failure; before v1.0.0 it is none if the first section of CHANGELOG.md has a
# line that begins with "- Incompatible:".
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
if [ ! -s "$tmp/changes" ]; then
	exit 0
fi
case $tag in
v0.*)
	if awk '/^## / { n++ } n == 1' CHANGELOG.md | grep -q '^- Incompatible:'; then
		exit 0
	fi
	echo "incompatible with $tag: want a line \"- Incompatible: ...\" in the first section of CHANGELOG.md" >&2
	;;
*) echo "incompatible with $tag: want a new major version" >&2 ;;
esac
exit 1
