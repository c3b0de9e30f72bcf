#!/usr/bin/env bash
# test-emulated.sh "GOARCH..." ARGUMENTS...: go test as programs of other machines, under
# qemu's user-mode emulation. Debian's qemu-user is installed if it is missing and the script
# runs as root. A line that starts with "SKIPPED:" says which machine could not be emulated.
#
# This finds what depends on word size, byte order, alignment and compiler. It does not prove
# the memory order: the emulated code runs under that of the machine it is emulated on.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# emulator GOARCH: the name of qemu's program, which differs from Go's name for some.
emulator() {
	case $1 in
	386) echo qemu-i386 ;;
	amd64) echo qemu-x86_64 ;;
	arm64) echo qemu-aarch64 ;;
	loong64) echo qemu-loongarch64 ;;
	mipsle) echo qemu-mipsel ;;
	mips64le) echo qemu-mips64el ;;
	*) echo "qemu-$1" ;;
	esac
}

machines=$1
shift
for machine in $machines; do
	command -v "$(emulator "$machine")" >/dev/null && continue
	if [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null; then
		export DEBIAN_FRONTEND=noninteractive
		timeout 120 apt-get update -qq || echo "apt-get update failed"
		timeout 300 apt-get install -y -qq --no-install-recommends qemu-user >/dev/null ||
			echo "qemu-user could not be installed"
	fi
	break
done

# TestStatsBytes compares an estimate with the size of large heaps: half of the time, all of it
# in the garbage collector, and only the word size matters, which test-386 varies.
args=(-count=1 -timeout 30m -skip '^TestStatsBytes$' "$@")
failed=0
for machine in $machines; do
	qemu=$(emulator "$machine")
	if ! command -v "$qemu" >/dev/null; then
		echo "SKIPPED: $machine: there is no $qemu, and qemu-user could not be installed"
		continue
	fi
	export GOARCH=$machine CGO_ENABLED=0
	for tags in '' mvcccheck; do
		echo "$machine under $("$qemu" --version | head -n 1), tags: ${tags:-none}"
		go test -exec "$qemu" -tags "$tags" "${args[@]}" || failed=1
	done
done
exit "$failed"
