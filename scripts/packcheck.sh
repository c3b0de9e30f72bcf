#!/usr/bin/env bash
# packcheck.sh [ROOT]: show that a user can have the library. Packs the module in ROOT as a proxy
# would, fetches it into an empty module, builds and runs the example of its README there, and
# checks what came along: which modules are compiled in, and how much go.mod and go.sum grew.
# PACKAGE is what is fetched; ALLOW, a regular expression, the modules that a user may need beside.
#
# The caches of the machine are used but not changed: the packed version goes into a module cache
# of its own. What the machine's does not hold comes from its proxy.
set -euo pipefail
cd "${1:-$(dirname "${BASH_SOURCE[0]}")/..}"

version=v0.1.0
user=example.com/user
most=16 # modules in the user's graph: a tool that the library's commands use counts as well
fail() {
	echo "packcheck: $*" >&2
	exit 1
}
# Fails if a list of modules has one that is none of the user's business.
only_allowed() {
	local other
	other=$(printf '%s\n' "$2" | grep -vxE "$user|$module|${ALLOW-github.com/puzpuzpuz/xsync/v4}" || true)
	[ -z "$other" ] || fail "$1" $other, which a user should not need
}

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
mkdir "$tmp/user" "$tmp/objects"
awk '/^[ \t]*```go[ \t]*$/ { block = ""; inside = 1; program = 0; next }
	inside && /^[ \t]*```[ \t]*$/ { inside = 0; if (program) { printf "%s", block; exit } }
	inside { block = block $0 "\n"; if ($0 ~ /^[ \t]*package main[ \t]*$/) program = 1 }
' README.md >"$tmp/user/main.go"
[ -s "$tmp/user/main.go" ] || fail 'README.md: no ```go block with a package main'

# What git tracks or would track, less nested modules, is what a proxy would pack from a commit.
module=$(go list -m)
at=$tmp/proxy/$module/@v
mkdir -p "$at"
others=()
while IFS= read -r mod; do
	others+=(":(exclude)${mod%/go.mod}")
done < <(git ls-files -co --exclude-standard '*/go.mod')
GIT_ALTERNATE_OBJECT_DIRECTORIES=$(git rev-parse --path-format=absolute --git-path objects)
index=$(git rev-parse --path-format=absolute --git-path index)
[ ! -f "$index" ] || cp "$index" "$tmp/index"
export GIT_ALTERNATE_OBJECT_DIRECTORIES GIT_OBJECT_DIRECTORY="$tmp/objects" GIT_INDEX_FILE="$tmp/index"
git add -A
git archive --format=zip --prefix="$module@$version/" -o "$at/$version.zip" "$(git write-tree)" \
	-- . "${others[@]}"
unset GIT_ALTERNATE_OBJECT_DIRECTORIES GIT_OBJECT_DIRECTORY GIT_INDEX_FILE
cp go.mod "$at/$version.mod"
echo "$version" >"$at/list"
printf '{"Version":"%s","Time":"%s"}' "$version" "$(date -u +%Y-%m-%dT%H:%M:%SZ)" >"$at/$version.info"
echo "packed $module $version"

cd "$tmp/user"
GOPROXY="file://$tmp/proxy,file://$(go env GOMODCACHE)/cache/download,$(go env GOPROXY)"
GONOSUMDB="$(go env GONOSUMDB),$module"
export GOPROXY GONOSUMDB GOMODCACHE="$tmp/modcache" GOFLAGS="${GOFLAGS:-} -modcacherw" GOWORK=off
go mod init "$user"
go get "$module/${PACKAGE-mvcc}@$version"
go build -o ../example .
timeout 60 ../example || fail "the example of README.md ended with $?"

compiled=$(go list -deps -f '{{with .Module}}{{.Path}}{{end}}' . | sort -u)
echo "compiled modules:" $compiled
grep -qxF "$module" <<<"$compiled" || fail "the example does not use $module"
only_allowed "the example compiles" "$compiled"
# The tests and tools of the library are not the user's affair. Hashes of go.mod files alone do not
# count: they are needed to choose versions.
only_allowed "go.mod requires" "$(go mod edit -json | sed -n 's/.*"Path": "\(.*\)".*/\1/p')"
only_allowed "go.sum has the contents of" "$(awk '$2 !~ /\/go.mod$/ { print $1 }' go.sum)"
graph=$(go list -m all | wc -l)
echo "go.sum: $(wc -l <go.sum) lines; module graph: $graph modules"
[ "$graph" -le "$most" ] || fail "the user's module graph has $graph modules, want at most $most"
