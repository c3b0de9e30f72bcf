#!/usr/bin/env bash
# Measures the tables and pictures of docs/journey.md, and puts them there: what stands between two
# markers is replaced. Arguments go to "steps" and "answers", such as --quick.
set -euo pipefail
cd "$(dirname "$0")/.."
doc=docs/journey.md
mkdir -p bin
go -C bench/journey build -o ../../bin/ ./cmd/journeybench

# replace puts standard input between the markers of a name.
replace() {
	awk -v name="$1" -v file=/dev/stdin '
		$0 == "<!-- " name " -->" { print; print ""; while ((getline line < file) > 0) print line; skip = 1; next }
		$0 == "<!-- end of " name " -->" { print ""; skip = 0 }
		!skip' "$doc" > "$doc.new"
	mv "$doc.new" "$doc"
}

bin/journeybench steps --format markdown "$@" > bin/journey-steps.md
bin/journeybench answers --format markdown --flames docs/pictures/journey "$@" > bin/journey-answers.md
bin/journeybench steps --quiet --step keeper-noop,list-walked --threads 2 --count 1 --duration 2s \
	--flames docs/pictures/journey > /dev/null
replace steps < bin/journey-steps.md
replace answers < bin/journey-answers.md
