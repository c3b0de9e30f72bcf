package cli

import (
	"slices"

	"github.com/mvccmap/mvccmap/bench"
)

// namedWorkloads returns the workloads that names are of, and those of the files that they name.
func namedWorkloads(names []string) (list []bench.Workload, err error) {
	builtin := slices.DeleteFunc(slices.Clone(names), bench.IsFile)
	if len(builtin) > 0 || len(names) == 0 {
		if err := CheckNames("--workload", "workload", builtin, workloadNames()); err != nil {
			return nil, err
		}
	}
	for _, name := range names {
		w, ok := bench.WorkloadByName(name)
		if !ok {
			if w, err = bench.ReadWorkload(name); err != nil {
				return nil, usagef("--workload: %w", err)
			}
		}
		if slices.ContainsFunc(list, func(other bench.Workload) bool { return other.Name == w.Name }) {
			return nil, usagef("--workload: two workloads are called %q; expected different names", w.Name)
		}
		list = append(list, w)
	}
	return list, nil
}
