package cli

// description describes the program, in --help.
const description = `Measures a transactional in-memory map, and other maps beside it, under load.
Every result is verified before it is printed. Results go to standard output in
the Go benchmark format, everything else to standard error. While a run lasts,
its profiles can be looked at in a browser.

"run" is the default command: the default sweep takes under a minute. "verify"
checks the map itself, for as long as you like. "list" describes every workload,
engine and metric.

Exit codes: 0 all went well, 1 the run failed, or --gate found something worse,
2 an argument is wrong and nothing was done, 3 verification was violated,
4 cannot tell: --gate has too little to judge by, or nothing was verified,
5 a limit was missed: of --threshold, or --find-rate has found no rate,
130 interrupted by Ctrl-C (143 by SIGTERM): what had been measured was printed.
A second Ctrl-C ends at once. For "serve" Ctrl-C is the normal end: 0 or 3.`

// Help is the text of --help beside the flags of the command; so are those below.
func (runCmd) Help() string {
	return `Reads of skewed keys, by transactions and by a concurrent map:

    mvccbench --workload read-heavy --keys 1k --theta 0.9 --engine mvcc,xsync

Response times at a given load; in CI, fail unless they are kept; and the highest
rate at which they are:

    mvccbench --workload transfer --rate 50k --duration 10s --hlog x.hlog
    mvccbench --workload transfer --rate 50k --threshold 'response-p99<5ms'
    mvccbench --workload transfer --find-rate 'response-p99<5ms'

Charts, and a record with profiles, to be shown and compared later:

    mvccbench --workload transfer --profile -o before.json --report charts.html`
}

func (serveCmd) Help() string {
	return `A skewed load at a fixed rate, for ten minutes; two kept runs, to compare them and
their profiles:

    mvccbench serve --workload ycsb-a --theta 0.99 --rate 100k --duration 10m
    mvccbench serve before.json after.json`
}

func (abCmd) Help() string {
	return `The work tree, with your change, and the commit before it; why it is slower, and a
page of it all; two programs that were built before, in CI:

    mvccbench ab HEAD .
    mvccbench ab main . --workload transfer --profile --report ab.html
    mvccbench ab ./old ./new --gate --gate-pct 5`
}

func (compareCmd) Help() string {
	return `Two files of results, or of Go benchmarks; in CI: fail if throughput has fallen.

    mvccbench compare old.txt new.txt
    mvccbench compare old.txt new.txt --gate`
}
