// Package command makes mvccbench a command of another program, with workloads of that program:
// rates, thresholds, charts and pages in the browser, ab, compare. It is no part of package bench,
// so that a program that uses bench alone compiles no command line.
package command

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/mvccmap/mvccmap/bench"
	"github.com/mvccmap/mvccmap/internal/bench/cli"
)

// Main is the main function of a program that is mvccbench with workloads of its own. --workload
// can name these workloads; run, ab and serve measure these unless the flag names others. Main
// takes the arguments of the process and does not return: the process ends with the exit code that
// --help lists. A workload without a name, or with the name of another one, is a wrong argument.
//
// "ab" builds the package of this program, in the module of the current folder.
func Main(workloads ...bench.Workload) {
	cli.Main(func(ctx context.Context, args []string, stdout, stderr io.Writer) int {
		return run(ctx, workloads, args, stdout, stderr)
	})
}

func run(
	ctx context.Context, own []bench.Workload, args []string, stdout, stderr io.Writer,
) int {
	p := cli.Program{
		Name:    strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe"),
		Engines: bench.Engines(),
		Package: "command-line-arguments",
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Path != "" {
		p.Package = info.Path
	}
	p.Workloads = append(append(p.Workloads, own...), bench.Workloads()...)
	for i, w := range own {
		_, taken := bench.WorkloadByName(w.Name)
		if w.Name == "" || taken || slices.Contains(p.Default, w.Name) {
			fmt.Fprintf(stderr, "%s: workload %d of Main, %q: expected a name that no other workload has\n",
				p.Name, i+1, w.Name)
			return cli.ExitUsage
		}
		p.Default = append(p.Default, w.Name)
	}
	return cli.RunWith(ctx, p, args, stdout, stderr)
}
