#!/usr/bin/env bash
# Measures what docs/journey.md tells of: the tables go to bin/, and the pictures into the page.
# Arguments go to "steps" and "answers", such as --quick.
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p bin
go -C bench/journey build -o ../../bin/ ./cmd/journeybench

bin/journeybench steps --format markdown "$@" | tee bin/journey-steps.md
bin/journeybench answers --format markdown --flames docs/pictures/journey "$@" | tee bin/journey-answers.md
bin/journeybench steps --quiet --step keeper-noop,list-walked --threads 2 --count 1 --duration 2s \
	--flames docs/pictures/journey > /dev/null
